"""The chain reader: logs a second out of history, and what a poll costs with few vaults and with many."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.postgres import durable_postgres, new_database
from bench.stage import listed, median
from chain.logs.log_reader import LogReader
from chain.rpc.http_transport import RpcCall
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from storage.schema import migrate
from tests import npm
from tests.anvil.chains import running_anvil
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, running_evm, working
from venue.venues import Networks

VAULTS = (10, 1_000, 10_000)
DEPOSITS, POLLS = 200, 40
ROUNDS, DEPOSIT = 15, "0.1"


class Counted:
    """Counts the requests that the chain's node is sent, and the questions in them."""

    def __init__(self, world: World):
        self.requests = self.asked = 0
        transport = world.chains.get(CHAIN_ID).node().clients[0]._transport
        one, many = transport.one, transport.many

        async def counting_one(question: RpcCall) -> object:
            self.requests, self.asked = self.requests + 1, self.asked + 1
            return await one(question)

        async def counting_many(questions: Sequence[RpcCall]) -> list[object]:
            self.requests, self.asked = self.requests + 1, self.asked + len(questions)
            return await many(questions)

        # Where every question passes.
        transport.one, transport.many = counting_one, counting_many  # type: ignore[method-assign]


async def measure() -> dict[str, tuple[float, str]]:
    """Real blocks and logs of the embedded chain, over HTTP, into a real database."""
    chain = running_evm()
    with tempfile.TemporaryDirectory() as folder:
        evm = await asyncio.to_thread(chain.__enter__)
        url = f"sqlite:///{Path(folder) / 'bench.sqlite'}"
        await asyncio.to_thread(migrate.upgrade, url)
        async with a_world(url, evm) as world:
            m = await working(world, deposit="1")
            for call in listed(await m.as_owner("owner_fund", amount="400"), "calls")[:1]:
                await world.mined(m.owner_wallet, call)
            for _ in range(DEPOSITS):
                calls = listed(await m.as_owner("owner_fund", amount="1"), "calls")
                await world.mined(m.owner_wallet, calls[-1])
            told = Settings(chains={CHAIN_ID: {"rpc_url": evm.url}})  # type: ignore[dict-item]  # pydantic reads it
            ticks = KeeperScheduler(Runtime(told, world.deps, world.chains, Networks({})))
            reader = LogReader(world.chains.get(CHAIN_ID))
            counted, started = Counted(world), time.perf_counter()
            await ticks.read_chain(reader)
            took = time.perf_counter() - started
            rows = await world.store.read(lambda uow: uow.ledger.head(m.id)[0])
            found = {
                "reader_backfill_logs_per_second": (
                    rows / took,
                    "1/s, each log in a block of its own",
                ),
                "reader_rpc_calls": (counted.asked, "questions for that backlog, at most 250"),
                "reader_rpc_requests": (counted.requests, "HTTP requests for it"),
            }
            cost = {n: await _polled(world, ticks, reader, n) for n in VAULTS}
        await asyncio.to_thread(chain.__exit__, None, None, None)
    few, many = cost[VAULTS[0]], cost[VAULTS[-1]]
    for n, (questions, ms) in cost.items():
        found[f"reader_poll_calls_{n}"] = (questions, f"questions a new block, {n} vaults")
        found[f"reader_poll_ms_{n}"] = (ms, f"ms a new block, {n} vaults")
    found["reader_poll_calls_10k_over_10"] = (many[0] / few[0], "ratio of questions, at most 1")
    found["reader_poll_ms_10k_over_10"] = (many[1] / few[1], "ratio of time, at most 10")
    return found | await _on_both_databases()


@dataclass(frozen=True)
class Side:
    """A database, the mandate whose vault's deposits it is told of, and how it reads."""

    world: World
    mandate: Mandated
    ticks: KeeperScheduler
    reader: LogReader
    deposit: dict[str, str]

    async def read(self) -> float:
        """Seconds until nothing is left to be read; every deposit is a row then."""
        before = await self._rows()
        started = time.perf_counter()
        await self.ticks.read_chain(self.reader)
        took = time.perf_counter() - started
        assert await self._rows() - before >= DEPOSITS
        return took

    async def _rows(self) -> int:
        return await self.world.store.read(lambda uow: uow.ledger.head(self.mandate.id)[0])


async def _on_both_databases() -> dict[str, tuple[float, str]]:
    """A backlog of the same blocks, read from Anvil into PostgreSQL and into SQLite.

    Again and again, each time another backlog and the other side first: both go on as a service
    does that has been up for a while. The first time, which plans every statement, does not count.
    """
    if npm.missing():
        return {}
    running = running_anvil()
    evm = await asyncio.to_thread(running.__enter__)
    try:
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            server = await stack.enter_async_context(durable_postgres())
            urls = (await new_database(server, "reader"), f"sqlite:///{folder}/reader.sqlite")
            sides = [await _side(stack, url, evm) for url in urls]
            took = []
            for n in range(ROUNDS + 1):
                await asyncio.to_thread(_deposited, evm, [side.deposit for side in sides])
                turn = sides[:: 1 if n % 2 else -1]
                times = {side.mandate.id: await side.read() for side in turn}
                took.append([times[side.mandate.id] for side in sides])
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)
    pairs = took[1:]
    return {
        "reader_pg_over_sqlite": (
            median([on_sqlite / on_postgres for on_postgres, on_sqlite in pairs]),
            "ratio of logs a second, at least 0.7",
        ),
        "reader_pg_logs_per_second": (
            DEPOSITS / median([on_postgres for on_postgres, _ in pairs]),
            "1/s, from Anvil",
        ),
        "reader_sqlite_logs_per_second": (
            DEPOSITS / median([on_sqlite for _, on_sqlite in pairs]),
            "1/s, from Anvil",
        ),
    }


async def _side(stack: AsyncExitStack, url: str, evm: Evm) -> Side:
    """A database with a mandate whose owner may deposit for as long as this goes on."""
    await asyncio.to_thread(migrate.upgrade, url)
    world = await stack.enter_async_context(a_world(url, evm))
    m = await working(world, deposit="1")
    approve, deposit = listed(await m.as_owner("owner_fund", amount="400"), "calls")
    await world.mined(m.owner_wallet, approve)
    deposit = listed(await m.as_owner("owner_fund", amount=DEPOSIT), "calls")[-1]
    told = Settings(chains={CHAIN_ID: {"rpc_url": evm.url}})  # type: ignore[dict-item]  # pydantic reads it
    ticks = KeeperScheduler(Runtime(told, world.deps, world.chains, Networks({})))
    reader = LogReader(world.chains.get(CHAIN_ID))
    await ticks.read_chain(reader)
    sent = {"from": m.owner_wallet.address, "to": deposit["to"], "data": deposit["data"]}
    return Side(world, m, ticks, reader, sent | {"gas": hex(300_000)})


def _deposited(evm: Evm, deposits: Sequence[dict[str, str]]) -> None:
    """Blocks with a deposit of each owner; Anvil speaks for them."""
    rpc = evm.chain.rpc  # type: ignore[attr-defined]  # Anvil's, in the place of the embedded one
    rpc("evm_setAutomine", False)
    for deposit in deposits:
        rpc("anvil_impersonateAccount", deposit["from"])
    for _ in range(DEPOSITS):
        for deposit in deposits:
            rpc("eth_sendTransaction", deposit)
        rpc("evm_mine")
    rpc("evm_setAutomine", True)


async def _polled(
    world: World, ticks: KeeperScheduler, reader: LogReader, vaults: int
) -> tuple[float, float]:
    """(questions, milliseconds) of a poll that finds one new block."""

    def fill(uow) -> None:  # type: ignore[no-untyped-def]
        for n in range(vaults - 1):
            uow.chainlog.add_vault(CHAIN_ID, f"0x{n + 1:040x}", f"0x{n:064x}", 1)

    await world.store.write(fill)
    counted, times = Counted(world), []
    for _ in range(POLLS):
        world.evm.chain.mine()
        started = time.perf_counter()
        await ticks.read_chain(reader)
        times.append((time.perf_counter() - started) * 1_000)
    return counted.asked / POLLS, median(times)
