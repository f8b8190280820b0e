"""House events: the chain's and the keeper's rows, read for a reorganisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from domain.ledger.events.event import Event
from storage.repositories.event_row import event_of
from storage.sql import Sql

PAGE: Final = 2_000


class HouseEventRepository:
    """The chain's and the keeper's rows, read."""

    def __init__(self, sql: Sql):
        self._sql = sql

    def house_rows(self, public_id: str, seq: int, before: int = 2**62) -> Iterator[Event]:
        """Rows of the house below a seq that happened before a time in micros, oldest first."""
        last = 0
        while True:
            rows = self._sql.rows(
                "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq > :after "
                "AND seq < :seq AND reported_by IN ('chain', 'keeper') "
                f"AND occurred_at < :before ORDER BY seq LIMIT {PAGE}",
                public_id=public_id,
                after=last,
                seq=seq,
                before=before,
            )
            yield from map(event_of, rows)
            if len(rows) < PAGE:
                return
            last = int(rows[-1]["seq"])

    def chain_rows_in(self, chain_id: int, low: int, high: int) -> list[tuple[str, Event]]:
        """Rows of the chain's logs from some blocks, both inclusive: what a reorganisation may have
        taken away.
        """
        rows = self._sql.rows(
            "SELECT * FROM ledger_events WHERE chain_id = :chain_id AND block_number >= :low "
            "AND block_number <= :high AND reported_by = 'chain' AND tx_hash IS NOT NULL "
            "ORDER BY public_id, seq",
            chain_id=chain_id,
            low=low,
            high=high,
        )
        return [(r["public_id"], event_of(r)) for r in rows]

    def marks_in(self, chain_id: int, low: int, high: int) -> list[tuple[str, Event]]:
        """Rows by the chain that were read at some blocks, both inclusive, and are no logs."""
        rows = self._sql.rows(
            "SELECT * FROM ledger_events WHERE chain_id = :chain_id AND block_number >= :low "
            "AND block_number <= :high AND reported_by = 'chain' AND tx_hash IS NULL "
            "ORDER BY public_id, seq",
            chain_id=chain_id,
            low=low,
            high=high,
        )
        return [(r["public_id"], event_of(r)) for r in rows]

    def chain_transactions(self, public_id: str) -> list[str]:
        """Transactions of the rows that have a block."""
        rows = self._sql.rows(
            "SELECT DISTINCT tx_hash FROM ledger_events WHERE public_id = :public_id "
            "AND reported_by = 'chain' AND block_number IS NOT NULL ORDER BY tx_hash",
            public_id=public_id,
        )
        return [r["tx_hash"] for r in rows if r["tx_hash"]]
