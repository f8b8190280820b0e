"""A random life of a vault on a chain that is reorganised deeper than its confirmations, and what
the service makes of it.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from typing import Any

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.logs.log_reader import LogReader, Watched
from domain.chain_facts import VaultLog, VaultState
from domain.ledger.events.event import Event, Reporter
from domain.ledger.events.pairing import log_histories, place_of
from domain.ledger.events.payloads import LogReversed
from domain.mandates.mandate import Status
from domain.money import Usdc
from domain.refusals import Refused
from domain.times import day_of
from server.keeper.chain_sync import ChainSync
from server.keeper.vault_discovery import VaultDiscovery
from server.keeper.vault_upkeep import VaultUpkeep
from server.settings import Settings
from storage.integrity.ledger_check import verify
from storage.unit_of_work import UnitOfWork
from tests.chain_campaign.nodes import Faulty
from tests.chain_campaign.sides import Sent, Side, side_of, signed
from tests.world import Mandated, World
from tests.world import signed as signed_mandate

USD = 10**6


class Life:
    """One life; the same seed lives the same one again."""

    def __init__(
        self,
        world: World,
        node: EvmChain,
        seed: int,
        faulty: Faulty | None = None,
        *,
        among: bool = False,
    ):
        self.among = among
        self.world, self.node, self.faulty = world, node, faulty
        self.chance = random.Random(seed)  # noqa: S311
        self.side: Side = side_of(world.evm)
        self.confirmations = node.confirmations
        self.reading = ChainSync(world.deps, LogReader(node))
        self.keeping = VaultUpkeep(world.deps, Settings(), "campaign", node)
        self.unseen = VaultDiscovery(world.deps, "campaign", node, 1)
        self.omits = faulty is not None and faulty.fault == "omits"
        self.sent: list[Sent] = []
        self.reported: dict[str, str] = {}
        self.acted: set[str] = set()
        self.done: list[str] = []
        self.reorgs = self.changed = self.logs = 0

    async def play(self, length: int) -> None:
        """Live, let the chain come to rest, and compare."""
        await self.begin()
        acts: list[Any] = [
            *[self.invest] * 5, *[self.redeem] * 3, *[self.deposit] * 3, *[self.read] * 7, *[self.receipt] * 4, *[self.look] * 2,
            *[self.report] * 3, *[self.reorganise] * 3, self.donate, self.pause, self.resume, self.resume, self.stop, self.withdraw,
            self.settle, self.pay, self.mark, self.unwind, self.mine, self.create, *[self.hold] * 3,
        ]  # fmt: skip
        for start in (self.create, self.deposit):
            await start()
        for _ in range(length):
            act = self.chance.choice(acts)
            self.done.append(f"{act.__name__} at {self.side.head()}")
            await act()
        await self.reorganise()
        await self.rest()
        await self.compare()

    async def begin(self) -> None:
        """A signed mandate, and an owner with money; from here on everything can be lost."""
        w = self.world
        self.m: Mandated = await signed_mandate(w)
        await w.mint(self.m.owner_wallet.address, "10000")
        told = (await self.m.as_owner("owner_create_call")).body
        self.creation, self.m.vault = told["call"], told["predicted_vault"]
        self.owner, self.agent, self.keeper, self.stranger = (w.evm.key(n) for n in (2, 3, 1, 8))
        self.approve = abi_codec.calldata("TestUSDC", "approve", (self.m.vault, Usdc(10**12)))
        self.side.submit(signed(self.side, self.owner, w.evm.usdc, self.approve).raw)
        self.base = self.side.head()

    # -- what happens on the chain

    def send(self, key: str, to: str, data: str) -> None:
        tx = signed(self.side, key, to, data)
        self.side.submit(tx.raw)
        self.sent.append(tx)

    async def vault(self, key: str, function: str, *args: Any) -> None:
        if not self.side.has(self.m.vault):
            await self.create()
        self.send(key, self.m.vault, abi_codec.calldata("MandateVault", function, args))

    def amount(self, limit: int) -> Usdc:
        return Usdc(self.chance.randint(1, limit) * USD // self.chance.choice([1, 1, 7]))

    async def create(self) -> None:
        """By its owner, or by somebody who was quicker."""
        key = self.chance.choice([self.owner, self.owner, self.stranger])
        self.send(key, self.creation["to"], self.creation["data"])

    async def deposit(self) -> None:
        await self.vault(self.owner, "deposit", self.amount(150))

    async def donate(self) -> None:
        data = abi_codec.calldata("TestUSDC", "mint", (self.m.vault, self.amount(20)))
        self.send(self.stranger, self.world.evm.usdc, data)
        if self.chance.random() < 0.6:
            await self.vault(self.owner, "sync")

    async def invest(self) -> None:
        amount = self.amount(60)
        data = abi_codec.calldata("TestMarket", "deposit", (amount, self.m.vault))
        await self.execute(data, amount)

    async def execute(self, data: str, amount: Usdc) -> None:
        await self.vault(self.agent, "execute", self.world.evm.market, data, amount)
        self.acted.add(self.sent[-1].hash)

    def _redeem(self) -> str:
        to = self.m.vault
        return abi_codec.calldata(
            "TestMarket", "redeem", (self.chance.randint(1, 30) * USD, to, to)
        )

    async def redeem(self) -> None:
        await self.execute(self._redeem(), Usdc(0))

    async def unwind(self) -> None:
        await self.vault(self.owner, "unwind", self.world.evm.market, self._redeem())

    async def pause(self) -> None:
        await self.vault(self.owner, "revokeAgent")

    async def resume(self) -> None:
        await self.vault(self.owner, "setAgent", self.m.agent_wallet.address)

    async def stop(self) -> None:
        if self.chance.random() < 0.3:
            await self.vault(self.chance.choice([self.owner, self.agent]), "stop")

    async def withdraw(self) -> None:
        if self.chance.random() < 0.3:
            await self.vault(self.owner, "withdrawAll")

    async def settle(self) -> None:
        await self.vault(self.stranger, "settle")

    async def pay(self) -> None:
        await self.vault(self.stranger, "payAgent")

    async def mark(self) -> None:
        await self.vault(self.keeper, "mark")

    async def mine(self) -> None:
        self.side.mine()

    async def reorganise(self) -> None:
        """Always deeper than the confirmations, as far as there is anything to lose."""
        least, most = self.confirmations + 1, self.side.head() - self.base
        if most < least:
            return
        depth = self.chance.randint(least, min(most, least + 7))
        if self.chance.random() < 0.7:
            with contextlib.suppress(Refused):
                await self.reading.on()
        lost = self.side.lose(depth, self.chance)
        self.reorgs += 1
        for tx in lost:
            if self.chance.random() < 0.5:
                self.side.submit(tx.raw)

    # -- what the service is told

    async def read(self) -> None:
        with contextlib.suppress(Refused):
            await (self.reading.on() if self.chance.random() < 0.4 else self.reading.step())

    async def hold(self) -> None:
        """Hold the vault's totals against the rows, as the keeper does each round."""
        m = await self.world.store.read(lambda uow: uow.mandates.get(self.m.id))
        if m is not None and m.vault_address is not None:
            with contextlib.suppress(Refused):
                await self.keeping.compare([m])

    async def look(self) -> None:
        """The owner names a transaction that may have made the vault."""
        tx = self.chance.choice(self.sent)
        await self.m.as_owner("owner_vault_attach", tx_hash=tx.hash)

    async def receipt(self) -> None:
        """Somebody names a transaction of the vault, ahead of the reader or behind it."""
        for tx in self.chance.sample(self.sent[-8:], k=min(2, len(self.sent))):
            await self.m.as_owner("owner_vault_tx", tx_hash=tx.hash)

    async def report(self) -> None:
        tx = self.chance.choice(self.sent[-8:])
        if tx.hash not in self.acted or tx.hash in self.reported:
            return
        told = await self.m.as_agent(
            "mandate_report_event", kind="buy", amount_usdc="1", tx_hash=tx.hash
        )
        if told.status in (201, 202):
            self.reported[tx.hash] = told.body["event"]["event_id"]

    async def story(self) -> str:
        """All that is needed to understand what went wrong: what was done and asked, in its order,
        what was left out, the rows, the chain's own logs and the vault's own totals.
        """
        state = await self.world.chains.get(self.node.chain_id).vault_states([self.m.vault])
        rows = await self.world.store.read(lambda uow: uow.ledger.newest(self.m.id, 10_000))
        kept = await self.world.store.read(lambda uow: uow.chainlog.cursor(self.node.chain_id))
        parts = {
            "done": self.done,
            "left out": [] if self.faulty is None else self.faulty.left_out,
            "rows": [
                f"{e.event_id} {e.reported_by.value} {e.kind.value} {e.block_number}:{e.log_index} "
                f"{e.tx_hash} {e.amount_usdc} {json.dumps(e.payload)}"
                for e in reversed(rows)
            ],
            "chain": [
                f"{g.name} {g.block.number}:{g.log_index} {g.tx_hash} {dict(g.args)}"
                for g in await self.truth()
            ],
            "vault": [str(state), f"cursor {kept}", f"head {self.side.head()}"],
        }
        return "\n".join(f"-- {name}\n" + "\n".join(lines) for name, lines in parts.items())

    # -- what must hold

    async def rest(self) -> None:
        """Nothing more happens until everything is deep; the node tells the truth from here on,
        but for the logs that it leaves out; among honest ones it stays as it is.
        """
        if self.faulty is not None and self.faulty.fault != "omits" and not self.among:
            self.faulty.on = False
        for _ in range(self.confirmations + 4):
            self.side.mine()
        for _ in range(3):
            await self.reading.on()
            await self.unseen.round()
            await self.hold()

    async def compare(self) -> None:
        truth = await self.truth()
        state = (await self.world.chains.get(self.node.chain_id).vault_states([self.m.vault]))[
            self.m.vault
        ]
        await self.world.store.read(lambda uow: self.same(uow, truth, state))
        found = await verify(self.world.store)
        assert found.ok, found

    async def truth(self) -> list[VaultLog]:
        """The vault's logs, asked of the chain itself."""
        honest = self.world.chains.get(self.node.chain_id)
        return await LogReader(honest).logs_of(Watched.of([self.m.vault]), 0, self.side.head())

    def same(self, uow: UnitOfWork, truth: list[VaultLog], vault: VaultState) -> None:
        """The record is the vault's own, row by row and in every sum; behind a node that leaves logs
        out a row that moves no sum may be missing.
        """
        m = uow.mandates.get(self.m.id)
        assert m is not None
        assert (m.vault_address is not None) == vault.exists, "attached where there is a vault"
        rows = uow.ledger.newest(self.m.id, 10_000)
        self.logs = len(truth)
        self.changed = sum(
            isinstance(e.content.body, LogReversed) or e.content.restates is not None for e in rows
        )
        stand = told_here(list(reversed(rows)))
        there = [(g.block.number, g.log_index, g.tx_hash, g.block.at.isoformat()) for g in truth]
        assert not Counter(stand) - Counter(there), "no row tells of what is not there"
        assert self.omits or len(stand) == len(there)
        state = uow.ledger.state(self.m.id)
        told = state.measured
        assert (told.deposits, told.spent, told.received) == (
            vault.total_deposited.micros, vault.total_spent.micros, vault.total_returned.micros
        )  # fmt: skip
        assert (told.cash or 0) == vault.cash.micros + vault.fee_owed.micros
        # Of a closed vault the lens tells no more whether it was paused.
        if not (self.omits and (vault.stopped or vault.settled)):
            assert m.paused is (vault.exists and revoked(truth))
        assert (m.stopped_at is not None, m.settled_at is not None) == (
            vault.stopped,
            vault.settled,
        )
        status = Status.SETTLED if vault.settled else Status.STOPPED if vault.stopped else None
        assert m.status is (status or (Status.WORKING if told.deposits else Status.SIGNED))
        if truth:
            day = told.days.get(day_of(vault.block.at))
            assert (day.spent if day else 0) == vault.spent_today.micros
        mined = {tx_hash for _, _, tx_hash, _ in stand}
        waits = {c.tx_hash for c in state.claimed.pending.values()}
        assert waits == self.reported.keys() - mined, "a claim waits while no row tells of it"


def told_here(rows: list[Event]) -> list[tuple[int, int, str, str]]:
    """(block, log index, transaction, time) of every log that stands in the ledger."""
    by_tx: dict[str, list[Event]] = {}
    for e in rows:
        if e.reported_by is Reporter.CHAIN and e.tx_hash:
            by_tx.setdefault(e.tx_hash, []).append(e)
    return [
        (*place_of(t.now), tx, t.now.occurred_at.isoformat())
        for tx, same in by_tx.items()
        for t in log_histories(same)
        if t.is_standing
    ]


def revoked(logs: list[VaultLog]) -> bool:
    """True where the owner took the agent's authority away last; a stop revokes too, and is no
    pause.
    """
    now = False
    for before, g in zip([None, *logs], logs, strict=False):
        if g.name == "AgentSet":
            now = False
        elif g.name == "AgentRevoked":
            now = now or before is None or before.name != "Stopped"
    return now
