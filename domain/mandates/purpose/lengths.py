"""Figures that are said twice: a length that is no certain number of days, and the days that it is,
a number or an amount and the same in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol

from domain.mandates.purpose.tokens import MONEY, SPAN, Token


class Reader(Protocol):
    """What puts numbers and units together, as far as a length asks it."""

    atoms: list[Token]

    def kind(self, at: int) -> str:
        """What stands at a place."""
        ...

    def kinds(self, at: int, count: int) -> tuple[str, ...]:
        """What stands at so many places."""
        ...

    def figure_at(self, at: int) -> tuple[Token, int] | None:
        """A figure that starts here, and the place behind it."""
        ...

    def number_at(self, at: int) -> tuple[Decimal | None, int]:
        """A number that starts here, and the place behind it."""
        ...


# Lengths that are no certain number of days, and the days that they may be said to be.
_UNSURE: Final[Mapping[tuple[str, ...], Sequence[int]]] = {
    ("half", "a", "year"): range(180, 185),
    ("a", "half", "year"): range(180, 185),
    ("a", "quarter"): range(89, 93),
    ("one", "quarter"): range(89, 93),
    ("half", "a", "month"): range(14, 17),
}
_THAT_IS: Final[tuple[tuple[str, ...], ...]] = (
    ("that", "is"),
    ("that's",),
    ("which", "is"),
    ("i", ".", "e", "."),
    ("ie",),
    ("so",),
    ("meaning",),
    ("in", "other", "words"),
    ("or",),
    ("=",),
)


# "For a week" is a span of time, "5 USDC a week" is none.
_BEFORE_ONE: Final = frozenset(
    {"for", "over", "within", "during", "lasting", "lasts", "last", "runs", "run"}
)
_ONE: Final[Mapping[str, int]] = {"week": 7, "fortnight": 14, "month": 30, "year": 365}
_GOES_ON: Final = frozenset({"or", "and", "ago", "old", "each", "every"})


def spans(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with the length of "for a week" as a figure; "a week or two" stays words."""
    out: list[Token] = []
    for at, token in enumerate(tokens):
        before = out[-2:]
        days = _ONE.get(token.kind)
        behind = tokens[at + 1].kind if at + 1 < len(tokens) else ""
        known = days is not None and len(before) == 2 and before[1].kind == "a"
        if known and before[0].kind in _BEFORE_ONE and behind not in _GOES_ON:
            out[-1] = replace(token, kind=SPAN, start=before[1].start, value=days)
        else:
            out.append(token)
    return out


def glossed(reader: Reader, at: int) -> tuple[Token, int] | None:
    """`half a year (180 days)` and `two weeks, that is 14 days` as one span, and the place behind
    it; None where the two do not go together.
    """
    known, after = _first(reader, at)
    if not known:
        return _bracketed(reader, at)
    after += reader.kind(after) in (",", "-")
    opened = reader.kind(after) == "("
    after += opened
    link = next((said for said in _THAT_IS if reader.kinds(after, len(said)) == said), ())
    gloss = reader.figure_at(after + len(link)) if known and (opened or link) else None
    if gloss is None or gloss[0].kind != SPAN or gloss[0].value not in known:
        return None
    token, after = gloss
    if opened and reader.kind(after) != ")":
        return None
    after += opened
    place = reader.atoms[at].start, reader.atoms[after - 1].end
    return replace(token, start=place[0], end=place[1]), after


def repeated(reader: Reader, number: Decimal | None, after: int) -> tuple[Decimal | None, int]:
    """A number that stands once more in brackets behind itself: `ninety (90) days`."""
    if number is None or reader.kind(after) != "(":
        return number, after
    again, behind = reader.number_at(after + 1)
    if again != number or reader.kind(behind) != ")":
        return number, after
    return number, behind + 1


def _bracketed(reader: Reader, at: int) -> tuple[Token, int] | None:
    """`5,000 USDC (five thousand USDC)` as one amount."""
    first = reader.figure_at(at)
    if first is None or first[0].kind != MONEY or reader.kind(first[1]) != "(":
        return None
    second = reader.figure_at(first[1] + 1)
    if second is None or second[0].kind != MONEY or reader.kind(second[1]) != ")":
        return None
    token, after = first[0], second[1]
    if token.value is None or token.value != second[0].value:
        return None
    return replace(token, end=reader.atoms[after].end), after + 1


def _first(reader: Reader, at: int) -> tuple[Sequence[int], int]:
    """The days that the length which starts here may be, and the place behind it."""
    for said, days in _UNSURE.items():
        if reader.kinds(at, len(said)) == said:
            return days, at + len(said)
    figure = reader.figure_at(at) if reader.kind(at) == "#" else None
    if figure is None or figure[0].kind != SPAN or figure[0].value is None:
        return (), at
    return (figure[0].value,), figure[1]
