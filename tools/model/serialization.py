"""Serialization: the wire form of an answer, made from its type here and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeAlias

import orjson
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from domain.money import Usdc
from domain.times import timestamp

AnyField: TypeAlias = (
    core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField
)
Schema: TypeAlias = dict[str, Any]
"""A JSON schema, and what documents are made of them (JSON Schema 2020-12, OpenAPI 3.1)."""


SOURCE: Final = re.compile(r"\s*\((?:spec|contract) \d[^)]*\)")
"""Where a docstring says what decided the thing."""


@cache
def adapter(of: Any) -> TypeAdapter[Any]:
    """The serializer and schema of a type, built once."""
    return TypeAdapter(of)


class Closed(GenerateJsonSchema):
    """Schemas of what is given: every object is closed, and a field with a default is there all
    the same.
    """

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A standard dataclass names all of its fields."""
        return super().dataclass_schema(schema) | {"additionalProperties": False}

    def field_is_required(self, field: AnyField, total: bool) -> bool:
        """All but what may be left out (domain.wire_fields)."""
        if field["type"] != "dataclass-field":
            return super().field_is_required(field, total)
        return field.get("serialization_exclude_if") is None


def schema_of(gives: object) -> Schema:
    """The JSON schema of a type's wire form, with what it names under `$defs`."""
    return adapter(gives).json_schema(mode="serialization", schema_generator=Closed)


def schemas_of(
    gives: Iterable[object],
) -> tuple[dict[object, Schema], dict[str, Schema]]:
    """(schema by type, components by name): of many types, each named object once."""
    keyed = [(of, "serialization", adapter(of)) for of in dict.fromkeys(gives)]
    schemas, raw = TypeAdapter.json_schemas(
        keyed,  # type: ignore[arg-type]  # the mode is a literal
        ref_template="#/components/schemas/{model}",
        schema_generator=Closed,
    )
    name = {of: without_titles(schema) for (of, _), schema in schemas.items()}
    return name, {name: without_titles(schema) for name, schema in raw["$defs"].items()}


def without_titles(schema: Any) -> Any:
    """A schema without titles, which repeat the names, defaults, of which an answer has none, and
    sources, which no reader of it can open.
    """
    if isinstance(schema, list):
        return [without_titles(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        k: {n: without_titles(p) for n, p in v.items()}
        if k == "properties"
        else SOURCE.sub("", v)
        if k == "description"
        else without_titles(v)
        for k, v in schema.items()
        if k not in ("title", "default")
    }


def to_json(value: object, of: object) -> Any:
    """JSON values of a value of the type `of`; an unset field of a `ResponseModel` is left out."""
    writes = adapter(of).serializer
    return writes.to_python(value, mode="json", by_alias=True, exclude_unset=True)


def wire(value: object) -> Any:
    """JSON values of what a handler answers."""
    if isinstance(value, Usdc):
        return str(value)
    if isinstance(value, BaseModel) or is_dataclass(value):
        return to_json(value, type(value))
    if isinstance(value, Mapping):
        return {name: wire(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [wire(inner) for inner in value]
    return timestamp(value) if isinstance(value, datetime) else value


def encoded(body: object) -> bytes:
    """JSON of a body; the slower encoder where a chain's uint256 is beyond 64 bits."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
