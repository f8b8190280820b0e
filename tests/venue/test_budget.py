"""The weight budget: never above the venue's own, and always a reserve for what must not wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusals import Refused
from domain.trading.venue_values import Priority
from tests.venue.small import Clock
from venue.budget import (
    LIMITS,
    MAX_PAGES,
    MAX_RELAYS,
    PRIORITIES,
    RESERVE,
    RESERVES,
    SHARE,
    WEIGHT_PER_MINUTE,
    Budget,
    InMemory,
    WeightWindow,
)

pytestmark = pytest.mark.anyio


def budget(clock: Clock, store: InMemory | None = None) -> Budget:
    return Budget(clock, store or InMemory(), "here:mainnet")


async def spend_all(b: Budget, priority: Priority, weight: int, who: str = "") -> int:
    taken = 0
    while await fits(b, priority, weight, who):
        taken += weight
    return taken


async def fits(b: Budget, priority: Priority, weight: int, who: str = "") -> bool:
    try:
        await b.take(priority, weight, who)
    except Refused:
        return False
    return True


async def test_abuse_32_a_flood_of_relays_with_distinct_users_leaves_the_reserve_and_more() -> None:
    b = budget(Clock())
    assert await spend_all(b, "relay", 20) == MAX_RELAYS
    for lane in reversed(PRIORITIES[:-1]):
        assert await spend_all(b, lane, 20) == RESERVES[lane], lane
    assert sum((await b.used()).values()) == WEIGHT_PER_MINUTE


async def test_pages_of_many_people_leave_the_house_orders_closes_and_the_keeper_theirs() -> None:
    b = budget(Clock())
    fitting = [await fits(b, "page", 4, f"0x{n % 50:040x}") for n in range(500)]
    assert 4 * sum(fitting) == MAX_PAGES
    assert await spend_all(b, "order", 20) == WEIGHT_PER_MINUTE - RESERVE - MAX_PAGES
    assert await spend_all(b, "keeper", 20) == RESERVE


@pytest.mark.parametrize(("lane", "share"), [("order", 250), ("page", 80)])
async def test_one_person_never_has_more_than_his_share_of_a_lane(
    lane: Priority, share: int
) -> None:
    b = budget(Clock())
    for who in ("0x" + "a" * 40, "0x" + "b" * 40):
        assert await spend_all(b, lane, 5, who) == share


async def test_weight_that_was_written_without_a_person_is_read() -> None:
    window = WeightWindow.read('[[1000,"house",20],[1000,"page",4,"abcdef01"]]')
    assert window.rows == ((1000, "house", 20, ""), (1000, "page", 4, "abcdef01"))


async def test_abuse_34_strangers_that_read_much_stay_within_the_share_and_get_back_what_was_not_spent() -> (
    None
):
    b = budget(Clock())
    assert sum([await fits(b, "relay", 120) for _ in range(10)]) == MAX_RELAYS // 120
    assert (await b.used())["relay"] <= MAX_RELAYS
    b = budget(Clock())
    await b.settle(await b.take("relay", 120), 21)
    assert (await b.used())["relay"] == 21


async def test_the_keeper_may_use_all_of_it_and_then_the_others_wait() -> None:
    b = budget(Clock())
    assert await spend_all(b, "keeper", 10) == WEIGHT_PER_MINUTE
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
    assert sum(not isinstance(d, Refused) for d in done) == MAX_RELAYS // 45


STEPS = st.lists(
    st.tuples(st.sampled_from(PRIORITIES), st.integers(1, 150), st.integers(0, 20)), max_size=60
)


@given(STEPS)
def test_in_no_minute_is_more_spent_than_allowed_and_the_reserve_is_free_for_whom_it_is_kept(
    steps: list[Any],
) -> None:
    now, window = 1_000, WeightWindow()
    spent: list[tuple[int, Priority, int]] = []
    for lane, weight, pause in steps:
        now += pause
        window = window.at(now)
        if window.fits(lane, weight):
            window = window.plus(now, lane, weight)
            spent.append((now, lane, weight))
        else:
            assert window.wait_s(lane, weight, now) > 0
        last = [(at, who, w) for at, who, w in spent if at > now - 60]
        assert sum(w for _, _, w in last) <= WEIGHT_PER_MINUTE
        assert sum(w for _, who, w in last if who == "relay") <= MAX_RELAYS
        for n, of in enumerate(PRIORITIES):
            assert sum(w for _, who, w in last if who == of) <= LIMITS.get(of, WEIGHT_PER_MINUTE)
            # What the lanes from here down spent leaves those above them their reserve.
            above = PRIORITIES[:n]
            if not any(who in above for _, who, _ in last):
                below = sum(w for _, who, w in last if who not in above)
                assert below <= WEIGHT_PER_MINUTE - sum(RESERVES[lane] for lane in above)
        assert WeightWindow.read(window.write()) == window


@given(STEPS, st.sampled_from(PRIORITIES), st.integers(1, 400))
def test_after_the_wait_that_is_told_it_fits(steps: list[Any], lane: Priority, weight: int) -> None:
    now, window = 1_000, WeightWindow()
    weight = min(weight, LIMITS.get(lane, weight))  # a lane that never has so much never fits
    for who, w, pause in steps:
        now += pause
        window = window.at(now)
        if window.fits(who, w):
            window = window.plus(now, who, w)
    wait = window.wait_s(lane, weight, now)
    assert window.at(now + wait).fits(lane, weight)


async def test_one_caller_of_relays_leaves_a_whole_share_for_the_next() -> None:
    callers, share, b = ("10.0.0.1", "10.0.0.2", "10.0.0.3"), SHARE["relay"], budget(Clock())
    spent = [await spend_all(b, "relay", 20, caller) for caller in callers]
    assert spent == [MAX_RELAYS - share, share, 0]
    b, taken = budget(Clock()), dict.fromkeys(callers, 0)
    for _ in range(MAX_RELAYS // 20):
        for caller in callers:
            taken[caller] += 20 * await fits(b, "relay", 20, caller)
    assert taken == dict.fromkeys(callers, share)
