"""Lines of a CSV file (RFC 4180), of which a spreadsheet takes none for a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from app.words.untrusted_text import plain

# Without it spreadsheets read UTF-8 as the code page of their machine
# (docs/decisions/0048-what-an-export-is.md).
BOM: Final = "\ufeff"
_FIGURE: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# What makes a cell a formula, its full-width forms among them, which some programs fold.
_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")


def cell(value: object) -> str:
    """A cell: a figure as it is, a text quoted, and with an apostrophe before what would begin a
    formula; "" for None.
    """
    text = "" if value is None else str(value)
    if _FIGURE.fullmatch(text):
        return text
    shown = plain(text)
    if shown.lstrip(" \u00a0").startswith(_STARTS):
        shown = f"'{shown}"
    return '"' + shown.replace('"', '""') + '"'


def line(values: Iterable[object]) -> str:
    """One line with its end."""
    return ",".join(map(cell, values)) + "\r\n"
