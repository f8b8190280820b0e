"""Batches on PostgreSQL: what fails fails alone, what is lost is said, and nobody is locked out for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import anyio
import asyncpg
import pytest

from domain.refusals import Refused
from storage.engine.lane import JobQueue
from storage.engine.postgres import LAST_MS
from storage.engine.write_batches import LOCK_MS
from storage.errors import Unavailable
from storage.integrity.ledger_check import verify
from storage.repositories.idempotency import IdempotencyRecord
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m
from tests.storage.batched import IDS, ids_of, needs, row, write
from tests.storage.cable import Cable, cable
from tests.storage.patience import impatient_for_locks
from tests.storage.statements import logging
from tests.waiting import STUCK_S, LoopClock, beating

pytestmark = [pytest.mark.anyio, pytest.mark.pg]

FOUR = replace(PATIENT, pool=4)
OUTLASTS_S = PATIENT.statement_ms / 1_000 + 2


@pytest.fixture
async def laid(pg_url: str) -> AsyncIterator[tuple[Cable, Store]]:
    """A store at the end of a cable, with three mandates."""
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(cable(pg_url))
        store = await open_store(line.url, FOUR)
        stack.push_async_callback(store.close)
        await store.write(lambda uow: [uow.mandates.add(m.mandate(of)) for of in IDS])
        yield line, store


@asynccontextmanager
async def held_beside(
    pg_url: str, where: str = ""
) -> AsyncIterator[tuple[Store, asyncpg.Connection]]:
    """A store with three mandates, and a connection beside it that holds the rows of some."""
    async with AsyncExitStack() as stack:
        store, beside = await open_store(pg_url, PATIENT), await asyncpg.connect(pg_url)
        stack.push_async_callback(store.close)
        stack.push_async_callback(beside.close)
        await store.write(lambda uow: [uow.mandates.add(m.mandate(of)) for of in IDS])
        await beside.execute(f"BEGIN; SELECT 1 FROM mandates {where} FOR UPDATE")
        yield store, beside


HOLDS_ONE = "WHERE public_id = 'm_1'"


async def test_writes_asked_together_share_two_statements(pg_url: str) -> None:
    log = await logging(pg_url)
    store = await open_store(pg_url, PATIENT)
    try:
        await store.write(lambda uow: [uow.mandates.add(m.mandate(of)) for of in IDS])
        await write(store, 0)
        log.statements()
        told = await asyncio.gather(*(write(store, n, IDS[n % 3]) for n in range(1, 61)))
        assert all(claim.new for claim in told)
        assert len(log.statements()) == 2
        again = await asyncio.gather(*(write(store, n, IDS[n % 3]) for n in range(1, 61)))
        assert not any(claim.new for claim in again)
        assert len(log.statements()) == 1  # nothing is to be written
        assert (await verify(store)).rows == 61
    finally:
        await store.close()


async def test_a_handler_that_fails_takes_nothing_and_nobody_along(
    laid: tuple[Cable, Store],
) -> None:
    _, store = laid

    def fails(n: int) -> Callable[[UnitOfWork], Any]:
        def work(uow: UnitOfWork) -> None:
            row(n)(uow)
            raise LookupError("on purpose")

        return work

    works = [store.write(fails(n) if n % 5 == 2 else row(n), needs(n, "m_1")) for n in range(40)]
    told = await asyncio.gather(*works, return_exceptions=True)
    kept = [n for n in range(40) if n % 5 != 2]
    assert [n for n, one in enumerate(told) if isinstance(one, IdempotencyRecord)] == kept
    assert await ids_of(store) == [f"ev_of_{n}" for n in kept]
    assert (await verify(store)).ok


async def test_one_key_asked_for_often_is_answered_once(laid: tuple[Cable, Store]) -> None:
    _, store = laid
    told = await asyncio.gather(*(write(store, 7) for _ in range(20)))
    assert [claim.new for claim in told].count(True) == 1
    assert {claim.response["seq"] for claim in told if claim.response} == {1}
    assert await ids_of(store) == ["ev_of_7"]


async def test_reports_of_one_transaction_that_come_together_see_one_another(
    laid: tuple[Cable, Store],
) -> None:
    _, store = laid

    def report(n: int) -> Callable[[UnitOfWork], list[str]]:
        def work(uow: UnitOfWork) -> list[str]:
            before = [event.event_id for event in uow.ledger.by_tx("m_1", m.TX)]
            new = m.buy(tx_hash=m.TX)
            uow.ledger.append("m_1", new, event_id=f"ev_of_{n}", now=m.NOW)
            return before

        return work

    reads = [replace(needs(n, "m_1"), tx_hash=m.TX) for n in range(4)]
    told = await asyncio.gather(*(store.write(report(n), reads[n]) for n in range(4)))
    assert sorted(map(len, told)) == [0, 1, 2, 3]
    assert [len(await ids_of(store)), (await verify(store)).rows] == [4, 4]


async def test_who_comes_behind_calldata_that_was_handed_out_sees_it(
    laid: tuple[Cable, Store],
) -> None:
    _, store = laid

    def hand_out(n: int) -> Callable[[UnitOfWork], int]:
        def work(uow: UnitOfWork) -> int:
            live = len(uow.reservations.live("m_1", m.NOW))
            uow.reservations.put(m.reservation(n))
            return live

        return work

    works = (store.write(hand_out(n), needs(n, "m_1")) for n in range(4))
    assert sorted(await asyncio.gather(*works)) == [0, 1, 2, 3]


async def test_a_row_that_the_database_refuses_is_the_matter_of_its_own_handler(
    laid: tuple[Cable, Store],
) -> None:
    _, store = laid
    await write(store, 1)

    def taken(uow: UnitOfWork) -> None:
        uow.ledger.append("m_2", m.buy(), event_id="ev_of_1", now=m.NOW)

    works = [store.write(taken, needs(99, "m_2")), *(write(store, n, "m_3") for n in (2, 3))]
    told = await asyncio.gather(*works, return_exceptions=True)
    assert type(told[0]).__name__ == "Duplicate"
    assert sorted(await ids_of(store)) == ["ev_of_1", "ev_of_2", "ev_of_3"]


async def test_a_handler_that_needs_more_is_run_on_the_database(laid: tuple[Cable, Store]) -> None:
    _, store = laid

    def more(uow: UnitOfWork) -> str:
        uow.ledger.append("m_1", m.buy(), event_id="ev_more", now=m.NOW)
        uow.switches.set("x", "on", m.NOW, "test")
        return "done"

    told = await asyncio.gather(store.write(more, needs(1, "m_1")), write(store, 2))
    assert told[0] == "done"
    assert sorted(await ids_of(store)) == ["ev_more", "ev_of_2"]
    assert await store.read(lambda uow: uow.switches.all()) == {"x": "on"}


async def test_a_handler_for_no_mandate_is_refused_by_itself(laid: tuple[Cable, Store]) -> None:
    _, store = laid

    def look(uow: UnitOfWork) -> None:
        if uow.mandates.get("m_none") is None:
            from domain.refusals import refusal

            raise Refused(refusal("not_found", what="mandate"))

    with pytest.raises(Refused):
        await store.write(look, needs(1, "m_none"))


async def test_others_write_between_and_nothing_is_judged_by_what_was(
    laid: tuple[Cable, Store], pg_url: str
) -> None:
    """Another store writes on the same mandates, by batches and by itself, while this one does."""
    _, store = laid
    other = await open_store(pg_url, PATIENT)

    def plain(n: int) -> Callable[[UnitOfWork], None]:
        def work(uow: UnitOfWork) -> None:
            was = uow.mandates.get("m_1", lock=True)
            assert was is not None
            uow.ledger.append("m_1", m.buy(), event_id=f"ev_plain_{n}", now=m.NOW)
            uow.mandates.save(was)

        return work

    try:
        await asyncio.gather(
            *(write(store, n) for n in range(0, 60, 2)),
            *(write(other, n) for n in range(1, 60, 2)),
            *(other.write(plain(n)) for n in range(5)),
        )
        assert sorted(await ids_of(store)) == sorted(
            [f"ev_of_{n}" for n in range(60)] + [f"ev_plain_{n}" for n in range(5)]
        )
        assert (await verify(store)).ok
    finally:
        await other.close()


async def test_a_mandate_is_locked_beforehand_for_as_long_as_others_write(pg_url: str) -> None:
    log = await logging(pg_url)
    ours, theirs = await open_store(pg_url, PATIENT), await open_store(pg_url, PATIENT)
    batches = ours._batches  # type: ignore[attr-defined]
    now_ms, numbers, met = [0], count(1), list[int]()
    batches._now_ms = lambda: now_ms[0]

    async def meet() -> None:
        third = await open_store(pg_url, PATIENT)
        await write(third, next(numbers))
        await third.close()

    def late(uow: UnitOfWork) -> IdempotencyRecord:
        """Somebody else is quicker, once."""
        if not met:
            met.append(1)
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, meet()).result()
        return row(n)(uow)

    async def locks() -> bool:
        log.statements()
        await write(ours, next(numbers))
        return any(told.startswith("SELECT pg_advisory_xact_lock") for told in log.statements())

    try:
        await ours.write(lambda uow: [uow.mandates.add(m.mandate(of)) for of in IDS])
        assert not await locks()
        n = next(numbers)
        await ours.write(late, needs(n, "m_1"))
        for _ in range(4):
            now_ms[0] += LOCK_MS * 2 // 3
            await write(theirs, next(numbers))
            assert await locks()
        now_ms[0] += LOCK_MS * 2 // 3
        assert await locks()
        now_ms[0] += LOCK_MS * 2 // 3
        assert not await locks()
        assert (await verify(ours)).ok
    finally:
        await ours.close()
        await theirs.close()


async def test_a_flush_whose_answer_is_lost_is_unknown(laid: tuple[Cable, Store]) -> None:
    line, store = laid
    await write(store, 1)
    line.cut_at = b"ev_of_2"
    told = await asyncio.gather(write(store, 2), write(store, 1), return_exceptions=True)
    assert isinstance(told[0], Unavailable)
    assert told[0].unknown
    again = await write(store, 2)
    assert (again.new, again.status) == (False, 201)
    assert await ids_of(store) == ["ev_of_1", "ev_of_2"]
    assert (await verify(store)).ok


async def test_a_restart_of_the_server_before_the_flush_is_not_noticed(
    laid: tuple[Cable, Store],
) -> None:
    line, store = laid
    await asyncio.gather(*(write(store, n, IDS[n % 3]) for n in range(6)))
    line.cut()
    assert (await write(store, 6)).new
    assert len(await ids_of(store)) == 7


async def test_a_server_that_is_gone_or_silent_stores_nothing(laid: tuple[Cable, Store]) -> None:
    line, store = laid
    await write(store, 1)
    line.cut()
    line.refuses = True
    told = await asyncio.gather(*(write(store, n) for n in range(2, 9)), return_exceptions=True)
    assert [isinstance(t, Unavailable) and not t.unknown for t in told] == [True] * 7
    line.refuses = False
    await write(store, 2)
    clock = LoopClock()
    line.holds = lambda: clock.forward(OUTLASTS_S)
    line.go_silent()
    with pytest.raises(Unavailable):
        await write(store, 3)
    line.speak()
    assert (await verify(store)).ok


async def test_a_mandate_that_somebody_holds_is_waited_for_a_moment(
    laid: tuple[Cable, Store], pg_url: str
) -> None:
    _, other = laid
    locked, go = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(uow: UnitOfWork) -> None:
        uow.mandates.get("m_1", lock=True)
        loop.call_soon(locked.set)
        while not go.is_set():
            uow.sql.rows("SELECT pg_sleep(0.02)")

    holding = asyncio.create_task(other.write(hold))
    async with impatient_for_locks(pg_url) as store:
        try:
            await locked.wait()
            with pytest.raises(Unavailable, match="lock") as held:
                await write(store, 1)
            assert not held.value.unknown
            assert (await write(store, 2, "m_2")).new
        finally:
            go.set()
            await holding
        assert (await write(store, 1)).new


async def test_who_asks_again_as_soon_as_he_is_answered_waits_for_no_other_lane(
    pg_url: str,
) -> None:
    async with held_beside(pg_url, HOLDS_ONE) as (store, beside), looking_on(pg_url) as looking:
        held = asyncio.create_task(write(store, 0))
        with anyio.fail_after(PATIENT.wait_ms / 2_000):
            while await _waiting(looking) < 1:
                await asyncio.sleep(0)
            assert [(await write(store, n, "m_2")).new for n in range(1, 5)] == [True] * 4
        assert not held.done()
        await beside.execute("COMMIT")
        assert (await held).new


async def test_who_asks_again_as_a_lane_ends_is_answered() -> None:
    async def serve(jobs: list[asyncio.Future[None]]) -> None:
        await asyncio.sleep(0)
        for job in jobs:
            job.set_result(None)

    async def ask(times: int) -> None:
        for _ in range(times):
            job = asyncio.get_running_loop().create_future()
            lane.add(job)
            await job

    lane = JobQueue(serve, at_once=2)
    with anyio.fail_after(STUCK_S):
        await asyncio.gather(*(ask(n) for n in range(1, 9)))
        await lane.drained()


async def test_a_mandate_that_somebody_holds_keeps_none_beside_it_waiting(pg_url: str) -> None:
    async with held_beside(pg_url, HOLDS_ONE) as (store, beside):
        held = [asyncio.create_task(write(store, n)) for n in range(4)]
        with anyio.fail_after(PATIENT.wait_ms / 2_000):
            told = await asyncio.gather(*(write(store, n, IDS[1 + n % 2]) for n in range(4, 12)))
        assert all(claim.new for claim in told)
        assert not any(task.done() for task in held)
        await beside.execute("COMMIT")
        assert all(claim.new for claim in await asyncio.gather(*held))
        assert (await ids_of(store))[:4] == [f"ev_of_{n}" for n in range(4)]
        assert (await verify(store)).rows == 12


async def test_closing_finishes_what_was_queued(
    laid: tuple[Cable, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, store = laid
    monkeypatch.setattr("storage.engine.postgres.LAST_MS", PATIENT.wait_ms)
    tasks = [asyncio.create_task(write(store, n, IDS[n % 3])) for n in range(90)]
    await asyncio.sleep(0)
    await store.close()
    assert len(await asyncio.gather(*tasks)) == 90
    with pytest.raises(RuntimeError, match="closed"):
        await write(store, 91)


@pytest.mark.slow
async def test_closing_behind_a_lock_waits_once_for_both_kinds_of_writes(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_beside(pg_url) as (store, _):
        asked = both_kinds(store)
        await asyncio.sleep(0)
        monkeypatch.setattr("storage.engine.postgres.LAST_MS", 1_500)
        async with beating() as waited:
            await store.close()
        assert waited.seconds < 2.9
    assert len(await asyncio.gather(*asked, return_exceptions=True)) == 2


async def test_who_leaves_waits_for_no_lock_and_says_so(pg_url: str) -> None:
    async with held_beside(pg_url) as (store, _), looking_on(pg_url) as looking:
        clock, asked = LoopClock(), both_kinds(store)
        with anyio.fail_after(STUCK_S):
            while await _waiting(looking) < len(asked):
                await asyncio.sleep(0)
        store.leave()
        # What needs nobody's lock still has its answer.
        assert await store.read(lambda uow: uow.ledger.head("m_1")) == (0, "")
        asked.append(asyncio.create_task(store.write(locked("m_1"))))
        async with beating() as waited:
            clock.forward(LAST_MS / 1_000)
            told = await asyncio.gather(*asked, return_exceptions=True)
        assert waited.seconds < 1
        assert [type(one) for one in told] == [Unavailable] * 3
        # Whoever waits for a lock has not sent what is to be written.
        assert not any(one.unknown for one in told if isinstance(one, Unavailable))


def locked(public_id: str) -> Callable[[UnitOfWork], object]:
    return lambda uow: uow.mandates.get(public_id, lock=True)


def both_kinds(store: Store) -> list[asyncio.Task[Any]]:
    """A write in a batch, and one by itself."""
    return [asyncio.create_task(one) for one in (write(store, 1), store.write(locked("m_2")))]


@asynccontextmanager
async def looking_on(pg_url: str) -> AsyncIterator[asyncpg.Connection]:
    looking = await asyncpg.connect(pg_url)
    try:
        yield looking
    finally:
        await looking.close()


async def _waiting(looking: asyncpg.Connection) -> int:
    return int(
        await looking.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    )
