"""PostgreSQL: statements a call, processor a report beside SQLite, and one mandate served by two processes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

from bench.client import Client
from bench.paired import paired
from bench.postgres import durable_postgres, new_database
from bench.stage import KEY, cpu_s, fill, median
from storage.schema import migrate
from storage.store import open_store
from tests.storage.statements import logging

ROUNDS, TURN_S, MANDATES = 4, 1.5, 64
CLIENTS, HOT_CLIENTS = 8, 32
_keys: Final = count()


@dataclass(frozen=True, slots=True)
class Served:
    """A `wallet serve`, and who asks it."""

    http: Client
    pid: int


@asynccontextmanager
async def served(url: str) -> AsyncIterator[Served]:
    """A server on a database, until the end of the block."""
    env = {
        "PATH": os.defpath, "PYTHONPATH": os.getcwd(), "WALLET_DATABASE_URL": url, "WALLET_DOOR": "on",
        "WALLET_RATE_READS": "0", "WALLET_RATE_WRITES": "0", "WALLET_RATE_ANONYMOUS": "0", "WALLET_CONNECTIONS_PER_ADDRESS": "0",
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
        async with aclosing(Client(found[1].decode(), {"X-Service-User-Key": KEY})) as http:
            yield Served(http, child.pid)
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


async def report(http: Client, mandate: int) -> None:
    """One report."""
    path = f"/wallet/mandates/m_bench{mandate:05d}/events"
    body = {"kind": "note", "payload": {"text": "bench"}}
    answer = await http.post(path, body, {"Idempotency-Key": f"k{next(_keys)}"})
    assert answer.status == 201, answer.body


async def read(http: Client, path: str) -> None:
    """One read."""
    answer = await http.get(path)
    assert answer.status == 200, answer.body


async def turn(
    servers: Sequence[Served], clients: int, mandates: int
) -> tuple[float, float, float]:
    """(reports a second, ms of processor a report, 99th of 100 times in ms) of so many clients."""
    times: list[float] = []
    used = sum(cpu_s(s.pid) for s in servers)
    began = time.perf_counter()

    async def client(n: int) -> None:
        numbers = count(n)
        while (at := time.perf_counter()) - began < TURN_S:
            await report(servers[n % len(servers)].http, next(numbers) % mandates)
            times.append(time.perf_counter() - at)

    await asyncio.gather(*(client(n) for n in range(clients)))
    took, used = time.perf_counter() - began, sum(cpu_s(s.pid) for s in servers) - used
    late = sorted(times)[len(times) * 99 // 100]
    return len(times) / took, used / len(times) * 1_000, late * 1_000


async def counted(url: str) -> dict[str, tuple[float, str]]:
    """Count one call's statements of each kind, by the server's own log."""
    log = await logging(url)
    async with served(url) as one:
        found = {}
        for _ in range(2):  # a driver asks a new connection about its types once
            log.statements()
            await report(one.http, 0)
            found["pg_report_statements"] = log.statements()
            await read(one.http, "/wallet/mandates/m_bench00000")
            found["pg_read_statements"] = log.statements()
            await read(one.http, "/wallet/mandates?limit=50")
            found["mandate_list_50_statements"] = log.statements()
    limits = {"pg_report_statements": 4, "pg_read_statements": 2, "mandate_list_50_statements": 4}
    return {
        n: (len(found[n]), f"in the server's log, at most {most}") for n, most in limits.items()
    }


async def measure() -> dict[str, tuple[float, str]]:
    """Every commit on the disk."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = await stack.enter_async_context(durable_postgres())
        found = await counted(await filled(await new_database(server, "counted")))
        url = await filled(await new_database(server, "measured"))
        ours = [await stack.enter_async_context(served(url)) for _ in range(2)]
        beside = await stack.enter_async_context(served(await filled(f"sqlite:///{folder}/s.db")))
        late: list[float] = []

        async def cpu(servers: Sequence[Served]) -> float:
            return (await turn(servers, CLIENTS, MANDATES))[1]

        async def hot(servers: Sequence[Served]) -> float:
            rate, _, late_ms = await turn(servers, HOT_CLIENTS, 1)
            late.extend([late_ms] if len(servers) > 1 else [])
            return 1 / rate

        beside_turns = {"postgres": partial(cpu, ours[:1]), "sqlite": partial(cpu, [beside])}
        report = await paired(beside_turns, rounds=ROUNDS)
        alone_turns = {"one": partial(hot, ours[:1]), "two": partial(hot, ours)}
        one_mandate = await paired(alone_turns, rounds=ROUNDS)
    return found | {
        "pg_report_cpu_over_sqlite": (
            report.ratio("postgres", "sqlite"), "ratio of processor a report, 8 clients, at most 1.3",
        ),
        "pg_hot_two_over_one": (
            one_mandate.ratio("one", "two"), "ratio of reports a second, at least 0.55",
        ),
        "pg_hot_two_p99_ms": (median(late), "ms, 32 clients, two processes, at most 50"),
    }  # fmt: skip
