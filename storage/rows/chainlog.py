"""The chain reader's tables: resume point, remembered blocks, staged logs, known vaults. All of
them may change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.sql import Sql, canonical, first, maybe_moment, micros


@dataclass(frozen=True, slots=True)
class Cursor:
    """Resume point of a chain; below or at `recheck_to` ledger rows must be compared after a deep
    reorganisation.
    """

    block: int
    hash: str | None
    head: int | None
    recheck_to: int | None
    read_at: datetime | None


@dataclass(frozen=True, slots=True)
class Staged:
    """A log that is not deep enough yet; `body` is its JSON."""

    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int
    address: str
    body: Mapping[str, Any]


class ChainLog:
    """What the reader of one chain keeps between steps; changed in the transaction that adds its
    ledger rows.
    """

    def __init__(self, sql: Sql):
        self._sql = sql

    def cursor(self, chain_id: int) -> Cursor | None:
        """The resume point."""
        row = first(
            self._sql, "SELECT * FROM chain_cursors WHERE chain_id = :chain", chain=chain_id
        )
        if row is None:
            return None
        return Cursor(
            int(row["block"]),
            row["hash"],
            row["head"],
            row["recheck_to"],
            maybe_moment(row["read_at"]),
        )

    def set_cursor(
        self,
        chain_id: int,
        block: int,
        block_hash: str | None,
        head: int,
        recheck_to: int | None,
        now: datetime,
    ) -> None:
        """Move the resume point."""
        self._sql.run(
            "INSERT INTO chain_cursors (chain_id, block, hash, head, recheck_to, read_at) "
            "VALUES (:chain, :block, :hash, :head, :recheck, :at) ON CONFLICT (chain_id) DO UPDATE "
            "SET "
            "block = excluded.block, hash = excluded.hash, head = excluded.head, recheck_to = "
            "excluded.recheck_to, "
            "read_at = excluded.read_at",
            chain=chain_id,
            block=block,
            hash=block_hash,
            head=head,
            recheck=recheck_to,
            at=micros(now),
        )

    def remember_blocks(
        self, chain_id: int, blocks: Sequence[tuple[int, str]], keep_above: int
    ) -> None:
        """Keep hashes of read blocks; those at or below `keep_above` are forgotten."""
        for number, block_hash in blocks:
            self._sql.run(
                "INSERT INTO chain_blocks (chain_id, number, hash) VALUES (:chain, :number, :hash) "
                "ON CONFLICT (chain_id, number) DO UPDATE SET hash = excluded.hash",
                chain=chain_id,
                number=number,
                hash=block_hash,
            )
        self._sql.run(
            "DELETE FROM chain_blocks WHERE chain_id = :chain AND number <= :low",
            chain=chain_id,
            low=keep_above,
        )

    def blocks(self, chain_id: int) -> list[tuple[int, str]]:
        """Remembered (number, hash), newest first."""
        rows = self._sql.rows(
            "SELECT number, hash FROM chain_blocks WHERE chain_id = :chain ORDER BY number DESC",
            chain=chain_id,
        )
        return [(int(r["number"]), r["hash"]) for r in rows]

    def forget_above(self, chain_id: int, block: int) -> None:
        """Drop what was read above a block: blocks, staged logs, vaults."""
        self._sql.run(
            "DELETE FROM chain_blocks WHERE chain_id = :chain AND number > :block",
            chain=chain_id,
            block=block,
        )
        self._sql.run(
            "DELETE FROM chain_staging WHERE chain_id = :chain AND block_number > :block",
            chain=chain_id,
            block=block,
        )
        self._sql.run(
            "DELETE FROM chain_vaults WHERE chain_id = :chain AND block_number > :block",
            chain=chain_id,
            block=block,
        )

    def stage(self, chain_id: int, log: Staged) -> None:
        """Keep a log until its block is deep enough."""
        self._sql.run(
            "INSERT INTO chain_staging (chain_id, block_number, block_hash, tx_hash, log_index, "
            "address_lower, body) "
            "VALUES (:chain, :number, :hash, :tx, :index, :address, :body) ON CONFLICT DO NOTHING",
            chain=chain_id,
            number=log.block_number,
            hash=log.block_hash,
            tx=log.tx_hash,
            index=log.log_index,
            address=log.address.lower(),
            body=canonical(dict(log.body)),
        )

    def take_staged(self, chain_id: int, up_to: int) -> list[Staged]:
        """Take the logs of blocks up to `up_to`, inclusive, in chain order."""
        rows = self._sql.rows(
            "SELECT * FROM chain_staging WHERE chain_id = :chain AND block_number <= :high "
            "ORDER BY block_number, log_index",
            chain=chain_id,
            high=up_to,
        )
        self._sql.run(
            "DELETE FROM chain_staging WHERE chain_id = :chain AND block_number <= :high",
            chain=chain_id,
            high=up_to,
        )
        return [_staged(r) for r in rows]

    def staged_of(
        self, chain_id: int, address: str, public_id: str, limit: int = 50
    ) -> list[Staged]:
        """A vault's logs that are not deep enough yet and not in its mandate's ledger by a
        receipt, oldest first.
        """
        rows = self._sql.rows(
            "SELECT * FROM chain_staging s WHERE chain_id = :chain AND address_lower = :address "
            "AND NOT EXISTS "
            "(SELECT 1 FROM ledger_events e WHERE e.public_id = :mandate AND e.tx_hash = s.tx_hash "
            "AND e.log_index = s.log_index AND e.reported_by = 'chain') "
            "ORDER BY block_number, log_index LIMIT :most",
            chain=chain_id,
            address=address.lower(),
            mandate=public_id,
            most=limit,
        )
        return [_staged(r) for r in rows]

    def add_vault(self, chain_id: int, address: str, digest: str, block: int) -> None:
        """Note a vault that the factory made."""
        self._sql.run(
            "INSERT INTO chain_vaults (chain_id, address_lower, digest, block_number) "
            "VALUES (:chain, :address, :digest, :block) "
            "ON CONFLICT (chain_id, address_lower) DO NOTHING",
            chain=chain_id,
            address=address.lower(),
            digest=digest,
            block=block,
        )

    def inbound_read(self, chain_id: int) -> int | None:
        """The last block whose transfers into deposit addresses were read."""
        row = first(
            self._sql, "SELECT block FROM chain_inbound WHERE chain_id = :chain", chain=chain_id
        )
        return int(row["block"]) if row else None

    def set_inbound_read(self, chain_id: int, block: int) -> None:
        """Move that block; never back."""
        self._sql.run(
            "INSERT INTO chain_inbound (chain_id, block) VALUES (:chain, :block) "
            "ON CONFLICT (chain_id) "
            "DO UPDATE SET block = excluded.block WHERE chain_inbound.block < excluded.block",
            chain=chain_id,
            block=block,
        )

    def vaults(self, chain_id: int) -> list[str]:
        """Every vault of the chain's factory, lower case."""
        return [
            r["address_lower"]
            for r in self._sql.rows(
                "SELECT address_lower FROM chain_vaults WHERE chain_id = :c", c=chain_id
            )
        ]


def _staged(row: Mapping[str, Any]) -> Staged:
    return Staged(
        int(row["block_number"]),
        row["block_hash"],
        row["tx_hash"],
        int(row["log_index"]),
        row["address_lower"],
        json.loads(row["body"]),
    )
