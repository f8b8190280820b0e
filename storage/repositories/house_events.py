"""House events: the chain's and the keeper's rows, read for a reorganisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from domain.ledger.events.event import Event
from storage.repositories.event_row import event_of
from storage.sql import Repository

PAGE: Final = 2_000
_HOUSE: Final = (
    "SELECT * FROM ledger_events WHERE public_id = :public_id AND seq > :after AND seq < :seq "
    f"AND reported_by IN ('chain', 'keeper') AND occurred_at < :before ORDER BY seq LIMIT {PAGE}"
)
_IN_BLOCKS: Final = (
    "SELECT * FROM ledger_events WHERE chain_id = :chain_id AND block_number >= :low "
    "AND block_number <= :high AND reported_by = 'chain' AND tx_hash {} ORDER BY public_id, seq"
)
_LOGS, _MARKS = _IN_BLOCKS.format("IS NOT NULL"), _IN_BLOCKS.format("IS NULL")


class HouseEventRepository(Repository):
    """The chain's and the keeper's rows, read."""

    def house_rows(self, public_id: str, seq: int, before: int = 2**62) -> Iterator[Event]:
        """Rows of the house below a seq that happened before a time in micros, oldest first."""
        last = 0
        while True:
            values = {"public_id": public_id, "after": last, "seq": seq, "before": before}
            rows = self._sql.rows(_HOUSE, **values)
            yield from map(event_of, rows)
            if len(rows) < PAGE:
                return
            last = int(rows[-1]["seq"])

    def chain_rows_in(self, chain_id: int, low: int, high: int) -> list[tuple[str, Event]]:
        """Rows of the chain's logs from some blocks, both inclusive: what a reorganisation may have
        taken away.
        """
        return self._in_blocks(_LOGS, chain_id, low, high)

    def marks_in(self, chain_id: int, low: int, high: int) -> list[tuple[str, Event]]:
        """Rows by the chain that were read at some blocks, both inclusive, and are no logs."""
        return self._in_blocks(_MARKS, chain_id, low, high)

    def _in_blocks(self, text: str, chain_id: int, low: int, high: int) -> list[tuple[str, Event]]:
        rows = self._sql.rows(text, chain_id=chain_id, low=low, high=high)
        return [(r["public_id"], event_of(r)) for r in rows]

    def chain_transactions(self, public_id: str) -> list[str]:
        """Transactions of the rows that have a block."""
        text = (
            "SELECT DISTINCT tx_hash FROM ledger_events WHERE public_id = :public_id "
            "AND reported_by = 'chain' AND block_number IS NOT NULL ORDER BY tx_hash"
        )
        return [r["tx_hash"] for r in self._sql.rows(text, public_id=public_id) if r["tx_hash"]]
