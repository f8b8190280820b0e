"""Reconciliation: compares vault totals with ledger rows, and ingests the missing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Final

from domain.chain_facts import PurseState, VaultLog, VaultState
from domain.mandates.mandate import OPEN_AGENT, Mandate
from domain.rules.reconciliation import ahead, purse_matches, totals_match
from storage.unit_of_work import UnitOfWork
from tools.keeper.ingest import (
    IngestContext,
    ingest_transaction,
    logs_by_tx,
    orphaned_transactions,
)

CLOSED: Final = "audit of the settled"
BACK: Final = 128
"""Blocks before the last agreement that are read again too: perhaps a reorganisation was there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A vault whose totals are not those of its rows, and the blocks in which they parted.

    Shapes: `low` is around the newest block at which they agreed, `life` the block of the vault's
    creation: an agreement may have been noted too soon.
    """

    mandate: Mandate
    vault: VaultState
    low: int
    life: int
    high: int | None = None
    purses: Mapping[str, PurseState] = field(default_factory=dict)

    @property
    def blocks(self) -> range:
        """From around the newest block at which they agreed up to the one that was compared, or up
        to `high`.
        """
        return range(self.low, (self.vault.block.number if self.high is None else self.high) + 1)


class StillMismatched(Exception):  # no error: it rolls a reading back that does not add up
    """The logs that were read do not make the rows add up to what the vault says."""


def compare_vaults(
    uow: UnitOfWork,
    now: datetime,
    mandates: Sequence[Mandate],
    vaults: Mapping[str, VaultState],
    start_block: int,
    purses: Mapping[str, PurseState] | None = None,
) -> list[Mismatch]:
    """Note of each vault whether its totals, and what lies in its purse, are those of its rows at
    one block that the reader has passed; gives those where they are not.

    Shapes: `purses` by address in lower case, read at the same block.
    """

    mismatches = []
    for mandate in mandates:
        vault = vaults.get(mandate.vault_address or "")
        if vault is None or not vault.exists:
            continue
        block = vault.block.number
        if ahead(uow.ledger.state(mandate.public_id).journal, block):
            continue
        own = _own_purses(uow, mandate, purses or {})
        if own is None:
            continue
        if _matches(uow, mandate, vault, own):
            uow.sums.agree(mandate.public_id, block)
            if mandate.differs_at is not None:
                uow.readings.forget(mandate.public_id)
            if vault.settled and not vault.cash and not vault.fee_owed and not _any_left(own):
                done = uow.readings.of(audit_key(mandate))
                if done is not None and done.path == CLOSED:
                    uow.work.fee_paid(mandate.public_id)
            continue
        uow.sums.differ(mandate.public_id, now)
        since = uow.sums.block(mandate.public_id)
        life = min(made_in(uow, mandate, start_block), block)
        low = life if since is None else max(life, min(since, block) - BACK)
        mismatches.append(Mismatch(mandate=mandate, vault=vault, low=low, life=life, purses=own))
    return mismatches


def _any_left(purses: Mapping[str, PurseState]) -> bool:
    """True where the keeper still has something to send the owner out of a purse."""
    return any(p.is_filled for p in purses.values())


def _own_purses(
    uow: UnitOfWork, mandate: Mandate, purses: Mapping[str, PurseState]
) -> Mapping[str, PurseState] | None:
    """The states of a mandate's purses; None where one was not read."""
    known = uow.chainlog.purses_of(mandate.public_id) if mandate.has_purse else ()
    if any(p.address not in purses for p in known):
        return None
    return {p.address: purses[p.address] for p in known}


def audit_key(mandate: Mandate) -> str:
    """Under which it is kept how far a mandate's rows were held against the chain."""
    return f"{mandate.public_id} audit"


def made_in(uow: UnitOfWork, mandate: Mandate, start_block: int) -> int:
    """The block of the vault's creation, where that is deep; the first of the chain's else."""
    known = uow.chainlog.vault(mandate.chain_id, mandate.vault_address or "")
    return start_block if known is None or not known.deep else max(start_block, known.block)


def ingest_requeried(ctx: IngestContext, one: Mismatch, logs: Sequence[VaultLog]) -> None:
    """Take in what was read another way, if it makes the sums agree.

    Shapes: `logs` are all that the vault left in `one.blocks`, by this reading, in chain order.
    Errors: StillDiffers, and then nothing is written: a reading that does not explain the vault's
    totals is no better than the one before.
    """
    uow, vault, chain_id = ctx.uow, one.mandate.vault_address or "", one.mandate.chain_id
    mandate = uow.mandates.by_vault(chain_id, vault, lock=True)
    if mandate is None or _own_purses(uow, mandate, one.purses) is None:
        raise StillMismatched
    orphans = orphaned_transactions(uow, chain_id, one.blocks, logs, mandate.public_id)
    for _, tx_hash, purse in orphans:
        ingest_transaction(ctx, mandate, tx_hash, (), purse=purse)
    for (tx_hash, address), tx_logs in groupby(
        logs_by_tx(logs), key=lambda g: (g.tx_hash, g.address)
    ):
        purse = None if address.lower() == vault.lower() else address.lower()
        ingest_transaction(ctx, mandate, tx_hash, tuple(tx_logs), purse=purse)
    if not _matches(uow, mandate, one.vault, one.purses):
        raise StillMismatched
    uow.sums.agree(mandate.public_id, one.vault.block.number)
    uow.readings.forget(mandate.public_id)


def _matches(
    uow: UnitOfWork, mandate: Mandate, vault: VaultState, purses: Mapping[str, PurseState]
) -> bool:
    """Whether a vault's totals, what lies in its purses, and the agent that its signed terms name,
    are those of its rows.
    """
    book = uow.ledger.state(mandate.public_id).measured
    agent = None if mandate.signed is None else mandate.signed.message.get("agent")
    is_open = agent == OPEN_AGENT
    if purses and not purse_matches(book.purse, purses.values()):
        return False
    return totals_match(book, vault, name=not is_open, agent=None if is_open else agent)
