"""The weight budget: never above the venue's own, and always a reserve for what must not wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusals import Refused
from domain.trading.venue import Lane
from tests.venue.small import Clock
from venue.budget import A_MINUTE, RELAYS_AT_MOST, RESERVE, Budget, InMemory, Window

pytestmark = pytest.mark.anyio
LANES: list[Lane] = ["relay", "house", "close", "keeper"]


def budget(clock: Clock, store: InMemory | None = None) -> Budget:
    return Budget(clock, store or InMemory(), "here:mainnet")


async def spend_all(b: Budget, lane: Lane, weight: int) -> int:
    taken = 0
    while True:
        try:
            await b.take(lane, weight)
        except Refused:
            return taken
        taken += weight


async def test_abuse_32_a_flood_of_relays_with_distinct_users_leaves_the_reserve_and_more() -> None:
    b = budget(Clock())
    assert await spend_all(b, "relay", 20) == RELAYS_AT_MOST
    assert await spend_all(b, "house", 20) == A_MINUTE - RESERVE - RELAYS_AT_MOST
    assert await spend_all(b, "keeper", 20) == RESERVE


async def test_abuse_34_ten_strangers_that_read_two_thousand_orders_each_stay_within_the_relays_share() -> (
    None
):
    b = budget(Clock())
    granted = 0
    for _ in range(10):
        try:
            spending = await b.take("relay", 120)
        except Refused:
            continue
        granted += 1
        await b.settle(spending, 120)
    assert granted == RELAYS_AT_MOST // 120
    assert (await b.used())["relay"] <= RELAYS_AT_MOST


async def test_what_a_read_did_not_cost_is_given_back() -> None:
    b = budget(Clock())
    spending = await b.take("relay", 120)
    await b.settle(spending, 21)
    assert (await b.used())["relay"] == 21


async def test_the_keeper_may_use_all_of_it_and_then_the_others_wait() -> None:
    b = budget(Clock())
    assert await spend_all(b, "keeper", 10) == A_MINUTE
    with pytest.raises(Refused) as refused:
        await b.take("house", 2)
    assert refused.value.code == "venue_unavailable"
    assert refused.value.refusal.detail["retry_after_s"] == 61


async def test_a_minute_later_there_is_room_again_and_the_wait_told_was_enough() -> None:
    clock = Clock()
    b = budget(clock)
    await spend_all(b, "relay", 100)
    with pytest.raises(Refused) as refused:
        await b.take("relay", 100)
    clock.forward(seconds=60)
    with pytest.raises(Refused):
        await b.take("relay", 100)
    clock.forward(seconds=refused.value.refusal.detail["retry_after_s"] - 60)
    await b.take("relay", 100)


async def test_two_processes_of_one_address_share_one_budget() -> None:
    clock, store = Clock(), InMemory()
    one, two = budget(clock, store), budget(clock, store)
    await spend_all(one, "relay", 20)
    assert await spend_all(two, "relay", 20) == 0


async def test_calls_at_once_never_pass_the_limit_together() -> None:
    b = budget(Clock())
    done = await asyncio.gather(*(b.take("relay", 45) for _ in range(50)), return_exceptions=True)
    assert sum(not isinstance(d, Refused) for d in done) == RELAYS_AT_MOST // 45


STEPS = st.lists(
    st.tuples(st.sampled_from(LANES), st.integers(1, 150), st.integers(0, 20)), max_size=60
)


@given(STEPS)
def test_in_no_minute_is_more_spent_than_allowed_and_the_reserve_is_free_for_whom_it_is_kept(
    steps: list[Any],
) -> None:
    now, window = 1_000, Window()
    spent: list[tuple[int, Lane, int]] = []
    for lane, weight, pause in steps:
        now += pause
        window = window.at(now)
        if window.fits(lane, weight):
            window = window.plus(now, lane, weight)
            spent.append((now, lane, weight))
        else:
            assert window.wait_s(lane, weight, now) > 0
        last = [(at, who, w) for at, who, w in spent if at > now - 60]
        assert sum(w for _, _, w in last) <= A_MINUTE
        assert sum(w for _, who, w in last if who == "relay") <= RELAYS_AT_MOST
        kept_free = A_MINUTE - sum(w for _, who, w in last if who in ("relay", "house"))
        used_by_reserved = sum(w for _, who, w in last if who in ("close", "keeper"))
        if used_by_reserved == 0:
            assert kept_free >= RESERVE
        assert Window.read(window.write()) == window


@given(STEPS, st.sampled_from(LANES), st.integers(1, 400))
def test_after_the_wait_that_is_told_it_fits(steps: list[Any], lane: Lane, weight: int) -> None:
    now, window = 1_000, Window()
    for who, w, pause in steps:
        now += pause
        window = window.at(now)
        if window.fits(who, w):
            window = window.plus(now, who, w)
    wait = window.wait_s(lane, weight, now)
    assert window.at(now + wait).fits(lane, weight)
