"""What runs by itself: reading the chains, marking vaults, settling, confirming transfers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import anyio

from chain.evm import EvmChain
from chain.inbound import BLOCKS_A_CALL, inbound
from chain.reader import Reader
from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused
from server.reading import Reading
from server.wiring import Wired
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Caller, Reply
from tools.call.run import run
from tools.call.switches import switches
from tools.keeper.claims import end_claims
from tools.keeper.intake import Desk
from tools.keeper.marks import mark_vaults
from tools.keeper.rollup import refresh_stale
from tools.keeper.settlement import OPERATIONS as SETTLEMENT
from tools.keeper.settlement import due, send_for
from tools.keeper.transfers import Confirmations, Found, take_inbound, whole
from tools.trading.keys import check_due

log = logging.getLogger("wallet.ticks")
CLAIM_S: Final = 60
KEEPER: Final = Caller("keeper")


class Ticks:
    """The periodic work of one process; what must not happen twice is claimed in the database."""

    def __init__(self, parts: Wired):
        self.parts, self.deps = parts, parts.deps
        self.holder = self.deps.ids.short("k_")
        self._confirmations = Confirmations(self.deps)
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
            group.start_soon(self._forever, "keeping", every, self.keep)
            group.start_soon(self._forever, "rolling the Hall up", every, self.roll_up)
            group.start_soon(
                self._forever, "failing old transfers", every, self._confirmations.expire
            )
            group.start_soon(self._forever, "checking approved keys", every, self.check_keys)
            for chain in self.parts.chains.with_rpc():
                name = f"transfers of chain {chain.chain_id}"
                group.start_soon(self._forever, name, every, partial(self.settle_transfers, chain))

    async def _forever(
        self, what: str, every_s: int, work: Callable[[], Awaitable[object]]
    ) -> None:
        while True:
            try:
                await work()
            except Refused as refused:
                log.warning("%s: %s", what, refused.refusal.reason)
            except Exception:
                log.exception("%s failed", what)
            await anyio.sleep(every_s)

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

    async def check_keys(self) -> None:
        """Ask the venue anew about keys that the keeper may use."""
        if self.deps.venues is not None:
            await check_due(self.deps, self.holder)

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
        await Reading(self.deps, reader).on()

    # -- the keeper

    async def keep(self) -> None:
        """Refresh vaults, mark them, stop at the line, settle."""
        for chain in self.parts.chains.with_rpc():
            await self._keep_chain(chain)

    async def _keep_chain(self, chain: EvmChain) -> None:
        batch = self.parts.settings.keeper_batch
        mandates = await self.deps.store.read(
            lambda uow: uow.mandates.due_for_refresh(chain.chain_id, batch)
        )
        if not mandates:
            return
        vaults = [m.vault_address for m in mandates if m.vault_address]
        now = self.deps.clock.now()
        try:
            states = await chain.vault_states(vaults)
        except Refused:
            await self.deps.store.write(
                lambda uow: uow.mandates.refreshed([m.public_id for m in mandates], now)
            )
            raise
        low = await self.deps.store.write(
            lambda uow: mark_vaults(uow, self._desk(uow, now), mandates, states)
        )
        if low:
            await self._at_the_line(chain, [m for m in mandates if m.public_id in low])
        await end_claims(self.deps, chain, mandates)
        for m in mandates:
            state = states.get(m.vault_address or "")
            if state is not None and due(m, state) and self.deps.keeper is not None:
                await self._once("settle", m.public_id, self._settle)

    def _desk(self, uow: UnitOfWork, now: datetime) -> Desk:
        return Desk(now, self.deps.ids, self.deps.config, switches(uow, self.deps.defaults))

    async def _at_the_line(self, chain: EvmChain, mandates: Sequence[Mandate]) -> None:
        """Stop what stood below its line on two fresh marks in a row; in dry run only say what
        would be done (spec 4.5).
        """
        dry = await self.deps.store.read(
            lambda uow: switches(uow, self.deps.defaults).stop_line_dry_run
        )
        for m in mandates:
            if dry or self.deps.keeper is None:
                log.warning(
                    "%s stands below its stop line; %s",
                    m.public_id,
                    "dry run" if dry else "no keeper key is set",
                )
            else:
                await self._once("stop line", m.public_id, partial(self._stopped, chain))

    async def _stopped(self, chain: EvmChain, public_id: str) -> Reply:
        """`mark()` stops the vault where the chain itself finds it below the floor; then close, if
        the terms say so.
        """
        m = await self.deps.store.read(lambda uow: uow.mandates.get(public_id))
        if m is None or m.vault_address is None:
            return Reply(200, {})
        sent: list[str] = []
        m = await send_for(self.deps, chain, m, "mark", sent)
        if m.status is Status.STOPPED and m.on_floor == "close":
            for target in m.allowed_targets:
                data = await chain.exit_data(target, m.vault_address or "")
                if data is not None:
                    m = await send_for(self.deps, chain, m, "unwind", sent, target.address, data)
        return Reply(200, {"transactions": sent})

    async def _once(self, kind: str, key: str, work: Callable[[str], Awaitable[Reply]]) -> None:
        """Do a piece of work if nobody else has it."""
        now = self.deps.clock.now()
        until = now + timedelta(seconds=CLAIM_S)
        if not await self.deps.store.write(
            lambda uow: uow.work.claim(kind, key, self.holder, now, until)
        ):
            return
        reply = await work(key)
        if reply.refused:
            log.warning("%s %s: %s", kind, key, reply.body.get("reason"))
        await self.deps.store.write(lambda uow: uow.work.release(kind, key, self.holder))

    async def _settle(self, public_id: str) -> Reply:
        return await run(
            SETTLEMENT[0], self.deps, KEEPER, {"public_id": public_id}, surface="house"
        )
