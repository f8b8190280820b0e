"""Text that somebody else wrote: what cannot be seen is made visible, its direction stays its own,
its length is bounded, and no link comes out of it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Final

from markupsafe import Markup

from domain.text import shown

LONGEST: Final = 2_000
KEPT: Final = 512  # texts, of which the longest are a clause's
_TOLD: Final = Markup('<bdi class="told">%s</bdi>')
# On one letter; no language writes more. A pile of them is drawn over the lines around it, and
# does not break where the page ends.
MARKS_MOST: Final = 5


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _unpiled(line: str) -> str:
    """The line with what is too much of accents on one letter written out."""
    if line.isascii():
        return line
    runs = ("".join(run) for _, run in groupby(line, _is_mark))
    return "".join(
        run
        if len(run) <= MARKS_MOST or not _is_mark(run[0])
        else run[:MARKS_MOST] + "".join(f"\\u{{{ord(c):04X}}}" for c in run[MARKS_MOST:])
        for run in runs
    )


@lru_cache(KEPT)
def plain(text: str | None, most: int = LONGEST) -> str:
    """The text without markup: for titles and attributes."""
    clean = "\n".join(_unpiled(shown(line)) for line in (text or "").split("\n"))
    return clean if len(clean) <= most else clean[: most - 1] + "…"


@lru_cache(KEPT)
def told(text: str | None, most: int = LONGEST) -> Markup:
    """The text as somebody else's, apart from the sentence that it stands in."""
    return _TOLD % plain(text, most)
