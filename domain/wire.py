"""How a field of a value that leaves the service is named, described, or left out.

The marks are plain metadata of a dataclass field, which pydantic reads where it builds schemas and
serializers (tools.call.wire); the domain itself imports no pydantic.
"""

from __future__ import annotations

from typing import Any, Final


def named(name: str) -> dict[str, Any]:
    """The field's name on the wire, where Python does not take it."""
    return {"alias": name}


def _is_none(value: object) -> bool:
    return value is None


LEFT_OUT: Final[dict[str, Any]] = {"exclude_if": _is_none}
"""A field that an answer does not carry where it is None."""


def said(text: str) -> dict[str, Any]:
    """What the published schema says of the field: its unit, or whose words it holds."""
    return {"description": text}
