"""Limits of a minute that several processes count together: a slice at a time, and alone while the database fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.refusals import Refused
from domain.settings import Config
from server.runtime import shared_rates
from server.runtime.shared_rates import SharedRates
from server.system import SystemIds
from storage.errors import Unavailable
from storage.repositories.rate_meters import RateMeterRepository
from storage.store import Store
from tests.waiting import STUCK_S
from tests.world import START, Clock
from tools.dispatch.rate_charging import ANONYMOUS
from tools.model.operation import Deps
from tools.model.rate_limiter import MINUTE, SLICE, Key, RateLimiter

pytestmark = pytest.mark.anyio
LIMIT = 320
PART = LIMIT // 16
ROWS = "SELECT * FROM rate_meters"


@pytest.fixture(autouse=True)
def database_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the database, which stands still as the others do."""
    clock = Clock()
    monkeypatch.setattr(RateMeterRepository, "now", lambda self: clock.at)
    return clock


@asynccontextmanager
async def counting(store: Store, clock: Clock) -> AsyncIterator[RateLimiter]:
    """The limiter of one process among several."""
    deps = Deps(store, EvmChains([]), clock, SystemIds(), Config(), SiweSignIn())
    async with anyio.create_task_group() as group:
        group.start_soon(SharedRates(deps).run)
        while deps.rates.shared is None:
            await anyio.sleep(0)
        yield deps.rates
        group.cancel_scope.cancel()


async def passes(
    rates: RateLimiter, now: datetime, *, subject: str = "reads", whose: str = "me", cost: int = 1
) -> bool:
    try:
        with anyio.fail_after(STUCK_S):
            await rates.charge(subject, whose, LIMIT, now, cost=cost)
    except Refused:
        return False
    return True


async def rows(store: Store) -> int:
    return len(await store.read(lambda uow: uow.sql.rows(ROWS)))


async def test_two_processes_let_through_one_limit_and_a_slice_at_the_most(store: Store) -> None:
    async with counting(store, Clock()) as a, counting(store, Clock()) as b:
        passed = [await passes(rates, START) for _ in range(LIMIT) for rates in (a, b)]
        assert LIMIT <= sum(passed) <= LIMIT + PART + 1
        assert await rows(store) == 1
        # What one process alone let through, the other one counts.
        assert [await passes(a, START, whose="you") for _ in range(LIMIT + 1)].count(True) == LIMIT
        assert [await passes(b, START, whose="you") for _ in range(LIMIT)].count(True) <= PART + 1


async def test_calls_that_come_at_once_wait_for_the_slice_before_them(store: Store) -> None:
    passed: list[bool] = []

    async def call(rates: RateLimiter) -> None:
        passed.append(await passes(rates, START))

    async with (
        counting(store, Clock()) as a,
        counting(store, Clock()) as b,
        anyio.create_task_group() as group,
    ):
        for _ in range(LIMIT):
            group.start_soon(call, a)
            group.start_soon(call, b)
    assert len(passed) == 2 * LIMIT
    assert LIMIT <= sum(passed) <= LIMIT + PART + 1


async def test_calls_that_each_process_could_bear_are_too_many_together(store: Store) -> None:
    """One alone would let every one of them pass for ever."""
    clock, passed = Clock(), 0
    async with counting(store, clock) as a, counting(store, clock) as b:
        for _ in range(2 * LIMIT):
            clock.forward(seconds=60 / LIMIT)
            for rates in (a, b):
                passed += await passes(rates, clock.at)
    # Two minutes of it, and what may come at once.
    assert 3 * LIMIT <= passed <= 3 * LIMIT + PART + 1


async def test_a_call_costs_no_statement_and_a_slice_costs_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = 0
    add = RateMeterRepository.add

    def counted(self: RateMeterRepository, *rest: object) -> dict[str, datetime]:
        nonlocal told
        told += 1
        return add(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(RateMeterRepository, "add", counted)
    async with counting(store, Clock()) as rates:
        for _ in range(PART - 1):
            assert await passes(rates, START)
        assert (told, await rows(store)) == (0, 0)
        for _ in range(10 * LIMIT):
            await passes(rates, START)
        # Calls beyond the limit write nothing: who is refused costs the database nothing.
        assert told == 16


async def test_a_call_that_waits_an_hour_for_its_slice_costs_nothing_any_more(store: Store) -> None:
    clock = Clock()
    async with counting(store, clock) as a, counting(store, clock) as b:
        for _ in range(PART - 1):
            assert await passes(a, clock.at)
        clock.forward(hours=1)
        passed = [await passes(a, clock.at) for _ in range(LIMIT + 1)]
        assert sum(passed) == LIMIT
        assert not all([await passes(b, clock.at) for _ in range(PART + 2)])


async def test_while_the_database_fails_each_process_counts_alone_and_nobody_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_rates, "AGAIN_S", 0.01)
    fails, write = True, store.write

    async def failing(work: object, *rest: object) -> object:
        if fails:
            raise Unavailable("it is down")
        return await write(work, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "write", failing)
    async with counting(store, Clock()) as a, counting(store, Clock()) as b:
        assert [await passes(a, START) for _ in range(LIMIT + 1)].count(True) == LIMIT
        fails = False
        with anyio.fail_after(STUCK_S):
            while not await rows(store):
                await anyio.sleep(0.01)
        # What was counted meanwhile is told once it answers.
        assert [await passes(b, START) for _ in range(LIMIT)].count(True) <= PART + 1


async def test_strangers_leave_so_many_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rates, "STRANGERS_MOST", 5)
    async with counting(store, Clock()) as rates:
        for n in range(9):
            for cost in (LIMIT // 2, 1):
                await passes(rates, START, subject=ANONYMOUS, whose=str(n), cost=cost)
            assert await rows(store) == min(n + 1, 5)
        # Whoever has a credential is counted in all processes as before.
        for cost in (LIMIT // 2, 1):
            await passes(rates, START, cost=cost)
        assert await rows(store) == 6


async def test_a_row_goes_when_its_calls_are_paid_off(
    store: Store, monkeypatch: pytest.MonkeyPatch, database_clock: Clock
) -> None:
    monkeypatch.setattr(shared_rates, "SWEEP_S", 0.05)
    clock = database_clock
    async with counting(store, clock) as rates:
        for cost in (LIMIT // 2, 1):
            await passes(rates, START, cost=cost)
        clock.forward(seconds=80)
        await anyio.sleep(0.2)
        assert await rows(store) == 1
        clock.forward(seconds=20)
        with anyio.fail_after(STUCK_S):
            while await rows(store):
                await anyio.sleep(0.05)


@pytest.mark.parametrize("apart_s", [-90, -30, 5, 30, 90])
async def test_clocks_apart_make_a_limit_neither_smaller_nor_larger(
    store: Store, monkeypatch: pytest.MonkeyPatch, apart_s: int
) -> None:
    monkeypatch.setattr(shared_rates, "SWEEP_S", 0.05)
    one, other = Clock(), Clock()
    other.forward(seconds=apart_s)
    async with counting(store, one) as a, counting(store, other) as b:
        assert all([await passes(b, other.at) for _ in range(LIMIT // 4)])
        passed = [await passes(a, one.at) for _ in range(LIMIT)].count(True)
        assert LIMIT * 3 // 4 <= passed <= LIMIT * 3 // 4 + PART + 1
        # One that is set right meanwhile is looked at again.
        other.at = one.at
        await anyio.sleep(0.3)
        assert all([await passes(b, other.at, whose="you") for _ in range(LIMIT // 4)])
        passed = [await passes(a, one.at, whose="you") for _ in range(LIMIT)].count(True)
        assert LIMIT * 3 // 4 <= passed <= LIMIT * 3 // 4 + PART + 1


async def test_the_clock_of_the_database_is_that_of_its_machine(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    before = datetime.now(UTC)
    there = await store.read(lambda uow: uow.rate_meters.now())
    assert before - timedelta(seconds=1) <= there <= datetime.now(UTC) + timedelta(seconds=1)


async def test_a_row_says_neither_address_nor_key(store: Store) -> None:
    async with counting(store, Clock()) as rates:
        for _ in range(2):
            await passes(rates, START, whose="203.0.113.9", cost=LIMIT // 2)
        stored = await store.read(lambda uow: uow.sql.rows(ROWS))
    assert len(stored) == 1
    assert "203.0.113.9" not in str(dict(stored[0]))


COSTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 70_000), st.integers(1, 9)), max_size=60
)


@given(COSTS)
@settings(max_examples=100, deadline=None)
@example([(0, 0, 9), (0, 0, 9), (0, 0, 1), (1, 4_000, 9), (1, 0, 9), (1, 0, 9), (0, 0, 1)])
def test_what_is_told_in_slices_is_at_most_a_slice_more_than_what_one_meter_would_have_counted(
    calls: list[tuple[int, int, int]],
) -> None:
    """A slice is told when it is full, so its first calls may count later than they were made: who would
    have passed in one process waits a sixteenth of a minute longer for each other process at the most.
    """
    ours = RateLimiter(_Nobody()), RateLimiter(_Nobody())
    one, shared, key, now = RateLimiter(), START, ("reads", "me"), START
    for who, pause_ms, cost in calls:
        now += timedelta(milliseconds=pause_ms)
        one.acquire(*key, LIMIT, now, cost=cost, force=True)
        ours[who].acquire(*key, LIMIT, now, cost=cost, force=True)
        taken = ours[who].take(key)
        assert taken is not None
        if taken[1] < SLICE:
            ours[who].give_back(key, *taken)
            continue
        shared = min(max(shared, taken[0]) + taken[1], now + 2 * MINUTE)
        ours[who].learn(key, shared, now)
        assert _due(ours[who], key) <= _due(one, key) + SLICE


class _Nobody:
    def announce(self, key: Key) -> None:
        """Nobody is told."""

    async def settled(self, key: Key) -> None:
        """Nobody waits."""


def _due(rates: RateLimiter, key: Key) -> datetime:
    return rates._due[key]
