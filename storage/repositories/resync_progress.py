"""Resync progress: the last block of each path for a vault, and the logs found on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from storage.repositories.chain_index import Staged, staged_row
from storage.sql import Sql, canonical, first, maybe_micros, maybe_moment


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


class ResyncRepository:
    """Two tables of what may be forgotten: without it a reading begins anew."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def of(self, public_id: str) -> ResyncProgress | None:
        """The block up to which a mandate's vault was read again."""
        row = first(self._sql, "SELECT * FROM vault_readings WHERE public_id = :id", id=public_id)
        if row is None:
            return None
        return ResyncProgress(
            path=row["path"],
            nodes=int(row["nodes"]),
            low=int(row["low"]),
            high=int(row["high"]),
            misses=int(row["misses"]),
            rests_until=maybe_moment(row["rests_until"] or None),
        )

    def keep(self, public_id: str, done: ResyncProgress) -> None:
        """Keep how far it came."""
        self._sql.run(
            "INSERT INTO vault_readings (public_id, path, nodes, low, high, misses, rests_until) "
            "VALUES (:id, :path, :nodes, :low, :high, :misses, :rests) "
            "ON CONFLICT (public_id) DO UPDATE SET path = excluded.path, nodes = excluded.nodes, "
            "low = excluded.low, high = excluded.high, misses = excluded.misses, "
            "rests_until = excluded.rests_until",
            id=public_id,
            path=done.path,
            nodes=done.nodes,
            low=done.low,
            high=done.high,
            misses=done.misses,
            rests=maybe_micros(done.rests_until) or 0,
        )

    def add_logs(self, public_id: str, logs: Iterable[Staged]) -> None:
        """Keep logs that were found on the path."""
        self._sql.run_all(
            "INSERT INTO vault_reading_logs (public_id, block_number, log_index, block_hash, "
            "tx_hash, address_lower, body) "
            "VALUES (:id, :number, :index, :hash, :tx, :address, :body) "
            "ON CONFLICT (public_id, block_number, log_index) DO UPDATE SET "
            "block_hash = excluded.block_hash, tx_hash = excluded.tx_hash, body = excluded.body",
            [
                {
                    "id": public_id,
                    "number": log.block_number,
                    "index": log.log_index,
                    "hash": log.block_hash,
                    "tx": log.tx_hash,
                    "address": log.address.lower(),
                    "body": canonical(dict(log.body)),
                }
                for log in logs
            ],
        )

    def logs(self, public_id: str) -> list[Staged]:
        """The logs that were found on the path so far, in chain order."""
        rows = self._sql.rows(
            "SELECT * FROM vault_reading_logs WHERE public_id = :id "
            "ORDER BY block_number, log_index",
            id=public_id,
        )
        return [staged_row(r) for r in rows]

    def drop_logs(self, public_id: str) -> None:
        """Another path finds its own."""
        self._sql.run("DELETE FROM vault_reading_logs WHERE public_id = :id", id=public_id)

    def forget(self, public_id: str) -> None:
        """The totals are those of the rows."""
        self.drop_logs(public_id)
        self._sql.run("DELETE FROM vault_readings WHERE public_id = :id", id=public_id)
