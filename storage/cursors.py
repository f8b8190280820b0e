"""Opaque cursors of keyset pages."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any, Final

from domain.refusals import Refused, invalid

_FORM: Final = re.compile(r"[A-Za-z0-9_-]{1,512}")
_INT64: Final = 2**63 - 1


def cursor_of(*keys: int | str) -> str:
    """The cursor that continues after a row with these sort keys."""
    return (
        base64.urlsafe_b64encode(json.dumps(keys, separators=(",", ":")).encode())
        .decode()
        .rstrip("=")
    )


def keys_of(cursor: str, kinds: Sequence[type]) -> list[Any]:
    """The sort keys behind a cursor.

    Errors: `invalid_request` for anything that is not, letter for letter, a cursor of this list.
    """
    try:
        keys = (
            json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            if _FORM.fullmatch(cursor)
            else None
        )
    except ValueError:
        keys = None
    if not isinstance(keys, list) or not _fits(keys, kinds) or cursor_of(*keys) != cursor:
        raise not_a_cursor()
    return keys


def not_a_cursor() -> Refused:
    """The refusal of a cursor that this list did not make."""
    return invalid("cursor", "not a cursor of this list")


def _fits(keys: list[object], kinds: Sequence[type]) -> bool:
    if len(keys) != len(kinds) or any(type(k) is not t for k, t in zip(keys, kinds, strict=True)):
        return False
    return all(abs(k) <= _INT64 if isinstance(k, int) else str(k).isprintable() for k in keys)
