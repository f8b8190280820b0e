"""Addresses: whole wherever money or a signature is decided, short only in chips."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from app.words.text import _, keeps_by_language

KEPT: Final = 4_096  # that were shown: those of a mandate are shown again and again
_NONE: Final = Markup('<span class="unknown">%s</span>')
_WHOLE: Final = Markup(
    '<span class="addr" translate="no" data-copy="%s"><span class="a0">0x</span>%s</span>'
)
_FOUR: Final = Markup("<span>%s</span>")


@keeps_by_language(KEPT)
def full_address(address: str | None) -> Markup:
    """In fours, both ends bold, copied on a click."""
    if not address:
        return _NONE % _("none")
    fours = (_FOUR % address[i : i + 4] for i in range(2, len(address), 4))
    return _WHOLE % (address, Markup("").join(fours))


def short(address: str | None) -> str:
    """Both ends."""
    return f"{address[:6]}…{address[-4:]}" if address else ""
