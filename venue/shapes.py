"""The forms of the venue's answers: what is known is kept, the rest is counted, nothing is filled
in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

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


T = TypeVar("T")
First = TypeVar("First")
Second = TypeVar("Second")
Shape = Callable[[object, Tally], T]


def text(value: object, tally: Tally) -> str:
    """A text of bounded length."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise Malformed("a text is due")
    return value


def whole(value: object, tally: Tally) -> int:
    """An integer within 64 bits; JSON's true and 1.0 are none."""
    if type(value) is not int or abs(value) >= 2**64:
        raise Malformed("an integer is due")
    return value


def word(known: Collection[str]) -> Shape[str]:
    """A text out of a list; another one passes as it is, and is counted."""

    def read(value: object, tally: Tally) -> str:
        told = text(value, tally)
        if told not in known:
            tally.wondered(told)
        return told

    return read


def flag(value: object, tally: Tally) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Malformed("true or false is due")
    return value


def figure(value: object, tally: Tally) -> str:
    """A decimal string, unchanged: binary noise in its tail is the venue's own."""
    if not isinstance(value, str) or not _FIGURE.fullmatch(value):
        raise Malformed("a decimal string is due")
    return value


def between(least: str, most: str) -> Shape[str]:
    """A decimal string from `least` to `most`, both inclusive: what no market can mean is none."""
    low, high = Decimal(least), Decimal(most)

    def read(value: object, tally: Tally) -> str:
        told = figure(value, tally)
        if not low <= Decimal(told) <= high:
            raise Malformed("a figure is beyond its bounds")
        return told

    return read


def count(least: int, most: int) -> Shape[int]:
    """An integer from `least` to `most`, both inclusive."""

    def read(value: object, tally: Tally) -> int:
        told = whole(value, tally)
        if not least <= told <= most:
            raise Malformed("an integer is beyond its bounds")
        return told

    return read


def one_of(known: Collection[str]) -> Shape[str]:
    """A text out of a list, and no other."""

    def read(value: object, tally: Tally) -> str:
        if not isinstance(value, str) or value not in known:
            raise Malformed("a word of a list is due")
        return value

    return read


def soft(shape: Shape[T]) -> Shape[T | None]:
    """The same, but what is malformed is no answer: None, and counted. Never 0."""

    def read(value: object, tally: Tally) -> T | None:
        try:
            return shape(value, tally)
        except Malformed as fault:
            tally.malformed[str(fault)] += 1
            return None

    return read


def maybe(shape: Shape[T]) -> Shape[T | None]:
    """The same, or null."""
    return lambda value, tally: None if value is None else shape(value, tally)


soft_figure: Final = soft(figure)


def obj(
    required: Mapping[str, Shape[object]], optional: Mapping[str, Shape[object]] | None = None
) -> Shape[dict[str, object]]:
    """An object cut to its known fields, in our order; a required field that is missing makes it
    malformed."""
    spare = optional or {}
    known = required.keys() | spare.keys()

    def read(value: object, tally: Tally) -> dict[str, object]:
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


def rows(shape: Shape[T]) -> Shape[list[T]]:
    """A list whose rows stand for themselves: one that is malformed is left out and counted."""

    def read(value: object, tally: Tally) -> list[T]:
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


def each(shape: Shape[T]) -> Shape[list[T]]:
    """A list that is only right as a whole: one malformed row makes it malformed."""

    def read(value: object, tally: Tally) -> list[T]:
        if not isinstance(value, list):
            raise Malformed("a list is due")
        return [shape(row, tally) for row in value]

    return read


def pair(first: Shape[First], second: Shape[Second]) -> Shape[tuple[First, Second]]:
    """A list of two; more are counted and left out."""

    def read(value: object, tally: Tally) -> tuple[First, Second]:
        if not isinstance(value, list) or len(value) < 2:
            raise Malformed("a pair is due")
        for _ in value[2:]:
            tally.met("beyond a pair")
        return first(value[0], tally), second(value[1], tally)

    return read


@dataclass(frozen=True, slots=True)
class _Over:
    """A mark on a form: what is made of the shape that is inside."""

    made: Callable[[Shape[Any]], Shape[Any]]


# What may fail without the rest: a `Soft` value is None then, and counted (`SoftOrNull` may be null
# besides); a row of `Rows` is left out. A plain `list` is only right as a whole.
Figure = Annotated[str, figure]
# What can stand in a place: the smallest unit of a price or a size has eight decimals, and no
# market, account or fee is near the upper bounds.
_LEAST: Final = "0.00000001"
Price = Annotated[str, between(_LEAST, "1000000000")]
Size = Annotated[str, between(_LEAST, "1000000000000")]
Amount = Annotated[str, between("0", "1000000000000000")]
Signed = Annotated[str, between("-1000000000000000", "1000000000000000")]
HourlyRate = Annotated[str, between("-1", "1")]
LeverageValue = Annotated[int, count(1, 100)]
SizeDecimals = Annotated[int, count(0, 8)]
Side = Annotated[str, one_of(("A", "B"))]
Soft = Annotated[T | None, _Over(soft)]
SoftOrNull = Annotated[T | None, _Over(lambda shape: soft(maybe(shape)))]
Rows = Annotated[list[T], _Over(rows)]
_PLAIN: Final[dict[type, Shape[object]]] = {str: text, int: whole, bool: flag}


def shape_of(form: type[T]) -> Shape[T]:
    """How a form is read: a TypedDict field by field, a list as a whole, `Rows` and `Soft` as they
    say.

    Errors: KeyError for a type that no answer holds.
    """
    return _shape(form)


def _shape(form: Any) -> Shape[Any]:
    origin, inside = get_origin(form), get_args(form)
    if origin is Annotated:
        about, mark = inside
        # Of `T | None` and of `list[T]` alike, the mark is about T.
        return mark.made(_shape(get_args(about)[0])) if isinstance(mark, _Over) else mark
    if origin is list:
        return each(_shape(inside[0]))
    if origin is tuple:
        return pair(_shape(inside[0]), _shape(inside[1]))
    if origin in (Union, UnionType):
        return maybe(_shape(inside[0]))
    return _record(form) if is_typeddict(form) else _PLAIN[form]


def _record(form: Any) -> Shape[dict[str, object]]:
    required: dict[str, Shape[object]] = {}
    optional: dict[str, Shape[object]] = {}
    for name, hint in get_type_hints(form, include_extras=True).items():
        origin = get_origin(hint)
        due = origin is Required or (form.__total__ and origin is not NotRequired)
        bare = get_args(hint)[0] if origin in (Required, NotRequired) else hint
        (required if due else optional)[name] = _shape(bare)
    return obj(required, optional)
