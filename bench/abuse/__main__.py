"""Cost that strangers can cause: `make abuse`, or `python -m bench.abuse [SECONDS]`.

A service with its default settings; one agent asks for its limits, alone, beside each stranger, and
beside all of them at once. The figures are ratios within the run; exit 1 where one is out of bounds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout

from bench.abuse.strangers import HELLO, KINDS
from bench.stage import KEY, fill, resident_kib
from storage.schema import migrate
from storage.store import open_store

# Of an agent's call beside strangers: the median against the quiet one, and the slowest hundredth.
MEDIAN_TIMES: Final = 3.0
SLOWEST_MS: Final = 250.0
MEMORY_TIMES: Final = 1.2
LOG_BYTES: Final = 1_000_000
DATABASE_BYTES: Final = 20_000_000
PAUSE_S: Final = 0.02
LIMITS: Final = "/wallet/mandates/m_bench00000/limits"


@dataclass(frozen=True, slots=True)
class Served:
    """A running service, and where its words and rows are."""

    base: str
    pid: int
    folder: Path

    @property
    def log_bytes(self) -> int:
        """The size of the log."""
        return (self.folder / "log").stat().st_size

    @property
    def database_bytes(self) -> int:
        """The size of the database's files."""
        return sum(path.stat().st_size for path in self.folder.glob("abuse.sqlite*"))


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    """`wallet serve` in a process of its own, with an agent in its database."""
    url = f"sqlite:///{folder / 'abuse.sqlite'}"
    await asyncio.to_thread(migrate.upgrade, url)
    store = await open_store(url)
    await fill(store)
    await store.close()
    env = os.environ | {"WALLET_DATABASE_URL": url, "WALLET_DOOR": "on"}
    command = (sys.executable, "-m", "server", "serve", "--port", "0")
    with (folder / "log").open("w") as log:
        process = await asyncio.create_subprocess_exec(*command, env=env, stderr=log)
    try:
        told = ""
        while "serving on" not in told:
            await asyncio.sleep(0.1)
            told = (folder / "log").read_text()
        base = told.partition("serving on ")[2].split()[0]
        yield Served(base, process.pid, folder)
    finally:
        process.terminate()
        await process.wait()


@dataclass(frozen=True, slots=True)
class Times:
    """Latencies of an agent's calls, and the number of failed ones."""

    p50_ms: float
    p99_ms: float
    calls: int
    lost: int


async def agent(http: ClientSession, base: str, seconds: float) -> Times:
    """An agent asks for its limits, again and again."""
    took, lost, until = list[float](), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        try:
            async with http.get(base + LIMITS, headers={"X-Service-User-Key": KEY}) as r:
                await r.read()
                lost += r.status != 200
        except (ClientError, TimeoutError):
            lost += 1
        took.append((time.perf_counter() - began) * 1_000)
        await asyncio.sleep(PAUSE_S)
    took.sort()
    return Times(
        took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)], len(took), lost
    )


async def warmed(http: ClientSession, service: Served) -> None:
    """Send one request of each kind, so that the process loads what the first caller needs."""
    takes = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with http.post(service.base + "/mcp", data=HELLO, headers=takes) as r:
        await r.read()
    note = {"note": "Let my agent spend 100 USDC for 30 days."}
    async with http.post(service.base + "/wallet/mandates/draft", json=note) as r:
        await r.read()
    for page in ("/app", "/app/sign-in", "/wallet/hall", "/openapi.json", "/wallet/skill.md"):
        async with http.get(service.base + page) as r:
            await r.read()
    await agent(http, service.base, 3)


async def beside(
    http: ClientSession, service: Served, kinds: list[str], seconds: float
) -> tuple[Times, dict[str, dict[str, int]]]:
    """The agent's times beside strangers, and what those were answered."""
    command = (sys.executable, "-m", "bench.abuse.strangers", service.base, str(seconds), *kinds)
    strangers = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    await asyncio.sleep(2)  # they have to load
    times = await agent(http, service.base, seconds - 1)
    told, _ = await strangers.communicate()
    return times, json.loads(told)


def line(name: str, times: Times, quiet: Times, answers: object) -> bool:
    """Print one row; whether it is within bounds."""
    ratio = times.p50_ms / quiet.p50_ms
    well = ratio <= MEDIAN_TIMES and times.p99_ms <= SLOWEST_MS and not times.lost
    print(
        f"{name:18} p50 {times.p50_ms:7.1f} ms ({ratio:4.1f} x quiet)  p99 {times.p99_ms:7.1f} ms"
        f"  {times.calls:4} calls, {times.lost} lost  {'' if well else 'OUT OF BOUNDS '}{answers}",
        flush=True,
    )
    return well


async def main(seconds: float) -> bool:
    """Play it all; whether every figure is within bounds."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            served(Path(folder)) as service,
            ClientSession(timeout=ClientTimeout(10)) as http,
        ):
            await warmed(http, service)
            quiet = await agent(http, service.base, 5)
            well = [line("quiet", quiet, quiet, "")]
            for kind in KINDS:
                times, answers = await beside(http, service, [kind], 6)
                well.append(line(kind, times, quiet, answers[kind]))
            memory, log, rows = resident_kib(service.pid), service.log_bytes, service.database_bytes
            times, every = await beside(http, service, list(KINDS), seconds)
            well.append(
                line("all at once", times, quiet, sum(map(sum, map(dict.values, every.values()))))
            )
            ratio, rows = resident_kib(service.pid) / memory, service.database_bytes - rows
            log = service.log_bytes - log
            traced = (service.folder / "log").read_text().count("Traceback")
            print(
                f"after {seconds:.0f} s of all: memory {memory // 1024} MiB x {ratio:.2f}; "
                f"log +{log / 1000:.0f} kB, {traced} tracebacks; database +{rows / 1000:.0f} kB"
            )
            well += [ratio <= MEMORY_TIMES, log <= LOG_BYTES, not traced, rows <= DATABASE_BYTES]
    return all(well)


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main(float((*sys.argv, "60")[1]))) else 1)
