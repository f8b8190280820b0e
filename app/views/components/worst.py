"""Worst case: the most that a hostile agent could still take; drawn by `macros/worst.html`."""

from __future__ import annotations

from dataclasses import dataclass

from app.replies import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstView:
    """Amounts at risk; `live`: of a vault that stands, not of terms that are to be signed."""

    before_pause: str
    today: str
    ever: str
    until: str
    live: bool


def view(exposure: Json, *, live: bool) -> WorstView:
    """The exposure of a reply."""
    name = {n: exposure[n] for n in ("before_pause", "today", "ever", "until")}
    return WorstView(**name, live=live)
