"""Stored bytes: how much each owner stored today."""

from __future__ import annotations

from storage.repositories.people import FUNDED
from storage.sql import Repository, first, number


class StoredBytesRepository(Repository):
    """One row an owner, of the last day on which it had something stored."""

    def of(self, owner_id: str, day: str) -> int:
        """The bytes that an owner stored on a day."""
        text = "SELECT bytes AS n FROM stored_days WHERE owner_id = :owner AND day = :day"
        return number(self._sql, text, owner=owner_id, day=day)

    def add(self, owner_id: str, day: str, count: int) -> int:
        """Add some bytes to a day, and forget the days before; how many it is now."""
        before = "DELETE FROM stored_days WHERE owner_id = :owner AND day < :day"
        self._sql.run(before, owner=owner_id, day=day)
        text = (
            "INSERT INTO stored_days (owner_id, day, bytes) VALUES (:owner, :day, :count) "
            "ON CONFLICT (owner_id, day) DO UPDATE SET bytes = stored_days.bytes + excluded.bytes"
        )
        self._sql.run(text, owner=owner_id, day=day, count=count)
        return self.of(owner_id, day)

    def funded(self, owner_id: str) -> bool:
        """True where a vault of the owner's was ever funded."""
        return first(self._sql, FUNDED.format(":owner") + " LIMIT 1", owner=owner_id) is not None
