"""Switches: read from the store on every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from domain.settings import SWITCHES, Switches

# Every command reads the settings, and they read a switch here; no command needs all tables for it.
if TYPE_CHECKING:
    from storage.unit_of_work import UnitOfWork


def switches(uow: UnitOfWork, defaults: Switches) -> Switches:
    """Read spec 4.5's switches: rows in the database over the settings."""
    rows = uow.switches.all()
    if not rows:
        return defaults
    name = {n: getattr(defaults, n) for n in SWITCHES}
    return Switches(**{n: is_on(rows[n]) if n in rows else default for n, default in name.items()})


def is_on(text: str) -> bool:
    """True for 1, true, yes and on, in any case (spec 4.5)."""
    return text.strip().lower() in ("1", "true", "yes", "on")
