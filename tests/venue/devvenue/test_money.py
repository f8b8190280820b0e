"""Margin, funding, liquidation and modes at the local venue."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.venue.devvenue.material import ALICE, START, Desk, limit

HOUR = 3_600_000


@pytest.fixture
def desk() -> Desk:
    return Desk()


def take(ingest_context: Desk, coin: str, buy: bool, sz: str) -> dict[str, Any]:
    market = ingest_context.venue.market(coin)
    px = market.mark * (Decimal("1.1") if buy else Decimal("0.9"))
    told = ingest_context.order(ALICE, limit(market.asset, buy, str(int(px)), sz, "Ioc"))
    return dict(told["filled"])


def figures(ingest_context: Desk, dex: str = "") -> dict[str, Decimal]:
    state = ingest_context.ask("clearinghouseState", ALICE, dex=dex)
    return {k: Decimal(v) for k, v in state["marginSummary"].items()}


def lever(ingest_context: Desk, coin: str, cross: bool, leverage: int) -> str:
    action = {"type": "updateLeverage", "asset": ingest_context.id(coin)}
    told = ingest_context.act(ALICE, action | {"isCross": cross, "leverage": leverage})
    return "ok" if told["status"] == "ok" else str(told["response"])


def test_a_short_has_the_figures_of_the_venues_example(desk: Desk) -> None:
    desk.venue.book("BTC", [("26951", "1")], [("26952", "1")])
    desk.venue.prices("BTC", 27_000, 27_000)
    take(desk, "BTC", False, "0.00785")
    desk.venue.prices("BTC", "26961.2")
    position = desk.position(ALICE, "BTC")
    assert position
    shown = {k: position[k] for k in ("szi", "entryPx", "positionValue", "unrealizedPnl")}
    assert shown == {
        "szi": "-0.00785",
        "entryPx": "26951.0",
        "positionValue": "211.64542",
        "unrealizedPnl": "-0.08007",
    }
    assert position["marginUsed"] == "10.582271"
    assert position["leverage"] == {"type": "cross", "value": 20}


def test_the_liquidation_price_is_where_it_is_liquidated(desk: Desk) -> None:
    take(desk, "BTC", True, "1")
    position = desk.position(ALICE, "BTC")
    assert position
    px = Decimal(position["liquidationPx"])
    desk.venue.prices("BTC", px + 1)
    assert desk.position(ALICE, "BTC")
    desk.venue.prices("BTC", px - 1)
    assert desk.position(ALICE, "BTC") is None
    fill = desk.ask("userFills", ALICE)[0]
    assert fill["liquidation"]["method"] in ("market", "backstop")
    assert fill["liquidation"]["liquidatedUser"] == ALICE.address.lower()


def test_an_isolated_position_is_liquidated_alone(desk: Desk) -> None:
    desk.venue.deposit(ALICE.address, 1_000, "xyz")
    take(desk, "xyz:XYZ100", True, "0.1")
    take(desk, "BTC", True, "0.001")
    position = desk.position(ALICE, "xyz:XYZ100")
    assert position
    assert position["leverage"]["type"] == "isolated"
    desk.venue.move("xyz:XYZ100", int(Decimal(position["liquidationPx"])) - 1)
    assert desk.position(ALICE, "xyz:XYZ100") is None
    assert desk.position(ALICE, "BTC")
    left = figures(desk, "xyz")["accountValue"]
    assert 930 < left < 940


def test_orders_rest_on_are_cancelled_when_their_coin_is_liquidated(desk: Desk) -> None:
    take(desk, "BTC", True, "1")
    oid = desk.order(ALICE, limit(desk.id("BTC"), False, "70000", "0.1", reduce=True))
    desk.venue.prices("BTC", 50_000)
    assert desk.status(ALICE, oid["resting"]["oid"]) == "liquidatedCanceled"


def test_funding_is_size_times_oracle_times_rate_every_hour_and_longs_pay(desk: Desk) -> None:
    take(desk, "BTC", True, "0.01")
    desk.venue.funding("BTC", "0.0001")
    desk.venue.prices("BTC", None, 65_000)
    before = figures(desk)["accountValue"]
    desk.now = (START // HOUR + 2) * HOUR
    assert figures(desk)["accountValue"] == before - 2 * Decimal("0.065")
    history = desk.ask("fundingHistory", coin="BTC", startTime=START)
    assert [row["fundingRate"] for row in history] == ["0.0001", "0.0001"]
    position = desk.position(ALICE, "BTC")
    assert position
    assert position["cumFunding"]["sinceOpen"] == "0.13"
    desk.venue.funding("BTC", "-0.0001")
    desk.now += HOUR
    assert figures(desk)["accountValue"] == before - Decimal("0.065")


def test_margin_of_open_orders_and_positions_bounds_what_may_be_placed(desk: Desk) -> None:
    assert lever(desk, "BTC", True, 10) == "ok"
    asset = desk.id("BTC")
    assert "resting" in desk.order(ALICE, limit(asset, True, "60000", "1"))
    assert "Insufficient margin" in desk.order(ALICE, limit(asset, True, "60000", "0.7"))["error"]
    assert "resting" in desk.order(ALICE, limit(asset, True, "60000", "0.6"))


def test_a_resting_order_that_lost_its_margin_is_cancelled_when_it_would_trade(desk: Desk) -> None:
    take(desk, "ETH", True, "30")
    oids = [
        desk.order(ALICE, limit(desk.id("BTC"), True, px, "1.1"))["resting"]["oid"]
        for px in ("63000", "62900")
    ]
    desk.venue.prices("ETH", 1_700)
    assert [desk.status(ALICE, oid) for oid in oids] == ["open", "open"]
    desk.venue.move("BTC", 62_000)
    assert [desk.status(ALICE, oid) for oid in oids] == ["marginCanceled", "filled"]
    assert desk.position(ALICE, "ETH")


def test_leverage_stays_within_the_markets_and_its_kind_with_the_position(desk: Desk) -> None:
    assert lever(desk, "BTC", True, 41) != "ok"
    assert lever(desk, "BTC", True, 0) != "ok"
    assert lever(desk, "xyz:XYZ100", True, 5) != "ok"
    take(desk, "BTC", True, "0.001")
    assert lever(desk, "BTC", True, 3) == "ok"
    assert lever(desk, "BTC", False, 3) == "Cannot switch leverage type with open position."
    position = desk.position(ALICE, "BTC")
    assert position
    assert position["leverage"] == {"type": "cross", "value": 3}


def test_margin_on_one_dex_does_not_back_another_unless_the_account_is_unified(desk: Desk) -> None:
    wire = limit(desk.id("xyz:XYZ100"), True, "25500", "0.01", "Ioc")
    assert "Insufficient margin" in desk.order(ALICE, wire)["error"]
    desk.venue.abstraction(ALICE.address, "unifiedAccount")
    assert "filled" in desk.order(ALICE, wire)


def test_a_unified_account_reads_as_empty_but_for_its_spot_state(desk: Desk) -> None:
    desk.venue.abstraction(ALICE.address, "unifiedAccount")
    assert desk.ask("userAbstraction", ALICE) == "unifiedAccount"
    state = desk.ask("clearinghouseState", ALICE)
    assert state["marginSummary"]["accountValue"] == "0.0"
    assert state["withdrawable"] == "0.0"
    take(desk, "BTC", True, "0.01")
    (usdc,) = desk.ask("spotClearinghouseState", ALICE)["balances"]
    fee = Decimal("0.01") * 64_001 * Decimal("0.00045")
    assert Decimal(usdc["total"]) == 10_000 - Decimal("0.288005")
    assert abs(Decimal(usdc["total"]) - (10_000 - fee)) < Decimal("0.000001")
    assert usdc["hold"] == "32.0"
    desk.venue.abstraction(ALICE.address, "disabled")
    assert figures(desk)["accountValue"] == 10_000 - Decimal("0.298005")


def test_the_portfolio_follows_the_account(desk: Desk) -> None:
    take(desk, "BTC", True, "0.1")
    desk.now += HOUR
    desk.venue.prices("BTC", 65_000)
    rows = dict(desk.ask("portfolio", ALICE))
    assert list(rows)[:4] == ["day", "week", "month", "allTime"]
    assert list(rows)[4:] == ["perpDay", "perpWeek", "perpMonth", "perpAllTime"]
    history = rows["day"]["pnlHistory"]
    assert Decimal(history[-1][1]) > 95
    assert rows["day"]["vlm"] == "6400.1"


def test_an_address_budget_grows_with_volume_and_then_allows_one_in_ten_seconds() -> None:
    desk = Desk()
    desk.rules.request_buffer = 3
    noop = {"type": "noop"}
    assert [desk.act(ALICE, noop)["status"] for _ in range(3)] == ["ok"] * 3
    assert desk.act(ALICE, noop)["status"] == "ok"
    words = (
        "Too many cumulative requests sent (4 > 3) for cumulative volume traded $0.00. "
        "Place taker orders to free up 1 request per USDC traded."
    )
    assert desk.act(ALICE, noop)["response"] == words
    cancels = [{"a": desk.id("BTC"), "o": 1}]
    assert desk.act(ALICE, {"type": "cancel", "cancels": cancels})["status"] == "ok"
    desk.now += 10_000
    assert desk.act(ALICE, noop)["status"] == "ok"
    assert desk.venue.account(ALICE.address).requests == 6
