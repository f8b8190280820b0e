"""Weight budget: the venue's request weight for the processes of one outgoing address."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from storage.sql import Sql, first

T = TypeVar("T")


class VenueWeightRepository:
    """The request budget that the processes of one outgoing address share."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key; others who change it wait."""
        self._sql.run(
            "INSERT INTO venue_weights (key, body) VALUES (:key, '') ON CONFLICT (key) DO NOTHING",
            key=key,
        )
        tail = self._sql.locks
        row = first(self._sql, "SELECT body FROM venue_weights WHERE key = :key" + tail, key=key)
        body, statement = work(row["body"] or None if row else None)
        self._sql.run("UPDATE venue_weights SET body = :body WHERE key = :key", body=body, key=key)
        return statement
