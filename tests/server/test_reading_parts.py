"""A backlog of logs becomes rows a part at a time, in transactions that a database can end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chain.chains import EvmChains
from chain.logs.log_reader import LogReader
from server.keeper.chain_sync import ChainSync
from storage.errors import DatabaseTimeouts
from storage.integrity.ledger_check import verify
from storage.sql import PostgresSql, Row
from storage.store import open_store
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
    reading = ChainSync(world.deps, LogReader(world.chains.get(CHAIN_ID)), logs_at_once=5)
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


async def test_a_backlog_that_was_left_in_the_middle_is_read_on_from_there(world: World) -> None:
    m = await backlog(world)
    left = ChainSync(world.deps, LogReader(world.chains.get(CHAIN_ID)), logs_at_once=5)
    for _ in range(2):
        assert await left.step()
    some, deep = await kept(world, m)
    assert some < DEPOSITS + 1
    assert deep < world.evm.chain.head.number
    # What is deep when it is read waits nowhere but in memory.
    assert not await world.store.read(lambda uow: uow.chainlog.is_staged(CHAIN_ID, 2**40))
    await ChainSync(world.deps, LogReader(world.chains.get(CHAIN_ID)), logs_at_once=5).on()
    assert await left.step() is True, "it had a part left"
    assert await left.step() is False
    assert await kept(world, m) == (DEPOSITS + 1, world.evm.chain.head.number)
    assert (await verify(world.store)).ok


async def test_what_waited_becomes_rows_before_what_is_deep_when_it_is_read(world: World) -> None:
    m = await backlog(world)
    chains = EvmChains([world.evm.facts(confirmations=DEPOSITS // 2)])
    chain = chains.get(CHAIN_ID)
    await ChainSync(world.deps, LogReader(chain)).on()
    early, _ = await kept(world, m)
    assert early < DEPOSITS + 1
    assert await world.store.read(lambda uow: uow.chainlog.is_staged(CHAIN_ID, 2**40))
    deposit = (await m.as_owner("owner_fund", amount="1")).body["calls"][-1]
    for _ in range(DEPOSITS):
        await world.mined(m.owner_wallet, deposit)
    reading = ChainSync(world.deps, LogReader(chain), logs_at_once=5)
    while await reading.step():
        pass
    for _ in range(DEPOSITS):
        world.evm.chain.mine()
    await ChainSync(world.deps, LogReader(chain)).on()
    await chains.close()
    rows = await world.store.read(lambda uow: uow.ledger.chain_rows_in(CHAIN_ID, 0, 2**40))
    blocks_of = [e.block_number for of, e in rows if of == m.id]
    assert len(blocks_of) == 2 * DEPOSITS + 1
    assert blocks_of == sorted(blocks_of, key=lambda block: block or 0)
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
    store = await open_store(pg_url, DatabaseTimeouts(wait_ms=60_000, statement_ms=60_000))
    try:
        deps = replace(world.deps, store=store)
        await ChainSync(deps, LogReader(world.chains.get(CHAIN_ID))).on()
    finally:
        await store.close()
    assert appended > DEPOSITS + 1, "some of them were begun more than once"
    rows, deep = await kept(world, m)
    assert rows == DEPOSITS + 1
    assert deep == world.evm.chain.head.number
    assert (await verify(world.store)).ok


async def test_a_log_more_is_no_statement_more(
    world: World, sqlite_url: str, evm: Evm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of a mandate of ours, and between them those of somebody else's vault."""
    m = await backlog(world)
    async with a_world(sqlite_url, evm) as other:
        theirs = await backlog(other)
        ours, deposits = await deposit_of(m), await deposit_of(theirs)
        for _ in range(DEPOSITS):
            await world.mined(m.owner_wallet, ours)
            await other.mined(theirs.owner_wallet, deposits)
        ways: list[str] = []
        for name in ("rows", "run", "run_all"):
            monkeypatch.setattr(PostgresSql, name, counted(getattr(PostgresSql, name), ways))
        await ChainSync(world.deps, LogReader(world.chains.get(CHAIN_ID))).on()
        rows, _ = await kept(world, m)
        assert rows == 2 * DEPOSITS + 1
        many = {text for text in ways if ways.count(text) >= DEPOSITS}
        assert not many, "one for each log"


async def deposit_of(m: Mandated) -> dict[str, Any]:
    """The call of one more deposit."""
    return dict((await m.as_owner("owner_fund", amount="1")).body["calls"][-1])


def counted(way: Callable[..., Any], ways: list[str]) -> Callable[..., Any]:
    def counting(sql: PostgresSql, text: str, /, *rows: Any, **values: Any) -> Any:
        ways.append(text)
        return way(sql, text, *rows, **values)

    return counting
