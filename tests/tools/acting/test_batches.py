"""Batches of two processes on one mandate: one chain of rows, exact caps, one answer a key."""

from __future__ import annotations

import multiprocessing
import signal
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.mandates.mandate import Status
from domain.money import Usdc
from storage.integrity.ledger_check import verify
from storage.sql import micros
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m
from tests.tools.acting.reporting import deps_of, report, report_many
from tests.waiting import ended
from tests.world import Clock

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.pg]

KEYS, CAP = 160, 100


def _fill(uow: UnitOfWork) -> None:
    cap, much = Usdc.parse(str(CAP)), Usdc.parse("1000")
    changes = {"budget_usdc": much, "per_tx_cap_usdc": much, "daily_cap_usdc": cap}
    times = {"signed_at": m.NOW, "accepted_at": m.NOW, "ends_at": m.NOW + timedelta(days=9)}
    uow.mandates.add(m.mandate(agent_id="u_agent", status=Status.WORKING, **changes, **times))


# Two that live are one more combination.
@pytest.mark.parametrize("die_after", [pytest.param(0, marks=pytest.mark.play), 40])
async def test_two_processes_report_on_one_mandate(pg_url: str, die_after: int) -> None:
    store = await open_store(pg_url, PATIENT)
    await store.write(_fill)
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    processes = [
        context.Process(target=report_many, args=(pg_url, KEYS, dies, start))
        for dies in (0, die_after)
    ]
    for p in processes:
        p.start()
    try:
        assert await ended(processes) == [0, -signal.SIGKILL if die_after else 0]
        replies = [await report(deps_of(store), n) for n in range(KEYS)]
        rows = await store.read(lambda uow: m.rows_of(uow, "m_1"))
        assert [row["seq"] for row in rows] == [*range(1, KEYS + 1)]
        # Rows became the record in the order of the chain.
        assert sorted(rows, key=lambda row: int(row["position"])) == rows
        told = {r.body["event"]["event_id"] for r in replies}  # type: ignore[index]
        assert told == {row["event_id"] for row in rows}
        assert [r.status for r in replies].count(201) == CAP
        assert (await verify(store)).ok
    finally:
        for p in processes:
            p.kill()
            p.join()
            p.close()
        await store.close()


async def test_a_report_after_the_clock_was_set_back_is_stored_in_its_place(pg_url: str) -> None:
    """The batch does not bring what such a row notes; it is written by a transaction of its own."""
    store = await open_store(pg_url, PATIENT)
    try:
        await store.write(_fill)
        deps = deps_of(store)
        for n, back in ((0, 0), (1, 1), (2, 2), (3, 0)):
            clock = Clock(m.NOW - timedelta(hours=back))
            assert (await report(replace(deps, clock=clock), n)).status == 201
        rows = await store.read(lambda uow: m.rows_of(uow, "m_1"))
        assert [row["seq"] for row in rows] == [1, 2, 3, 4]
        assert [row["created_at"] for row in rows] == [
            micros(m.NOW - timedelta(hours=back)) for back in (0, 1, 2, 0)
        ]
        assert (await verify(store)).ok
    finally:
        await store.close()
