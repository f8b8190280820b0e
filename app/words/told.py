"""Text that somebody else wrote: what cannot be seen is made visible, its direction stays its own,
its length is bounded, and no link comes out of it.
"""

from __future__ import annotations

from typing import Final

from markupsafe import Markup, escape

from domain.text import shown

LONGEST: Final = 2_000


def plain(text: str | None, most: int = LONGEST) -> str:
    """The text without markup: for titles and attributes."""
    clean = "\n".join(shown(line) for line in (text or "").split("\n"))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def told(text: str | None, most: int = LONGEST) -> Markup:
    """The text as somebody else's, apart from the sentence that it stands in."""
    return Markup('<bdi class="told">{}</bdi>').format(escape(plain(text, most)))
