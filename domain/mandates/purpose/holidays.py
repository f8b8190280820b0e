"""Dates that the name of the day, or the day of the week, stands beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, Protocol

from domain.mandates.purpose.lengths import Reader
from domain.mandates.purpose.tokens import BAD, DATE, Token


class Calendar(Reader, Protocol):
    """What reads dates, as far as a named day asks it."""

    today: date

    def date_at(self, at: int) -> tuple[Token, int] | None:
        """A date that starts here, and the place behind it."""
        ...


_DAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
# Month and day of what has the same date every year.
_NAMED: Final[Mapping[tuple[str, ...], tuple[int, int]]] = {
    ("christmas", "day"): (12, 25),
    ("christmas", "eve"): (12, 24),
    ("boxing", "day"): (12, 26),
    ("new", "year's", "eve"): (12, 31),
    ("new", "year's", "day"): (1, 1),
    ("new", "year", "'", "s", "eve"): (12, 31),
}


def named_day(reader: Calendar, at: int) -> tuple[Token, int] | None:
    """`Friday, 18 December`, `Christmas Day, 25 December` as one date; a bad one where the two do
    not go together, None where nothing of that kind starts here.
    """
    if reader.kind(at) in _DAYS:
        return _on_weekday(reader, at)
    for said, (month, day) in _NAMED.items():
        if reader.kinds(at, len(said)) != said:
            continue
        after = at + len(said)
        gloss, behind = _gloss(reader, after)
        if gloss is None:
            return None
        fits = gloss.value is not None and _falls_on(reader, gloss, month, day)
        return _joined(reader, at, behind, gloss, fits)
    return None


def _on_weekday(reader: Calendar, at: int) -> tuple[Token, int] | None:
    """A day of the week and its date; None where no date follows."""
    after = at + 1 + (reader.kind(at + 1) == ",")
    after += reader.kind(after) == "the"
    found = reader.date_at(after)
    if found is None:
        return None
    token, behind = found
    day = reader.today + timedelta(token.value or 0)
    fits = token.value is not None and _DAYS[day.weekday()] == reader.kind(at)
    return _joined(reader, at, behind, token, fits)


def _gloss(reader: Calendar, at: int) -> tuple[Token | None, int]:
    """The date behind a name, with a comma or in brackets, and the place behind it."""
    opened = reader.kind(at) == "("
    after = at + (reader.kind(at) in (",", "("))
    found = reader.date_at(after) if after > at else None
    if found is None or (opened and reader.kind(found[1]) != ")"):
        return None, at
    return found[0], found[1] + opened


def _falls_on(reader: Calendar, token: Token, month: int, day: int) -> bool:
    there = reader.today + timedelta(token.value or 0)
    return (there.month, there.day) == (month, day)


def _joined(reader: Calendar, at: int, after: int, token: Token, fits: bool) -> tuple[Token, int]:
    """The date with all that was said of it."""
    place = reader.atoms[at].start, reader.atoms[after - 1].end
    if not fits or token.kind != DATE:
        return Token(BAD, *place, why="the day and the date do not go together"), after
    return replace(token, start=place[0], end=place[1]), after
