"""Statement spans: each SQL statement of a traced call is a span of its trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from domain.spans import Attributes, Span, part_of_each
from storage.sql import Row, Sql

# What is shown of a statement's text. Its values are no part of it, they travel as parameters.
TEXT_MAX: Final = 2_000
_TABLE: Final = re.compile(r"\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:ONLY\s+)?([a-z_]\w*)", re.IGNORECASE)


class TracedSql:
    """A connection whose statements are spans below the one of the call that runs them."""

    def __init__(self, sql: Sql, spans: Sequence[Span]):
        self._sql, self._spans = sql, spans
        self.dialect, self.locks = sql.dialect, sql.locks

    def rows(self, text: str, /, **values: object) -> Sequence[Row]:
        """Run a query."""
        with statement(text, self.dialect, self._spans):
            return self._sql.rows(text, **values)

    def run(self, text: str, /, **values: object) -> int:
        """Run a statement."""
        with statement(text, self.dialect, self._spans):
            return self._sql.run(text, **values)

    def run_all(self, text: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each of some rows."""
        with statement(text, self.dialect, self._spans):
            self._sql.run_all(text, rows)


def traced(sql: Sql, span: Span | None) -> Sql:
    """The connection for a call, traced where the call is."""
    return sql if span is None else TracedSql(sql, (span,))


def statement(text: str, dialect: str, spans: Sequence[Span]) -> part_of_each:
    """The span of one statement, in each of the traces that it runs for; with none it costs next to
    nothing.
    """
    if not spans:
        return _UNTRACED
    name, attributes = _described(text, dialect)
    if len(spans) > 1:
        attributes = {**attributes, "wallet.calls": len(spans)}
    return part_of_each(spans, name, "client", attributes)


_UNTRACED: Final = part_of_each((), "", "client", {})


@lru_cache(maxsize=1_000)
def _described(text: str, dialect: str) -> tuple[str, Attributes]:
    """Name and attributes of a statement, as the conventions for database spans have them."""
    text = text.strip()
    verb = text.partition(" ")[0].upper()
    tables = list(dict.fromkeys(table.lower() for table in _TABLE.findall(text)))
    name = f"{verb} {tables[0]}" if len(tables) == 1 else verb
    attributes: dict[str, str | int] = {
        "db.system.name": dialect,
        "db.operation.name": verb,
        "db.query.summary": name,
        "db.query.text": text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…",
    }
    if len(tables) == 1:
        attributes["db.collection.name"] = tables[0]
    return name, attributes
