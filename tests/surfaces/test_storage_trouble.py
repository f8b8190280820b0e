"""What a caller is told while the database fails: a repeat is offered only where it is safe."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import anyio
import pytest

from http_shim.readiness import ANSWERS_WITHIN_S, KEPT_S
from storage.errors import DatabaseTimeouts
from storage.sqlite_files import sqlite_path
from tests.databases import PATIENT
from tests.storage.cable import Cable, cable
from tests.surfaces.small import ALICE, Small, by_key, connected, small
from tests.waiting import STUCK_S, LoopClock

pytestmark = pytest.mark.anyio

SHORT = DatabaseTimeouts(wait_ms=300)
FOUR = replace(PATIENT, pool=4)
OUTLASTS_S = PATIENT.statement_ms / 1_000 + 2
KEYED = {"Idempotency-Key": "k-1"}


@pytest.fixture
async def laid(pg_url: str) -> AsyncIterator[tuple[Cable, Small]]:
    """The small service with a cable to its database."""
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(cable(pg_url))
        yield line, await stack.enter_async_context(small(line.url, patience=FOUR))


SAFE = (503, "storage_unavailable", True, "1")


async def _post(s: Small, **headers: str) -> tuple[int, str, bool, str | None]:
    """A note of ALICE: its status, the code of its refusal, and what is said of a repeat."""
    reply = await s.post("/wallet/notes/one", ALICE, json={}, headers=headers)
    after, block = reply.headers.get("Retry-After"), reply.body
    return reply.status, block.get("error", ""), block.get("retry_safe", False), after


async def _ready(s: Small) -> int:
    reply = await s.get("/readyz")
    assert reply.body["database"] is (reply.status == 200)
    assert reply.status == 200 or reply.body["error"] == "storage_unavailable"
    return reply.status


@pytest.mark.pg
async def test_a_lost_answer_of_the_commit_is_safe_to_repeat_with_a_key(
    laid: tuple[Cable, Small],
) -> None:
    line, service = laid
    line.cut_at_commit = True
    assert await _post(service, **KEYED) == SAFE
    assert line.commits == 1
    again = await service.post("/wallet/notes/one", ALICE, json={}, headers=KEYED)
    assert (again.status, again.body["who"]) == (201, "u_alice")
    assert await service.notes() == {"one": "None"}


@pytest.mark.pg
async def test_a_lost_answer_of_the_commit_is_unknown_without_a_key(
    laid: tuple[Cable, Small],
) -> None:
    line, service = laid
    line.cut_at_commit = True
    assert (await _post(service))[:3] == (504, "outcome_unknown", False)
    assert await service.notes() == {"one": "None"}


@pytest.mark.pg
async def test_a_database_that_is_gone_is_503_on_every_door(laid: tuple[Cable, Small]) -> None:
    line, service = laid
    async with connected("streamable-2025", service.base, by_key(ALICE)) as client:
        line.cut()
        line.refuses = True
        assert await _post(service) == SAFE
        assert (await service.get("/wallet/door")).told == (503, "storage_unavailable")
        told = await client.call_tool("mandate_keep", {"name": "two"})
        assert told.structured_content is not None
        assert told.structured_content["refusal"]["error"] == "storage_unavailable"
        assert await _ready(service) == 503
        line.refuses = False
        assert (await _post(service))[0] == 201


@pytest.mark.pg
async def test_readiness_does_not_hang_with_the_database(laid: tuple[Cable, Small]) -> None:
    line, service = laid
    assert await _ready(service) == 200
    clock, loop = LoopClock(), asyncio.get_running_loop()
    line.holds = lambda: clock.forward(ANSWERS_WITHIN_S)
    line.go_silent()
    clock.forward(KEPT_S)  # what was answered before is over
    began = loop.time()
    assert await _ready(service) == 503
    assert loop.time() - began < PATIENT.statement_ms / 1_000, "it hangs as long as its database"
    line.speak()


async def test_a_full_disk_is_not_ready_though_it_reads(sqlite_url: str) -> None:
    async with small(sqlite_url, patience=SHORT) as service:
        writer: sqlite3.Connection = service.store._writer  # type: ignore[attr-defined]
        writer.execute("CREATE TABLE filler (x)")
        pages = writer.execute("PRAGMA page_count").fetchone()[0]
        writer.execute(f"PRAGMA max_page_count = {pages}")
        # Rows of the probe itself need no new page: fill what is free in the file first.
        for n in range(200):
            status, error, *_ = await _post(service, **{"Idempotency-Key": f"k-{n}-{'x' * 100}"})
            if status != 201:
                break
        assert (status, error) == (503, "storage_unavailable")


async def test_a_foreign_lock_is_not_ready_and_then_ready_again(sqlite_url: str) -> None:
    async with small(sqlite_url, patience=SHORT) as service:
        other = sqlite3.connect(sqlite_path(sqlite_url), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            assert await _ready(service) == 503
        finally:
            other.close()
        clock = LoopClock()
        with anyio.fail_after(STUCK_S):
            while await _ready(service) != 200:
                clock.forward(KEPT_S)
