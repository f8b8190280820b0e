"""Transfers that the chain settles."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from domain.agents.transfers import (
    CONFIRMED,
    FAILED,
    REPORTED,
    Outcome,
    Report,
    outcome,
    seen_by_chain,
    settled,
)
from domain.facts import Receipt, TransferLog
from domain.ports import Chain
from domain.refusals import Refused
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Deps

log = logging.getLogger("wallet.transfers")


USDC: Final = "USDC"


A_ROUND: Final = 50


FOUND_A_DAY: Final = 500


def kept(uow: UnitOfWork, new: Report) -> bool:
    """Add a report, or take a failed one of the same transaction over; False where another
    stands.
    """
    return uow.transfers.add(new) or uow.transfers.take_over(new)


def settle_report(
    uow: UnitOfWork, chain_id: int, tx_hash: str, told: Outcome, now: datetime
) -> Report | None:
    """Give a waiting report its outcome, once; None where it has one already."""
    waiting = uow.transfers.get(chain_id, tx_hash)
    if waiting is None:
        return None
    uow.identities.agent(waiting.agent_id, lock=True)
    waiting = uow.transfers.get(chain_id, tx_hash)
    if waiting is None or waiting.status != REPORTED:
        return None
    idle = uow.transfers.balance(waiting.agent_id, chain_id, waiting.asset, "idle")
    step = settled(waiting, told, idle=idle, now=now)
    uow.transfers.save(step.report)
    uow.transfers.move(waiting.agent_id, step.deltas, now)
    return step.report


def take_inbound(
    uow: UnitOfWork, chain_id: int, found: Iterable[tuple[str, TransferLog]], now: datetime
) -> int:
    """Turn USDC transfers into registered deposit addresses that nobody reported into confirmed
    reports by `chain`.

    Shapes: `found` has (transaction hash, log) of transfers of the chain's USDC, deep enough.
    An address is not proven to be the agent's own: one that somebody else keeps busy fills no more
    than 500 rows a day.
    """
    holders, moved = uow.transfers.deposit_addresses(chain_id), dict[tuple[str, str], int]()
    for tx_hash, g in found:
        agent_id = holders.get(g.recipient.lower())
        if agent_id is not None and g.sender.lower() != g.recipient.lower() and g.amount > 0:
            moved[tx_hash.lower(), agent_id] = moved.get((tx_hash.lower(), agent_id), 0) + g.amount
    added = 0
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for (tx_hash, agent_id), amount in moved.items():
        uow.identities.agent(agent_id, lock=True)
        if uow.transfers.found_since(agent_id, today) >= FOUND_A_DAY:
            continue
        step = seen_by_chain(
            Report(
                chain_id,
                tx_hash,
                agent_id,
                USDC,
                amount,
                "in",
                "chain",
                CONFIRMED,
                now,
                confirmed_at=now,
            )
        )
        if kept(uow, step.report):
            uow.transfers.move(agent_id, step.deltas, now)
            added += 1
    return added


class Confirmations:
    """Walks the waiting reports of each chain, a page a round, so that old ones that stay unseen
    hold nobody up.
    """

    def __init__(self, deps: Deps):
        self._deps = deps
        self._behind: dict[int, Report | None] = {}

    async def round(self, chain_id: int) -> int:
        """Ask the chain about the next reports and settle those it decides; how many.

        Errors: `chain_unavailable`, `not_configured`.
        """
        deps, behind = self._deps, self._behind.get(chain_id)
        waiting = await deps.store.read(
            lambda uow: uow.transfers.waiting(chain_id, A_ROUND, after=behind)
        )
        self._behind[chain_id] = waiting[-1] if len(waiting) == A_ROUND else None
        chain, done = deps.chains.get(chain_id), 0
        for one in waiting:
            receipt = await chain.receipt(one.tx_hash)
            told = await self._judged(chain, one, receipt)
            if told is not None:
                done += await self._settled(chain, one, told, receipt)
        return done

    async def _judged(self, chain: Chain, one: Report, receipt: Receipt | None) -> Outcome | None:
        holders = await self._deps.store.read(
            lambda uow: addresses_of(uow, one.agent_id, one.chain_id)
        )
        return outcome(
            one,
            receipt,
            token=chain.usdc if one.asset == USDC else None,
            holders=holders,
            confirmations=chain.confirmations,
            now=self._deps.clock.now(),
            fails_after=timedelta(seconds=self._deps.config.transfer_fails_after_s),
        )

    async def _settled(
        self, chain: Chain, one: Report, told: Outcome, receipt: Receipt | None
    ) -> bool:
        now = self._deps.clock.now()
        paid = (
            [(one.tx_hash, g) for g in receipt.transfers if g.token == chain.usdc]
            if receipt and receipt.ok
            else []
        )

        def work(uow: UnitOfWork) -> Report | None:
            after = settle_report(uow, one.chain_id, one.tx_hash, told, now)
            if after is not None and after.status == FAILED:
                take_inbound(uow, one.chain_id, paid, now)  # it may be somebody else's
            return after

        try:
            after = await self._deps.store.write(work)
        except Refused as refused:
            # A balance that outgrows the database is the only refusal here; the others of the page
            # must not wait for it.
            log.warning("transfer %s: %s", one.tx_hash, refused.refusal.reason)
            return False
        return after is not None


def addresses_of(uow: UnitOfWork, agent_id: str, chain_id: int) -> frozenset[str]:
    """The agent's own addresses on a chain, lower case: its deposit address and the wallet it
    registered with.
    """
    agent = uow.identities.agent(agent_id)
    on_file = (uow.transfers.deposit_address(agent_id, chain_id), agent.address if agent else None)
    return frozenset(a.lower() for a in on_file if a)
