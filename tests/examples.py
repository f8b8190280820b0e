"""Inputs that an operation takes, out of its own schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.model.json_schema import takes_schema
from tools.model.operation import Operation


def least(op: Operation) -> dict[str, Any]:
    """What has to be given, each with the schema's own example."""
    schema = takes_schema(op)
    return {name: example(schema["properties"][name]) for name in schema.get("required", ())}


def example(schema: Mapping[str, Any]) -> Any:
    """A valid value, as the schema itself gives it."""
    if "examples" in schema:
        return schema["examples"][0]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    raise AssertionError(f"no example in {schema}")
