"""What the venue said a moment ago: one question at a time, bounded, and marked where it is old."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from domain.refusals import Refused, refusal
from tests.venue.small import Clock
from venue.cache import PAUSE_S, Cache

pytestmark = pytest.mark.anyio


class Source:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked, self.down, self.gate = 0, False, asyncio.Event()
        self.gate.set()

    async def __call__(self) -> tuple[Any, int]:
        self.asked += 1
        await self.gate.wait()
        if self.down:
            raise Refused(refusal("venue_unavailable", why="it is down"))
        return self.asked, 10


async def test_callers_at_once_ask_once() -> None:
    cache, source = Cache(Clock()), Source()
    source.gate.clear()
    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(cache.get, "k", 60, source)
        await anyio.wait_all_tasks_blocked()
        source.gate.set()
    assert source.asked == 1


async def test_a_caller_that_goes_away_does_not_end_the_question_of_the_others() -> None:
    cache, source = Cache(Clock()), Source()
    source.gate.clear()
    first = asyncio.ensure_future(cache.get("k", 60, source))
    second = asyncio.ensure_future(cache.get("k", 60, source))
    await anyio.wait_all_tasks_blocked()
    first.cancel()
    await anyio.wait_all_tasks_blocked()
    source.gate.set()
    assert (await second).value == 1
    assert source.asked == 1


async def test_what_is_held_is_given_until_it_is_too_old() -> None:
    clock = Clock()
    cache, source = Cache(clock), Source()
    await cache.get("k", 60, source)
    clock.forward(seconds=59)
    assert not (await cache.get("k", 60, source)).stale
    clock.forward(seconds=1)
    assert (await cache.get("k", 60, source)).value == 2


async def test_while_the_venue_is_down_the_last_answer_is_given_as_stale_with_its_time() -> None:
    clock = Clock()
    cache, source = Cache(clock), Source()
    read_at = (await cache.get("k", 60, source)).as_of
    clock.forward(minutes=10)
    source.down = True
    held = await cache.get("k", 60, source)
    assert (held.value, held.as_of, held.stale) == (1, read_at, True)
    asked = source.asked
    assert (await cache.get("k", 60, source)).stale
    assert source.asked == asked, "a venue that has just failed is left alone for a moment"
    clock.forward(seconds=PAUSE_S)
    source.down = False
    assert not (await cache.get("k", 60, source)).stale


async def test_without_an_answer_that_is_held_the_failure_is_told() -> None:
    cache, source = Cache(Clock()), Source()
    source.down = True
    for _ in range(2):
        with pytest.raises(Refused):
            await cache.get("k", 60, source)
    assert source.asked == 2


async def test_a_fresh_read_never_gives_an_old_answer() -> None:
    clock = Clock()
    cache, source = Cache(clock), Source()
    await cache.get("k", 60, source)
    clock.forward(minutes=2)
    source.down = True
    with pytest.raises(Refused):
        await cache.get("k", 60, source, fresh=True)


async def test_it_is_bounded_by_keys_and_by_bytes_and_forgets_what_was_not_used_longest() -> None:
    clock = Clock()
    by_keys, source = Cache(clock, keys=100), Source()
    for n in range(1_000):
        await by_keys.get(n, 60, source)
        await by_keys.get(0 if n < 50 else n, 60, source)
    assert len(by_keys) == 100
    by_bytes = Cache(clock, size=55)
    for n in range(100):
        await by_bytes.get(n, 60, source)
    assert (len(by_bytes), by_bytes.bytes_held) == (5, 50)
    assert by_bytes.peek(99, 60) is not None
    assert by_bytes.peek(94, 60) is None


async def test_questions_under_way_end_when_it_is_closed() -> None:
    cache, source = Cache(Clock()), Source()
    source.gate.clear()
    waiting = asyncio.ensure_future(cache.get("k", 60, source))
    await anyio.wait_all_tasks_blocked()
    await cache.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
