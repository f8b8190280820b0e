"""SIGTERM under load: the process is gone within two seconds, and what it acknowledged is kept."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from storage.repositories.identities import Agent
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.ports import free_port
from tests.server.test_process import environment
from tests.waiting import STUCK_S, terminated
from tools.context.credentials import hashed

WALLET = Path(sys.executable).parent / "wallet"  # as people type it: this one is always an `exec`

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("sqlite_url")]
WITHIN_S = 2.0
AGENTS = 8
NOW = datetime.now(UTC)
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
MCP = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def key(n: int) -> dict[str, str]:
    return {"X-Service-User-Key": "ak_" + chr(ord("a") + n) * 43}


def fill(uow: UnitOfWork) -> None:
    """Each agent has an owner of its own: one owner has a quarter of a process's sessions at the most."""
    for n in range(AGENTS):
        owner, address = f"u_o{n}", f"0x{n + 1:040x}"
        uow.identities.person(address, new_id=owner, now=NOW)
        uow.identities.add_agent(Agent(f"u_a{n}", owner, f"Agent {n}", None, NOW))
        uow.identities.add_key(f"k_{n}", f"u_a{n}", hashed(key(n)["X-Service-User-Key"]), NOW)
        uow.mandates.add(
            Mandate(
                public_id=f"m_aaaaaaaaa{'abcdefgh'[n]}", owner_id=owner, owner_address=address, budget_usdc=Usdc.parse("500"),
                horizon_days=30, stop_floor_bps=2000, created_at=NOW, agent_id=f"u_a{n}", status=Status.WORKING, accepted_at=NOW,
            )
        )  # fmt: skip


@dataclass
class Running:
    """A served process and its clients."""

    process: subprocess.Popen[bytes]
    base: str
    path: Path
    http: ClientSession
    open: AsyncExitStack
    acknowledged: list[str] = field(default_factory=list)

    async def stopped(self) -> float:
        """Seconds from SIGTERM to the end, without those in which a busy machine did not run it."""
        code, took = await terminated(self.process)
        assert code == 0, (self.path.parent / "log").read_text()[-4_000:]
        return took

    async def report(self, n: int) -> int:
        """Report a note; its text is acknowledged where it is answered so."""
        text = f"n{n}"
        url = f"{self.base}/wallet/mandates/m_aaaaaaaaa{'abcdefgh'[n % AGENTS]}/events"
        body = {"kind": "note", "payload": {"text": text}}
        try:
            async with self.http.post(url, json=body, headers=key(n % AGENTS)) as answer:
                await answer.read()
        except (ClientError, OSError):
            return 0
        if answer.status in (201, 202):
            self.acknowledged.append(text)
        return answer.status

    def stored(self) -> set[str]:
        with sqlite3.connect(self.path) as db:
            rows = db.execute("SELECT json_extract(payload, '$.text') FROM ledger_events")
            return {text for (text,) in rows}


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Running]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8_192)), hard))
    path = folder / "wallet.sqlite"
    store = await open_store(f"sqlite:///{path}")
    await store.write(fill)
    await store.close()
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    env = environment(
        folder, WALLET_BASE_URL=base, WALLET_RATE_READS="0", WALLET_RATE_WRITES="0", WALLET_STREAMS_PER_CALLER="2000",
    )  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [WALLET, "serve", "--port", str(port)], env=env, cwd=folder, stdout=log, stderr=log
        )
    try:
        async with (
            ClientSession(
                timeout=ClientTimeout(total=None), connector=TCPConnector(limit=0)
            ) as http,
            AsyncExitStack() as open_,
        ):
            with anyio.fail_after(STUCK_S):
                while True:
                    try:
                        async with http.get(base + "/healthz"):
                            break
                    except (ClientError, OSError):
                        assert process.poll() is None, (folder / "log").read_text()
                        await anyio.sleep(0.05)
            yield Running(process, base, path, http, open_)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


async def many(count: int, work: Any) -> None:
    """Some at a time, as hosts do."""
    numbers = iter(range(count))

    async def some() -> None:
        for n in numbers:
            await work(n)

    async with anyio.create_task_group() as group:
        for _ in range(32):
            group.start_soon(some)


async def a_session(at: Running, n: int) -> None:
    """An MCP session that rests, and listens as clients do."""
    headers = MCP | key(n % AGENTS)
    async with at.http.post(at.base + "/mcp", json=HELLO, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
    listening = at.http.get(at.base + "/mcp", headers=headers)
    answer = await at.open.enter_async_context(listening)
    assert answer.status == 200, await answer.text()


async def a_stream(at: Running, n: int) -> None:
    """A ledger's stream that is open and read."""
    url = f"{at.base}/wallet/mandates/m_aaaaaaaaa{'abcdefgh'[n % AGENTS]}/stream"
    answer = await at.open.enter_async_context(at.http.get(url, headers=key(n % AGENTS)))
    assert answer.status == 200, await answer.text()


async def an_sse(at: Running, n: int) -> None:
    """A session of the older transport."""
    answer = await at.open.enter_async_context(
        at.http.get(at.base + "/sse", headers=MCP | key(n % AGENTS))
    )
    assert answer.status == 200, await answer.text()
    await answer.content.readline()


LOADS = {"sessions": a_session, "streams": a_stream, "sse": an_sse}


async def ended(folder: Path, load: dict[str, int]) -> float:
    """Open all of it, report meanwhile, and end."""
    async with running(folder) as at:
        for name, count in load.items():
            await many(count, lambda n, open_=LOADS[name]: open_(at, n))  # type: ignore[misc]  # the default binds the loop's value
        going = True

        async def report(first: int) -> None:
            for n in range(first, 1_000_000, 4):
                if not going or not await at.report(n):
                    return

        async with anyio.create_task_group() as group:
            for first in range(4):
                group.start_soon(report, first)
            with anyio.fail_after(STUCK_S):
                while len(at.acknowledged) < 8:
                    await anyio.sleep(0.01)
            took = await at.stopped()
            going = False
        assert set(at.acknowledged) <= at.stored()
    return took


async def test_sigterm_ends_within_two_seconds_whatever_is_open(tmp_path: Path) -> None:
    assert await ended(tmp_path, {"sessions": 100, "streams": 100, "sse": 40}) < WITHIN_S


@pytest.mark.campaign
@pytest.mark.parametrize(
    "load",
    [{"sessions": 1_000}, {"streams": 1_500}, {"sse": 500}, {"sessions": 500, "streams": 1_000}],
)
async def test_sigterm_ends_within_two_seconds_under_the_most_that_may_be_open(
    tmp_path: Path, load: dict[str, int]
) -> None:
    assert await ended(tmp_path, load) < WITHIN_S


async def test_sigterm_ends_within_two_seconds_while_a_write_waits_for_anothers_lock(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as at:
        assert await at.report(0) == 201
        lock = sqlite3.connect(at.path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        waiting = [asyncio.create_task(at.report(n)) for n in range(1, 9)]
        await asyncio.sleep(0)
        with anyio.fail_after(STUCK_S):  # they are in the process when others are answered after
            async with at.http.get(at.base + "/wallet/agents/me", headers=key(0)) as answer:
                assert answer.status == 200
        took = await at.stopped()
        told = set(await asyncio.gather(*waiting))
        lock.execute("ROLLBACK")
        lock.close()
        assert took < WITHIN_S
        assert told <= {0, 503}, "refused or cut, and never acknowledged"
        assert at.stored() == {"n0"} == set(at.acknowledged)
