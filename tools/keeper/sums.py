"""Comparing a vault's own totals with its rows, and taking rows in that make them equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from domain.facts import VaultLog, VaultState
from domain.mandates.mandate import OPEN_AGENT, Mandate
from domain.rules.sums import agree, ahead
from storage.unit_of_work import UnitOfWork
from tools.keeper.intake import Desk, take_tx, unexplained

CLOSED: Final = "audit of the settled"
BACK: Final = 128
"""Blocks before the last agreement that are read again too: perhaps a reorganisation was there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A vault whose totals are not those of its rows, and the blocks in which they parted.

    Shapes: `low` is around the newest block at which they agreed, `life` the block of the vault's
    creation: an agreement may have been noted too soon.
    """

    mandate: Mandate
    vault: VaultState
    low: int
    life: int
    high: int | None = None

    @property
    def blocks(self) -> range:
        """From around the newest block at which they agreed up to the one that was compared, or up
        to `high`.
        """
        return range(self.low, (self.vault.block.number if self.high is None else self.high) + 1)


class StillDiffers(Exception):  # no error: it rolls a reading back that does not add up
    """The logs that were read do not make the rows add up to what the vault says."""


def compared(
    uow: UnitOfWork,
    desk: Desk,
    mandates: Sequence[Mandate],
    vaults: Mapping[str, VaultState],
    start_block: int,
) -> list[Differing]:
    """Note of each vault whether its totals are those of its rows at one block that the reader has
    passed; gives those where they are not.
    """
    found = []
    for m in mandates:
        vault = vaults.get(m.vault_address or "")
        if vault is None or not vault.exists:
            continue
        state, block = uow.ledger.state(m.public_id), vault.block.number
        if ahead(state.journal, block):
            continue
        if agree(state.measured, vault, named=_named(m), agent=_agent(m)):
            uow.sums.agree(m.public_id, block)
            if m.differs_at is not None:
                uow.readings.forget(m.public_id)
            if vault.settled and not vault.cash and not vault.fee_owed:
                done = uow.readings.of(audit_key(m))
                if done is not None and done.path == CLOSED:
                    uow.work.fee_paid(m.public_id)
            continue
        uow.sums.differ(m.public_id, desk.now)
        since = uow.sums.block(m.public_id)
        life = min(made_in(uow, m, start_block), block)
        low = life if since is None else max(life, min(since, block) - BACK)
        found.append(Differing(mandate=m, vault=vault, low=low, life=life))
    return found


def audit_key(m: Mandate) -> str:
    """Under which it is kept how far a mandate's rows were held against the chain."""
    return f"{m.public_id} audit"


def made_in(uow: UnitOfWork, m: Mandate, start_block: int) -> int:
    """The block of the vault's creation, where that is deep; the first of the chain's else."""
    known = uow.chainlog.vault(m.chain_id, m.vault_address or "")
    return start_block if known is None or not known.deep else max(start_block, known.block)


def brought(uow: UnitOfWork, desk: Desk, one: Differing, logs: Sequence[VaultLog]) -> None:
    """Take in what was read another way, if it makes the sums agree.

    Shapes: `logs` are all that the vault left in `one.blocks`, by this reading, in chain order.
    Errors: StillDiffers, and then nothing is written: a reading that does not explain the vault's
    totals is no better than the one before.
    """
    vault, chain_id = one.mandate.vault_address or "", one.mandate.chain_id
    m = uow.mandates.by_vault(chain_id, vault, lock=True)
    if m is None:
        raise StillDiffers
    for _, tx_hash in unexplained(uow, chain_id, one.blocks, logs, m.public_id):
        take_tx(uow, desk, m, tx_hash, ())
    for tx_hash, told in groupby(logs, key=lambda g: g.tx_hash):
        take_tx(uow, desk, m, tx_hash, tuple(told))
    if not agree(
        uow.ledger.state(m.public_id).measured, one.vault, named=_named(m), agent=_agent(m)
    ):
        raise StillDiffers
    uow.sums.agree(m.public_id, one.vault.block.number)
    uow.readings.forget(m.public_id)


def _named(m: Mandate) -> bool:
    return m.signed is None or m.signed.message.get("agent") != OPEN_AGENT


def _agent(m: Mandate) -> str | None:
    """The agent that the signed terms name."""
    return m.signed.message.get("agent") if m.signed is not None and _named(m) else None
