"""The chain reader's tables: resume point, remembered blocks, staged logs, known vaults. All of
them may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.chain_facts import PurseFacts
from domain.wire_fields import JsonObject
from storage.codec import Table
from storage.repositories.leases import UNPAID_FEE
from storage.sql import Repository, exists, first, micros, placeholders


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
    body: JsonObject


STAGED_SHOWN: Final = 50
PURSES_AT_ONCE: Final = 200
STAGED: Final = (
    "SELECT * FROM chain_staging s WHERE (chain_id, address_lower) IN "
    "(SELECT chain_id, vault_lower FROM mandates WHERE public_id = :mandate "
    "UNION ALL SELECT chain_id, address_lower FROM chain_purses WHERE public_id = :mandate) "
    "AND 0 = (SELECT COUNT(*) FROM ledger_events e WHERE e.public_id = :mandate "
    "AND e.tx_hash = s.tx_hash AND e.log_index = s.log_index AND e.reported_by = 'chain') "
    f"ORDER BY block_number, log_index LIMIT {STAGED_SHOWN}"
)


_CURSORS: Final = Table("chain_cursors", ChainCursor, key="chain_id", more=("chain_id",))
_VAULTS: Final = Table(
    "chain_vaults",
    KnownVault,
    names={"address": "address_lower", "block": "block_number"},
    more=("chain_id",),
)
STAGED_LOGS: Final = Table(
    "chain_staging", Staged, names={"address": "address_lower"}, more=("chain_id",)
)
_PURSES: Final = Table(
    "chain_purses",
    PurseFacts,
    names={"address": "address_lower", "hub": "hub_lower", "vault": "vault_lower"},
    more=("chain_id", "public_id"),
)
# Settled, empty, audited: what `owe_fee` noted is released.
_DONE_WITH: Final = (
    "EXISTS (SELECT 1 FROM mandates m WHERE m.public_id = chain_purses.public_id "
    "AND m.status = 'settled') AND NOT EXISTS (SELECT 1 FROM work_claims w "
    "WHERE w.kind = :unpaid AND w.key = chain_purses.public_id)"
)
_ADD_PURSE: Final = f"{_PURSES.insert} ON CONFLICT DO NOTHING"
_STAGE: Final = f"{STAGED_LOGS.insert} ON CONFLICT DO NOTHING"
_REMEMBER: Final = (
    "INSERT INTO chain_blocks (chain_id, number, hash) VALUES (:chain_id, :number, :hash) "
    "ON CONFLICT (chain_id, number) DO UPDATE SET hash = excluded.hash"
)
_FORGET_ABOVE: Final = (
    "DELETE FROM chain_blocks WHERE chain_id = :chain AND number > :block",
    "DELETE FROM chain_staging WHERE chain_id = :chain AND block_number > :block",
    "UPDATE chain_vaults SET deep = 0 WHERE chain_id = :chain AND block_number > :block",
)
_LOGS_A_BLOCK: Final = (
    "SELECT block_number, count(*) AS logs FROM chain_staging WHERE chain_id = :chain "
    "AND block_number <= :high GROUP BY block_number ORDER BY block_number LIMIT :blocks"
)
_ADD_VAULT: Final = (
    f"{_VAULTS.insert} ON CONFLICT (chain_id, address_lower) DO UPDATE SET deep = CASE WHEN "
    "chain_vaults.block_number = excluded.block_number THEN chain_vaults.deep ELSE 0 END, "
    "block_number = excluded.block_number"
)
_TO_READ_AGAIN: Final = (
    "SELECT address_lower, replay_from FROM chain_vaults WHERE chain_id = :chain "
    "AND replay_from IS NOT NULL ORDER BY replay_from, address_lower LIMIT 50"
)
_UNSEEN: Final = (
    "SELECT public_id FROM mandates WHERE chain_id = :chain AND status = 'signed' "
    "AND vault_lower IS NULL AND NOT EXISTS (SELECT 1 FROM work_claims w WHERE w.kind = :kind "
    "AND w.key = mandates.public_id AND w.until_at > :now) "
    "ORDER BY created_at, public_id LIMIT :most"
)
_INBOUND_READ: Final = (
    "INSERT INTO chain_inbound (chain_id, block) VALUES (:chain, :block) ON CONFLICT (chain_id) "
    "DO UPDATE SET block = excluded.block WHERE chain_inbound.block < excluded.block"
)


class ChainIndexRepository(Repository):
    """State of one chain's reader between steps; changed in the transaction that adds its ledger
    rows.
    """

    def cursor(self, chain_id: int, *, lock: bool = False) -> ChainCursor | None:
        """The resume point; `lock` keeps other readers off it until the end of the transaction."""
        locked = self._sql.locks if lock else ""
        return _CURSORS.first(self._sql, f"chain_id = :chain{locked}", chain=chain_id)

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
        row = _CURSORS.row(ChainCursor(block, block_hash, head, deep, now), chain_id=chain_id)
        self._sql.run(_CURSORS.upsert, **row)

    def remember_blocks(
        self, chain_id: int, blocks: Sequence[tuple[int, str]], keep_above: int
    ) -> None:
        """Keep hashes of read blocks, each named once; those at or below `keep_above` are
        forgotten.
        """
        above = [(n, block_hash) for n, block_hash in blocks if n > keep_above]
        rows = [{"chain_id": chain_id, "number": n, "hash": block_hash} for n, block_hash in above]
        self._sql.run_all(_REMEMBER, rows)
        text = "DELETE FROM chain_blocks WHERE chain_id = :chain AND number <= :low"
        self._sql.run(text, chain=chain_id, low=keep_above)

    def blocks(self, chain_id: int) -> list[tuple[int, str]]:
        """Remembered (number, hash), newest first."""
        text = "SELECT number, hash FROM chain_blocks WHERE chain_id = :chain ORDER BY number DESC"
        rows = self._sql.rows(text, chain=chain_id)
        return [(int(r["number"]), r["hash"]) for r in rows]

    def block_hash(self, chain_id: int, number: int) -> str | None:
        """The hash of a block as the reader read it; None where it does not remember it."""
        text = "SELECT hash FROM chain_blocks WHERE chain_id = :chain AND number = :number"
        row = first(self._sql, text, chain=chain_id, number=number)
        return row["hash"] if row else None

    def forget_above(self, chain_id: int, block: int) -> None:
        """Drop what was read above a block: blocks, staged logs, and that vaults are deep."""
        for text in _FORGET_ABOVE:
            self._sql.run(text, chain=chain_id, block=block)

    def stage(self, chain_id: int, logs: Iterable[Staged]) -> None:
        """Keep logs until their blocks are deep enough."""
        rows = [
            STAGED_LOGS.row(log, chain_id=chain_id, address_lower=log.address.lower())
            for log in logs
        ]
        self._sql.run_all(_STAGE, rows)

    def take_staged(self, chain_id: int, up_to: int) -> list[Staged]:
        """Take the logs of blocks up to `up_to`, inclusive, in chain order."""
        where = "chain_id = :chain AND block_number <= :high"
        text = f"DELETE FROM chain_staging WHERE {where} RETURNING *"
        rows = self._sql.rows(text, chain=chain_id, high=up_to)
        taken = [STAGED_LOGS.record(r) for r in rows]
        return sorted(taken, key=lambda s: (s.block_number, s.log_index))

    def staged_up_to(self, chain_id: int, high: int, limit: int) -> int:
        """The last block, at most `high`, up to which no more than `most` logs are staged; a block
        is never divided.
        """
        logs = 0
        for row in self._sql.rows(_LOGS_A_BLOCK, chain=chain_id, high=high, blocks=limit + 1):
            if logs and logs + int(row["logs"]) > limit:
                return int(row["block_number"]) - 1
            logs += int(row["logs"])
        return high

    def is_staged(self, chain_id: int, high: int) -> bool:
        """Whether logs of blocks up to one, inclusive, are staged."""
        where = "chain_staging WHERE chain_id = :chain AND block_number <= :high"
        return exists(self._sql, where, chain=chain_id, high=high)

    def staged_of(self, public_id: str) -> list[Staged]:
        """The logs of a mandate's vault that are not deep enough yet and not in its ledger by a
        receipt, oldest first; not very many.
        """
        return [STAGED_LOGS.record(r) for r in self._sql.rows(STAGED, mandate=public_id)]

    def add_vault(self, chain_id: int, address: str, digest: str, block: int) -> None:
        """Note a vault that the factory made, and in which block; the newest word holds."""
        vault = KnownVault(address.lower(), digest, block, deep=False)
        self._sql.run(_ADD_VAULT, **_VAULTS.row(vault, chain_id=chain_id))

    def vault_is_deep(self, chain_id: int, address: str) -> None:
        """Its creation is deep enough to stand."""
        self._change_vault("UPDATE chain_vaults SET deep = 1", chain_id, address)

    def _change_vault(self, text: str, chain_id: int, address: str, **values: int | None) -> None:
        of = {"chain": chain_id, "address": address.lower()}
        self._sql.run(
            f"{text} WHERE chain_id = :chain AND address_lower = :address", **of, **values
        )

    def vault(self, chain_id: int, address: str) -> KnownVault | None:
        """Return the reader's record of a vault; None where it has none."""
        where = "chain_id = :chain AND address_lower = :address"
        return _VAULTS.first(self._sql, where, chain=chain_id, address=address.lower())

    def vaults_in(self, chain_id: int, low: int, high: int) -> list[KnownVault]:
        """The vaults that were made in some blocks, both inclusive."""
        where = (
            "chain_id = :chain AND block_number >= :low AND block_number <= :high "
            "ORDER BY block_number, address_lower"
        )
        return _VAULTS.all(self._sql, where, chain=chain_id, low=low, high=high)

    def move_vault(self, chain_id: int, address: str, block: int) -> None:
        """The vault stands, and its creation is looked for from this block on."""
        text = "UPDATE chain_vaults SET block_number = :block, deep = 0"
        self._change_vault(text, chain_id, address, block=block)

    def forget_vault(self, chain_id: int, address: str) -> None:
        """The chain has no such vault."""
        self._change_vault("DELETE FROM chain_vaults", chain_id, address)

    def read_again(self, chain_id: int, address: str, block: int | None) -> None:
        """Ask for a vault's logs from a block on to be read once more; None: they were."""
        text = "UPDATE chain_vaults SET replay_from = :block"
        self._change_vault(text, chain_id, address, block=block)

    def to_read_again(self, chain_id: int) -> list[tuple[str, int]]:
        """(address, first block) of vaults whose logs are to be read once more."""
        rows = self._sql.rows(_TO_READ_AGAIN, chain=chain_id)
        return [(r["address_lower"], int(r["replay_from"])) for r in rows]

    def unseen(self, chain_id: int, kind: str, limit: int, now: datetime) -> list[str]:
        """Public ids of signed mandates whose vault's creation was not read yet, oldest first,
        without those that `kind` of work holds back.
        """
        rows = self._sql.rows(_UNSEEN, chain=chain_id, kind=kind, now=micros(now), most=limit)
        return [r["public_id"] for r in rows]

    def add_purse(self, chain_id: int, public_id: str, purse: PurseFacts) -> None:
        """Note where the purse of a mandate's signed terms is, or will be."""
        self._sql.run(_ADD_PURSE, **_PURSES.row(purse, chain_id=chain_id, public_id=public_id))

    def purses(self, chain_id: int) -> list[PurseFacts]:
        """The purses of all signed terms of a chain."""
        return _PURSES.all(self._sql, "chain_id = :chain", chain=chain_id)

    def watched_purses(self, chain_id: int) -> list[PurseFacts]:
        """The purses whose logs are read: those of mandates that are not done with."""
        where = f"chain_id = :chain AND NOT ({_DONE_WITH})"
        return _PURSES.all(self._sql, where, chain=chain_id, unpaid=UNPAID_FEE)

    def settled_purses(self, chain_id: int, after: str, limit: int) -> list[tuple[str, PurseFacts]]:
        """(public id, purse) of mandates that are done with, by address, those behind `after`."""
        where = f"chain_id = :chain AND {_DONE_WITH} AND address_lower > :after"
        text = f"SELECT * FROM chain_purses WHERE {where} ORDER BY address_lower LIMIT :most"
        named = {"chain": chain_id, "unpaid": UNPAID_FEE, "after": after, "most": limit}
        return [
            (
                r["public_id"],
                PurseFacts(address=r["address_lower"], hub=r["hub_lower"], vault=r["vault_lower"]),
            )
            for r in self._sql.rows(text, **named)
        ]

    def purses_of(self, public_id: str) -> list[PurseFacts]:
        """The purses of a mandate's signed terms."""
        where = "public_id = :public_id ORDER BY address_lower"
        return _PURSES.all(self._sql, where, public_id=public_id)

    def purses_at(self, chain_id: int, addresses: Iterable[str]) -> dict[str, PurseFacts]:
        """The purses at some addresses, by address in lower case."""
        some, known = sorted({a.lower() for a in addresses}), dict[str, PurseFacts]()
        for n in range(0, len(some), PURSES_AT_ONCE):
            named = {f"a{k}": of for k, of in enumerate(some[n : n + PURSES_AT_ONCE])}
            where = f"chain_id = :chain AND address_lower IN ({placeholders(named)})"
            known |= {p.address: p for p in _PURSES.all(self._sql, where, chain=chain_id, **named)}
        return known

    def inbound_read(self, chain_id: int) -> int | None:
        """The last block whose transfers into deposit addresses were read."""
        text = "SELECT block FROM chain_inbound WHERE chain_id = :chain"
        row = first(self._sql, text, chain=chain_id)
        return int(row["block"]) if row else None

    def set_inbound_read(self, chain_id: int, block: int) -> None:
        """Move that block; never back."""
        self._sql.run(_INBOUND_READ, chain=chain_id, block=block)

    def vaults(self, chain_id: int) -> list[str]:
        """Every vault of the chain's factory, lower case."""
        text = "SELECT address_lower FROM chain_vaults WHERE chain_id = :c"
        return [r["address_lower"] for r in self._sql.rows(text, c=chain_id)]
