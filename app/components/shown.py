"""Marks of what a form showed: a save changes what was changed in the form, and nothing else.

An older page takes back nothing that was saved on a newer one. The field of the marks is hidden
text: what a page puts into a form again after an ended session takes its marks along. A browser
leaves them behind where it goes back, so that it is asked to fill in nothing (autocomplete).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping


def marks(values: Mapping[str, str]) -> str:
    """Short marks of the values that a form shows, by their names; no name holds a space or `=`."""
    return " ".join(f"{name}={_mark(text)}" for name, text in values.items())


def untouched(values: Mapping[str, str], shown: str) -> frozenset[str]:
    """The names whose values came back as they were shown."""
    known = dict(mark.partition("=")[::2] for mark in shown.split())
    return frozenset(name for name, text in values.items() if known.get(name) == _mark(text))


def _mark(text: str) -> str:
    return hashlib.blake2b(text.strip().encode(), digest_size=8).hexdigest()
