"""Shares that are said in words: "a fifth of it", "half the profit", "of which one tenth"."""

from __future__ import annotations

from typing import Final

from domain.mandates.purpose.lengths import Reader
from domain.mandates.purpose.tokens import PCT, Token

_QUARTER: Final = 2_500
_PARTS: Final = {"fifth": 2_000, "tenth": 1_000, "twentieth": 500, "quarter": _QUARTER}
_WHOLES: Final = frozenset({
    "it", "its", "the", "my", "your", "our", "that", "this", "all", "any", "what", "whatever",
    "profit", "profits", "gains", "everything",
})  # fmt: skip
# Behind these a part is one of the whole that was spoken of: "of which a tenth at most".
_BOUND: Final = frozenset({"at", "most", "up", "to", "no", "more", "than", "max", "only", ","})
_CAPPED: Final = frozenset({"at", "may", "can", "per", "in", "on", "for", "a", "max", "into"})
# "At most a tenth per day": of the budget.
_EACH: Final = frozenset({"per", "each", "every"})
_GONE: Final = frozenset({"is", "has", "gone", "lost", "loss"})
_LOSING: Final = frozenset({"lose", "loses", "lost", "losing", "loose", "looses", "loosing"})
_PROFIT: Final = frozenset({"profit", "profits", "gain", "gains", "earnings", "winnings"})
_ENDS: Final = frozenset({"", ",", ".", ";", "!", "\n", "and", ")", "then", "stop", "please"})


def portion(reader: Reader, at: int) -> tuple[Token, int] | None:
    """`a fifth`, `one tenth`, `a quarter of it`: a share, where it is one of what is at stake;
    not "a fifth trade", "a quarter of a year" or "a tenth of a percent".
    """
    if reader.kind(at) == "half":
        return _half(reader, at)
    part = _PARTS.get(reader.kind(at + 1))
    if part is None or reader.kind(at) not in ("a", "one"):
        return None
    behind = reader.kind(at + 2)
    whole = behind == "of" and reader.kind(at + 3) in _WHOLES
    whole = whole or (_of_which(reader, at) and behind in _CAPPED)
    whole = whole or (reader.kind(at - 1) in ("most", "to", "than") and behind in _EACH)
    bare = reader.kind(at - 1) in _LOSING and behind in _ENDS
    if not (whole or bare or (behind in _GONE and part != _QUARTER)):
        return None
    return Token(PCT, reader.atoms[at].start, reader.atoms[at + 1].end, part), at + 2


def _half(reader: Reader, at: int) -> tuple[Token, int] | None:
    """`half of it`, `half the profit`, with something said of it: not "half a year"."""
    behind, next_one = reader.kind(at + 1), reader.kind(at + 2)
    whole = behind == "of" and next_one in _WHOLES
    if _of_which(reader, at) and behind in _CAPPED:
        return Token(PCT, reader.atoms[at].start, reader.atoms[at].end, 5_000), at + 1
    profit = behind in ("the", "any", "your", "my", "our") and next_one in _PROFIT
    if reader.kind(at - 1) in _LOSING and behind in _ENDS:
        return Token(PCT, reader.atoms[at].start, reader.atoms[at].end, 5_000), at + 1
    alone = reader.kind(at - 1) in _ENDS and reader.kind(at + 3 + whole) in _ENDS
    if not (whole or profit) or alone or reader.kind(at - 1) in ("a", "one", "other"):
        return None
    return Token(PCT, reader.atoms[at].start, reader.atoms[at].end, 5_000), at + 1


def _of_which(reader: Reader, at: int) -> bool:
    """True behind "of which" and "of which at most"."""
    at -= 1
    for _ in range(4):
        at -= reader.kind(at) in _BOUND
    return reader.kinds(at - 1, 2) in (("of", "which"), ("from", "which"))
