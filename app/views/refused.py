"""The page of a refusal that no other page shows."""

from __future__ import annotations

from dataclasses import dataclass

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalPageView:
    """A refusal, and the way back."""

    refusal: RefusalView
    back: str


def view(block: Json, public_id: str | None) -> RefusalPageView:
    """A refusal as a page; `public_id` is the mandate that it is about, where there is one."""
    is_found = block["error"] != "not_found" and public_id is not None
    back = f"/app/mandates/{public_id}" if is_found else "/app"
    return RefusalPageView(refusal=refusal.view(block, public_id), back=back)
