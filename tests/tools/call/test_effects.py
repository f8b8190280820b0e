"""An operation with an outside effect and a key: one effect at most, whatever fails, and one answer for every repeat."""

from __future__ import annotations

import asyncio
import multiprocessing
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from domain.refusals import Refused, refusal
from storage.store import Store
from tests.tools.call.effects import Venue, deps_on, order, post_and_hang
from tests.waiting import STUCK_S
from tests.world import Clock
from tools.dispatch import external_effects

pytestmark = pytest.mark.anyio


async def _state(store: Store) -> str | None:
    return (await store.read(lambda uow: uow.switches.all())).get("order")


async def test_a_repeat_gets_the_first_answer_and_posts_nothing(store: Store) -> None:
    venue, deps = Venue(), deps_on(store, Clock())
    first = await order(venue, deps)
    again = await order(venue, deps)
    assert (first.status, first.body) == (201, {"size": 7, "secret": "s"})
    # What is shown once is not in what is kept.
    assert (again.status, again.body) == (201, {"size": 7, "secret": None})
    assert venue.posts == [7]
    assert await _state(store) == "executed"
    other = await order(venue, deps, size=8)
    assert (other.status, other.body["error"]) == (409, "idempotency_key_reused")
    assert (await order(venue, deps, key=None)).status == 201
    assert venue.posts == [7, 7]


async def test_sixteen_calls_at_once_post_once(store: Store) -> None:
    arrived, opened = anyio.Event(), anyio.Event()

    async def held() -> None:
        arrived.set()
        await opened.wait()

    venue, deps = Venue(on_post=held), deps_on(store, Clock())
    with anyio.fail_after(STUCK_S):
        first = asyncio.create_task(order(venue, deps))
        await arrived.wait()
        others = await asyncio.gather(*(order(venue, deps) for _ in range(15)))
        opened.set()
        assert (await first).status == 201
    assert {(r.status, r.body["error"]) for r in others} == {(409, "idempotency_in_flight")}
    assert all(r.body["retry_safe"] and r.body["retry_at"] for r in others)
    assert venue.posts == [7]
    assert (await order(venue, deps)).status == 201


async def test_a_refused_effect_frees_the_key_and_is_undone(store: Store) -> None:
    async def refused() -> None:
        raise Refused(refusal("venue_unavailable", why="it is closed"))

    venue, deps = Venue(on_post=refused), deps_on(store, Clock())
    reply = await order(venue, deps)
    assert (reply.status, reply.body["error"]) == (503, "venue_unavailable")
    assert await _state(store) == "rejected"
    open_again = Venue()
    assert (await order(open_again, deps, size=8)).status == 201
    assert open_again.posts == [8]


async def test_what_is_refused_before_the_effect_leaves_nothing(store: Store) -> None:
    class Closed(Venue):
        def begin(self, uow: Any, ask: Any) -> int:
            super().begin(uow, ask)
            raise Refused(refusal("not_configured", what="the venue"))

    venue, deps = Closed(), deps_on(store, Clock())
    assert (await order(venue, deps)).status == 409
    assert venue.posts == []
    assert await _state(store) is None
    assert (await order(Venue(), deps)).status == 201


async def _never_again(venue: Venue, deps: Any) -> None:
    """The key stays taken, and the answer says where to ask."""
    for _ in range(3):
        reply = await order(venue, deps)
        assert (reply.status, reply.body["error"]) == (504, "outcome_unknown")
        assert not reply.body["retry_safe"]
        assert reply.body["next"][0]["route"] == "GET /wallet/order/{order_id}"
    assert venue.posts == [7]


async def test_a_break_in_the_middle_is_never_done_again(store: Store) -> None:
    async def breaks() -> None:
        raise ConnectionError("reset by peer")

    venue, deps = Venue(on_post=breaks), deps_on(store, Clock())
    assert (await order(venue, deps)).body["error"] == "outcome_unknown"
    assert await _state(store) == "executing"
    await _never_again(venue, deps)


async def test_an_effect_whose_end_cannot_be_written_is_never_done_again(store: Store) -> None:
    venue, deps = Venue(fails_to_finish=True), deps_on(store, Clock())
    assert (await order(venue, deps)).body["error"] == "outcome_unknown"
    assert await _state(store) == "executing"
    await _never_again(venue, deps)


async def test_an_effect_that_takes_too_long_is_of_unknown_outcome(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    venue, deps = Venue(on_post=asyncio.Event().wait), deps_on(store, Clock())
    monkeypatch.setattr(
        external_effects, "asyncio", SimpleNamespace(timeout=lambda _: asyncio.timeout(0))
    )
    assert (await order(venue, deps)).body["error"] == "outcome_unknown"
    await _never_again(venue, deps)


@pytest.mark.slow
async def test_a_process_that_is_killed_after_the_post_leaves_an_unknown_outcome(
    store: Store, database_url: str
) -> None:
    context = multiprocessing.get_context("spawn")
    posted = context.Event()
    process = context.Process(target=post_and_hang, args=(database_url, posted))
    process.start()
    try:
        assert await anyio.to_thread.run_sync(posted.wait, STUCK_S)
    finally:
        process.kill()
        process.join()
        process.close()
    venue, clock = Venue(), Clock()
    deps = deps_on(store, clock)
    # Nobody can tell yet whether it still runs.
    assert (await order(venue, deps)).body["error"] == "idempotency_in_flight"
    clock.forward(seconds=34)
    assert (await order(venue, deps)).body["error"] == "idempotency_in_flight"
    clock.forward(seconds=1)
    reply = await order(venue, deps)
    assert (reply.status, reply.body["error"]) == (504, "outcome_unknown")
    assert venue.posts == []
    assert await _state(store) == "executing"
    # Whoever finds out how it ended gives every repeat its answer.
    await store.write(lambda uow: uow.idempotency.complete("u_agent:order", "k", 201, {"size": 7}))
    assert (await order(venue, deps)).body == {"size": 7}
    assert venue.posts == []


async def test_an_effect_that_hangs_while_its_process_ends_is_answered_and_never_done_again(
    store: Store,
) -> None:
    posted = anyio.Event()

    async def hang() -> None:
        posted.set()
        await anyio.sleep_forever()

    venue, deps = Venue(on_post=hang), deps_on(store, Clock())
    with anyio.fail_after(STUCK_S):
        first = asyncio.create_task(order(venue, deps))
        await posted.wait()
        assert await deps.shutdown.end()
        answer = await first
    assert answer.body["error"] == "outcome_unknown"
    assert [step["text"] for step in answer.body["next"]]
    again = await order(Venue(), deps_on(store, Clock()))
    assert again.body["error"] == "outcome_unknown"
    assert venue.posts == [7]


async def test_an_effect_that_ends_soon_is_waited_for_while_its_process_ends(store: Store) -> None:
    posted = anyio.Event()

    async def soon() -> None:
        posted.set()
        await anyio.sleep(0.01)

    venue, deps = Venue(on_post=soon), deps_on(store, Clock())
    with anyio.fail_after(STUCK_S):
        first = asyncio.create_task(order(venue, deps))
        await posted.wait()
        assert await deps.shutdown.end()
        assert (await first).status == 201
    assert not await deps.shutdown.end()
