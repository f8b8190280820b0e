"""In which order an order's writes lock what they share, on a real PostgreSQL with a second session beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import asyncpg
import pytest

from domain.money import Usdc
from tests.tools.trading.conftest import Desk, Person, a_desk
from tests.tools.trading.orders import agent, day_use, trader
from tests.tools.trading.stop_line import mandate_of
from tests.tools.trading.test_paper import BUY, code, limit, paper, prepare
from tests.waiting import STUCK_S
from tools.trading.orders.status_sync import sync_due_orders

pytestmark = [pytest.mark.anyio, pytest.mark.pg]
GIVEN_BACK = "UPDATE order_counters SET used_micros = used_micros"
FREE_MS = 50  # less than after which this PostgreSQL looks for a deadlock


@pytest.fixture
async def desk(pg_url: str) -> AsyncIterator[Desk]:
    async with a_desk(pg_url) as opened:
        yield opened


@dataclass
class Keeper:
    """A second session, in a transaction; it waits for no lock."""

    url: str
    connection: asyncpg.Connection

    async def run(self, sql: str) -> str:
        return str(await self.connection.execute(sql))

    async def waited_for(self) -> None:
        """Return once somebody waits for what this session holds."""
        watching = await asyncpg.connect(self.url)
        asked = "SELECT 1 FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))"
        with anyio.fail_after(STUCK_S):
            while not await watching.fetch(asked, self.connection.get_server_pid()):
                pass
        await watching.close()


@asynccontextmanager
async def keeper_of(desk: Desk) -> AsyncIterator[Keeper]:
    connection = await asyncpg.connect(desk.store.url)
    await connection.execute(f"SET lock_timeout = {FREE_MS}")
    await connection.execute("BEGIN")
    try:
        yield Keeper(desk.store.url, connection)
    finally:
        await connection.close()


async def beside(
    work: Coroutine[Any, Any, Any], keeper: Keeper, then: Callable[[], Awaitable[object]]
) -> Any:
    """Start work, do something else once it waits for what the keeper holds, and give what it came
    to.
    """
    task = asyncio.ensure_future(work)
    await keeper.waited_for()
    await then()
    await keeper.run("COMMIT")
    return await task


async def used(ingest_context: Desk) -> int:
    """What the fullest counter says; nothing is held back any more."""
    found = (await day_use(ingest_context)).values()
    assert {held for _, held in found} == {0}
    return max(done for done, _ in found)


async def test_a_paper_order_at_the_door_waits_for_its_book_before_it_takes_a_counter(
    desk: Desk,
) -> None:
    """The keeper's look at an order that waits holds the book, and then gives the day's part back."""
    p = await desk.person()
    await paper(desk, p, notional_usdc="20")
    before = await used(desk)
    async with keeper_of(desk) as keeper:
        await keeper.run("SELECT * FROM paper_watch FOR UPDATE")

        async def give_back() -> None:
            assert await keeper.run(GIVEN_BACK) == "UPDATE 2"

        told = await beside(
            desk.ok("trade_order", p.caller, **BUY, notional_usdc="20"), keeper, give_back
        )
    assert told["order"]["status"] == "executed"
    assert await used(desk) > before


async def test_at_the_door_the_day_is_kept_by_the_counter_and_what_did_not_fit_leaves_nothing(
    desk: Desk,
) -> None:
    """The counter is taken last: by then the book was filled, and all of it is rolled back."""
    p = await desk.person()
    await paper(desk, p, notional_usdc="20")
    async with keeper_of(desk) as keeper:
        await keeper.run("UPDATE order_counters SET used_micros = 10000000000000")
        told = await beside(
            desk.do("trade_order", p.caller, **BUY, notional_usdc="20"),
            keeper,
            lambda: keeper.run("SELECT * FROM paper_watch FOR SHARE SKIP LOCKED"),
        )
    assert code(told) == (403, "wallet_over_cap")
    assert len(await desk.rows("orders")) == len(await desk.rows("paper_entries")) == 1


async def test_what_is_past_is_ended_before_the_book_is_waited_for(desk: Desk) -> None:
    p = await desk.person()
    await limit(desk, p, "60000", "0.0004")
    await prepare(desk, p.caller, notional_usdc="30")
    desk.clock.forward(hours=1)
    async with keeper_of(desk) as keeper:
        await keeper.run("SELECT * FROM paper_watch FOR UPDATE")
        await beside(
            desk.ok("trade_order", p.caller, **BUY, notional_usdc="20"),
            keeper,
            lambda: keeper.run(GIVEN_BACK),
        )


async def test_what_is_past_is_ended_before_the_mandate_is_waited_for(desk: Desk) -> None:
    """A fill of the mandate holds its row, and then takes the day's counters."""
    t = await trader(desk)
    m = mandate_of(t.person, "m_aaaaaaaaaa", ("BTC",), daily_cap_usdc=Usdc.parse("90"))
    await desk.store.write(lambda uow: uow.mandates.add(m))
    await t.prepare()
    desk.clock.forward(hours=1)
    async with keeper_of(desk) as keeper:
        await keeper.run("SELECT * FROM mandates FOR UPDATE")
        cites = t.prepare(mandate_id=m.public_id)
        await beside(cites, keeper, lambda: keeper.run(GIVEN_BACK))


async def test_an_order_that_is_opened_again_waits_for_its_agent_before_it_gives_back(
    desk: Desk,
) -> None:
    t = await trader(desk)
    scout = await agent(desk, t)
    made = await desk.ok("order_prepare", scout, **{**BUY, "mode_seen": "live"}, size="0.0005")
    order_id = made["order"]["order_id"]
    await desk.ok("order_open", t.caller, order_id=order_id)
    async with keeper_of(desk) as keeper:
        await keeper.run("SELECT * FROM agents FOR UPDATE")

        async def give_back() -> None:
            assert await keeper.run(GIVEN_BACK) == "UPDATE 2"

        again = desk.ok("order_open", t.caller, order_id=order_id)
        told = await beside(again, keeper, give_back)
    assert told["order"]["status"] == "awaiting_signature"


async def test_the_door_and_the_keeper_race_without_a_deadlock(desk: Desk) -> None:
    """Orders that wait are met by the keeper's tick while new ones come in at the door."""
    p: Person = await desk.person()
    for _ in range(4):
        await limit(desk, p, "60000", "0.0004")
    desk.main.book("BTC", bids=[("59990", "5")], asks=[("59995", "5")])
    desk.clock.forward(minutes=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(sync_due_orders(desk.deps))
        door = [
            group.create_task(desk.do("trade_order", p.caller, **BUY, notional_usdc="20"))
            for _ in range(4)
        ]
    assert {t.result().status for t in door} == {200}
    found = await desk.store.read(
        lambda uow: uow.sql.rows(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
    )
    assert [int(r["deadlocks"]) for r in found] == [0]
    await used(desk)
