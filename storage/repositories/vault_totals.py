"""Vault totals: the last block at which they matched the rows, and the time of a difference."""

from __future__ import annotations

from datetime import datetime

from storage.sql import Repository, first, micros


class VaultTotalsRepository(Repository):
    """Two columns of the mandates table that no version guards: only the comparison of totals
    writes them.
    """

    def block(self, public_id: str) -> int | None:
        """The newest block at which the totals were those of the rows."""
        text = "SELECT sums_block FROM mandates WHERE public_id = :id"
        row = first(self._sql, text, id=public_id)
        return None if row is None else row["sums_block"]

    def agree(self, public_id: str, block: int) -> None:
        """Note that they are, at a block."""
        text = "UPDATE mandates SET differs_at = NULL, sums_block = :block WHERE public_id = :id"
        self._sql.run(text, block=block, id=public_id)

    def differ(self, public_id: str, at: datetime) -> None:
        """Note that they are not; the first time stays."""
        text = "UPDATE mandates SET differs_at = COALESCE(differs_at, :at) WHERE public_id = :id"
        self._sql.run(text, at=micros(at), id=public_id)
