"""What runs by itself: reading the chains, marking vaults, settling, confirming transfers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import anyio

from chain.evm import EvmChain
from chain.inbound import BLOCKS_A_CALL, inbound
from chain.reader import Cursor, Read, Reader, Reorged
from domain.facts import BlockStamp, VaultLog
from domain.refusals import Refused
from domain.times import timestamp
from domain.trading.modes import MARKET_NETWORK
from server.keeping import Keeping
from server.wiring import Wired
from storage.rows.chainlog import Cursor as KeptCursor
from storage.rows.chainlog import Staged
from storage.unit_of_work import UnitOfWork
from tools.call.switches import switches
from tools.keeper.intake import Desk, ingest
from tools.keeper.reorgs import compensate
from tools.keeper.rollup import refresh_stale
from tools.keeper.transfers import Confirmations, Found, take_inbound, whole
from tools.trading.keys import check_due
from tools.trading.orders.settling import settle_due

log = logging.getLogger("wallet.ticks")
STEPS_A_ROUND: Final = 200
ORDERS_S: Final = 1
LONGEST_PAUSE_S: Final = 300


class Ticks:
    """The periodic work of one process; what must not happen twice is claimed in the database."""

    def __init__(self, parts: Wired):
        self.parts, self.deps = parts, parts.deps
        self.holder = self.deps.ids.short("k_")
        self._confirmations = Confirmations(self.deps)
        self._keepings = [
            Keeping(self.deps, parts.settings, self.holder, c) for c in parts.chains.with_rpc()
        ]
        self._readers = {c.chain_id: Reader(c) for c in parts.chains.with_rpc() if c.factory}

    async def run(self) -> None:
        """Run until cancelled; one chain's trouble does not stop another's."""
        async with anyio.create_task_group() as group:
            for chain_id, reader in self._readers.items():
                poll = self.parts.settings.chains[chain_id].poll_s
                group.start_soon(
                    self._forever,
                    f"reading chain {chain_id}",
                    poll,
                    partial(self.read_chain, reader),
                )
            every = self.parts.settings.keeper_tick_s
            for keeping in self._keepings:
                group.start_soon(self._forever, keeping.name, every, keeping.round)
            group.start_soon(self._forever, "rolling the Hall up", every, self.roll_up)
            group.start_soon(
                self._forever, "failing old transfers", every, self._confirmations.expire
            )
            group.start_soon(self._forever, "checking approved keys", every, self.check_keys)
            group.start_soon(self._forever, "settling orders", ORDERS_S, self.settle_orders)
            for chain in self.parts.chains.with_rpc():
                name = f"transfers of chain {chain.chain_id}"
                group.start_soon(self._forever, name, every, partial(self.settle_transfers, chain))

    async def _forever(
        self, what: str, every_s: int, work: Callable[[], Awaitable[object]]
    ) -> None:
        """Do it again and again; what fails again and again is tried less and less often."""
        pause_s = float(every_s)
        while True:
            went_well = await self._once(what, work)
            pause_s = every_s if went_well else min(2 * pause_s, max(every_s, LONGEST_PAUSE_S))
            await anyio.sleep(pause_s)

    async def _once(self, what: str, work: Callable[[], Awaitable[object]]) -> bool:
        try:
            await work()
        except Refused as refused:
            log.warning("%s: %s", what, refused.refusal.reason)
        except Exception:
            log.exception("%s failed", what)
        else:
            return True
        return False

    async def round(self) -> None:
        """Everything once."""
        for reader in self._readers.values():
            await self.read_chain(reader)
        await self.keep()
        for chain in self.parts.chains.with_rpc():
            await self.settle_transfers(chain)
        await self._confirmations.expire()
        await self.roll_up()
        await self.check_keys()
        await self.settle_orders()

    async def check_keys(self) -> None:
        """Ask the venue anew about keys that the keeper may use."""
        if self.deps.venues is not None:
            await check_due(self.deps, self.holder)

    # -- orders

    async def settle_orders(self) -> None:
        """Ask the venue about orders that nobody knows the end of, and end those whose time is
        up; then look at paper books. Every change is conditional, so that processes may share
        this.
        """
        await settle_due(self.deps)
        if self.deps.paper is not None and self.deps.venues is not None:
            await self.deps.paper.watch(self.deps.venues.get(MARKET_NETWORK))

    # -- transfers and the Hall

    async def roll_up(self) -> None:
        """Bring the Hall's rows up to date."""
        await refresh_stale(self.deps)

    async def settle_transfers(self, chain: EvmChain) -> None:
        """Ask the chain about reported transfers, and look for those that nobody reported."""
        await self._confirmations.round(chain.chain_id)
        if chain.usdc is not None:
            await self._inbound(chain)

    async def _inbound(self, chain: EvmChain) -> None:
        """Read on, from the first round's block: what came before is nobody's report."""
        chain_id, deep = chain.chain_id, (await chain.latest()).number - chain.confirmations
        read, holders = await self.deps.store.read(
            lambda uow: (
                uow.chainlog.inbound_read(chain_id),
                uow.addresses.proven(chain_id),
            )
        )
        low = deep if read is None else read + 1
        while low <= deep:
            high = min(low + BLOCKS_A_CALL - 1, deep) if holders else deep
            found = await whole(chain, await inbound(chain, holders, low, high))
            await self.deps.store.write(partial(self._take_inbound, chain, found, high))
            low = high + 1

    def _take_inbound(
        self, chain: EvmChain, found: Sequence[Found], high: int, uow: UnitOfWork
    ) -> None:
        take_inbound(uow, chain.chain_id, chain.usdc or "", found, self.deps.clock.now())
        uow.chainlog.set_inbound_read(chain.chain_id, high)

    # -- the chain reader

    async def read_chain(self, reader: Reader) -> None:
        """Read on until there is nothing new."""
        for _ in range(STEPS_A_ROUND):
            if not await self.read_step(reader):
                return

    async def read_step(self, reader: Reader) -> bool:
        """One step of one chain; the resume point moves in the transaction that stores what was
        read.
        """
        chain_id = reader.chain.chain_id
        kept, vaults = await self.deps.store.read(
            lambda uow: (uow.chainlog.cursor(chain_id), uow.chainlog.vaults(chain_id))
        )
        cursor = Cursor(kept.block, kept.hash) if kept else None
        told = await reader.step(cursor, vaults)
        if told is None:
            return False
        if isinstance(told, Reorged):
            await self._rewind(reader, told)
            return True
        now = self.deps.clock.now()
        await self.deps.store.write(lambda uow: self._store(uow, reader, told, now))
        return True

    async def _rewind(self, reader: Reader, told: Reorged) -> None:
        """Go back to the newest remembered block that still stands; rows above it are compared
        when it is read again.
        """
        chain_id = reader.chain.chain_id
        remembered = await self.deps.store.read(lambda uow: uow.chainlog.blocks(chain_id))
        ground = await reader.still_there(remembered)
        now = self.deps.clock.now()

        def work(uow: UnitOfWork) -> None:
            was = uow.chainlog.cursor(chain_id)
            recheck = max((was.block if was else 0), (was.recheck_to or 0) if was else 0)
            uow.chainlog.forget_above(chain_id, ground.block)
            uow.chainlog.set_cursor(
                chain_id, ground.block, ground.hash, told.head.number, recheck, now
            )

        log.warning("chain %s was reorganised above block %s", chain_id, ground.block)
        await self.deps.store.write(work)

    def _store(self, uow: UnitOfWork, reader: Reader, told: Read, now: datetime) -> None:
        chain = reader.chain
        kept = uow.chainlog.cursor(chain.chain_id)
        if kept is not None and kept.block >= told.cursor.block:
            return  # another process read it first
        for g in told.logs:
            if g.name == "MandateCreated":
                uow.chainlog.add_vault(
                    chain.chain_id, str(g.args["vault"]), str(g.args["digest"]), g.block.number
                )
            else:
                uow.chainlog.stage(chain.chain_id, _staged(g))
        blocks = [(b.number, b.hash) for b in told.blocks]
        uow.chainlog.remember_blocks(chain.chain_id, blocks, told.head.number - reader.window)
        desk = self._desk(uow, now)
        high = min(told.head.number - chain.confirmations, told.cursor.block)
        logs = [_log_of(s) for s in uow.chainlog.take_staged(chain.chain_id, high)]
        low = 0 if kept is None else min(_deep(kept, chain), kept.block) + 1
        recheck = kept.recheck_to if kept else None
        known = {v.lower() for v in uow.chainlog.vaults(chain.chain_id)}
        compensate(
            uow, desk, chain.chain_id, range(low, high + 1), logs, None if recheck else known
        )
        if recheck is not None and told.cursor.block >= recheck:
            recheck = None
        ingest(uow, desk, chain.chain_id, logs)
        uow.chainlog.set_cursor(
            chain.chain_id, told.cursor.block, told.cursor.hash, told.head.number, recheck, now
        )

    def _desk(self, uow: UnitOfWork, now: datetime) -> Desk:
        return Desk(now, self.deps.ids, self.deps.config, switches(uow, self.deps.defaults))

    # -- the keeper

    async def keep(self) -> None:
        """Keep every chain once, side by side: none waits for another, and none fails another."""
        async with anyio.create_task_group() as group:
            for keeping in self._keepings:
                group.start_soon(self._once, keeping.name, keeping.round)


def _deep(kept: KeptCursor, chain: EvmChain) -> int:
    """The last block whose logs were deep enough at the last step."""
    return kept.block if kept.head is None else kept.head - chain.confirmations


def _staged(g: VaultLog) -> Staged:
    body = {
        "name": g.name,
        "address": g.address,
        "mandate": g.mandate,
        "args": dict(g.args),
        "at": timestamp(g.block.at),
    }
    return Staged(g.block.number, g.block.hash, g.tx_hash, g.log_index, g.address, body)


def _log_of(s: Staged) -> VaultLog:
    b = s.body
    stamp = BlockStamp(s.block_number, s.block_hash, datetime.fromisoformat(b["at"]))
    return VaultLog(b["name"], b["address"], b["mandate"], b["args"], s.tx_hash, s.log_index, stamp)
