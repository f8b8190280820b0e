"""Two processes report against one idle balance: together they never take more than there is."""

from __future__ import annotations

import asyncio
import multiprocessing
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from chain.chains import EvmChains
from domain.agents.transfers import Delta
from domain.ports import SignInVerifier
from domain.settings import Config
from server.system import SystemIds
from storage.integrity.ledger_check import verify
from storage.repositories.identities import Agent
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.waiting import STUCK_S
from tools.agents.transfer_reports import OPERATIONS
from tools.dispatch.run import run
from tools.model.operation import Caller, Deps

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CHAIN, AGENT, EACH = 84532, "u_agent", 32
NOW = datetime(2026, 11, 20, tzinfo=UTC)


class Clock:
    """A clock that stands still."""

    def now(self) -> datetime:
        return NOW


def report(url: str, place: int, start: Any, out: Any) -> None:
    """Send 32 outbound reports of 7 at once; tell how many were taken."""

    async def work() -> None:
        store = await open_store(url, PATIENT)
        deps = Deps(
            store, EvmChains([]), Clock(), SystemIds(), Config(), cast(SignInVerifier, None)
        )
        start.wait(STUCK_S)
        body = {"chain_id": CHAIN, "asset": "USDC", "amount": "7", "direction": "out"}
        me = Caller("agent", AGENT, "u_owner")
        bodies = [body | {"tx_hash": f"0x{place:032x}{n:032x}"} for n in range(EACH)]
        replies = await asyncio.gather(*(run(OPERATIONS[0], deps, me, b) for b in bodies))
        out.put(sorted(str(r.body.get("error")) for r in replies))
        await store.close()

    asyncio.run(work())


async def test_64_outbound_reports_of_two_processes_never_overdraw(processes_url: str) -> None:
    store = await open_store(processes_url, PATIENT)
    of = {"ref_kind": "t", "ref_id": "t"}
    delta = Delta(chain_id=CHAIN, asset="USDC", state="idle", delta=100_000_000, **of)

    def fund(uow: UnitOfWork) -> None:
        uow.identities.add_agent(Agent(AGENT, "u_owner", "Scout", None, NOW))
        uow.transfers.move(AGENT, [delta], NOW)

    await store.write(fund)
    context = multiprocessing.get_context("spawn")
    start, out = context.Barrier(2), context.Queue()
    processes = [
        context.Process(target=report, args=(processes_url, n, start, out)) for n in (1, 2)
    ]
    for p in processes:
        p.start()
    try:
        told = [code for _ in processes for code in out.get(timeout=STUCK_S)]
        for p in processes:
            p.join(STUCK_S)
    finally:
        for p in processes:
            p.kill()
            p.join()
            p.close()
    assert (told.count("None"), told.count("insufficient_idle")) == (14, 50)
    kept = await store.read(lambda uow: uow.transfers.balances(AGENT))
    assert [(state, amount) for _, _, state, amount in kept] == [
        ("idle", 2_000_000),
        ("in_transit", 98_000_000),
    ]
    assert (await verify(store)).ok
    await store.close()
