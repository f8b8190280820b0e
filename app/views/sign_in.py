"""Signing in with a wallet."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.replies import Json
from app.session_guard import is_secure
from app.views.components import refusal
from app.views.components.refusal import RefusalView

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInView:
    """The page to return to, and the reason for signing in."""

    next: str
    ended: bool
    sent: bool
    unsafe: bool
    problem: RefusalView | None


def view(
    next_page: str, *, ended: bool, base_url: str, sent: bool = False, block: Json | None = None
) -> SignInView:
    """`ended`: a session was there and is over; `sent`: a form came without one. `block`: what the
    last attempt was refused with.
    """
    local = urlsplit(base_url).hostname in LOOPBACK
    return SignInView(
        next=next_page,
        ended=ended,
        sent=sent,
        unsafe=not (is_secure(base_url) or local),
        problem=None if block is None else refusal.view(block, None),
    )
