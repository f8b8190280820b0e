"""Shared set-up of the measurements: a database with a working mandate and an agent's key, and a
loader.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.settings import Switches
from server.runtime.gc_tuning import freeze_startup_objects
from server.settings import Settings
from server.system import SystemClock, SystemIds
from storage.repositories.identities import Agent
from storage.schema import migrate
from storage.store import Store, open_store
from tools.context.credentials import hashed
from tools.model.operation import Caller, Deps, OperationResult

KEY = "ak_" + "b" * 43
NOW = datetime.now(UTC)


@dataclass
class Stage:
    """An open database with what a report needs."""

    deps: Deps
    store: Store
    agent: Caller
    public_id: str


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Stage]:
    """A fresh SQLite database with one agent and one accepted mandate."""
    url = f"sqlite:///{folder / 'bench.sqlite'}"
    await asyncio.to_thread(migrate.upgrade, url)
    store = await open_store(url)
    chains = EvmChains([])
    settings = Settings(
        door="on", rate_reads=0, rate_writes=0, rate_anonymous=0, connections_per_address=0
    )
    deps = Deps(
        store,
        chains,
        SystemClock(),
        SystemIds(),
        settings.config(),
        SiweSignIn(),
        Switches(door=True),
    )
    await fill(store)
    try:
        yield Stage(deps, store, Caller("agent", "u_bench", "u_owner"), "m_bench00000")
    finally:
        await chains.close()
        await store.close()


async def fill(store: Store, mandates: int = 16) -> None:
    """An agent with a key, and working mandates m_bench00000, m_bench00001, …"""
    agent = Agent("u_bench", "u_owner", "Bench", "0x" + "11" * 20, NOW)

    def rows(uow) -> None:  # type: ignore[no-untyped-def]
        uow.identities.person("0x" + "22" * 20, new_id="u_owner", now=NOW)
        uow.identities.add_agent(agent)
        uow.identities.add_key("k_bench", agent.agent_id, hashed(KEY), NOW)
        for n in range(mandates):
            uow.mandates.add(mandate(f"m_bench{n:05d}"))

    await store.write(rows)


def mandate(public_id: str) -> Mandate:
    """A working mandate."""
    return Mandate(
        public_id, "u_owner", "0x" + "22" * 20, Usdc.parse("1000000"), 30, 2000, NOW, agent_id="u_bench", agent_address="0x" + "11" * 20,
        per_tx_cap_usdc=Usdc.parse("100000"), daily_cap_usdc=Usdc.parse("1000000"), status=Status.WORKING, signed_at=NOW,
        accepted_at=NOW, ends_at=NOW + timedelta(days=30),
    )  # fmt: skip


def note(n: int) -> NewEvent:
    """A small report."""
    amount = Usdc(1_000_000 + n)
    kind = (LedgerKind.BUY, LedgerKind.SELL, LedgerKind.NOTE, LedgerKind.FEE)[n % 4]
    return NewEvent(
        kind=kind,
        reported_by=Reporter.AGENT,
        occurred_at=NOW,
        amount_usdc=amount,
        payload={"position": {"id": f"p{n % 7}"}, "text": "bench"},
    )


@contextmanager
def settled() -> Iterator[None]:
    """The garbage collector as a server has it once it is up, and as before afterwards: what a
    measurement's own process was loaded with is no garbage of a request.
    """
    before = gc.get_threshold()
    freeze_startup_objects()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


async def rate(call: Callable[[int], Awaitable[object]], *, workers: int, calls: int) -> float:
    """Calls per second with some workers in flight."""
    return 1 / await seconds(call, workers=workers, calls=calls)


async def seconds(call: Callable[[int], Awaitable[object]], *, workers: int, calls: int) -> float:
    """Seconds a call with some workers in flight."""
    numbers = iter(range(calls))

    async def work() -> None:
        for n in numbers:
            await call(n)

    started = time.perf_counter()
    await asyncio.gather(*[work() for _ in range(workers)])
    return (time.perf_counter() - started) / calls


def listed(reply: OperationResult, name: str) -> list[Any]:
    """A list that an answer has under a name."""
    found = reply.body[name]
    assert isinstance(found, list)
    return found


def median(values: list[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def cpu_s(pid: int) -> float:
    """Seconds of CPU that a process has used, of user and system, all its threads (Linux).

    Source: clock_getcpuclockid(3), whose clock has nanoseconds; /proc has hundredths of a second.
    """
    return time.clock_gettime((~pid << 3) | 2)


def resident_kib(pid: int) -> int:
    """KiB of memory that a process holds (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
