"""The chain reader's tables: resume point, remembered blocks, staged logs, known vaults. All of
them may change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from storage.sql import Row, Sql, canonical, first, maybe_moment, micros


@dataclass(frozen=True, slots=True)
class ChainCursor:
    """Resume point of a chain: `block` was read whole, and up to `deep` the ledger's rows are what
    the chain has; `head` was the newest block then.
    """

    block: int
    hash: str | None
    head: int | None
    deep: int
    read_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownVault:
    """A vault of the factory, lower case; `deep` once its creation is as deep as it must be."""

    address: str
    digest: str
    block: int
    deep: bool


@dataclass(frozen=True, slots=True)
class Staged:
    """A log that is not deep enough yet; `body` is its JSON."""

    block_number: int
    block_hash: str
    tx_hash: str
    log_index: int
    address: str
    body: Mapping[str, Any]


STAGED_SHOWN: Final = 50
STAGED: Final = (
    "SELECT * FROM chain_staging s WHERE (chain_id, address_lower) = "
    "(SELECT chain_id, vault_lower FROM mandates WHERE public_id = :mandate) AND 0 = "
    "(SELECT COUNT(*) FROM ledger_events e WHERE e.public_id = :mandate AND e.tx_hash = s.tx_hash "
    "AND e.log_index = s.log_index AND e.reported_by = 'chain') "
    f"ORDER BY block_number, log_index LIMIT {STAGED_SHOWN}"
)


class ChainIndexRepository:
    """State of one chain's reader between steps; changed in the transaction that adds its ledger
    rows.
    """

    def __init__(self, sql: Sql):
        self._sql = sql

    def cursor(self, chain_id: int, *, lock: bool = False) -> ChainCursor | None:
        """The resume point; `lock` keeps other readers off it until the end of the transaction."""
        locked = self._sql.locks if lock else ""
        row = first(
            self._sql,
            f"SELECT * FROM chain_cursors WHERE chain_id = :chain{locked}",
            chain=chain_id,
        )
        if row is None:
            return None
        return ChainCursor(
            int(row["block"]),
            row["hash"],
            row["head"],
            int(row["deep"]),
            maybe_moment(row["read_at"]),
        )

    def set_cursor(
        self,
        chain_id: int,
        block: int,
        block_hash: str | None,
        head: int | None,
        deep: int,
        now: datetime,
    ) -> None:
        """Move the resume point."""
        self._sql.run(
            "INSERT INTO chain_cursors (chain_id, block, hash, head, deep, read_at) "
            "VALUES (:chain, :block, :hash, :head, :deep, :at) ON CONFLICT (chain_id) DO UPDATE "
            "SET block = excluded.block, hash = excluded.hash, head = excluded.head, "
            "deep = excluded.deep, read_at = excluded.read_at",
            chain=chain_id,
            block=block,
            hash=block_hash,
            head=head,
            deep=deep,
            at=micros(now),
        )

    def remember_blocks(
        self, chain_id: int, blocks: Sequence[tuple[int, str]], keep_above: int
    ) -> None:
        """Keep hashes of read blocks, each named once; those at or below `keep_above` are
        forgotten.
        """
        self._sql.run_all(
            "INSERT INTO chain_blocks (chain_id, number, hash) VALUES (:chain_id, :number, :hash) "
            "ON CONFLICT (chain_id, number) DO UPDATE SET hash = excluded.hash",
            [
                {"chain_id": chain_id, "number": n, "hash": block_hash}
                for n, block_hash in blocks
                if n > keep_above
            ],
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

    def block_hash(self, chain_id: int, number: int) -> str | None:
        """The hash of a block as the reader read it; None where it does not remember it."""
        row = first(
            self._sql,
            "SELECT hash FROM chain_blocks WHERE chain_id = :chain AND number = :number",
            chain=chain_id,
            number=number,
        )
        return row["hash"] if row else None

    def forget_above(self, chain_id: int, block: int) -> None:
        """Drop what was read above a block: blocks, staged logs, and that vaults are deep."""
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
            "UPDATE chain_vaults SET deep = 0 WHERE chain_id = :chain AND block_number > :block",
            chain=chain_id,
            block=block,
        )

    def stage(self, chain_id: int, logs: Iterable[Staged]) -> None:
        """Keep logs until their blocks are deep enough."""
        self._sql.run_all(
            "INSERT INTO chain_staging (chain_id, block_number, block_hash, tx_hash, log_index, "
            "address_lower, body) "
            "VALUES (:chain_id, :block_number, :block_hash, :tx_hash, :log_index, :address_lower, "
            ":body) ON CONFLICT DO NOTHING",
            [
                {
                    "chain_id": chain_id,
                    "block_number": log.block_number,
                    "block_hash": log.block_hash,
                    "tx_hash": log.tx_hash,
                    "log_index": log.log_index,
                    "address_lower": log.address.lower(),
                    "body": canonical(dict(log.body)),
                }
                for log in logs
            ],
        )

    def take_staged(self, chain_id: int, up_to: int) -> list[Staged]:
        """Take the logs of blocks up to `up_to`, inclusive, in chain order."""
        rows = self._sql.rows(
            "DELETE FROM chain_staging WHERE chain_id = :chain AND block_number <= :high "
            "RETURNING *",
            chain=chain_id,
            high=up_to,
        )
        taken = [staged_row(r) for r in rows]
        return sorted(taken, key=lambda s: (s.block_number, s.log_index))

    def staged_up_to(self, chain_id: int, high: int, limit: int) -> int:
        """The last block, at most `high`, up to which no more than `most` logs are staged; a block
        is never divided.
        """
        rows = self._sql.rows(
            "SELECT block_number, count(*) AS logs FROM chain_staging WHERE chain_id = :chain "
            "AND block_number <= :high GROUP BY block_number ORDER BY block_number LIMIT :blocks",
            chain=chain_id,
            high=high,
            blocks=limit + 1,
        )
        logs = 0
        for row in rows:
            if logs and logs + int(row["logs"]) > limit:
                return int(row["block_number"]) - 1
            logs += int(row["logs"])
        return high

    def is_staged(self, chain_id: int, high: int) -> bool:
        """Whether logs of blocks up to one, inclusive, are staged."""
        row = first(
            self._sql,
            "SELECT 1 AS one FROM chain_staging WHERE chain_id = :chain AND block_number <= :high "
            "LIMIT 1",
            chain=chain_id,
            high=high,
        )
        return row is not None

    def staged_of(self, public_id: str) -> list[Staged]:
        """The logs of a mandate's vault that are not deep enough yet and not in its ledger by a
        receipt, oldest first; not very many.
        """
        return [staged_row(r) for r in self._sql.rows(STAGED, mandate=public_id)]

    def add_vault(self, chain_id: int, address: str, digest: str, block: int) -> None:
        """Note a vault that the factory made, and in which block; the newest word holds."""
        self._sql.run(
            "INSERT INTO chain_vaults (chain_id, address_lower, digest, block_number, deep) "
            "VALUES (:chain, :address, :digest, :block, 0) "
            "ON CONFLICT (chain_id, address_lower) DO UPDATE SET deep = CASE WHEN "
            "chain_vaults.block_number = excluded.block_number THEN chain_vaults.deep ELSE 0 END, "
            "block_number = excluded.block_number",
            chain=chain_id,
            address=address.lower(),
            digest=digest,
            block=block,
        )

    def vault_is_deep(self, chain_id: int, address: str) -> None:
        """Its creation is deep enough to stand."""
        self._sql.run(
            "UPDATE chain_vaults SET deep = 1 WHERE chain_id = :chain AND address_lower = :address",
            chain=chain_id,
            address=address.lower(),
        )

    def vault(self, chain_id: int, address: str) -> KnownVault | None:
        """Return the reader's record of a vault; None where it has none."""
        row = first(
            self._sql,
            "SELECT * FROM chain_vaults WHERE chain_id = :chain AND address_lower = :address",
            chain=chain_id,
            address=address.lower(),
        )
        return None if row is None else _vault_of(row)

    def vaults_in(self, chain_id: int, low: int, high: int) -> list[KnownVault]:
        """The vaults that were made in some blocks, both inclusive."""
        rows = self._sql.rows(
            "SELECT * FROM chain_vaults WHERE chain_id = :chain AND block_number >= :low "
            "AND block_number <= :high ORDER BY block_number, address_lower",
            chain=chain_id,
            low=low,
            high=high,
        )
        return [_vault_of(r) for r in rows]

    def move_vault(self, chain_id: int, address: str, block: int) -> None:
        """The vault stands, and its creation is looked for from this block on."""
        self._sql.run(
            "UPDATE chain_vaults SET block_number = :block, deep = 0 "
            "WHERE chain_id = :chain AND address_lower = :address",
            chain=chain_id,
            address=address.lower(),
            block=block,
        )

    def forget_vault(self, chain_id: int, address: str) -> None:
        """The chain has no such vault."""
        self._sql.run(
            "DELETE FROM chain_vaults WHERE chain_id = :chain AND address_lower = :address",
            chain=chain_id,
            address=address.lower(),
        )

    def read_again(self, chain_id: int, address: str, block: int | None) -> None:
        """Ask for a vault's logs from a block on to be read once more; None: they were."""
        self._sql.run(
            "UPDATE chain_vaults SET replay_from = :block "
            "WHERE chain_id = :chain AND address_lower = :address",
            chain=chain_id,
            address=address.lower(),
            block=block,
        )

    def to_read_again(self, chain_id: int) -> list[tuple[str, int]]:
        """(address, first block) of vaults whose logs are to be read once more."""
        rows = self._sql.rows(
            "SELECT address_lower, replay_from FROM chain_vaults WHERE chain_id = :chain "
            "AND replay_from IS NOT NULL ORDER BY replay_from, address_lower LIMIT 50",
            chain=chain_id,
        )
        return [(r["address_lower"], int(r["replay_from"])) for r in rows]

    def unseen(self, chain_id: int, kind: str, limit: int, now: datetime) -> list[str]:
        """Public ids of signed mandates whose vault's creation was not read yet, oldest first,
        without those that `kind` of work holds back.
        """
        rows = self._sql.rows(
            "SELECT public_id FROM mandates WHERE chain_id = :chain AND status = 'signed' "
            "AND vault_lower IS NULL "
            "AND NOT EXISTS (SELECT 1 FROM work_claims w WHERE w.kind = :kind "
            "AND w.key = mandates.public_id AND w.until_at > :now) "
            "ORDER BY created_at, public_id LIMIT :most",
            chain=chain_id,
            kind=kind,
            now=micros(now),
            most=limit,
        )
        return [r["public_id"] for r in rows]

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


def _vault_of(row: Row) -> KnownVault:
    return KnownVault(
        row["address_lower"], row["digest"], int(row["block_number"]), bool(row["deep"])
    )


def staged_row(row: Row) -> Staged:
    """A log as it was kept."""
    return Staged(
        int(row["block_number"]),
        row["block_hash"],
        row["tx_hash"],
        int(row["log_index"]),
        row["address_lower"],
        json.loads(row["body"]),
    )
