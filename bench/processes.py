"""One, two and four serving processes behind the shipped nginx on one PostgreSQL: `python -m bench.processes`.

An agent reports and reads, over many mandates, as fast as it is answered, sixteen calls at once for each process. The processor of the processes, of
nginx and of PostgreSQL is counted apart, so that a figure says what a request costs, also where others use the machine.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aiohttp import ClientSession, TCPConnector

from bench.beside_twin import process
from bench.postgres import durable_postgres, new_database
from bench.stage import KEY, cpu_s, fill, median, rate
from storage.schema import migrate
from storage.store import open_store
from tests.deploy.proxies import HOME, NGINX, _started, certified, nginx
from tests.ports import free_port

MANDATES, CALLS, CALLERS, ROUNDS = 256, 1_500, 16, 5
COUNTS: Final = (1, 2, 4)
PARTS: Final = ("processes", "nginx", "postgres")


@dataclass
class Found:
    """What the rounds with some processes found: requests a second, CPU milliseconds a request by part."""

    rates: list[float] = field(default_factory=list)
    cpu_ms: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})

    def told(self, processes: int) -> str:
        """A line of it."""
        cpu = {part: median(values) for part, values in self.cpu_ms.items()}
        parts = "  ".join(f"{part} {value:5.2f}" for part, value in cpu.items())
        total = sum(cpu.values())
        return f"{processes} processes: {median(self.rates):6.0f} requests/s; CPU s per 1,000: {total:5.2f} ({parts})"


def children(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from children(int(child))


def used_s(pids: Sequence[int]) -> float:
    """CPU seconds of some processes with all below them, so far."""
    return sum(cpu_s(one) for pid in pids for one in children(pid))


@asynccontextmanager
async def served(url: str, base: str, count: int) -> AsyncIterator[dict[str, int]]:
    """So many processes on one database: their addresses and process ids."""
    env = {
        "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path.cwd()), "WALLET_DATABASE_URL": url, "WALLET_STATE_KEYS": "0f" * 32,
        "WALLET_BASE_URL": base, "WALLET_TRUSTED_PROXIES": HOME, "WALLET_RATE_READS": "0", "WALLET_RATE_WRITES": "0",
        "WALLET_LOG_LEVEL": "ERROR", "WALLET_DOOR": "on",
    }  # fmt: skip
    command = [sys.executable, "-m", "server", "serve", "--no-keeper", "--port", "0"]
    async with AsyncExitStack() as stack:
        yield dict(
            [
                await stack.enter_async_context(process(command, env, r"serving on (\S+)"))
                for _ in range(count)
            ]
        )


def upstream(folder: Path, bases: Sequence[str]) -> None:
    """Put some processes into the shipped file, as many as there are."""
    servers = "".join(f"    server {b.removeprefix('http://')} max_fails=1 fail_timeout=5s;\n" for b in bases)  # fmt: skip
    shipped = (NGINX / "processes.conf").read_text()
    text = re.sub(r"(?m)(^    server .*\n)+", servers, shipped)
    (folder / "processes.conf").write_text(text)


async def round_of(front: str, http: ClientSession, mark: str, callers: int) -> float:
    """Requests a second: a report, then two reads, of one mandate after the other."""
    headers = {"X-Service-User-Key": KEY}

    async def call(n: int) -> None:
        path = f"{front}/wallet/mandates/m_bench{n // 3 % MANDATES:05d}"
        if n % 3:
            async with http.get(path, headers=headers) as answer:
                await answer.read()
        else:
            body = {"kind": "note", "payload": {"text": f"{mark}-{n}"}}
            async with http.post(path + "/events", json=body, headers=headers) as answer:
                await answer.read()
        assert answer.status < 300, await answer.text()

    return await rate(call, workers=callers, calls=CALLS)


async def measured() -> None:
    """The counts in turns, so that what others do on the machine meets each alike."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, found = Path(scratch), {count: Found() for count in COUNTS}
        folder.chmod(0o755)
        tls, port = certified(folder), free_port()
        front = f"https://{HOME}:{port}"
        async with durable_postgres() as server:
            url = await new_database(server, "processes")
            await asyncio.to_thread(migrate.upgrade, url)
            store = await open_store(url)
            await fill(store, MANDATES)
            await store.close()
            database = [postmaster(server)]
            async with served(url, front, max(COUNTS)) as processes:
                for turn in range(ROUNDS + 1):
                    for count, of in found.items():
                        command = nginx(folder, port, free_port(), list(processes)[:2])
                        upstream(folder, list(processes)[:count])
                        with _started(command, folder):
                            connector = TCPConnector(limit=CALLERS * count, ssl=tls)
                            async with ClientSession(connector=connector) as http:
                                await ready(front, http)
                                proxy = [int((folder / "pid").read_text())]
                                pids = dict(zip(PARTS, ([*processes.values()], proxy, database), strict=True))  # fmt: skip
                                before = {part: used_s(those) for part, those in pids.items()}
                                told = await round_of(
                                    front, http, f"{turn}-{count}", CALLERS * count
                                )
                                after = {part: used_s(those) for part, those in pids.items()}
                        if turn:  # the first one warms
                            of.rates.append(told)
                            for part, values in of.cpu_ms.items():
                                values.append((after[part] - before[part]) * 1_000 / CALLS)
        for count, of in found.items():
            print(of.told(count), flush=True)


def postmaster(server: str) -> int:
    """The process id of the PostgreSQL that listens on a port of this machine."""
    port = server.rpartition(":")[2]
    for stat in Path("/proc").glob("[0-9]*/cmdline"):
        words = stat.read_bytes().split(b"\0")
        if f"port={port}".encode() in words:
            return int(stat.parent.name)
    raise LookupError(server)


async def ready(front: str, http: ClientSession) -> None:
    """Wait for the proxy."""
    while True:
        try:
            async with http.get(front + "/healthz") as answer:
                if answer.status == 200:
                    return
        except OSError:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(measured())
