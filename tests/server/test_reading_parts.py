"""A backlog of logs becomes rows a part at a time, in transactions that a database can end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chain.reader import Reader
from server.reading import Reading
from storage.faults import Patience
from storage.sql import PostgresSql, Row
from storage.store import open_store
from storage.verify import verify
from tests.waiting import LoopClock
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, working

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.pg]
DEPOSITS = 12


@pytest.fixture
async def world(pg_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(pg_url, evm) as opened:
        yield opened


async def backlog(world: World) -> Mandated:
    """A mandate with deposits that nobody told of, each in a block of its own."""
    m = await working(world, deposit="1")
    for call in (await m.as_owner("owner_fund", amount="100")).body["calls"][:1]:
        await world.mined(m.owner_wallet, call)
    deposit = (await m.as_owner("owner_fund", amount="1")).body["calls"][-1]
    for _ in range(DEPOSITS):
        await world.mined(m.owner_wallet, deposit)
    return m


async def kept(world: World, m: Mandated) -> tuple[int, int]:
    """How many deposits are rows, and how far rows go, in blocks."""
    cursor, rows = await world.store.read(
        lambda uow: (
            uow.chainlog.cursor(CHAIN_ID),
            uow.ledger.chain_rows_in(CHAIN_ID, 0, 2**40),
        )
    )
    return len([e for of, e in rows if of == m.id]), -1 if cursor is None else cursor.deep


async def test_a_backlog_becomes_rows_a_part_at_a_time(world: World) -> None:
    m = await backlog(world)
    reading = Reading(world.deps, Reader(world.chains.get(CHAIN_ID)), logs_at_once=5)
    before, _ = await kept(world, m)
    most, deeps = 0, [-1]
    while await reading.step():
        now, deep = await kept(world, m)
        most, before = max(most, now - before), now
        deeps.append(deep)
    assert before == DEPOSITS + 1
    assert most == 5
    assert deeps == sorted(set(deeps))  # every transaction moved on
    assert deeps[-1] == world.evm.chain.head.number
    assert (await verify(world.store)).ok


async def test_a_backlog_that_a_database_has_no_time_for_is_stored_in_smaller_parts(
    world: World, pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await backlog(world)
    clock, run_all, appended = LoopClock(), PostgresSql.run_all, 0

    def slow(sql: PostgresSql, text: str, rows: Sequence[Row], /) -> None:
        nonlocal appended
        if "INSERT INTO ledger_events" in text:
            appended += len(rows)
            clock.forward(15 * len(rows))
        run_all(sql, text, rows)

    monkeypatch.setattr(PostgresSql, "run_all", slow)
    # All of them take three minutes, and a talk ends after a minute and a second.
    store = await open_store(pg_url, Patience(wait_ms=60_000, statement_ms=60_000))
    try:
        deps = replace(world.deps, store=store)
        await Reading(deps, Reader(world.chains.get(CHAIN_ID))).on()
    finally:
        await store.close()
    assert appended > DEPOSITS + 1, "some of them were begun more than once"
    rows, deep = await kept(world, m)
    assert rows == DEPOSITS + 1
    assert deep == world.evm.chain.head.number
    assert (await verify(world.store)).ok


async def test_a_log_more_is_no_statement_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await backlog(world)
    ways: list[str] = []
    for name in ("rows", "run", "run_all"):
        monkeypatch.setattr(PostgresSql, name, counted(getattr(PostgresSql, name), ways))
    await Reading(world.deps, Reader(world.chains.get(CHAIN_ID))).on()
    rows, _ = await kept(world, m)
    assert rows == DEPOSITS + 1
    many = {text for text in ways if ways.count(text) >= DEPOSITS}
    assert not many, "one for each log"


def counted(way: Callable[..., Any], ways: list[str]) -> Callable[..., Any]:
    def counting(sql: PostgresSql, text: str, /, *rows: Any, **values: Any) -> Any:
        ways.append(text)
        return way(sql, text, *rows, **values)

    return counting
