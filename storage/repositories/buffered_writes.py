"""Buffered writes: the rows of many appends, written together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from storage.repositories.ledger_queries import CHECK, INSERT, MOVE_HEAD
from storage.sql import Row, Sql

# What an append adds, in the order in which it is written. A head that moves on and on is written
# where it comes to stand.
_WAITS: Final[Mapping[str, str | None]] = {INSERT: None, MOVE_HEAD: "public_id", CHECK: None}


# What names none of a ledger's tables does not find what waits for them, and may come before it.
_LEDGERS: Final = "ledger_"


class BufferedWrites:
    """A connection on which what a ledger's appends add waits until `flush`; whatever else is
    asked or done about ledgers comes after it, and finds it there.
    """

    def __init__(self, sql: Sql):
        self._sql, self.dialect, self.locks = sql, sql.dialect, sql.locks
        self._waiting: dict[str, dict[object, Row]] = {}

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query."""
        if _LEDGERS in text:
            self.flush()
        return self._sql.rows(text, **values)

    def run(self, text: str, /, **values: object) -> int:
        """Run a statement, or let it wait."""
        if text not in _WAITS:
            if _LEDGERS in text:
                self.flush()
            return self._sql.run(text, **values)
        rows, one = self._waiting.setdefault(text, {}), _WAITS[text]
        rows[len(rows) if one is None else values[one]] = values
        return 1

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each of some rows."""
        if _LEDGERS in text:
            self.flush()
        self._sql.run_all(text, rows)

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, {}
        for text in _WAITS:
            if text in waiting:
                self._sql.run_all(text, [*waiting[text].values()])
