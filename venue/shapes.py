"""The forms of the venue's answers: what is known is kept, the rest is counted, nothing is filled
in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

LONGEST_TEXT: Final = 4_096
_FIGURE: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")
_NAMES_KEPT: Final = 64


class Malformed(ValueError):
    """A value is not of the form that this service knows; the row that holds it tells nothing."""


@dataclass(slots=True)
class Tally:
    """What was met in one answer besides what is known."""

    unknown: Counter[str] = field(default_factory=Counter)
    strange: Counter[str] = field(default_factory=Counter)
    malformed: Counter[str] = field(default_factory=Counter)
    dropped: int = 0

    def met(self, name: str) -> None:
        """Count an unknown field; the number of names is bounded, because a stranger may choose
        them."""
        _bounded(self.unknown, name)

    def wondered(self, word: str) -> None:
        """Count a word that is not among those that are listed for its place."""
        _bounded(self.strange, word)


def _bounded(counts: Counter[str], name: str) -> None:
    name = name[:64]
    counts[name if name in counts or len(counts) < _NAMES_KEPT else "others"] += 1


Shape = Callable[[Any, Tally], Any]


def text(value: Any, tally: Tally) -> str:
    """A text of bounded length."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise Malformed("a text is due")
    return value


def whole(value: Any, tally: Tally) -> int:
    """An integer within 64 bits; JSON's true and 1.0 are none."""
    if type(value) is not int or abs(value) >= 2**64:
        raise Malformed("an integer is due")
    return value


def word(known: Collection[str]) -> Shape:
    """A text out of a list; another one passes as it is, and is counted."""

    def read(value: Any, tally: Tally) -> str:
        told = text(value, tally)
        if told not in known:
            tally.wondered(told)
        return told

    return read


def flag(value: Any, tally: Tally) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Malformed("true or false is due")
    return value


def figure(value: Any, tally: Tally) -> str:
    """A decimal string, unchanged: binary noise in its tail is the venue's own."""
    if not isinstance(value, str) or not _FIGURE.fullmatch(value):
        raise Malformed("a decimal string is due")
    return value


def soft(shape: Shape) -> Shape:
    """The same, but what is malformed is no answer: None, and counted. Never 0."""

    def read(value: Any, tally: Tally) -> Any:
        try:
            return shape(value, tally)
        except Malformed as fault:
            tally.malformed[str(fault)] += 1
            return None

    return read


def maybe(shape: Shape) -> Shape:
    """The same, or null."""
    return lambda value, tally: None if value is None else shape(value, tally)


maybe_figure: Final = soft(maybe(figure))
soft_figure: Final = soft(figure)


def obj(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object cut to its known fields, in our order; a required field that is missing makes it
    malformed."""
    spare = optional or {}
    known = required.keys() | spare.keys()

    def read(value: Any, tally: Tally) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Malformed("an object is due")
        for name in value.keys() - known:
            tally.met(name)
        try:
            kept = {name: shape(value[name], tally) for name, shape in required.items()}
        except KeyError as missing:
            raise Malformed(f"{missing.args[0]} is missing") from None
        return kept | {
            name: shape(value[name], tally) for name, shape in spare.items() if name in value
        }

    return read


def rows(shape: Shape) -> Shape:
    """A list whose rows stand for themselves: one that is malformed is left out and counted."""

    def read(value: Any, tally: Tally) -> list[Any]:
        if not isinstance(value, list):
            raise Malformed("a list is due")
        kept = []
        for row in value:
            try:
                kept.append(shape(row, tally))
            except Malformed:
                tally.dropped += 1
        return kept

    return read


def each(shape: Shape) -> Shape:
    """A list that is only right as a whole: one malformed row makes it malformed."""

    def read(value: Any, tally: Tally) -> list[Any]:
        if not isinstance(value, list):
            raise Malformed("a list is due")
        return [shape(row, tally) for row in value]

    return read


def pair(first: Shape, second: Shape) -> Shape:
    """A list of two; more are counted and left out."""

    def read(value: Any, tally: Tally) -> list[Any]:
        if not isinstance(value, list) or len(value) < 2:
            raise Malformed("a pair is due")
        for _ in value[2:]:
            tally.met("beyond a pair")
        return [first(value[0], tally), second(value[1], tally)]

    return read
