"""Stored switches, as set by an operator."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from storage.sql import Repository, micros

SWITCHES: Final = "SELECT name, value FROM switches"
_SET: Final = (
    "INSERT INTO switches (name, value, changed_at, changed_by) VALUES (:name, :value, :at, :by) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at, "
    "changed_by = excluded.changed_by"
)


class SwitchRepository(Repository):
    """Switches that an operator set; the rest have their default from the settings."""

    def all(self) -> dict[str, str]:
        """Name to value."""
        return {r["name"]: r["value"] for r in self._sql.rows(SWITCHES)}

    def set(self, name: str, value: str, now: datetime, by: str) -> None:
        """Set a switch; acts on the next request of every process."""
        self._sql.run(_SET, name=name, value=value, at=micros(now), by=by)
