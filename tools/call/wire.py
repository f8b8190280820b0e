"""The wire form of an answer: made from its type, here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from domain.money import Usdc
from domain.times import timestamp


@cache
def adapter(of: Any) -> TypeAdapter[Any]:
    """The serializer and schema of a type, built once."""
    return TypeAdapter(of)


class Closed(GenerateJsonSchema):
    """Schemas of what is given: every object is closed, and a field with a default is there all
    the same.
    """

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        """A standard dataclass names all of its fields."""
        return super().dataclass_schema(schema) | {"additionalProperties": False}

    def field_is_required(self, field: Any, total: bool) -> bool:
        """All but what may be left out (domain.wire)."""
        if field["type"] != "dataclass-field":
            return super().field_is_required(field, total)
        return field.get("serialization_exclude_if") is None


def schema_of(gives: Any) -> dict[str, Any]:
    """The JSON schema of a type's wire form."""
    return adapter(gives).json_schema(mode="serialization", schema_generator=Closed)


def told(value: Any, of: Any) -> Any:
    """JSON values of a value of the type `of`."""
    return adapter(of).dump_python(value, mode="json", by_alias=True)


def wire(value: Any) -> Any:
    """JSON values of what a handler answers."""
    if isinstance(value, Usdc):
        return str(value)
    if isinstance(value, BaseModel) or is_dataclass(value):
        return told(value, type(value))
    if isinstance(value, Mapping):
        return {name: wire(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [wire(inner) for inner in value]
    return timestamp(value) if isinstance(value, datetime) else value
