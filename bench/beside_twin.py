"""Reports and reads over those of the plain service in `bench/twin`: both as processes, in turns."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from bench.client import Client
from bench.lines import Found
from bench.paired import paired
from bench.postgres import durable_postgres, new_database
from bench.stage import KEY, NOW, fill, mandate, note
from storage.schema import migrate
from storage.store import open_store

TWIN: Final = Path(__file__).parent / "twin"
ENVIRONMENT: Final = Path("build/twin").absolute()
ROUNDS, MANDATES = 20, 100
LEDGERS: Final = {"m_read000010": 10, "m_read001000": 1_000}
# Least rates against the twin's, by clients at once.
REPORTS: Final = {1: 1.5, 8: 2.5, 32: 4}
READERS, TURN_S = 8, 0.25


@dataclass(frozen=True, kw_only=True)
class Service:
    """A running service, and how it is asked."""

    http: Client
    report_path: str
    report_body: dict[str, object]
    read_path: str
    _numbers: count[int] = field(default_factory=count)

    async def report(self) -> None:
        """One report, to each mandate in turn."""
        n = next(self._numbers)
        path = self.report_path.format(f"m_bench{n % MANDATES:05d}")
        headers = {"Idempotency-Key": f"k{n}"}
        answer = await self.http.post(path, self.report_body, headers)
        assert answer.status == 201, answer.body

    async def read(self, public_id: str) -> None:
        """One read."""
        answer = await self.http.get(self.read_path.format(public_id))
        assert answer.status == 200, answer.body


@asynccontextmanager
async def process(
    command: list[str], env: dict[str, str], text: str
) -> AsyncIterator[tuple[str, int]]:
    """A server until the end of the block: the address that it tells on stderr, its process id."""
    child = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert child.stderr is not None
    lines = []
    async for line in child.stderr:
        lines.append(line.decode())
        if found := re.search(text, lines[-1]):
            break
    else:
        raise RuntimeError("".join(lines))
    swallowed = asyncio.create_task(_swallow(child.stderr))
    try:
        yield found[1], child.pid
    finally:
        child.terminate()
        await child.wait()
        swallowed.cancel()


async def _swallow(lines: asyncio.StreamReader) -> None:
    while await lines.read(65_536):
        pass


@asynccontextmanager
async def ours(url: str) -> AsyncIterator[Service]:
    """`wallet serve` on a database that is filled here."""
    await asyncio.to_thread(migrate.upgrade, url)
    store = await open_store(url)
    await fill(store, MANDATES)
    for public_id, rows in LEDGERS.items():

        def ledger(uow, public_id=public_id, rows=rows) -> None:  # type: ignore[no-untyped-def]
            uow.mandates.add(mandate(public_id))
            for n in range(rows):
                uow.ledger.append(public_id, note(n), event_id=f"ev_{public_id}_{n}", now=NOW)

        await store.write(ledger)
    await store.close()
    env = {
        "PATH": os.defpath, "PYTHONPATH": os.getcwd(), "WALLET_DATABASE_URL": url, "WALLET_DOOR": "on",
        "WALLET_RATE_READS": "0", "WALLET_RATE_WRITES": "0", "WALLET_RATE_ANONYMOUS": "0", "WALLET_CONNECTIONS_PER_ADDRESS": "0",
    }  # fmt: skip
    command = [sys.executable, "-m", "server", "serve", "--port", "0"]
    async with (
        process(command, env, r"serving on (\S+)") as (base, _),
        aclosing(Client(base, {"X-Service-User-Key": KEY})) as http,
    ):
        yield Service(
            http=http,
            report_path="/wallet/mandates/{}/events",
            report_body={"kind": "note", "payload": {"text": "bench"}},
            read_path="/wallet/mandates/{}",
        )


@asynccontextmanager
async def twin(url: str) -> AsyncIterator[Service]:
    """The plain service on a database of its own, filled alike; one worker, as ours."""
    python = str(ENVIRONMENT / "bin" / "python")
    scheme, _, rest = url.partition("://")
    driver = {"postgresql": "postgresql+asyncpg", "sqlite": "sqlite+aiosqlite"}[scheme]
    env = {"PATH": os.defpath, "TWIN_DATABASE_URL": f"{driver}://{rest}", "PYTHONPATH": str(TWIN)}
    ledgers = [f"{name}={rows}" for name, rows in LEDGERS.items()]
    filling = [python, str(TWIN / "seed.py"), KEY, str(MANDATES), *ledgers]
    await asyncio.to_thread(subprocess.run, filling, env=env, check=True, timeout=120)
    # Its five seconds of keep-alive may pass while the other one has its turn.
    options = ["--host", "127.0.0.1", "--port", "0", "--timeout-keep-alive", "75"]
    command = [python, "-m", "uvicorn", "service:app", *options]
    async with (
        process(command, env, r"running on (http\S+)") as (base, _),
        aclosing(Client(base, {"X-Key": KEY})) as http,
    ):
        yield Service(
            http=http,
            report_path="/mandates/{}/events",
            report_body={"kind": "note", "payload": {"text": "bench"}},
            read_path="/mandates/{}",
        )


def install() -> None:
    """The environment of the twin, from its lock; made once."""
    lock, done = TWIN / "requirements.txt", ENVIRONMENT / ".locked"
    if done.exists() and done.stat().st_mtime >= lock.stat().st_mtime:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
    command = [
        str(ENVIRONMENT / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--require-hashes",
    ]
    subprocess.run([*command, "-r", str(lock)], check=True, timeout=600)
    done.touch()


async def times(
    us: Callable[[], Awaitable[object]], them: Callable[[], Awaitable[object]], *, workers: int
) -> tuple[float, float, float]:
    """(times as many a second, ours a second, theirs)."""
    turns = {
        "us": partial(turn, us, workers=workers),
        "them": partial(turn, them, workers=workers),
    }
    costs = await paired(turns, rounds=ROUNDS)
    return costs.ratio("them", "us"), 1 / costs.middle("us"), 1 / costs.middle("them")


async def turn(call: Callable[[], Awaitable[object]], *, workers: int) -> float:
    """Seconds a call, of workers that begin calls for so long."""
    started, calls = time.perf_counter(), 0

    async def work() -> None:
        nonlocal calls
        while time.perf_counter() - started < TURN_S:
            await call()
            calls += 1

    await asyncio.gather(*[work() for _ in range(workers)])
    return (time.perf_counter() - started) / calls


async def measure() -> AsyncIterator[Found]:
    """PostgreSQL with every commit on the disk, then SQLite; case by case."""
    install()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(durable_postgres())
        us = await stack.enter_async_context(ours(await new_database(server, "ours")))
        them = await stack.enter_async_context(twin(await new_database(server, "twin")))
        for workers, wanted in REPORTS.items():
            told = await times(us.report, them.report, workers=workers)
            yield _lines("pg_report", f"_{workers}", told, wanted)
        for public_id, rows in LEDGERS.items():
            request = (partial(us.read, public_id), partial(them.read, public_id))
            told = await times(*request, workers=READERS)
            yield _lines("pg_read", f"_{rows}", told, 2.5)
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            us = await stack.enter_async_context(ours(f"sqlite:///{folder}/ours.sqlite"))
            them = await stack.enter_async_context(twin(f"sqlite:///{folder}/twin.sqlite"))
            told = await times(us.report, them.report, workers=32)
            yield _lines("sqlite_report", "_32", told, 4)


def _lines(name: str, snapshot: str, told: tuple[float, float, float], wanted: float) -> Found:
    ratio, us, them = told
    return {
        f"{name}_over_twin{snapshot}": (ratio, f"ratio of throughput, at least {wanted:g}"),
        f"{name}_per_second{snapshot}": (us, "1/s"),
        f"twin_{name}_per_second{snapshot}": (them, "1/s"),
    }
