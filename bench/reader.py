"""The chain reader: logs a second out of history, and what a poll costs with few vaults and with many."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from bench.postgres import durable_postgres, new_database
from bench.stage import median
from chain.reader import Reader
from chain.transport import Question
from server.settings import Settings
from server.ticks import Ticks
from server.wiring import Wired
from storage import migrate
from tests import npm
from tests.anvil.chains import running_anvil
from tests.world import CHAIN_ID, World, a_world, running_evm, working
from venue.networks import Networks

VAULTS = (10, 1_000, 10_000)
DEPOSITS, POLLS = 200, 40


class Counted:
    """Counts the requests that the chain's node is sent, and the questions in them."""

    def __init__(self, world: World):
        self.requests = self.asked = 0
        transport = world.chains.get(CHAIN_ID).node().each[0]._transport
        one, many = transport.one, transport.many

        async def counting_one(question: Question) -> object:
            self.requests, self.asked = self.requests + 1, self.asked + 1
            return await one(question)

        async def counting_many(questions: Sequence[Question]) -> list[object]:
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
            for call in (await m.as_owner("owner_fund", amount="400")).body["calls"][:1]:
                await world.mined(m.owner_wallet, call)
            for _ in range(DEPOSITS):
                calls = (await m.as_owner("owner_fund", amount="1")).body["calls"]
                await world.mined(m.owner_wallet, calls[-1])
            told = Settings(chains={CHAIN_ID: {"rpc_url": evm.url}})  # type: ignore[dict-item]  # pydantic reads it
            ticks = Ticks(Wired(told, world.deps, world.chains, Networks({})))
            reader = Reader(world.chains.get(CHAIN_ID))
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
    for n, (calls, ms) in cost.items():
        found[f"reader_poll_calls_{n}"] = (calls, f"questions a new block, {n} vaults")
        found[f"reader_poll_ms_{n}"] = (ms, f"ms a new block, {n} vaults")
    found["reader_poll_calls_10k_over_10"] = (many[0] / few[0], "ratio of questions, at most 1")
    found["reader_poll_ms_10k_over_10"] = (many[1] / few[1], "ratio of time, at most 10")
    return found | await _on_both_databases()


async def _on_both_databases() -> dict[str, tuple[float, str]]:
    """A backlog of the same blocks, read from Anvil into PostgreSQL and into SQLite."""
    if npm.missing():
        return {}
    running = running_anvil()
    evm = await asyncio.to_thread(running.__enter__)
    try:
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            server = await stack.enter_async_context(durable_postgres())
            urls = (await new_database(server, "reader"), f"sqlite:///{folder}/reader.sqlite")
            sides = []
            for url in urls:
                await asyncio.to_thread(migrate.upgrade, url)
                world = await stack.enter_async_context(a_world(url, evm))
                m = await working(world, deposit="1")
                for call in (await m.as_owner("owner_fund", amount="400")).body["calls"][:1]:
                    await world.mined(m.owner_wallet, call)
                sides.append((world, m))
            for _ in range(DEPOSITS):
                for world, m in sides:
                    calls = (await m.as_owner("owner_fund", amount="1")).body["calls"]
                    await world.mined(m.owner_wallet, calls[-1])
            took = []
            for world, m in sides:
                told = Settings(chains={CHAIN_ID: {"rpc_url": evm.url}})  # type: ignore[dict-item]  # pydantic reads it
                ticks = Ticks(Wired(told, world.deps, world.chains, Networks({})))
                started = time.perf_counter()
                await ticks.read_chain(Reader(world.chains.get(CHAIN_ID)))
                took.append(time.perf_counter() - started)
                rows = await world.store.read(lambda uow, m=m: uow.ledger.head(m.id)[0])  # type: ignore[misc]
                assert rows > DEPOSITS, rows
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)
    on_postgres, on_sqlite = took
    return {
        "reader_pg_over_sqlite": (on_sqlite / on_postgres, "ratio of logs a second, at least 0.7"),
        "reader_pg_logs_per_second": (DEPOSITS / on_postgres, "1/s, from Anvil"),
        "reader_sqlite_logs_per_second": (DEPOSITS / on_sqlite, "1/s, from Anvil"),
    }


async def _polled(world: World, ticks: Ticks, reader: Reader, vaults: int) -> tuple[float, float]:
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
