"""Forms as the venue reads them: a type says what is taken, and in which order it is written.

The venue parses a body into its own types and hashes those, not the text that was posted: keys in
another order, a price with trailing zeros or a checksummed address are taken, and hash as their
canonical form. A signature made over the other form therefore recovers a stranger's address.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from devtools.devvenue.decimals import canonical, parse
from devtools.devvenue.refusals import Malformed

T = TypeVar("T")
FormReader = Callable[[object], T]
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_CLOID: Final = re.compile(r"0x[0-9a-fA-F]{32}")
MAX_U64: Final = 2**64 - 1


def integer(value: object) -> int:
    """An unsigned 64-bit number."""
    if type(value) is not int or not 0 <= value <= MAX_U64:
        raise Malformed
    return value


def signed_integer(value: object) -> int:
    """A signed 64-bit number."""
    if type(value) is not int or abs(value) > 2**63 - 1:
        raise Malformed
    return value


def boolean(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Malformed
    return value


def only_true(value: object) -> bool:
    """True."""
    if value is not True:
        raise Malformed
    return True


def text(value: object) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise Malformed
    return value


def decimal(value: object) -> str:
    """A decimal string; its canonical form."""
    number = parse(value)
    if number is None:
        raise Malformed
    return canonical(number)


def address(value: object) -> str:
    """Twenty bytes in hex; lower case."""
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise Malformed
    return value.lower()


def blank_or_address(value: object) -> str:
    """Twenty bytes in hex, or nothing."""
    return "" if value == "" else address(value)


def cloid(value: object) -> str:
    """Sixteen bytes in hex; lower case."""
    if not isinstance(value, str) or not _CLOID.fullmatch(value):
        raise Malformed
    return value.lower()


Figure = Annotated[str, decimal]
Address = Annotated[str, address]
Cloid = Annotated[str, cloid]
_PLAIN: Final[dict[type, FormReader[object]]] = {int: integer, bool: boolean, str: text}


def reader_of(form: type[T]) -> FormReader[T]:
    """The reader of a form; every reader raises `Malformed` for what does not fit.

    Shapes: `Annotated` names its reader, a union is the first that fits, a `Literal` one of its
    words; a TypedDict is an object with its keys in this order, null as absent, and unknown keys
    dropped, as serde does.
    """
    return _reader(form)


def _reader(form: Any) -> FormReader[Any]:
    origin, inside = get_origin(form), get_args(form)
    if origin is Annotated:
        reader: FormReader[Any] = inside[1]
        return reader
    if origin is Literal:
        return _one_of(inside)
    if origin is list:
        return _many(_reader(inside[0]))
    if origin in (Union, UnionType):
        return _either([_reader(one) for one in inside])
    return _PLAIN.get(form) or _record(form)


def _one_of(allowed: tuple[str, ...]) -> FormReader[str]:
    def read(value: object) -> str:
        if value not in allowed:
            raise Malformed
        return str(value)

    return read


def _many(reader: FormReader[T]) -> FormReader[list[T]]:
    def read(value: object) -> list[T]:
        if not isinstance(value, list):
            raise Malformed
        return [reader(item) for item in value]

    return read


def _either(readers: list[FormReader[object]]) -> FormReader[object]:
    def read(value: object) -> object:
        for reader in readers:
            try:
                return reader(value)
            except Malformed:
                continue
        raise Malformed

    return read


def _record(form: type) -> FormReader[dict[str, object]]:
    fields: list[tuple[str, FormReader[object], bool]] = []
    for key, hint in get_type_hints(form, include_extras=True).items():
        spare = get_origin(hint) is NotRequired
        fields.append((key, _reader(get_args(hint)[0] if spare else hint), spare))

    def read(value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise Malformed
        created: dict[str, object] = {}
        for key, reader, spare in fields:
            raw = value.get(key)
            if raw is not None:
                created[key] = reader(raw)
            elif not spare:
                raise Malformed
        return created

    return read
