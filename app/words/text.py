"""The mark of a sentence that a person reads."""

from __future__ import annotations

from collections.abc import Mapping


def _(english: str) -> str:
    """The sentence in the reader's language; English only so far."""
    return english


def word(code: str, table: Mapping[str, str]) -> str:
    """The word of a code; the code itself where the table has none."""
    return table.get(code, code)
