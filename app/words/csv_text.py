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
_SIGNS: Final = "=+\\-@＝＋－＠"
# A program of another country parts at semicolons, tabs or bars, and quotes inside of what is a
# cell for it are letters: so that a text's own separators, quotes and lines begin cells too.
_BEGINS: Final = re.compile(
    rf"(\A[ \u00a0]*)(?=[{_SIGNS}'\t\r\n])|([;,|\"\t\r\n][ \u00a0]*)(?=[{_SIGNS}])"
)


def cell(value: object) -> str:
    """A cell: a figure as it is, a text quoted, and with an apostrophe wherever a formula could
    begin; "" for None.
    """
    text = "" if value is None else str(value)
    if _FIGURE.fullmatch(text):
        return text
    shown = _BEGINS.sub(lambda m: f"{m[0]}'", plain(text))
    return '"' + shown.replace('"', '""') + '"'


def line(values: Iterable[object]) -> str:
    """One line with its end."""
    return ",".join(map(cell, values)) + "\r\n"
