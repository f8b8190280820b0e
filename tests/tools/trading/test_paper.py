"""Paper orders on the market's own books: what they meet, what they cost, and what is shown of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.money import ZERO, Usdc
from domain.trading.paper.entries import DelistedClose, Entry, Filled, Funded, Gap, Liquidated
from domain.trading.paper.order_execution import MarketSnapshot
from storage.integrity.ledger_check import verify
from tests.storage import material as m
from tests.tools.trading.conftest import Desk, Person
from tests.tools.trading.orders import agent, day_use, trader
from tests.world import BY_NAME
from tools.model.operation import Caller, OperationResult
from tools.trading.orders.status_sync import sync_due_orders
from tools.trading.paper.market_data import figures, snapshot

pytestmark = pytest.mark.anyio
BUY = {"product": "BTC", "side": "buy", "type": "market", "mode_seen": "paper"}
THIN = [("64001", "0.0006"), ("64002", "0.0004"), ("64003", "0.0002")]
BIDS = [("63999", "1")]


def code(reply: OperationResult) -> tuple[int, str]:
    return reply.status, str(reply.body.get("error"))


async def prepare(desk: Desk, who: Caller, **request: Any) -> str:
    made = await desk.ok("order_prepare", who, **{**BUY, **request})
    return str(made["order"]["order_id"])


async def paper(desk: Desk, p: Person, **request: Any) -> dict[str, Any]:
    return await desk.ok(
        "order_execute", p.caller, order_id=await prepare(desk, p.caller, **request)
    )


async def limit(desk: Desk, p: Person, px: str, size: str, **request: Any) -> dict[str, Any]:
    return await paper(
        desk, p, **{"type": "limit", "limit_px": px, "size": size, "tif": "gtc"} | request
    )


async def whole(desk: Desk, p: Person, book: str) -> dict[str, Any]:
    return await desk.ok("own_paper_book", p.caller, book=book)


async def watch(desk: Desk) -> int:
    assert desk.deps.paper is not None
    return await desk.deps.paper.watch(desk.networks.get("mainnet"))


async def kinds(desk: Desk, book: str) -> list[Any]:
    return [e.payload for e in await entries_of(desk, book)]


async def entries_of(desk: Desk, book: str) -> list[Entry]:
    """The whole of a book."""
    found = await desk.store.read(lambda uow: uow.paper.get(book))
    assert found is not None
    return (await desk.store.read(lambda uow: uow.paper.recent(found, 10**9)))[1]


async def proves(desk: Desk) -> None:
    report = await verify(desk.store.url)
    assert report.ok, report.findings
    assert report.paper_books


# -- orders


async def test_a_paper_order_fills_on_the_second_snapshot_and_not_on_the_one_it_saw(
    both: Desk,
) -> None:
    p = await both.person()
    both.meanwhile.append(lambda: both.main.move("BTC", "64100"))
    told = await paper(both, p, notional_usdc="40")
    assert (told["status"], told["avg_px"], told["est"]) == ("executed", "64101", True)
    (fill,) = told["fills"]
    assert fill["at"] == "2026-11-20T12:00:00.400Z"
    (kept,) = await both.rows("paper_snapshots")
    assert fill["snapshot"] == kept["hash"]
    book = await whole(both, p, told["book"])
    assert (book["name"], book["trades"], book["first_fill_at"]) == ("Paper", 1, fill["at"])
    assert str(book["fees_usdc"]) == told["fee_usdc"]
    # 4.5 bps to the venue and 10 bps to the builder, each rounded up, of 0.00062 x 64101.
    assert told["fee_usdc"] == "0.057628"
    await proves(both)


async def test_an_order_beyond_the_depth_is_filled_in_part(desk: Desk) -> None:
    p = await desk.person()
    desk.main.book("BTC", BIDS, THIN)
    told = await paper(desk, p, size="0.00075")
    assert (told["status"], told["partial"], told["filled_size"]) == ("executed", True, "0.0006")
    fills = [("64001", "0.0003"), ("64002", "0.0002"), ("64003", "0.0001")]
    assert [(f["px"], f["size"]) for f in told["fills"]] == fills
    for used, reserved in (await day_use(desk)).values():
        assert (0 < used < 48_241_500, reserved) == (True, 0)
    await proves(desk)


async def test_orders_of_several_books_never_have_the_same_size_of_one_snapshot_twice(
    both: Desk,
) -> None:
    people = [await both.person() for _ in range(4)]
    both.main.book("BTC", BIDS, THIN)
    ids = [await prepare(both, p.caller, size="0.0004") for p in people]
    desk, venue = both.deps.paper, both.networks.get("mainnet")
    assert desk is not None
    seen = await snapshot(venue, "BTC", both.clock, "house", 60)
    market = MarketSnapshot(snapshot=seen, perps=await figures(venue, ("",)))

    def fill(order_id: str) -> Any:
        def work(uow: Any) -> Any:
            return desk.fill(uow, uow.orders.get(order_id, lock=True), market, both.clock.now())

        return both.store.write(work)

    outcomes = await asyncio.gather(*(fill(order_id) for order_id in ids))
    total = sum((f.size for o in outcomes for f in o.fills), Decimal(0))
    assert total == Decimal("0.0006")


@pytest.mark.parametrize("fault", ["stale", "still", "one side", "silent", "silent later"])
async def test_without_a_fresh_second_book_nothing_is_filled_and_nothing_stays_reserved(
    desk: Desk, fault: str
) -> None:
    p = await desk.person()
    order_id = await prepare(desk, p.caller, notional_usdc="40")

    def silent() -> None:
        desk.main.faults.add(VenueFault(effect="status", status=500))

    now = int(desk.clock.now().timestamp() * 1_000)
    if fault in ("stale", "still"):
        desk.main.stale_book("BTC", now - (10_000 if fault == "stale" else 0))
    elif fault == "one side":
        desk.main.book("BTC", [], THIN)
    elif fault == "silent":
        silent()
    else:
        desk.meanwhile.append(silent)
    desk.clock.forward(seconds=0 if fault == "still" else 2)
    reply = await desk.refused("order_execute", p.caller, order_id=order_id)
    assert code(reply) == (503, "wallet_venue_unavailable")
    assert ("second book" in reply.body["reason"]) is (fault == "still")
    order = await desk.ok("order_get", p.caller, order_id=order_id)
    assert (order["status"], order["fills"]) == ("rejected", [])
    assert order["refusal"]["error"] == "wallet_venue_unavailable"
    assert {reserved for _, reserved in (await day_use(desk)).values()} == {0}
    assert await desk.rows("paper_entries") == []


async def at_book(desk: Desk, p: Person, order_id: str, *asks: tuple[str, str]) -> dict[str, Any]:
    """An order that waits, half a minute later, after the market stood so."""
    desk.clock.forward(seconds=31)
    desk.main.book("BTC", [("62000", "1")], list(asks))
    await sync_due_orders(desk.deps)
    return await desk.ok("order_get", p.caller, order_id=order_id)


async def test_an_order_that_waits_fills_when_the_market_goes_through_it(both: Desk) -> None:
    p = await both.person()
    told = await limit(both, p, "63000", "0.0004")
    assert (told["status"], told["fills"]) == ("resting", [])
    order_id = told["order_id"]
    assert (await at_book(both, p, order_id, ("63000", "1")))["status"] == "resting"
    part = await at_book(both, p, order_id, ("62999", "0.0004"), ("63000", "1"))
    assert (part["status"], part["filled_size"]) == ("resting", "0.0002")
    done = await at_book(both, p, order_id, ("62900", "1"))
    assert (done["status"], done["filled_size"], done["avg_px"]) == ("executed", "0.0004", "63000")
    assert [f["px"] for f in done["fills"]] == ["63000", "63000"]
    # 1.5 bps, and the builder's 10, of 12.6 each.
    assert done["fee_usdc"] == "0.02898"
    assert (await whole(both, p, told["book"]))["trades"] == 1
    await proves(both)


async def test_an_order_that_waits_is_cancelled_with_what_it_has(desk: Desk) -> None:
    p = await desk.person()
    told = await limit(desk, p, "63000", "0.0004")
    await at_book(desk, p, told["order_id"], ("62999", "0.0004"))
    done = await desk.ok("order_cancel", p.caller, order_id=told["order_id"])
    assert (done["order"]["status"], done["order"]["filled_size"]) == ("cancelled", "0.0002")
    assert set((await day_use(desk)).values()) == {(12_600_000, 0)}


async def test_a_paper_order_that_a_dead_process_left_is_rejected(desk: Desk) -> None:
    p = await desk.person()
    order_id = await prepare(desk, p.caller, notional_usdc="40")
    paper_desk = desk.deps.paper
    assert paper_desk is not None

    async def dies(*args: Any) -> Any:
        raise RuntimeError("gone")

    paper_desk.snapshot = dies  # type: ignore[method-assign]
    assert (await desk.do("order_execute", p.caller, order_id=order_id)).status == 504
    assert (await desk.ok("order_get", p.caller, order_id=order_id))["status"] == "executing"
    desk.clock.forward(seconds=61)
    await sync_due_orders(desk.deps)
    assert (await desk.ok("order_get", p.caller, order_id=order_id))["status"] == "rejected"
    assert {reserved for _, reserved in (await day_use(desk)).values()} == {0}


async def test_the_door_orders_and_closes_on_paper(desk: Desk) -> None:
    p = await desk.person()
    body = {"product": "BTC", "mode_seen": "paper"}
    bought = await desk.ok("trade_order", p.caller, **BUY, notional_usdc="40")
    assert bought["order"]["status"] == "executed", bought
    held = await desk.ok("trade_positions", p.caller)
    assert [(h["mode"], h["size"], h["est"]) for h in held["paper"]] == [("paper", "0.00062", True)]
    closed = await desk.ok("trade_close", p.caller, **body)
    assert closed["order"]["reduce_only"] is True
    assert Decimal(closed["order"]["builder_fee_usdc"]) == 0
    book = await whole(desk, p, bought["order"]["book"])
    assert (book["positions"], str(book["cash_usdc"])) == ([], str(book["equity_usdc"]))
    assert closed["order"]["closed_pnl_usdc"].startswith("-0.")
    again = await desk.refused("trade_close", p.caller, **body)
    assert code(again) == (409, "wallet_no_position")
    await proves(desk)


async def test_abuse_38_a_named_book_is_paper_while_live_is_on(desk: Desk) -> None:
    t = await trader(desk)
    book = await desk.ok("own_paper_book_open", t.caller, name="Trial")
    told = await paper(desk, t.person, notional_usdc="40", book=book["book"])
    assert (told["mode"], told["book"], t.posted()) == ("paper", book["book"], 0)


# -- books


async def test_abuse_37_there_are_ten_books_and_no_way_to_change_one(desk: Desk) -> None:
    p = await desk.person()
    for n in range(10):
        await desk.ok("own_paper_book_open", p.caller, name=f"Trial {n}", start_usdc="500")
    reply = await desk.refused("own_paper_book_open", p.caller, name="One more")
    assert code(reply) == (409, "conflict")
    told = await desk.ok("own_paper_books", p.caller)
    assert (len(told["books"]), told["opened_total"]) == (10, 10)
    routes = [op.route for op in BY_NAME.values() if op.route and "paper/books" in op.route[1]]
    assert {method for method, _ in routes} == {"GET", "POST"}


async def test_a_book_that_cannot_be_opened(desk: Desk) -> None:
    p = await desk.person()
    await desk.ok("own_paper_book_open", p.caller, name="Trial")
    for error, asked in (
        ("conflict", {"name": "Trial"}),
        ("invalid_request", {"name": "x" * 41}),
        ("invalid_request", {"name": " "}),
        ("invalid_request", {"name": "More", "start_usdc": "100000.000001"}),
        ("invalid_request", {"name": "Less", "start_usdc": "9.999999"}),
        ("invalid_number", {"name": "Fine", "start_usdc": "50.0000001"}),
        ("not_found", {"name": "Whose", "agent_id": "u_abcdefgh23"}),
    ):
        reply = await desk.refused("own_paper_book_open", p.caller, **asked)
        assert reply.body["error"] == error, asked


async def test_another_persons_book_is_as_if_it_were_not_there(desk: Desk) -> None:
    p, other = await desk.person(), await desk.person()
    book = await desk.ok("own_paper_book_open", p.caller, name="Trial")
    reply = await desk.refused("own_paper_book", other.caller, book=book["book"])
    assert code(reply) == (404, "not_found")
    mine = {**BUY, "notional_usdc": "40", "book": book["book"]}
    reply = await desk.refused("order_prepare", other.caller, **mine)
    assert code(reply) == (422, "wallet_invalid_order")


async def test_an_agent_trades_on_paper_only_in_a_book_that_was_opened_for_it(desk: Desk) -> None:
    t = await trader(desk, listed=False)
    scout = await agent(desk, t)
    own = await desk.ok("own_paper_book_open", t.caller, name="Mine")
    its = await desk.ok("own_paper_book_open", t.caller, name="Its", agent_id=scout.user_id)
    for named in ({}, {"book": own["book"]}):
        asked = {**BUY, "notional_usdc": "40", **named}
        assert code(await desk.refused("order_prepare", scout, **asked))[0] == 422
    order_id = await prepare(desk, scout, notional_usdc="40", book=its["book"])
    told = await desk.ok("order_execute", scout, order_id=order_id)
    assert (told["status"], told["book"]) == ("executed", its["book"])


async def test_a_book_shows_no_worth_while_the_venue_is_silent(desk: Desk) -> None:
    p = await desk.person()
    told = await paper(desk, p, notional_usdc="40")
    desk.main.faults.add(VenueFault(effect="status", status=500))
    desk.clock.forward(seconds=60)
    book = await whole(desk, p, told["book"])
    assert (book["equity_usdc"], book["unrealized_usdc"], book["stale"]) == (None, None, True)
    assert book["positions"][0]["mark_px"] is None
    assert len(book["equity"]) == 1


async def test_a_books_orders_come_in_pages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.trading.paper.books.ORDERS_A_PAGE", 2)
    p = await desk.person()
    ids = []
    for _ in range(3):
        desk.clock.forward(seconds=5)
        ids.append((await paper(desk, p, notional_usdc="11"))["order_id"])
    first = await whole(desk, p, (await desk.ok("own_paper_books", p.caller))["books"][0]["book"])
    assert [o["order_id"] for o in first["orders"]["items"]] == ids[:0:-1]
    after = {"book": first["book"], "cursor": first["orders"]["next_cursor"]}
    rest = await desk.ok("own_paper_book", p.caller, **after)
    assert [o["order_id"] for o in rest["orders"]["items"]] == ids[:1]
    assert rest["orders"]["next_cursor"] is None


# -- the round


async def test_funding_is_paid_once_an_hour_on_the_position_at_the_hour(both: Desk) -> None:
    p = await both.person()
    both.main.funding("BTC", "0.0001")
    told = await paper(both, p, notional_usdc="40")
    while both.clock.now().hour == 12:
        both.clock.forward(seconds=29)
        both.main.move("BTC", "64000")
        await watch(both)
    both.clock.forward(seconds=31)
    assert await watch(both) == 1
    (_, paid) = await kinds(both, told["book"])
    assert isinstance(paid, Funded)
    assert (paid.hour.hour, paid.size, paid.rate) == (13, Decimal("0.00062"), Decimal("0.0001"))
    assert paid.paid == 3_968  # 0.00062 x 64000 x 0.0001
    await watch(both)
    book = await whole(both, p, told["book"])
    assert (str(book["funding_usdc"]), book["gaps"]) == ("0.003968", [])
    await proves(both)


async def test_a_time_that_nobody_looked_becomes_a_gap_and_nothing_is_made_up_for_it(
    desk: Desk,
) -> None:
    p = await desk.person()
    told = await paper(desk, p, notional_usdc="40")
    desk.clock.forward(hours=3, minutes=10)
    assert await watch(desk) == 1
    (_, gap) = await kinds(desk, told["book"])
    assert isinstance(gap, Gap)
    assert gap.until - gap.since == timedelta(hours=3, minutes=10)
    book = await whole(desk, p, told["book"])
    assert (len(book["gaps"]), str(book["funding_usdc"])) == (1, "0.000000")
    assert await watch(desk) == 0
    await proves(desk)


async def test_a_book_below_its_maintenance_margin_is_liquidated_at_the_mark(desk: Desk) -> None:
    p = await desk.person()
    book = await desk.ok("own_paper_book_open", p.caller, name="Small", start_usdc="15")
    told = await paper(desk, p, notional_usdc="40", book=book["book"])
    assert told["status"] == "executed", told
    shown = (await whole(desk, p, book["book"]))["positions"][0]
    assert 40_000 < Decimal(shown["liquidation_px"]) < 41_000
    desk.clock.forward(seconds=31)
    desk.main.prices("BTC", "41000")
    await watch(desk)
    assert len(await kinds(desk, book["book"])) == 1
    desk.clock.forward(seconds=31)
    desk.main.prices("BTC", "40000")
    await watch(desk)
    assert isinstance((await kinds(desk, book["book"]))[-1], Liquidated)
    ended = await whole(desk, p, book["book"])
    assert (ended["positions"], str(ended["cash_usdc"])) == ([], "0.000000")
    assert ended["liquidated_at"] is not None
    again = await paper(desk, p, notional_usdc="11", book=book["book"])
    assert (again["status"], again["refusal"]["venue_kind"]) == ("rejected", "margin")
    await proves(desk)


async def test_in_a_product_that_is_delisted_a_position_ends_at_its_mark_and_an_order_is_cancelled(
    desk: Desk,
) -> None:
    p = await desk.person()
    told = await paper(desk, p, notional_usdc="40")
    waits = await limit(desk, p, "63000", "0.0005")
    assert waits["status"] == "resting"
    before = await whole(desk, p, told["book"])
    desk.clock.forward(seconds=31)
    desk.main.prices("BTC", "65000")
    desk.main.halt("BTC", delist=True)
    await watch(desk)
    ended = (await kinds(desk, told["book"]))[-1]
    assert isinstance(ended, DelistedClose)
    assert (ended.coin, ended.px) == ("BTC", Decimal(65_000))
    shown = await whole(desk, p, told["book"])
    assert (shown["positions"], shown["fees_usdc"]) == ([], before["fees_usdc"])
    assert Usdc.parse(str(shown["realized_usdc"])) > ZERO
    await proves(desk)
    desk.clock.forward(seconds=31)
    await watch(desk)
    assert len(await kinds(desk, told["book"])) == 2
    await sync_due_orders(desk.deps)
    order = await desk.ok("order_get", p.caller, order_id=waits["order_id"])
    assert (order["status"], order["venue"]["status"]) == ("cancelled", "delistedCanceled")
    assert {reserved for _, reserved in (await day_use(desk)).values()} == {0}


async def test_two_processes_look_at_a_book_once(both: Desk) -> None:
    p = await both.person()
    told = await paper(both, p, notional_usdc="40")
    both.clock.forward(hours=1)
    await asyncio.gather(*(watch(both) for _ in range(4)))
    # The fill, the hour without a look, and the funding of its end: each once.
    assert [type(k) for k in await kinds(both, told["book"])] == [Filled, Gap, Funded]


# -- proof


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE paper_entries SET body = replace(body, '0.00062', '0.00061')", "does not have its hash"),
        ("DELETE FROM paper_entries", "orders tell of 1 fills"),
        ("UPDATE paper_snapshots SET body = replace(body, '64001.0', '64000.5')", "the snapshot does not have its hash"),
        ("DELETE FROM paper_snapshots", "not there"),
        ("UPDATE order_fills SET body = replace(body, '64001.0', '63001.0')", "does not tell of this fill"),
    ],
)  # fmt: skip
async def test_the_proof_finds_what_was_changed_behind_a_books_back(
    desk: Desk, statement: str, words: str
) -> None:
    p = await desk.person()
    await paper(desk, p, notional_usdc="40")
    await proves(desk)
    for table in ("paper_entries", "paper_snapshots", "order_fills"):
        for verb in ("update", "delete"):
            await m.run_sql(desk.store, f"DROP TRIGGER {table}_no_{verb}")
    await m.run_sql(desk.store, statement)
    report = await verify(desk.store.url)
    assert any(words in f.what for f in report.findings), report.findings
