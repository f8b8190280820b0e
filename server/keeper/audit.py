"""Audit of a vault's rows against the chain, each week and once it is settled: a row
that moves no sum can be wrong while all sums agree.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from chain.adapter import EvmChain
from chain.logs.log_requery import requery_logs
from chain.quorum import quorum_read
from domain.chain_facts import PurseState, VaultLog, VaultState
from domain.mandates.mandate import Mandate
from domain.refusals import Refused
from storage.repositories.resync_progress import ResyncProgress
from storage.unit_of_work import UnitOfWork
from tools.keeper.ingest import IngestContext
from tools.keeper.reconciliation import (
    CLOSED,
    Mismatch,
    StillMismatched,
    audit_key,
    ingest_requeried,
    made_in,
)
from tools.model.operation import Deps

log = logging.getLogger("wallet.auditing")
EVERY: Final = timedelta(days=7)
REST: Final = timedelta(hours=1)
WEEKLY: Final = "audit"
A_STEP: Final = 10_000
MAX_BLOCKS: Final = 20 * A_STEP
"""Blocks of a vault that are read in one round."""


class Auditing:
    """Reads what a vault left since the last audit, as most nodes tell it, and brings its rows to
    that; nothing is written that does not make the sums agree.
    """

    def __init__(self, deps: Deps, chain: EvmChain):
        self._deps, self._chain = deps, chain
        self._due = dict[tuple[str, bool], datetime]()

    async def round(
        self,
        mandates: Sequence[Mandate],
        states: Mapping[str, VaultState],
        purses: Mapping[str, PurseState],
    ) -> None:
        """Audit those that are due, by what their vaults say at the block that was compared."""
        now = self._deps.clock.now()
        for mandate in mandates:
            vault = states.get(mandate.vault_address or "")
            if vault is None or not vault.exists or mandate.differs_at is not None:
                continue
            key = (mandate.public_id, vault.settled)
            if now >= self._due.get(key, now):
                self._due[key] = await self._audited(mandate, vault, purses, now)

    async def _audited(
        self,
        mandate: Mandate,
        vault: VaultState,
        purses: Mapping[str, PurseState],
        now: datetime,
    ) -> datetime:
        """Audit a vault if that is due; when it is looked at again."""
        done = await self._deps.store.write(partial(self._load_progress, mandate, vault, now))
        due = done.rests_until or now
        if done.path == CLOSED or (now < due and not vault.settled):
            return now + EVERY if done.path == CLOSED else due
        low = done.high + 1
        high = min(vault.block.number, low + MAX_BLOCKS - 1)
        one = Mismatch(
            mandate=mandate, vault=vault, low=low, life=done.low, high=high, purses=purses
        )
        try:
            logs = await self._logs(mandate, low, high)
            return await self._deps.store.write(partial(self._bring, one, logs, now))
        except Refused as refused:
            log.warning("%s is not audited: %s", mandate.public_id, refused.refusal.reason)
            return now + REST
        except StillMismatched:
            # The rows add up and this reading does not: the node leaves something out.
            log.warning("%s: the nodes tell less than the rows, which add up", mandate.public_id)
            return await self._deps.store.write(partial(self._keep, one, now))

    def _load_progress(
        self, mandate: Mandate, vault: VaultState, now: datetime, uow: UnitOfWork
    ) -> ResyncProgress:
        done = uow.readings.of(audit_key(mandate))
        if done is None:
            life = min(made_in(uow, mandate, self._chain.facts.start_block), vault.block.number)
            done = self._progress(WEEKLY, life, life - 1, now + EVERY)
            uow.readings.keep(audit_key(mandate), done)
        return done

    def _progress(self, path: str, low: int, high: int, until: datetime) -> ResyncProgress:
        nodes = len(self._chain.views)
        return ResyncProgress(path=path, nodes=nodes, low=low, high=high, rests_until=until)

    async def _logs(self, mandate: Mandate, low: int, high: int) -> list[VaultLog]:
        """The logs of a vault and its purse in a range of blocks, both inclusive, by a majority of
        nodes.
        """
        vault, logs = mandate.vault_address or "", list[VaultLog]()
        purses = await self._deps.store.read(lambda uow: uow.chainlog.purses_of(mandate.public_id))
        for first in range(low, high + 1, A_STEP):
            last = min(first + A_STEP - 1, high)
            logs += await quorum_read(
                self._chain,
                "the logs of a vault",
                partial(
                    requery_logs, method="range", vault=vault, low=first, high=last, purses=purses
                ),
            )
        return logs

    def _bring(
        self, one: Mismatch, logs: Sequence[VaultLog], now: datetime, uow: UnitOfWork
    ) -> datetime:
        """Errors: StillDiffers, and then nothing is written."""
        ingest_requeried(IngestContext.of(uow, self._deps, now), one, logs)
        return self._keep(one, now, uow)

    def _keep(self, one: Mismatch, now: datetime, uow: UnitOfWork) -> datetime:
        """Keep how far the audit came; when it goes on."""
        mandate, vault = one.mandate, one.vault
        is_complete = one.blocks.stop > vault.block.number
        path = CLOSED if is_complete and vault.settled else WEEKLY
        until = now + EVERY if is_complete else now
        uow.readings.keep(
            audit_key(mandate), self._progress(path, one.life, one.blocks.stop - 1, until)
        )
        left = any(p.is_filled for p in one.purses.values())
        if path == CLOSED and not vault.cash and not vault.fee_owed and not left:
            uow.work.fee_paid(mandate.public_id)
        return until
