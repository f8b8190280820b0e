"""Vault discovery: vaults whose creation log is missing because a node left it out.

Where a vault of signed terms stands is known before it is made, and what stands there can only be
that vault: its address commits to the terms. So the lens says what the logs did not. Where several
nodes are configured, more than half of them must say so, as for marks and settlement.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from chain.adapter import EvmChain
from domain.chain_facts import BlockStamp
from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused
from storage.unit_of_work import UnitOfWork
from tools.context.snapshot_loader import signed_digest, signed_vault
from tools.keeper.vault_attachment import attach
from tools.model.operation import Deps

log = logging.getLogger("wallet.unseen")
KIND: Final = "unseen vault"
EVERY: Final = timedelta(minutes=5)
AFTER_THE_END: Final = timedelta(days=1)
"""A vault of terms that ended is still made where money lies at its address."""


class VaultDiscovery:
    """Looks where the vaults of signed mandates would be: each every five minutes, of terms that
    ended every day.
    """

    def __init__(self, deps: Deps, holder: str, chain: EvmChain, batch: int):
        self._deps, self._holder, self._chain, self._batch = deps, holder, chain, batch

    async def round(self) -> None:
        """Attach what stands in the block up to which the ledger is complete, and is attached to
        nothing; its logs are read from its creation on. Errors: `chain_unavailable`.
        """
        now = self._deps.clock.now()
        block, mandates = await self._deps.store.write(partial(self._next_mandates, now))
        if block is None or not mandates:
            return
        at = await self._chain.block(block)
        if at is None:
            return
        for mandate in mandates:
            try:
                await self._look(mandate, at, now)
            except Refused as refused:
                log.warning(
                    "looking for the vault of %s: %s", mandate.public_id, refused.refusal.reason
                )
            except Exception:
                log.exception("looking for the vault of %s failed", mandate.public_id)

    def _next_mandates(
        self, now: datetime, uow: UnitOfWork
    ) -> tuple[int | None, Sequence[Mandate]]:
        """(the block up to which the ledger is complete, the mandates that are looked for now)."""
        chain_id = self._chain.chain_id
        cursor = uow.chainlog.cursor(chain_id)
        if cursor is None or cursor.head is None or cursor.deep < 0 or self._chain.factory is None:
            return None, ()
        mandates = []
        for public_id in uow.chainlog.unseen(chain_id, KIND, self._batch, now):
            mandate = uow.mandates.get(public_id)
            over = mandate is not None and mandate.ends_at is not None and mandate.ends_at < now
            until = now + (AFTER_THE_END if over else EVERY)
            if uow.work.acquire(KIND, public_id, self._holder, now, until) and mandate is not None:
                mandates.append(mandate)
        return cursor.deep, mandates

    async def _look(self, mandate: Mandate, at: BlockStamp, now: datetime) -> None:
        digest, vault = signed_digest(self._chain, mandate), signed_vault(self._chain, mandate)
        if digest is None or vault is None:
            return
        states = await self._chain.vault_states([vault], agreed=True, block=at)
        if vault not in states or not states[vault].exists:
            return
        created = await self._made_in(mandate.public_id, digest, at)
        log.warning("%s: the vault stands, and no log told of its creation", mandate.public_id)
        await self._deps.store.write(
            partial(self._attach, mandate.public_id, vault, digest, created, now)
        )

    async def _made_in(self, public_id: str, digest: str, at: BlockStamp) -> int:
        """The block of its creation; the first that could hold it, where its nodes do not tell: one
        that told of a later block would have the logs before it left out.
        """
        try:
            created = await self._chain.creation(public_id, digest, at)
        except Refused:
            created = None
        return self._chain.facts.start_block if created is None else created.block.number

    def _attach(
        self, public_id: str, vault: str, digest: str, created: int, now: datetime, uow: UnitOfWork
    ) -> None:
        mandate = uow.mandates.get(public_id, lock=True)
        if (
            mandate is None
            or mandate.vault_address is not None
            or mandate.status is not Status.SIGNED
        ):
            return
        uow.chainlog.add_vault(mandate.chain_id, vault, digest, created)
        uow.chainlog.vault_is_deep(mandate.chain_id, vault)
        uow.chainlog.read_again(mandate.chain_id, vault, created)
        attach(uow, now, mandate, vault)
