"""Opaque cursors of keyset pages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from domain.refusals import Refused, refusal


def cursor_of(*keys: Any) -> str:
    """The cursor that continues after a row with these sort keys."""
    return base64.urlsafe_b64encode(json.dumps(keys, separators=(",", ":")).encode()).decode().rstrip("=")


def keys_of(cursor: str, kinds: Sequence[type]) -> list[Any]:
    """The sort keys behind a cursor.

    Errors: `invalid_request` for anything this service did not make.
    """
    try:
        keys = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error):
        keys = None
    fits = isinstance(keys, list) and len(keys) == len(kinds) and all(type(k) is t for k, t in zip(keys, kinds, strict=True))
    if not fits or not isinstance(keys, list):
        raise Refused(refusal("invalid_request", detail={"fields": [{"loc": "cursor", "msg": "not a cursor of this list"}]}))
    return keys
