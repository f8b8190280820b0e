"""Who waits for whom at the venue's budget: the house's own duties and people's orders wait for no page and no stranger."""

from __future__ import annotations

from typing import Any

import pytest

from devtools.devvenue import Rules, VenueFault
from domain.refusals import Refused
from domain.trading.venue_values import Priority
from tests.tools.trading.conftest import Desk, Person, a_desk
from tests.tools.trading.orders import agent, allow, trader
from tools.trading.orders.status_sync import sync_due_orders
from venue import reads
from venue.budget import WEIGHT_PER_MINUTE

pytestmark = pytest.mark.anyio


async def relayed(ingest_context: Desk) -> int:
    """A stranger's relays until none goes through; how many did."""
    done = 0
    for network in ("mainnet", "testnet"):
        venue = ingest_context.networks.get(network)  # type: ignore[arg-type]  # both are
        for n in range(100):
            try:
                read = reads.RELAYED["userFees"]
                await venue.client.ask(read, "relay", user=f"0x{n:040x}")
            except Refused:
                break
            done += 1
    return done


@pytest.mark.slow
async def test_with_fifty_pages_open_there_is_room_for_orders(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, rules=Rules(ip_budget=1200)) as desk:
        people: list[Person] = []
        for _ in range(50):
            people.append(await desk.linked())
            desk.clock.forward(seconds=10)  # linking reads much
        t = await trader(desk)
        desk.clock.forward(seconds=65)
        for second in range(0, 60, 5):
            for p in people:
                told = await desk.ok("trade_positions", p.caller)
                assert told["live"] is None or told["stale"] in (True, False)
            if second % 20 == 0:
                made = await t.prepare()
                assert (await t.execute(made)).body["status"] == "executed"
            desk.clock.forward(seconds=5)


@pytest.mark.parametrize(("lane", "share"), [("order", 250), ("page", 80)])
async def test_one_persons_reads_leave_another_persons_their_own(
    lane: Priority, share: int, desk: Desk
) -> None:
    client = desk.networks.get("testnet").client

    async def read(user: str) -> int:
        """The person's reads until none goes through; how many did."""
        for n in range(WEIGHT_PER_MINUTE):
            try:
                await client.ask(reads.BALANCES, lane, user=user)
            except Refused:
                return n
        raise AssertionError("nothing ended them")

    done = await read("0x" + "a1" * 20)
    assert done * reads.BALANCES.weight == share
    assert await read("0x" + "b2" * 20) == done


async def over_the_hour(ingest_context: Desk, *coins: str) -> str:
    """A paper book that holds something of each product over a full hour; its name."""
    p = await ingest_context.person()
    book = str((await ingest_context.ok("own_paper_book_open", p.caller, name="B"))["book"])
    order = {"side": "buy", "type": "market", "notional_usdc": "45", "mode_seen": "paper"}
    for coin in coins:
        ingest_context.main.funding(coin, "0.0001")
        await ingest_context.ok("trade_order", p.caller, **order, product=coin, book=book)
    while ingest_context.clock.now().hour == 12:
        ingest_context.clock.forward(seconds=29)
        ingest_context.main.move("BTC", "64000")
        await watched(ingest_context, seconds=0)
    return book


async def test_strangers_relays_hold_no_funding_of_a_paper_book(desk: Desk) -> None:
    await over_the_hour(desk, "BTC")
    assert await relayed(desk) > 0
    await watched(desk)
    assert await funded(desk) == {"BTC": 1}
    assert "gap" not in {row["kind"] for row in await desk.rows("paper_entries")}


async def test_a_rate_that_is_missing_holds_only_its_own_product(desk: Desk) -> None:
    info = desk.main.info

    def without(body: Any) -> Any:
        if body["type"] == "fundingHistory" and body["coin"] == "BTC":
            return []
        return info(body)

    desk.main.info = without  # type: ignore[method-assign]
    await over_the_hour(desk, "BTC", "ETH")
    await watched(desk)
    assert await funded(desk) == {"ETH": 1}
    desk.main.info = info  # type: ignore[method-assign]
    await watched(desk)
    assert await funded(desk) == {"BTC": 1, "ETH": 1}, "each hour is paid once"


async def test_a_rate_that_cannot_be_read_holds_no_look_at_a_book(desk: Desk) -> None:
    book = await over_the_hour(desk, "BTC")
    desk.main.faults.add(VenueFault(effect="status", kind="fundingHistory", status=500))
    desk.main.prices("BTC", "1000")
    desk.clock.forward(hours=1)  # as the last mark is old, the new one is the price
    assert desk.deps.paper is not None
    assert await desk.deps.paper.watch(desk.networks.get("mainnet")) == 1
    found = await desk.store.read(lambda uow: uow.paper.get(book))
    assert found is not None


async def test_a_live_order_is_settled_while_relays_and_pages_have_spent_all_of_theirs(
    sqlite_url: str,
) -> None:
    async with a_desk(sqlite_url, result_s=30) as desk:
        t = await trader(desk)
        made = await t.prepare()
        silent = desk.test.faults.add(VenueFault(effect="status", kind="orderStatus", status=500))
        desk.test.faults.after["orderStatus"] = 30
        desk.test.faults.add(VenueFault(effect="lost", route="/exchange", times=1))
        await t.execute(made)
        desk.test.faults.rows.remove(silent)
        assert (await t.stored(made["order"]["order_id"])).status == "unknown"
        await relayed(desk)
        desk.clock.forward(seconds=31)
        await sync_due_orders(desk.deps, "live")
        assert (await t.stored(made["order"]["order_id"])).status == "executed"


async def test_an_order_of_ones_own_is_seen_among_the_positions_at_once(both: Desk) -> None:
    t = await trader(both)
    assert (await both.ok("trade_positions", t.caller))["live"] == []
    made = await t.prepare()
    await t.execute(made)
    told = await both.ok("trade_positions", t.caller)
    assert [p["size"] for p in told["live"]] == [made["order"]["size"]]
    assert told["stale"] is False


async def test_leverage_that_was_raised_after_the_price_was_told_is_found_when_it_is_sent(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    account = desk.test.account(t.person.wallet.address)
    account.leverage["BTC"] = (True, 40)
    reply = await t.execute(made)
    assert (reply.status, reply.body["error"]) == (422, "wallet_invalid_order")
    assert "leverage" in reply.body["remaining"]["rule"]
    assert t.posted() == 0
    account.leverage["BTC"] = (True, 3)
    assert (await t.execute(made)).body["status"] == "executed"


async def test_an_agent_that_orders_in_a_loop_does_not_keep_its_owner_from_closing(
    desk: Desk,
) -> None:
    t = await trader(desk)
    await t.bought("0.0005")
    scout = await agent(desk, t)
    for _ in range(12):
        await desk.refused("order_prepare", scout, product="?")
    asked = await t.close()
    assert asked.status == 201, asked.body
    done = await t.bring(dict(asked.body), "trade_close")
    assert (done.status, done.body["order"]["status"]) == (200, "executed"), done.body
    assert (await t.close()).body["error"] == "wallet_rate_limited"


async def test_a_reduce_only_paper_order_passes_a_day_that_is_used_up(desk: Desk) -> None:
    p = await desk.person()
    await allow(desk, p.wallet.address)
    book = (await desk.ok("own_paper_book_open", p.caller, name="B"))["book"]
    order = {"product": "BTC", "type": "market", "mode_seen": "paper", "book": book}
    for _ in range(3):
        made = await desk.ok("order_prepare", p.caller, **order, side="buy", notional_usdc="48")
        await desk.ok("order_execute", p.caller, order_id=made["order"]["order_id"])
    over = await desk.refused("order_prepare", p.caller, **order, side="buy", notional_usdc="48")
    assert over.body["error"] == "wallet_over_cap"
    less = {**order, "side": "sell", "reduce_only": True, "notional_usdc": "140"}
    made = await desk.ok("order_prepare", p.caller, **less)
    done = await desk.ok("order_execute", p.caller, order_id=made["order"]["order_id"])
    assert done["status"] == "executed"


async def watched(ingest_context: Desk, seconds: int = 31) -> None:
    assert ingest_context.deps.paper is not None
    ingest_context.clock.forward(seconds=seconds)
    await ingest_context.deps.paper.watch(ingest_context.networks.get("mainnet"))


async def funded(ingest_context: Desk) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in await ingest_context.rows("paper_entries"):
        if row["kind"] == "funding":
            coin = str(row["ref"]).split("@")[0]
            found[coin] = found.get(coin, 0) + 1
    return found
