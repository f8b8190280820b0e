"""The document as it is served, made once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from http_shim.openapi import document
from tools.catalogue import OPERATIONS


@cache
def published() -> dict[str, Any]:
    return document(OPERATIONS, base_url="http://127.0.0.1:8402")


def components() -> dict[str, Any]:
    """Every object of the document, by its name."""
    return published()["components"]["schemas"]  # type: ignore[no-any-return]


def answers() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema of every answer that is no refusal, by its operation."""
    for methods in published()["paths"].values():
        for op in methods.values():
            for status, answer in op["responses"].items():
                if int(status) < 400:
                    for content in answer.get("content", {}).values():
                        yield op["operationId"], content["schema"]
