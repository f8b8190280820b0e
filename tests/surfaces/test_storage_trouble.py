"""What a caller is told while the database fails: a repeat is offered only where it is safe."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import aiohttp
import anyio
import pytest

from http_shim.readiness import ANSWERS_WITHIN_S, KEPT_S
from storage.errors import DatabaseTimeouts
from storage.sqlite_files import sqlite_path
from tests.databases import PATIENT
from tests.storage.cable import Cable, cable
from tests.surfaces.small import ALICE, Small, connected, small
from tests.waiting import STUCK_S, LoopClock

pytestmark = pytest.mark.anyio

SHORT = DatabaseTimeouts(wait_ms=300)
FOUR = replace(PATIENT, pool=4)
OUTLASTS_S = PATIENT.statement_ms / 1_000 + 2
KEYED = {"X-Service-User-Key": ALICE, "Idempotency-Key": "k-1"}
KEYLESS = {"X-Service-User-Key": ALICE}


@pytest.fixture
async def laid(pg_url: str) -> AsyncIterator[tuple[Cable, Small]]:
    """The small service with a cable to its database."""
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(cable(pg_url))
        yield line, await stack.enter_async_context(small(line.url, patience=FOUR))


async def _post(base: str, headers: dict[str, str]) -> tuple[int, dict[str, Any], str | None]:
    async with (
        aiohttp.ClientSession(base) as http,
        http.post("/wallet/notes/one", json={}, headers=headers) as answer,
    ):
        return answer.status, await answer.json(), answer.headers.get("Retry-After")


async def _ready(base: str) -> int:
    async with aiohttp.ClientSession(base) as http, http.get("/readyz") as answer:
        block = await answer.json()
        assert block["database"] is (answer.status == 200)
        assert answer.status == 200 or block["error"] == "storage_unavailable"
        return answer.status


@pytest.mark.pg
async def test_a_lost_answer_of_the_commit_is_safe_to_repeat_with_a_key(
    laid: tuple[Cable, Small],
) -> None:
    line, service = laid
    line.cut_at_commit = True
    status, block, after = await _post(service.base, KEYED)
    assert (status, block["error"], block["retry_safe"], after) == (
        503, "storage_unavailable", True, "1",
    )  # fmt: skip
    assert line.commits == 1
    status, body, _ = await _post(service.base, KEYED)
    assert (status, body["who"]) == (201, "u_alice")
    assert await service.notes() == {"one": "None"}


@pytest.mark.pg
async def test_a_lost_answer_of_the_commit_is_unknown_without_a_key(
    laid: tuple[Cable, Small],
) -> None:
    line, service = laid
    line.cut_at_commit = True
    status, block, _ = await _post(service.base, KEYLESS)
    assert (status, block["error"], block["retry_safe"]) == (504, "outcome_unknown", False)
    assert await service.notes() == {"one": "None"}


@pytest.mark.pg
async def test_a_database_that_is_gone_is_503_on_every_door(laid: tuple[Cable, Small]) -> None:
    line, service = laid
    async with connected("streamable-2025", service.base, KEYLESS) as client:
        line.cut()
        line.refuses = True
        status, block, after = await _post(service.base, KEYLESS)
        assert (status, block["error"], block["retry_safe"], after) == (
            503, "storage_unavailable", True, "1",
        )  # fmt: skip
        async with aiohttp.ClientSession(service.base) as http, http.get("/wallet/door") as door:
            assert (door.status, (await door.json())["error"]) == (503, "storage_unavailable")
        told = await client.call_tool("mandate_keep", {"name": "two"})
        assert told.structured_content is not None
        assert told.structured_content["refusal"]["error"] == "storage_unavailable"
        assert await _ready(service.base) == 503
        line.refuses = False
        assert (await _post(service.base, KEYLESS))[0] == 201


@pytest.mark.pg
async def test_readiness_does_not_hang_with_the_database(laid: tuple[Cable, Small]) -> None:
    line, service = laid
    assert await _ready(service.base) == 200
    clock, loop = LoopClock(), asyncio.get_running_loop()
    line.holds = lambda: clock.forward(ANSWERS_WITHIN_S)
    line.go_silent()
    clock.forward(KEPT_S)  # what was answered before is over
    began = loop.time()
    assert await _ready(service.base) == 503
    assert loop.time() - began < PATIENT.statement_ms / 1_000, "it hangs as long as its database"
    line.speak()


async def test_a_full_disk_is_not_ready_though_it_reads(sqlite_url: str) -> None:
    async with small(sqlite_url, patience=SHORT) as service:
        writer: sqlite3.Connection = service.store._writer  # type: ignore[attr-defined]
        writer.execute("CREATE TABLE filler (x)")
        pages = writer.execute("PRAGMA page_count").fetchone()[0]
        writer.execute(f"PRAGMA max_page_count = {pages}")
        # Rows of the probe itself need no new page: fill what is free in the file first.
        status, block, _ = 201, {}, None
        for n in range(200):
            headers = KEYLESS | {"Idempotency-Key": f"k-{n}-{'x' * 100}"}
            status, block, _ = await _post(service.base, headers)
            if status != 201:
                break
        assert (status, block["error"]) == (503, "storage_unavailable")


async def test_a_foreign_lock_is_not_ready_and_then_ready_again(sqlite_url: str) -> None:
    async with small(sqlite_url, patience=SHORT) as service:
        other = sqlite3.connect(sqlite_path(sqlite_url), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            assert await _ready(service.base) == 503
        finally:
            other.close()
        clock = LoopClock()
        with anyio.fail_after(STUCK_S):
            while await _ready(service.base) != 200:
                clock.forward(KEPT_S)
