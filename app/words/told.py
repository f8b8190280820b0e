"""Text that somebody else wrote: what cannot be seen is made visible, its direction stays its own,
its length is bounded, and no link comes out of it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from markupsafe import Markup

from domain.text import shown

LONGEST: Final = 2_000
KEPT: Final = 512  # texts, of which the longest are a clause's
_TOLD: Final = Markup('<bdi class="told">%s</bdi>')


@lru_cache(KEPT)
def plain(text: str | None, most: int = LONGEST) -> str:
    """The text without markup: for titles and attributes."""
    clean = "\n".join(shown(line) for line in (text or "").split("\n"))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


@lru_cache(KEPT)
def told(text: str | None, most: int = LONGEST) -> Markup:
    """The text as somebody else's, apart from the sentence that it stands in."""
    return _TOLD % plain(text, most)
