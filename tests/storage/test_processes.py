"""Two processes on one database: one chain of rows, one winner a key, nothing lost."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import pytest

from storage.integrity.ledger_check import verify
from storage.store import open_store
from tests.databases import PATIENT
from tests.storage import material as m
from tests.storage.processes import append_rows, claim_keys
from tests.waiting import ended

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ROWS = 60


async def _two(work: Callable[[str, str, int, Any], None], url: str) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    processes = [
        context.Process(target=work, args=(url, name, ROWS, start)) for name in ("one", "two")
    ]
    for p in processes:
        p.start()
    try:
        assert await ended(processes) == [0, 0]
    finally:
        for p in processes:
            p.kill()
            p.join()
            p.close()


async def test_two_processes_make_one_chain(database_url: str) -> None:
    await _two(append_rows, database_url)
    store = await open_store(database_url, PATIENT)
    try:
        report = await verify(store)
        assert report.as_json() | {"checkpoints": 0} == {
            "ok": True, "ledgers": 1, "rows": 3 * ROWS, "checkpoints": 0, "balances": 0, "anchors": 0, "findings": [],
            "paper_books": 0, "paper_entries": 0,
        }  # fmt: skip
        rows = await store.read(lambda uow: m.rows_of(uow, "m_1"))
        assert {r["event_id"][3:6] for r in rows if r["reported_by"] == "agent"} == {"one", "two"}
        assert sum(r["pairs_with"] is not None for r in rows) == ROWS
    finally:
        await store.close()


async def test_two_processes_share_keys_and_work(database_url: str) -> None:
    await _two(claim_keys, database_url)
    store = await open_store(database_url, PATIENT)
    try:
        assert (await verify(store)).rows == ROWS
        done = await store.read(lambda uow: uow.switches.all())
        assert sorted(name.split("-")[0] for name in done) == sorted(str(n) for n in range(ROWS))
        for n in range(ROWS):
            claim = await store.read(lambda uow, n=n: uow.idempotency.find("s", f"k{n}"))  # type: ignore[misc]  # the default binds the loop's value
            assert claim is not None
            assert claim.response is not None
            row = await store.read(
                lambda uow, n=n, by=claim.response["by"]: m.event_at(
                    uow, f"m_{n % 3}", f"ev_{by}_{n}"
                )
            )  # type: ignore[misc]  # as above
            assert row is not None
            assert row.created_at == m.NOW
    finally:
        await store.close()
