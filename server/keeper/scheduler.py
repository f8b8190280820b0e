"""Scheduler of periodic work: read chains, mark vaults, settle, confirm transfers."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

import anyio

from chain.adapter import EvmChain
from chain.agreed_view import agreed_view
from chain.logs.log_reader import LogReader
from chain.logs.transfer_logs import BLOCKS_A_CALL, inbound
from chain.quorum import quorum_read
from domain.chain_facts import BlockStamp
from domain.refusals import Refused
from domain.spans import trace
from domain.trading.modes import MARKET_NETWORK
from server.keeper.chain_sync import ChainSync
from server.keeper.vault_upkeep import VaultUpkeep
from server.wiring import Runtime
from storage.errors import Unavailable
from storage.unit_of_work import UnitOfWork
from tools.keeper.hall_rollup import refresh_stale
from tools.keeper.held_keys import end_keys_that_are_over
from tools.keeper.sign_ins import end_old
from tools.keeper.transfer_confirmation import (
    FoundTransfer,
    TransferConfirmer,
    complete_transfers,
    take_inbound,
)
from tools.model.telemetry import log_context
from tools.trading.account.venue_keys import check_due
from tools.trading.orders.status_sync import sync_due_orders
from tools.trading.stop_line.keeper import StopLineKeeper

log = logging.getLogger("wallet.ticks")
ORDERS_S: Final = 1
LONGEST_PAUSE_S: Final = 300
LONGEST_IN_ROUNDS: Final = 30
LAST_S: Final = 0.5
# Its name, the seconds between two rounds, and what a round is.
Duty: TypeAlias = tuple[str, float, Callable[[], Awaitable[object]]]


class KeeperScheduler:
    """The periodic work of one process; what must not happen twice is claimed in the database."""

    def __init__(self, parts: Runtime):
        self.parts, self.deps = parts, parts.deps
        self.holder = self.deps.ids.short("k_")
        self._confirmations = TransferConfirmer(self.deps)
        self._keepings = [
            VaultUpkeep(self.deps, parts.settings, self.holder, c) for c in parts.chains.with_rpc()
        ]
        self._lines = StopLineKeeper(
            self.deps, self.holder, parts.settings.keeper_tick_s, parts.settings.keeper_batch
        )
        self._readers = {c.chain_id: LogReader(c) for c in parts.chains.with_rpc() if c.factory}
        every, deps = parts.settings.keeper_tick_s, self.deps
        # Each its own round: live orders wait for no market of paper, and no round for another's
        # pauses.
        self._house: Sequence[Duty] = (
            ("failing old transfers", every, self._confirmations.expire),
            ("rolling the Hall up", every, partial(refresh_stale, deps, self.holder)),
            ("checking approved keys", every, self.check_keys),
            ("ending old sign-ins", every, partial(end_old, deps)),
            ("ending held keys", every, partial(end_keys_that_are_over, deps)),
            ("settling orders", ORDERS_S, partial(sync_due_orders, deps, "live")),
            ("settling paper orders", ORDERS_S, partial(sync_due_orders, deps, "paper")),
            ("watching paper books", ORDERS_S, self.watch_paper),
            ("keeping stop lines", every, self._lines.round),
        )

    def _reading(self) -> Iterator[Duty]:
        for chain_id, reader in self._readers.items():
            poll_s = self.parts.settings.chains[chain_id].poll_s
            yield f"reading chain {chain_id}", poll_s, partial(self.read_chain, reader)

    def _transfers(self) -> Iterator[Duty]:
        every = self.parts.settings.keeper_tick_s
        for chain in self.parts.chains.with_rpc():
            name = f"transfers of chain {chain.chain_id}"
            yield name, every, partial(self.settle_transfers, chain)

    def _keeping(self) -> Iterator[Duty]:
        every = self.parts.settings.keeper_tick_s
        for keeping in self._keepings:
            # Half a tick: two keepers share the vaults, and read none twice in one tick.
            yield keeping.name, every, partial(keeping.round, every / 2)

    async def run(self) -> None:
        """Run until cancelled; one chain's trouble does not stop another's."""
        try:
            await self._run()
        finally:
            with anyio.move_on_after(LAST_S, shield=True):
                await self._let_go()

    async def _let_go(self) -> None:
        """Give the lease back, so that another process need not wait for its end."""
        try:
            await self._lines.release()
        except Unavailable as unavailable:
            log.warning("leading is not given back: %s", unavailable.why)

    async def _run(self) -> None:
        async with anyio.create_task_group() as group:
            for duty in (*self._reading(), *self._keeping(), *self._house, *self._transfers()):
                group.start_soon(self._forever, *duty)

    async def _forever(
        self, subject: str, every_s: float, work: Callable[[], Awaitable[object]]
    ) -> None:
        """Do it again and again; what fails again and again is tried less and less often, and what
        is due each second still every half minute.
        """
        pause_s, longest_s = float(every_s), min(LONGEST_PAUSE_S, LONGEST_IN_ROUNDS * every_s)
        while True:
            went_well = await self._run_once(subject, work)
            pause_s = every_s if went_well else min(2 * pause_s, max(every_s, longest_s))
            await anyio.sleep(pause_s)

    async def _run_once(self, subject: str, work: Callable[[], Awaitable[object]]) -> bool:
        well, started = False, time.perf_counter_ns()
        with log_context(work=subject), trace(self.deps.tracer, subject):
            try:
                await work()
                well = True
            except Refused as refused:
                log.warning("%s: %s", subject, refused.refusal.reason)
            except Exception:
                log.exception("%s failed", subject)
        self.deps.watch.worked(subject, (time.perf_counter_ns() - started) // 1_000, well=well)
        return well

    async def round(self) -> None:
        """Run every duty once; a chain that does not answer delays no other."""
        for subject, _, work in self._reading():
            await self._run_once(subject, work)
        await self.keep()
        for subject, _, work in self._transfers():
            await self._run_once(subject, work)
        for _, _, work in self._house:
            await work()

    async def check_keys(self) -> None:
        """Ask the venue anew about keys that the keeper may use."""
        if self.deps.venues is not None:
            await check_due(self.deps, self.holder)

    async def watch_paper(self) -> None:
        """Look at paper books: funding, liquidation, delisting."""
        if self.deps.paper is not None and self.deps.venues is not None:
            await self.deps.paper.watch(self.deps.venues.get(MARKET_NETWORK))

    # -- transfers

    async def settle_transfers(self, chain: EvmChain) -> None:
        """Ask the chain about reported transfers, and look for unreported ones."""
        await self._confirmations.round(chain.chain_id)
        if chain.usdc is not None:
            await self._inbound(chain)

    async def _inbound(self, chain: EvmChain) -> None:
        """Read on, from the first round's block: transfers before it count as known."""
        chain_id, at = chain.chain_id, await agreed_view(chain, self.deps.clock.now())
        deep = at.number - chain.confirmations
        read, holders = await self.deps.store.read(
            lambda uow: (
                uow.chainlog.inbound_read(chain_id),
                uow.addresses.proven(chain_id),
            )
        )
        low = deep if read is None else read + 1
        while low <= deep:
            high = min(low + BLOCKS_A_CALL - 1, deep) if holders else deep
            _, transfers = await quorum_read(
                chain, "transfers", partial(_arrived, holders, range(low, high + 1))
            )
            await self.deps.store.write(partial(self._take_inbound, chain, transfers, high))
            low = high + 1

    def _take_inbound(
        self, chain: EvmChain, transfers: Sequence[FoundTransfer], high: int, uow: UnitOfWork
    ) -> None:
        take_inbound(uow, chain.chain_id, chain.usdc or "", transfers, self.deps.clock.now())
        uow.chainlog.set_inbound_read(chain.chain_id, high)

    # -- the chain reader

    async def read_chain(self, reader: LogReader) -> None:
        """Read on until there is nothing new."""
        await ChainSync(self.deps, reader).on()

    # -- the keeper

    async def keep(self) -> None:
        """Keep every chain once, side by side: none waits for another, and none fails another."""
        async with anyio.create_task_group() as group:
            for keeping in self._keepings:
                group.start_soon(self._run_once, keeping.name, keeping.round)


async def _arrived(
    holders: Collection[str], blocks: range, node: EvmChain
) -> tuple[BlockStamp | None, Sequence[FoundTransfer]]:
    """Transfers in some blocks by the word of one node, and the last of these blocks."""
    transfers = await complete_transfers(
        node, await inbound(node, holders, blocks.start, blocks.stop - 1)
    )
    return await node.block(blocks.stop - 1), transfers
