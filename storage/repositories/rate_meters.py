"""Rate meters: what several processes have counted of a key's calls, together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from storage.sql import Repository, first, micros, moment

# One time a key, as in the limiter: calls push it on from where it is, or from when they began.
_MOST_AHEAD: Final = timedelta(minutes=2)
_START: Final = "CASE WHEN rate_meters.due_at > :since THEN rate_meters.due_at ELSE :since END"
_ADD: Final = (
    "INSERT INTO rate_meters (meter_hash, due_at) VALUES (:meter, :due) "
    f"ON CONFLICT (meter_hash) DO UPDATE SET due_at = CASE WHEN {_START} + :cost > :most "
    f"THEN :most ELSE {_START} + :cost END RETURNING due_at"
)
_NOW: Final = {
    "sqlite": "SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS now_at",
    "postgresql": "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) "
    "AS now_at",
}


@dataclass(frozen=True, slots=True)
class Counted:
    """Calls that one process counted for a key, from `since` on: the time that they cost."""

    meter_hash: str
    since: datetime
    cost: timedelta


class RateMeterRepository(Repository):
    """A row for each key whose calls are not paid off; only processes that have peers write it."""

    def add(self, counted: Iterable[Counted], now: datetime) -> dict[str, datetime]:
        """Add what one process counted; when all calls of each key are paid off."""
        due: dict[str, datetime] = {}
        # In one order, so that two processes never wait for each other.
        for one in sorted(counted, key=lambda c: c.meter_hash):
            most = now + _MOST_AHEAD
            values = {
                "meter": one.meter_hash,
                "since": micros(one.since),
                "cost": one.cost // timedelta(microseconds=1),
                "due": micros(min(one.since + one.cost, most)),
                "most": micros(most),
            }
            row = first(self._sql, _ADD, **values)
            due[one.meter_hash] = moment(row["due_at"]) if row else most
        return due

    def now(self) -> datetime:
        """The database's clock, which every process has."""
        row = first(self._sql, _NOW[self._sql.dialect])
        assert row is not None  # noqa: S101 - it has one row
        return moment(row["now_at"])

    def sweep(self, before: datetime) -> None:
        """Forget keys whose calls were paid off before then."""
        self._sql.run("DELETE FROM rate_meters WHERE due_at < :before", before=micros(before))
