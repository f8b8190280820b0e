"""Resync progress: the last block of each path for a vault, and the logs found on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from storage.codec import Table
from storage.repositories.chain_index import Staged
from storage.sql import Repository, first, maybe_micros, maybe_moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ResyncProgress:
    """Along `path` the blocks from `low` to `high` were read, both inclusive; `high` is one less
    than `low` where none was.

    Shapes: `path` is empty between two walks of all paths, of which none explained the vault;
    `nodes` is how many the paths were made of; `misses` counts refusals in a row.
    """

    path: str
    nodes: int
    low: int
    high: int
    misses: int = 0
    rests_until: datetime | None = None


_PROGRESS: Final = Table(
    "vault_readings", ResyncProgress, key="public_id",
    names={"rests_until": None}, more=("public_id", "rests_until"),
)  # fmt: skip
_LOGS: Final = Table(
    "vault_reading_logs", Staged, key="public_id, block_number, log_index",
    names={"address": "address_lower"}, more=("public_id",), fixed=("address_lower",),
)  # fmt: skip


class ResyncRepository(Repository):
    """Two tables of what may be forgotten: without it a reading begins anew."""

    def of(self, public_id: str) -> ResyncProgress | None:
        """The block up to which a mandate's vault was read again."""
        row = first(self._sql, "SELECT * FROM vault_readings WHERE public_id = :id", id=public_id)
        if row is None:
            return None
        return _PROGRESS.record(row, rests_until=maybe_moment(row["rests_until"] or None))

    def keep(self, public_id: str, done: ResyncProgress) -> None:
        """Keep how far it came."""
        rests_until = maybe_micros(done.rests_until) or 0
        row = _PROGRESS.row(done, public_id=public_id, rests_until=rests_until)
        self._sql.run(_PROGRESS.upsert, **row)

    def add_logs(self, public_id: str, logs: Iterable[Staged]) -> None:
        """Keep logs that were found on the path; the last word of a place holds."""
        # PostgreSQL inserts them all by one statement, which takes each place once.
        by_place = {(log.block_number, log.log_index): log for log in logs}
        rows = [
            _LOGS.row(log, public_id=public_id, address_lower=log.address.lower())
            for log in by_place.values()
        ]
        self._sql.run_all(_LOGS.upsert, rows)

    def logs(self, public_id: str) -> list[Staged]:
        """The logs that were found on the path so far, in chain order."""
        order = "public_id = :id ORDER BY block_number, log_index"
        return _LOGS.all(self._sql, order, id=public_id)

    def drop_logs(self, public_id: str) -> None:
        """Another path finds its own."""
        self._sql.run("DELETE FROM vault_reading_logs WHERE public_id = :id", id=public_id)

    def forget(self, public_id: str) -> None:
        """The totals are those of the rows."""
        self.drop_logs(public_id)
        self._sql.run("DELETE FROM vault_readings WHERE public_id = :id", id=public_id)
