"""Strict JSON, whichever door it came through."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from domain.refusals import Refused, invalid, refusal

MAX_BODY: Final = 256 * 1024
MAX_DEPTH: Final = 32


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]  # add gives None
        raise invalid(twice[:80], "the key occurs twice")
    return found


def _no_constant(name: str) -> Any:
    raise invalid("body", f"{name} is not a number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise invalid("body", f"{text[:20]} is beyond the numbers of JSON's readers")
    return value


# `json.loads` makes one of these for each text.
_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_no_constant, parse_float=_finite
)


def _too_deep(text: str) -> bool:
    """True where brackets nest deeper than allowed, strings left out; cheap, and before the parser
    recurses.
    """
    depth, inside, skip = 0, False, False
    for char in text:
        if skip:
            skip = False
        elif inside:
            if char == "\\":
                skip = True
            elif char == '"':
                inside = False
        elif char == '"':
            inside = True
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif char in "]}":
            depth -= 1
    return False


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


def read(text: str) -> Any:
    """Read one JSON value, as strictly as a body."""
    if (text.count("{") + text.count("[")) > MAX_DEPTH and _too_deep(text):
        raise invalid("body", f"nested deeper than {MAX_DEPTH} levels")
    try:
        return _STRICT.decode(text)
    except (ValueError, RecursionError) as error:
        raise invalid("body", f"not JSON: {type(error).__name__}") from None


def repeated_key(raw: bytes) -> str | None:
    """The first key that an object in a JSON text has twice; None for a text without one, or that
    somebody else will find to be no JSON.
    """
    try:
        json.loads(raw, object_pairs_hook=_pairs)
    except Refused as refused:
        return refused.refusal.fields[0]["loc"]
    except (ValueError, RecursionError):
        return None
    return None


def bounded(arguments: dict[str, object]) -> None:
    """Hold arguments that somebody else has parsed to the limits of a body.

    Errors: `body_too_large`, `invalid_request` for nesting over 32 levels and for numbers that
    JSON does not have.
    """
    size, level, depth = 0, [arguments], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise invalid("arguments", f"nested deeper than {MAX_DEPTH} levels")
        inner: list[Any] = []
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
