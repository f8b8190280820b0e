"""Write counter: the bytes that a handler stores, charged to its owner's daily allowance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from storage.sql import Row, Sql

# What a row costs beside its text: its other columns and its places in indices, roughly.
A_ROW: Final = 100


class WriteCounter:
    """A connection that counts what its statements add: rows, and the bytes of their text."""

    def __init__(self, sql: Sql):
        self._sql, self.bytes = sql, 0
        self.dialect, self.locks = sql.dialect, sql.locks

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query."""
        return self._sql.rows(text, **values)

    def run(self, text: str, /, **values: object) -> int:
        """Run a statement."""
        touched = self._sql.run(text, **values)
        if touched:
            self._count(text, (values,))
        return touched

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each of some rows."""
        self._sql.run_all(text, rows)
        self._count(text, rows)

    def _count(self, text: str, rows: Iterable[Row]) -> None:
        # What an UPDATE writes takes the place of something; long text in it counts all the same,
        # since a row's old form stays in the log and the pages for a while.
        a_row = A_ROW if text.startswith("INSERT") else 0
        for row in rows:
            self.bytes += a_row + sum(len(v) for v in row.values() if isinstance(v, str))
