"""Addresses: whole wherever money or a signature is decided, short only in chips."""

from __future__ import annotations

from markupsafe import Markup

NONE = Markup('<span class="unknown">none</span>')


def whole(address: str | None) -> Markup:
    """In fours, both ends bold, copied on a click."""
    if not address:
        return NONE
    fours = [address[i : i + 4] for i in range(2, len(address), 4)]
    groups = Markup("").join(Markup("<span>{}</span>").format(g) for g in fours)
    return Markup(
        '<span class="addr" translate="no" data-copy="{}"><span class="a0">0x</span>{}</span>'
    ).format(address, groups)


def short(address: str | None) -> str:
    """Both ends."""
    return f"{address[:6]}…{address[-4:]}" if address else ""
