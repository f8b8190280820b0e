"""Processes that serve one mandate on PostgreSQL: they come in turns, and none folds for long what others wrote."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import asyncpg
import pytest

from storage.engine.write_batches import LOCK
from storage.integrity.ledger_check import verify
from storage.prefetch.prefetch_query import Query, QueryRows, rows_by_query
from storage.repositories.ledger_queries import NEWS
from storage.store import Store, open_store
from tests.databases import PATIENT
from tests.storage import material as m
from tests.storage.batched import IDS, write
from tests.storage.statements import logging
from tests.waiting import STUCK_S

pytestmark = [pytest.mark.anyio, pytest.mark.pg]


async def _waiting(connection: asyncpg.Connection, many: int) -> None:
    """Until so many wait for a mandate's turn."""
    query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with anyio.fail_after(STUCK_S):
        while await connection.fetchval(query) != many:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def _contended(pg_url: str) -> AsyncIterator[tuple[Store, asyncpg.Connection]]:
    """A store that takes turns at a mandate, and a connection beside it."""
    store, beside = await open_store(pg_url, PATIENT), await asyncpg.connect(pg_url)
    try:
        await store.write(lambda uow: [uow.mandates.add(m.mandate(of)) for of in IDS])
        store._batches._contend({"m_1"})  # type: ignore[attr-defined]
        yield store, beside
        assert (await verify(store)).ok
    finally:
        await beside.close()
        await store.close()


async def test_who_asks_while_a_batch_waits_for_its_turn_goes_along(pg_url: str) -> None:
    log = await logging(pg_url)
    async with _contended(pg_url) as (store, beside):
        await beside.execute("BEGIN")
        await beside.fetch(LOCK, ["m_1"])
        asked = [asyncio.create_task(write(store, 0))]
        await _waiting(beside, 1)
        asked += [asyncio.create_task(write(store, n)) for n in range(1, 20)]
        await asyncio.sleep(0)
        log.statements()
        await beside.execute("COMMIT")
        assert all(claim.new for claim in await asyncio.gather(*asked))
        assert len([told for told in log.statements() if told.startswith("SELECT 0 AS text")]) == 1
        assert (await verify(store)).rows == 20


async def test_whoever_waits_for_a_mandate_has_it_before_whoever_lets_go_of_it(pg_url: str) -> None:
    async with _contended(pg_url) as (store, beside):
        await beside.execute("BEGIN")
        await beside.fetch(LOCK, ["m_1"])
        asked = asyncio.create_task(write(store, 1))
        await _waiting(beside, 1)
        # In one message, so that nobody wakes up in between.
        again = LOCK.replace("$1::text[]", "ARRAY['m_1']")
        await beside.execute(f"COMMIT; BEGIN; {again}")
        assert await beside.fetchval("SELECT count(*) FROM ledger_events") == 1
        await beside.execute("COMMIT")
        assert (await asked).new


async def test_a_dead_process_leaves_the_turn_to_the_others(pg_url: str) -> None:
    async with _contended(pg_url) as (store, beside):
        dies = await asyncpg.connect(pg_url)
        await dies.transaction().start()
        await dies.fetch(LOCK, ["m_1"])
        asked = asyncio.create_task(write(store, 1))
        await _waiting(beside, 1)
        dies.terminate()
        with anyio.fail_after(STUCK_S):
            assert (await asked).new


async def test_whoever_is_far_behind_begins_at_a_checkpoint(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = await open_store(pg_url, PATIENT), await open_store(pg_url, PATIENT)
    await store.write(lambda uow: [uow.mandates.add(m.mandate(of)) for of in IDS])
    await write(store, 0)
    brought: list[int] = []

    def counted(queries: Sequence[Query], records: Sequence[tuple[int, int, str]]) -> QueryRows:
        prefetched = rows_by_query(queries, records)
        brought.append(sum(len(rows) for one, rows in prefetched.items() if one[0] == NEWS))
        return prefetched

    try:
        for start in range(1, 301, 60):
            await asyncio.gather(*(write(other, n) for n in range(start, start + 60)))
        monkeypatch.setattr("storage.engine.write_batches.rows_by_query", counted)
        assert (await write(store, 301)).new
        assert brought == [301 - 256]
        await asyncio.gather(*(write(other, n) for n in range(302, 402)))
        brought.clear()
        assert (await write(store, 402)).new
        assert brought == [100]
        assert (await verify(store)).rows == 403
    finally:
        await other.close()
        await store.close()
