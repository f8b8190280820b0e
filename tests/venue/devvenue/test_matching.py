"""Random orders of two accounts, against a slow matcher, to the last decimal."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devtools.devvenue.decimals import canonical
from tests.venue.devvenue.material import ALICE, BOB, Desk, limit

HOUR = 3_600_000
SIDES = st.booleans()
PRICES = st.integers(63_990, 64_010)
SIZES = st.integers(20, 60)  # hundred-thousandths: never below ten dollars
TIFS = st.sampled_from(["Gtc", "Gtc", "Ioc", "Alo"])
STEPS = st.lists(st.tuples(SIDES, SIDES, PRICES, SIZES, TIFS), min_size=1, max_size=25)
COINS = st.sampled_from(["BTC", "xyz:XYZ100"])


@dataclass
class Slow:
    """An order of the slow matcher."""

    who: bool
    buy: bool
    px: int
    sz: int


def slowly(steps: list[tuple[bool, bool, int, int, str]]) -> list[tuple[bool, int, int]]:
    """Trades as (who rested, price, size), found by looking at every order every time."""
    resting: list[Slow] = []
    trades = []
    for who, buy, px, sz, tif in steps:
        order = Slow(who, buy, px, sz)
        while order.sz:
            fits = [
                other
                for other in resting
                if other.buy != buy and (other.px <= px if buy else other.px >= px)
            ]
            if not fits or tif == "Alo":
                break
            best = min(fits, key=lambda other: other.px if buy else -other.px)
            if best.who == who:
                resting.remove(best)
                continue
            size = min(best.sz, order.sz)
            trades.append((best.who, best.px, size))
            best.sz, order.sz = best.sz - size, order.sz - size
            if not best.sz:
                resting.remove(best)
        if order.sz and tif != "Ioc" and not (tif == "Alo" and fits):
            resting.append(order)
    return trades


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_trades_are_those_of_price_and_time(steps: list[tuple[bool, bool, int, int, str]]) -> None:
    desk = Desk()
    desk.venue.book("BTC", [], [])
    for who, buy, px, sz, tif in steps:
        size = canonical(Decimal(sz).scaleb(-5))
        desk.order(ALICE if who else BOB, limit(desk.id("BTC"), buy, str(px), size, tif))
    rested = [
        (who, f)
        for who, person in ((True, ALICE), (False, BOB))
        for f in desk.ask("userFills", person)
        if not f["crossed"]
    ]
    rested.sort(key=lambda row: row[1]["tid"])
    told = [(who, int(Decimal(f["px"])), int(Decimal(f["sz"]).scaleb(5))) for who, f in rested]
    assert told == slowly(steps)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(STEPS, COINS)
def test_no_micro_dollar_appears_or_is_lost(
    steps: list[tuple[bool, bool, int, int, str]], coin: str
) -> None:
    desk = Desk()
    dex, places = ("", 5) if coin == "BTC" else ("xyz", 4)
    for person in (ALICE, BOB):
        desk.venue.deposit(person.address, 10_000, "xyz")
    desk.venue.move(coin, 64_000)
    desk.venue.book(coin, [], [])
    for who, buy, px, sz, tif in steps:
        size = canonical(Decimal(sz).scaleb(-places))
        desk.order(ALICE if who else BOB, limit(desk.id(coin), buy, str(px), size, tif))
    accounts = [desk.venue.account(person.address) for person in (ALICE, BOB)]
    fills = [fill for account in accounts for fill in account.fills]
    held = [a.positions[coin] for a in accounts if coin in a.positions]
    cash = sum(a.perp[dex] for a in accounts) + sum(p.raw_usd for p in held)
    assert cash == 20_000 - sum(fill.fee for fill in fills)
    assert sum(p.size for p in held) == 0
    for account in accounts:
        signed = sum(f.sz if f.order.is_buy else -f.sz for f in account.fills)
        assert account.position(coin) == signed
        for order in account.history:
            done = sum(f.sz for f in account.fills if f.order is order)
            assert order.orig_sz == order.sz + done
    assert_book_is_what_is_open(desk, coin, dex)


def assert_book_is_what_is_open(ingest_context: Desk, coin: str, dex: str) -> None:
    rows: list[dict[str, Any]] = [
        row for person in (ALICE, BOB) for row in ingest_context.ask("openOrders", person, dex=dex)
    ]
    bids, asks = ingest_context.ask("l2Book", coin=coin)["levels"]
    for side, levels in (("B", bids), ("A", asks)):
        standing: dict[str, Decimal] = {}
        for row in rows:
            if row["side"] == side:
                px = row["limitPx"]
                standing[px] = standing.get(px, Decimal(0)) + Decimal(row["sz"])
        assert {level["px"]: Decimal(level["sz"]) for level in levels} == standing
    if bids and asks:
        assert Decimal(bids[0]["px"]) < Decimal(asks[0]["px"])


COIN_OF = {True: "BTC", False: "xyz:XYZ100"}
TRADES = st.tuples(st.just("trade"), SIDES, SIDES, st.integers(1, 400))
MOVES = st.tuples(st.just("move"), SIDES, st.integers(70, 140), st.just(0))
HOURS = st.tuples(st.just("hours"), st.integers(1, 30), st.integers(-9, 9), st.just(0))
EVENTS = st.lists(st.one_of(TRADES, MOVES, HOURS), max_size=30)


def happen(ingest_context: Desk, event: tuple[str, Any, Any, Any]) -> None:
    kind, first, second, third = event
    if kind == "trade":
        market = ingest_context.venue.market(COIN_OF[first])
        px = canonical((market.mark * Decimal("1.2" if second else "0.8")).to_integral_value())
        size = canonical(Decimal(third).scaleb(-2))
        ingest_context.order(ALICE, limit(market.asset, second, px, size, "Ioc"))
    elif kind == "move":
        market = ingest_context.venue.market(COIN_OF[first])
        ingest_context.venue.move(market.coin, (market.mark * second / 100).to_integral_value())
    else:
        for coin in COIN_OF.values():
            ingest_context.venue.funding(coin, Decimal(second).scaleb(-4))
        ingest_context.now += first * HOUR
        ingest_context.venue.catch_up()


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(EVENTS)
def test_every_dollar_is_explained_by_fills_fees_and_funding(
    events: list[tuple[str, Any, Any, Any]],
) -> None:
    desk = Desk()
    desk.venue.deposit(ALICE.address, 5_000, "xyz")
    account = desk.venue.account(ALICE.address)
    for event in events:
        happen(desk, event)
        held = sum(account.perp.values()) + sum(p.raw_usd for p in account.positions.values())
        spent = sum((f.sz if f.order.is_buy else -f.sz) * f.px + f.fee for f in account.fills)
        assert held == 15_000 - spent - account.funding_paid
        for coin, position in account.positions.items():
            market = desk.venue.market(coin)
            assert position.size != 0
            if not position.is_cross:
                notional = abs(position.size) * market.mark
                assert position.equity(market.mark) >= notional * market.maintenance
        state = desk.ask("clearinghouseState", ALICE)
        cross = Decimal(state["crossMarginSummary"]["accountValue"])
        assert not account.position("BTC") or cross >= Decimal(state["crossMaintenanceMarginUsed"])


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(EVENTS)
def test_the_same_story_has_the_same_answers(events: list[tuple[str, Any, Any, Any]]) -> None:
    told = []
    for _ in range(2):
        desk = Desk()
        desk.venue.deposit(ALICE.address, 5_000, "xyz")
        for event in events:
            happen(desk, event)
        kinds = ("userFills", "historicalOrders", "portfolio", "clearinghouseState")
        told.append([desk.ask(kind, ALICE) for kind in kinds])
    assert told[0] == told[1]
