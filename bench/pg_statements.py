"""PostgreSQL: statements a call, processor a report beside SQLite, and one mandate served by two processes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Final

from aiohttp import ClientSession, TCPConnector

from bench.postgres import durable_postgres, new_database
from bench.stage import KEY, cpu_s, fill, median
from storage import migrate
from storage.store import open_store
from tests.storage.statements import logging

ROUNDS, TURN_S, MANDATES = 5, 1.5, 64
CLIENTS, HOT_CLIENTS = 8, 32
_keys: Final = count()


@dataclass(frozen=True, slots=True)
class Served:
    """A `wallet serve`."""

    base: str
    pid: int


@asynccontextmanager
async def served(url: str) -> AsyncIterator[Served]:
    """A server on a database, until the end of the block."""
    env = {
        "PATH": os.defpath, "PYTHONPATH": os.getcwd(), "WALLET_DATABASE_URL": url, "WALLET_DOOR": "on",
        "WALLET_RATE_READS": "0", "WALLET_RATE_WRITES": "0", "WALLET_RATE_ANONYMOUS": "0",
    }  # fmt: skip
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "server", "serve", "--port", "0", "--no-keeper",
        env=env, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert child.stderr is not None
    try:
        async for line in child.stderr:
            if found := re.search(rb"serving on (\S+)", line):
                break
        else:
            raise RuntimeError("the server ended before it was ready")
        rest = asyncio.create_task(child.stderr.read())
        yield Served(found[1].decode(), child.pid)
        rest.cancel()
    finally:
        child.terminate()
        await child.wait()


async def filled(url: str) -> str:
    """A database with an agent and working mandates."""
    await asyncio.to_thread(migrate.upgrade, url)
    store = await open_store(url)
    await fill(store, MANDATES)
    await store.close()
    return url


async def report(http: ClientSession, base: str, mandate: int) -> None:
    """One report."""
    url = f"{base}/wallet/mandates/m_bench{mandate:05d}/events"
    body = {"kind": "note", "payload": {"text": "bench"}}
    headers = {"Idempotency-Key": f"k{next(_keys)}"}
    async with http.post(url, json=body, headers=headers) as answer:
        assert answer.status == 201, await answer.text()


async def read(http: ClientSession, url: str) -> None:
    """One read."""
    async with http.get(url) as answer:
        assert answer.status == 200, await answer.text()
        await answer.read()


async def turn(
    http: ClientSession, servers: Sequence[Served], clients: int, mandates: int
) -> tuple[float, float, float]:
    """(reports a second, ms of processor a report, 99th of 100 times in ms) of so many clients."""
    times: list[float] = []
    used = sum(cpu_s(s.pid) for s in servers)
    began = time.perf_counter()

    async def client(n: int) -> None:
        numbers = count(n)
        while (at := time.perf_counter()) - began < TURN_S:
            await report(http, servers[n % len(servers)].base, next(numbers) % mandates)
            times.append(time.perf_counter() - at)

    await asyncio.gather(*(client(n) for n in range(clients)))
    took, used = time.perf_counter() - began, sum(cpu_s(s.pid) for s in servers) - used
    late = sorted(times)[len(times) * 99 // 100]
    return len(times) / took, used / len(times) * 1_000, late * 1_000


async def counted(http: ClientSession, url: str) -> dict[str, tuple[float, str]]:
    """What the server's own log says of one call of each kind."""
    log = await logging(url)
    async with served(url) as one:
        mandates = f"{one.base}/wallet/mandates"
        found = {}
        for _ in range(2):  # a driver asks a new connection about its types once
            log.statements()
            await report(http, one.base, 0)
            found["pg_report_statements"] = log.statements()
            await read(http, f"{mandates}/m_bench00000")
            found["pg_read_statements"] = log.statements()
            await read(http, f"{mandates}?limit=50")
            found["mandate_list_50_statements"] = log.statements()
    limits = {"pg_report_statements": 4, "pg_read_statements": 2, "mandate_list_50_statements": 4}
    return {
        n: (len(found[n]), f"in the server's log, at most {most}") for n, most in limits.items()
    }


async def measure() -> dict[str, tuple[float, str]]:
    """Every commit on the disk; in turns, medians of the pairs."""
    headers = {"X-Service-User-Key": KEY}
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = await stack.enter_async_context(durable_postgres())
        http = await stack.enter_async_context(
            ClientSession(headers=headers, connector=TCPConnector(limit=HOT_CLIENTS))
        )
        found = await counted(http, await filled(await new_database(server, "counted")))
        url = await filled(await new_database(server, "measured"))
        ours = [await stack.enter_async_context(served(url)) for _ in range(2)]
        beside = await stack.enter_async_context(served(await filled(f"sqlite:///{folder}/s.db")))
        cpu, hot, late = [], [], []
        for n in range(ROUNDS + 1):
            postgres = await turn(http, ours[:1], CLIENTS, MANDATES)
            sqlite = await turn(http, [beside], CLIENTS, MANDATES)
            alone = await turn(http, ours[:1], HOT_CLIENTS, 1)
            both = await turn(http, ours, HOT_CLIENTS, 1)
            if n:  # the first round fills caches and pools
                cpu.append(postgres[1] / sqlite[1])
                hot.append(both[0] / alone[0])
                late.append(both[2])
    return found | {
        "pg_report_cpu_over_sqlite": (
            median(cpu), "ratio of processor a report, 8 clients, at most 1.3",
        ),
        "pg_hot_two_over_one": (median(hot), "ratio of reports a second, at least 0.55"),
        "pg_hot_two_p99_ms": (median(late), "ms, 32 clients, two processes, at most 50"),
    }  # fmt: skip
