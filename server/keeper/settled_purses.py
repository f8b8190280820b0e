"""Settled purses: money that comes into the purse of a mandate that is done with is still found."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from chain.adapter import EvmChain
from domain.refusals import Refused
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps

log = logging.getLogger("wallet.keeping")
KIND: Final = "settled purses"
EVERY: Final = timedelta(days=1)
AT_ONCE: Final = 400


class SettledPurses:
    """Reads once a day, some a round, what lies in purses whose logs are read no more. A mandate
    whose purse is filled is kept again: its rows are read from where its sums last agreed, and the
    rest goes its usual way, up to the sweep.
    """

    def __init__(self, deps: Deps, chain: EvmChain):
        self._deps, self._chain = deps, chain
        self._after = ""

    async def round(self) -> None:
        """Look at the next ones, where the day's look is not done; a chain that does not answer is
        asked again in the next round.
        """
        some = await self._deps.store.read(self._next)
        if some is None:
            return
        try:
            states = await self._chain.purse_states([address for _, address, _ in some])
        except Refused as refused:
            log.warning("looking at settled purses: %s", refused.refusal.reason)
            return
        filled = [(m, vault) for m, at, vault in some if at in states and states[at].is_filled]
        await self._deps.store.write(partial(self._keep_again, filled, len(some) < AT_ONCE))
        self._after = some[-1][1] if len(some) == AT_ONCE else ""

    def _next(self, uow: UnitOfWork) -> list[tuple[str, str, str]] | None:
        """(public id, purse, vault) of the next ones; None where this day's look is done."""
        until = uow.work.until(KIND, str(self._chain.chain_id))
        if until is not None and until > self._deps.clock.now():
            return None
        known = uow.chainlog.settled_purses(self._chain.chain_id, self._after, AT_ONCE)
        return [(public_id, purse.address, purse.vault) for public_id, purse in known]

    def _keep_again(self, filled: Sequence[tuple[str, str]], whole: bool, uow: UnitOfWork) -> None:
        chain_id, now = self._chain.chain_id, self._deps.clock.now()
        for public_id, vault in filled:
            log.info("something came into the purse of %s, which is settled", public_id)
            uow.work.owe_fee(public_id)
            uow.chainlog.read_again(chain_id, vault, (uow.sums.block(public_id) or -1) + 1)
        if whole:
            uow.work.acquire(KIND, str(chain_id), KIND, now, now + EVERY)
