"""JSON of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson


def encoded(body: Mapping[str, Any]) -> bytes:
    """JSON of a body; the slower encoder where a chain's uint256 is beyond 64 bits."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
