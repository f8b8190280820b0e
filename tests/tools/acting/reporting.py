"""What the processes of `test_batches` do: many clients that report on one mandate."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from server.settings import Settings
from server.system import SystemIds
from storage.store import Store, open_store
from tests.databases import PATIENT
from tests.storage.material import NOW
from tests.waiting import STUCK_S
from tests.world import Clock
from tools.actions import event_reports
from tools.dispatch.run import run
from tools.model.operation import Caller, Deps, OperationResult

CLIENTS = 32
AGENT = Caller("agent", "u_agent", "u_owner")
(REPORT,) = event_reports.OPERATIONS


def deps_of(store: Store) -> Deps:
    """What a report works with."""
    return Deps(store, EvmChains([]), Clock(NOW), SystemIds(), Settings().config(), SiweSignIn())


async def report(deps: Deps, n: int) -> OperationResult:
    """One purchase of 1 USDC with a key of its own, proven by a transaction of its own."""
    asked = {"public_id": "m_1", "kind": "buy", "amount_usdc": "1", "tx_hash": f"0x{n:064x}"}
    return await run(REPORT, deps, AGENT, asked, key=f"k{n}", transport="house")


def report_many(url: str, keys: int, die_after: int, start: Any) -> None:
    """Report with each of the keys, and be killed in the middle where that is wanted."""

    async def work() -> None:
        store = await open_store(url, PATIENT)
        deps, waiting, told = deps_of(store), iter(range(keys)), 0
        start.wait(STUCK_S)

        async def client() -> None:
            nonlocal told
            for n in waiting:
                reply = await report(deps, n)
                assert reply.status in (201, 202), reply.body
                told += 1
                if told == die_after:
                    os.kill(os.getpid(), signal.SIGKILL)

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        await store.close()

    asyncio.run(work())
