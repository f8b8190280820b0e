"""What the local venue refuses, in which words, and what it trims, rests, matches and cancels."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pytest

from tests.venue.devvenue.material import (
    ALICE,
    BOB,
    CLOID,
    START,
    Desk,
    btc,
    hold,
    limit,
    refused,
)


@pytest.fixture
def desk() -> Desk:
    return Desk()


TICK: Final = ("Price must be divisible by tick size.", "tickRejected")
BAND: Final = (
    "Order price cannot be more than 80% away from the reference price",
    "oracleRejected",
)


@pytest.mark.parametrize(
    ("px", "sz", "tif", "expected"),
    [
        ("64000.5", "1", "Gtc", TICK),
        ("123456.7", "1", "Gtc", TICK),
        ("12345", "1", "Gtc", BAND),
        ("115201", "1", "Gtc", BAND),
        ("60000", "10", "Gtc", ("Insufficient margin to place order.", "perpMarginRejected")),
        (
            "60000",
            "0.00016",
            "Gtc",
            ("Order must have minimum value of $10.", "minTradeNtlRejected"),
        ),
        (
            "63999",
            "0.001",
            "Ioc",
            (
                "Order could not immediately match against any resting orders.",
                "iocCancelRejected",
            ),
        ),
        (
            "64001",
            "0.001",
            "Alo",
            (
                "Post only order would have immediately matched, bbo was 63999@64001.",
                "badAloPxRejected",
            ),
        ),
    ],
)
def test_a_refusal_has_the_venues_words_and_a_row_in_the_history(
    desk: Desk, px: str, sz: str, tif: str, expected: tuple[str, str]
) -> None:
    assert refused(desk, btc(desk, True, px, sz, tif)) == expected
    assert desk.ask("openOrders", ALICE) == []
    assert desk.ask("historicalOrders", ALICE)[0]["status"] == expected[1]


@pytest.mark.parametrize(
    ("px", "sz", "words"),
    [
        ("64000", "0.000001", "Order has invalid size."),
        ("64000", "0", "Order has zero size."),
        ("64000", "-1", "Order has invalid size."),
        ("0", "1", "Order has invalid price."),
        ("-1", "1", "Order has invalid price."),
        ("0.123456789", "1", "Order has invalid price."),
    ],
)
def test_a_bad_form_is_one_refusal_for_the_whole_batch(
    desk: Desk, px: str, sz: str, words: str
) -> None:
    good = btc(desk, True, "60000", "0.001")
    assert desk.orders(ALICE, good, btc(desk, True, px, sz), good) == [{"error": words}]
    assert desk.ask("historicalOrders", ALICE) == []


@pytest.mark.parametrize(
    ("coin", "px", "fits"),
    [
        ("ETH", "1234.5", True),
        ("ETH", "1234.56", False),
        ("kPEPE", "0.012345", True),
        ("kPEPE", "0.0123456", False),
        ("DYDX", "2.1111", True),
        ("DYDX", "2.11111", False),
        ("BTC", "70001", True),
        ("xyz:XYZ100", "25372", True),
        ("xyz:XYZ100", "25372.5", False),
    ],
)
def test_a_tick_is_five_figures_and_six_decimals_less_the_sizes(
    desk: Desk, coin: str, px: str, fits: bool
) -> None:
    desk.venue.deposit(ALICE.address, 1_000, "xyz")
    size = "0.01" if Decimal(px) > 1_000 else "5000"
    told = desk.order(ALICE, limit(desk.id(coin), False, px, size, "Gtc"))
    words = told.get("error", "")
    assert words.startswith("Price must be divisible") is not fits


def test_ten_dollars_are_enough(desk: Desk) -> None:
    assert "resting" in desk.order(ALICE, btc(desk, True, "62500", "0.00016"))


def test_an_immediate_order_takes_what_is_there_and_leaves_the_rest(desk: Desk) -> None:
    desk.venue.book("BTC", [("63999", "1")], [("64001", "0.01"), ("64002", "0.02")])
    told = desk.order(ALICE, btc(desk, True, "64002", "0.05", "Ioc", cloid=CLOID))
    assert told["filled"]["totalSz"] == "0.03"
    assert told["filled"]["avgPx"] == "64001.66666667"
    assert told["filled"]["cloid"] == CLOID
    order = desk.ask("orderStatus", ALICE, oid=CLOID)["order"]
    assert (order["status"], order["order"]["sz"]) == ("filled", "0.02")
    assert desk.ask("l2Book", coin="BTC")["levels"][1] == []
    assert len(desk.ask("userFills", ALICE)) == 2


def test_a_resting_order_is_partly_filled_rests_on_and_is_cancelled(desk: Desk) -> None:
    desk.venue.book("BTC", [("63999", "1")], [("64001", "0.01")])
    told = desk.order(ALICE, btc(desk, True, "64001", "0.03"))
    assert told["filled"]["totalSz"] == "0.01"
    (row,) = desk.ask("openOrders", ALICE)
    assert (row["sz"], row["origSz"], row["side"]) == ("0.02", "0.03", "B")
    assert desk.ask("l2Book", coin="BTC")["levels"][0][0] == {"px": "64001.0", "sz": "0.02", "n": 1}
    assert desk.cancel(ALICE, desk.id("BTC"), row["oid"]) == "success"
    missing = {"error": "Order was never placed, already canceled, or filled."}
    assert desk.cancel(ALICE, desk.id("BTC"), row["oid"]) == missing
    assert desk.status(ALICE, row["oid"]) == "canceled"


def test_two_accounts_trade_at_the_price_of_the_one_who_rested(desk: Desk) -> None:
    desk.venue.book("BTC", [], [])
    first = desk.order(BOB, btc(desk, False, "64010", "0.01"))["resting"]["oid"]
    second = desk.order(BOB, btc(desk, False, "64010", "0.01"))["resting"]["oid"]
    told = desk.order(ALICE, btc(desk, True, "64020", "0.015", "Ioc"))
    assert told["filled"]["avgPx"] == "64010.0"
    assert [desk.status(BOB, oid) for oid in (first, second)] == ["filled", "open"]
    mine, theirs = desk.ask("userFills", ALICE), desk.ask("userFills", BOB)
    assert [f["crossed"] for f in mine] == [True, True]
    assert [f["crossed"] for f in theirs] == [False, False]
    assert {f["tid"] for f in mine} == {f["tid"] for f in theirs}
    assert Decimal(theirs[1]["fee"]) * 3 == Decimal(mine[1]["fee"])


def test_a_status_shows_what_was_left_when_it_began_and_open_orders_what_is(desk: Desk) -> None:
    oid = desk.order(ALICE, btc(desk, True, "63990", "0.03"))["resting"]["oid"]
    desk.venue.book("BTC", [], [("63980", "0.01")])
    assert desk.ask("openOrders", ALICE)[0]["sz"] == "0.02"
    status = desk.ask("orderStatus", ALICE, oid=oid)["order"]
    assert (status["status"], status["order"]["sz"]) == ("open", "0.03")
    desk.cancel(ALICE, desk.id("BTC"), oid)
    status = desk.ask("orderStatus", ALICE, oid=oid)["order"]
    assert (status["status"], status["order"]["sz"]) == ("canceled", "0.02")


def test_an_order_never_trades_with_its_owners(desk: Desk) -> None:
    desk.venue.book("BTC", [], [("64010", "0.01")])
    mine = desk.order(ALICE, btc(desk, False, "64005", "0.01"))["resting"]["oid"]
    told = desk.order(ALICE, btc(desk, True, "64020", "0.01", "Ioc"))
    assert told["filled"]["avgPx"] == "64010.0"
    assert desk.status(ALICE, mine) == "selfTradeCanceled"


def test_a_script_that_moves_the_book_through_an_order_fills_it(desk: Desk) -> None:
    oid = desk.order(ALICE, btc(desk, True, "63000", "0.01"))["resting"]["oid"]
    desk.venue.move("BTC", 62_000)
    assert desk.status(ALICE, oid) == "filled"
    (fill,) = desk.ask("userFills", ALICE)
    assert (fill["px"], fill["crossed"], fill["dir"]) == ("63000.0", False, "Open Long")


def test_a_cloid_names_an_order_and_cancels_it(desk: Desk) -> None:
    told = desk.order(ALICE, btc(desk, True, "60000", "0.001", cloid=CLOID))
    assert told["resting"]["cloid"] == CLOID
    cancels = [{"asset": desk.id("BTC"), "cloid": CLOID}]
    for words in ("success", {"error": "Order was never placed, already canceled, or filled."}):
        done = desk.act(ALICE, {"type": "cancelByCloid", "cancels": cancels})
        assert done["response"] == {"type": "cancel", "data": {"statuses": [words]}}
    assert desk.ask("orderStatus", BOB, oid=CLOID) == {"status": "unknownOid"}


def test_the_switches_of_a_market_have_the_venues_words(desk: Desk) -> None:
    market = desk.venue.market("BTC")
    buy, bid = btc(desk, True, "64500", "0.001", "Ioc"), btc(desk, True, "64000", "0.001")
    market.at_oi_cap = True
    capped = "Order would increase open interest while open interest is capped"
    assert refused(desk, buy) == (capped, "positionIncreaseAtOpenInterestCapRejected")
    desk.venue.prices("BTC", None, 63_000)
    aggressive = (
        "Order rejected due to price more aggressive than oracle while at open interest cap"
    )
    assert refused(desk, bid) == (aggressive, "tooAggressiveAtOpenInterestCapRejected")
    assert desk.ask("perpsAtOpenInterestCap", dex="") == ["BTC"]
    market.at_oi_cap, market.oi_too_quick = False, True
    quick = "Order would increase open interest too quickly"
    assert refused(desk, buy) == (quick, "openInterestIncreaseRejected")
    market.oi_too_quick, market.max_position_notional = False, Decimal(60)
    tier = "Order would cause position to exceed margin tier limit at current leverage"
    assert refused(desk, buy) == (tier, "perpMaxPositionRejected")
    market.max_position_notional, market.oracle_band = None, Decimal("0.01")
    assert refused(desk, buy) == ("Order price too far from oracle", "oracleRejected")


def test_a_flip_at_the_cap_is_named_so_and_a_close_is_not_refused(desk: Desk) -> None:
    hold(desk, "0.001")
    desk.venue.market("BTC").at_oi_cap = True
    sell = btc(desk, False, "63000", "0.002", "Ioc")
    assert refused(desk, sell)[1] == "positionFlipAtOpenInterestCapRejected"
    assert "filled" in desk.order(ALICE, sell | {"s": "0.001"})


def test_a_market_order_without_any_liquidity(desk: Desk) -> None:
    desk.venue.book("BTC", [], [])
    wire = btc(desk, True, "64500", "0.001", "FrontendMarket")
    words = ("No liquidity available for market order.", "marketOrderNoLiquidityRejected")
    assert refused(desk, wire) == words


def test_after_an_upgrade_only_post_only_orders_pass(desk: Desk) -> None:
    desk.rules.post_only_phase = True
    words = "Only post-only orders allowed immediately after network upgrade"
    assert desk.order(ALICE, btc(desk, True, "60000", "0.001")) == {"error": words}
    assert "resting" in desk.order(ALICE, btc(desk, True, "60000", "0.001", "Alo"))


def test_a_halted_market_takes_nothing_and_a_delisted_one_settles(desk: Desk) -> None:
    hold(desk, "0.001")
    oid = desk.order(ALICE, btc(desk, True, "60000", "0.001"))["resting"]["oid"]
    desk.venue.halt("BTC")
    assert "error" in desk.order(ALICE, btc(desk, True, "60000", "0.001"))
    assert desk.status(ALICE, oid) == "canceled"
    ctx = desk.ask("metaAndAssetCtxs")[1][desk.id("BTC")]
    assert (ctx["midPx"], ctx["impactPxs"], ctx["premium"]) == (None, None, None)
    assert desk.position(ALICE, "BTC")
    desk.venue.resume("BTC")
    assert "resting" in desk.order(ALICE, btc(desk, True, "60000", "0.001"))
    desk.venue.halt("BTC", delist=True)
    assert desk.position(ALICE, "BTC") is None
    assert desk.ask("meta")["universe"][desk.id("BTC")]["isDelisted"] is True


def test_the_book_has_twenty_levels(desk: Desk) -> None:
    bids, asks = desk.ask("l2Book", coin="BTC")["levels"]
    assert (len(bids), len(asks)) == (20, 20)
    for n in range(5):
        desk.order(ALICE, btc(desk, True, str(63_900 - n), "0.001"))
    assert len(desk.ask("l2Book", coin="BTC")["levels"][0]) == 20
    assert desk.ask("l2Book", coin="nope") is None


def test_a_script_may_leave_a_book_empty_crossed_stale_or_thin(desk: Desk) -> None:
    desk.venue.book("BTC", [("64010", "1")], [("64000", "1")])
    bids, asks = desk.ask("l2Book", coin="BTC")["levels"]
    assert Decimal(bids[0]["px"]) > Decimal(asks[0]["px"])
    desk.venue.stale_book("BTC", START - 60_000)
    assert desk.ask("l2Book", coin="BTC")["time"] == START - 60_000
    desk.venue.book("BTC", [], [])
    assert desk.ask("l2Book", coin="BTC")["levels"] == [[], []]
    assert desk.ask("allMids")["BTC"] == "64000.0"
