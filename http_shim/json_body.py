"""Strict JSON parsing, the same for every transport."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final, NoReturn, TypeVar

import orjson
from anyio import to_thread

from domain.refusals import Refused, invalid, refusal
from tools.model.input_policy import VALUES_MAX

T = TypeVar("T")

SHORT: Final = 16 * 1024  # bytes that are read within a millisecond or two
MAX_BODY: Final = 256 * 1024
MAX_DEPTH: Final = 32
ENVELOPE: Final = 8  # levels that a message has around what is handed over
# A value has a comma, a name, and a text or two brackets: four parts at most.
MAX_PARTS: Final = 5 * VALUES_MAX
DECIMALS: Final = 6
# No text of a caller begins so: NUL is refused in all of them.
_MARK: Final = "\0number "
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[+-]?[0-9]{1,3})?")
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}
# A text, whole or without its end; what separates and nests.
_PART: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)

# How a number with a point or an exponent ends in JSON without white space, as it is written
# there; a text may look like one. Two patterns, as one that begins with a letter is found sooner.
_POINT: Final = re.compile(rb"\.[0-9]+(?:e[-+]?[0-9]+)?[,}\]]")
_EXPONENT: Final = re.compile(rb"e[-+]?[0-9]+[,}\]]")


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        names: set[str] = set()
        twice = next(k for k, _ in pairs if k in names or names.add(k))  # type: ignore[func-returns-value]  # add gives None
        # Half of a surrogate pair can be written as an escape, and could not be told.
        name = twice[:80].encode(errors="replace").decode()
        raise invalid(name, "the key occurs twice")
    return unique


def _no_constant(name: str) -> NoReturn:
    raise invalid("body", f"{name} is not a number of JSON")


def _number(text: str, *, any_size: bool = False) -> float | Decimal:
    """A number with a point or an exponent: exact, and as every reader of JSON has it where that
    tells the same and no more decimals than an amount has. `any_size`: another check refuses what
    is beyond the numbers of JSON's readers.
    """
    value, exact = float(text), Decimal(text)
    beyond = not math.isfinite(value) or (value == 0 and exact != 0)
    if beyond and not any_size:
        raise invalid("body", f"{text[:20]} is beyond the numbers of JSON's readers")
    last = exact.as_tuple().exponent
    exactly = isinstance(last, int) and -last <= DECIMALS and Decimal(repr(value)) == exact
    return value if beyond or exactly else exact


_any_number: Final = partial(_number, any_size=True)
# `json.loads` makes one of these for each text.
_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_no_constant, parse_float=_number
)


def check_complexity(text: str, *, depth: int = MAX_DEPTH) -> None:
    """Refuse a text that would cost a parser too much: what nests too deep, and what has more
    values than any body may (`check_size` counts them out later, and exactly). It stops at the
    first that is too many; whether the text is JSON at all is not looked at.

    Errors: `invalid_request`.
    """
    if sum(map(text.count, "{[,")) <= MAX_DEPTH:
        return
    level = 0
    for number, part in enumerate(_PART.finditer(text)):
        level += _STEPS.get(part.group()[0], 0)
        if level > depth:
            raise invalid("body", f"nested deeper than {depth} levels")
        if number >= MAX_PARTS:
            raise invalid("body", f"at most {VALUES_MAX} values")


async def aside(read: Callable[[bytes], T], raw: bytes) -> T:
    """Read a body in the loop where it is short, else in a thread, one after the other: long ones
    take many times what an answer may wait. Errors: what reading raises.
    """
    if len(raw) <= SHORT:
        return read(raw)
    async with _turns(asyncio.get_running_loop()):
        return await to_thread.run_sync(read, raw)


@lru_cache(maxsize=8)
def _turns(loop: asyncio.AbstractEventLoop) -> asyncio.Lock:
    return asyncio.Lock()


def parsed(raw: bytes) -> dict[str, object]:
    """Read a request body.

    Errors: `body_too_large`; `invalid_request` for anything that is not one JSON object in UTF-8,
    for duplicate keys, NaN and Infinity, and nesting over 32 levels (contract 1).
    """
    if len(raw) > MAX_BODY:
        raise Refused(refusal("body_too_large", limit=MAX_BODY))
    if not raw.strip():
        return {}
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid("body", "not UTF-8") from None
    value = read(text)
    if not isinstance(value, dict):
        raise invalid("body", "a JSON object is needed")
    return value


def read(text: str) -> object:
    """Read one JSON value, as strictly as a body."""
    check_complexity(text)
    try:
        return strict(text)
    except (ValueError, RecursionError) as error:
        raise invalid("body", f"not JSON: {type(error).__name__}") from None


def _is_plain(raw: bytes) -> bool:
    """Whether a message has certainly no number with a point or an exponent and no key twice: of
    two equal keys a reader keeps one, and what it read is then written shorter than it came.
    """
    try:
        if orjson.dumps(orjson.loads(raw)) != raw:
            return False
    except orjson.JSONDecodeError:
        return False
    return _POINT.search(raw) is None and _EXPONENT.search(raw) is None


def message(raw: bytes) -> bytes:
    """A message as a reader may have it whose numbers are doubles: what a double does not tell as
    it is written is a text, which `as_written` reads. What is no JSON stays as it is.

    Errors: `body_too_large`, `invalid_request` for what no message may cost and a key that comes
    twice.
    """
    if len(raw) > MAX_BODY:
        raise Refused(refusal("body_too_large", limit=MAX_BODY))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw
    check_complexity(text, depth=MAX_DEPTH + ENVELOPE)
    exact: list[Decimal] = []

    def noted(number: str) -> float | Decimal:
        value = _any_number(number)
        if isinstance(value, Decimal):
            exact.append(value)
        return value

    try:
        if _is_plain(raw):
            return raw
        value = json.loads(text, object_pairs_hook=_pairs, parse_float=noted)
        # Most messages have no such number, and need not be written again.
        return json.dumps(value, default=lambda v: f"{_MARK}{v}").encode() if exact else raw
    except (ValueError, RecursionError):
        return raw


def as_written(value: object) -> Any:
    """Arguments with the numbers that `message` wrote as texts."""
    if isinstance(value, dict):
        return {name: as_written(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_written(inner) for inner in value]
    if isinstance(value, str) and value.startswith(_MARK):
        number = value.removeprefix(_MARK)
        return _number(number) if _NUMBER.fullmatch(number) else value
    return value


def strict(text: str) -> Any:
    """The value of a JSON text. Errors: `invalid_request` for a key that comes twice, NaN and
    Infinity; ValueError or RecursionError for what is no JSON.
    """
    return _STRICT.decode(text)


def bounded(arguments: dict[str, object]) -> None:
    """Hold arguments that the MCP SDK has parsed to the limits of a body.

    Errors: `body_too_large`, `invalid_request` for nesting over 32 levels and for numbers that
    JSON does not have.
    """
    size, depth = 0, 0
    level: list[dict[str, object] | list[object]] = [arguments]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise invalid("arguments", f"nested deeper than {MAX_DEPTH} levels")
        inner: list[dict[str, object] | list[object]] = []
        for value in level:
            if isinstance(value, dict):
                size += sum(len(name) for name in value)
            for item in value.values() if isinstance(value, dict) else value:
                size += len(item.encode("utf-8", "surrogatepass")) if isinstance(item, str) else 1
                if isinstance(item, (dict, list)):
                    inner.append(item)
                elif isinstance(item, float) and not math.isfinite(item):
                    raise invalid("arguments", f"{item} is not a number of JSON")
        if size > MAX_BODY:
            raise Refused(refusal("body_too_large", limit=MAX_BODY))
        level = inner
