"""Answers are typed to their leaves: what is open is listed, with its reason, in http_shim.openapi."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from http_shim.openapi import OPEN
from tests.house.published import answers, components, published
from tests.house.sources import ROOT

NAMED = ("type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const")


def told() -> Iterator[tuple[str, dict[str, Any]]]:
    """Answers, and what a webhook is sent."""
    yield from answers()
    for kind, item in published()["webhooks"].items():
        yield kind, item["post"]["requestBody"]["content"]["application/json"]["schema"]


def is_open(schema: dict[str, Any]) -> bool:
    if not any(name in schema for name in NAMED):
        return True
    return schema.get("type") == "object" and schema.get("additionalProperties", True) is True


def values(schema: dict[str, Any], at: str, seen: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every value of a schema with its place; each component once."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name not in seen:
            seen.add(name)
            yield from values(components()[name], name, seen)
        return
    yield at, schema
    for name, inner in schema.get("properties", {}).items():
        yield from values(inner, f"{at}.{name}", seen)
    for key, mark in (("additionalProperties", ".*"), ("items", "[]")):
        if isinstance(schema.get(key), dict):
            yield from values(schema[key], at + mark, seen)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(key, []):
            yield from values(inner, at, seen)


def test_no_value_of_an_answer_is_open_but_the_listed_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: set[str] = set()
    found = [at for op, schema in told() for at in values(schema, op, seen)]
    objects = [at for at, schema in found if schema.get("type") == "object"]
    left_open = {at for at, schema in found if is_open(schema)}
    with capsys.disabled():
        print(f"\n{len(left_open)} open values beside {len(objects)} objects of answers")
    assert left_open == set(OPEN)
    assert all(OPEN.values())
    assert len(objects) > 150


def test_components_have_names_of_their_own() -> None:
    """Two types of one name would be told apart by their modules, in names that nobody should see."""
    assert [name for name in components() if "__" in name or not name[0].isupper()] == []
    closed = [n for n, c in components().items() if c.get("type") == "object"]
    assert all(components()[n].get("additionalProperties") is False for n in closed)


def test_the_committed_document_is_the_one_that_is_served() -> None:
    """`wallet openapi > docs/openapi.json` writes it."""
    committed = (ROOT / "docs" / "openapi.json").read_text()
    assert json.loads(committed) == json.loads(json.dumps(published()))
