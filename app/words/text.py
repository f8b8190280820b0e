"""The mark of a sentence that a person reads."""

from __future__ import annotations


def _(english: str) -> str:
    """The sentence in the reader's language; English only so far."""
    return english
