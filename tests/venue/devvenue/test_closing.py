"""Reduce-only, triggers and brackets at the local venue."""

from __future__ import annotations

import pytest

from tests.venue.devvenue.material import ALICE, Desk, btc, hold, refused, stop


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_reduce_only_needs_a_position_on_the_other_side(desk: Desk) -> None:
    words = ("Reduce only order would increase position.", "reduceOnlyRejected")
    sell = btc(desk, False, "63000", "0.00015", "Ioc", reduce=True)
    assert refused(desk, sell) == words
    hold(desk)
    assert refused(desk, sell | {"b": True, "p": "66000"}) == words


def test_reduce_only_is_trimmed_to_the_position_and_never_flips_it(desk: Desk) -> None:
    hold(desk)
    told = desk.order(ALICE, btc(desk, False, "63000", "0.0003", "Ioc", reduce=True))
    assert told["filled"]["totalSz"] == "0.00015"
    assert desk.position(ALICE, "BTC") is None


def test_where_the_rule_is_strict_reduce_only_is_refused_instead(desk: Desk) -> None:
    desk.rules.strict_reduce_only = True
    hold(desk)
    sell = btc(desk, False, "63000", "0.0003", "Ioc", reduce=True)
    assert refused(desk, sell)[1] == "reduceOnlyRejected"


def test_closing_all_needs_no_ten_dollars_but_a_part_does(desk: Desk) -> None:
    hold(desk)
    part = btc(desk, False, "63000", "0.0001", "Ioc", reduce=True)
    assert refused(desk, part)[0] == "Order must have minimum value of $10."
    desk.venue.move("BTC", 30_000)
    whole = btc(desk, False, "29000", "0.00015", "Ioc", reduce=True)
    assert desk.order(ALICE, whole)["filled"]["totalSz"] == "0.00015"


def test_of_two_that_close_too_much_the_older_is_cancelled(desk: Desk) -> None:
    hold(desk, "0.001")
    older, newer = (
        desk.order(ALICE, btc(desk, False, px, "0.001", reduce=True))["resting"]["oid"]
        for px in ("70000", "71000")
    )
    assert desk.status(ALICE, older) == "reduceOnlyCanceled"
    told = desk.act(
        ALICE,
        {"type": "modify", "oid": older, "order": btc(desk, False, "70000", "0.001")},
    )
    assert told["response"] == "Cannot modify canceled or filled order"
    assert [row["oid"] for row in desk.ask("openOrders", ALICE)] == [newer]
    desk.order(ALICE, btc(desk, False, "63000", "0.001", "Ioc", reduce=True))
    assert desk.status(ALICE, newer) == "reduceOnlyCanceled"


def test_a_stop_waits_for_the_mark_and_then_sells(desk: Desk) -> None:
    hold(desk, "0.001")
    wire = stop(desk.id("BTC"), False, "55000", "0.001", "63000")
    (told,) = desk.orders(ALICE, wire, grouping="positionTpsl")
    assert told == "waitingForTrigger"
    (row,) = desk.ask("frontendOpenOrders", ALICE)
    assert (row["triggerCondition"], row["orderType"]) == ("Price below 63000", "Stop Market")
    desk.venue.move("BTC", 63_001)
    assert desk.position(ALICE, "BTC")
    desk.venue.move("BTC", 62_999)
    assert desk.position(ALICE, "BTC") is None
    assert desk.status(ALICE, row["oid"]) == "filled"


def test_a_trigger_that_is_already_reached_is_refused(desk: Desk) -> None:
    hold(desk, "0.001")
    wire = stop(desk.id("BTC"), False, "55000", "0.001", "64001")
    assert refused(desk, wire) == ("Invalid TP/SL price.", "badTriggerPxRejected")


def test_a_bracket_starts_when_its_parent_is_filled_and_one_leg_ends_the_other(desk: Desk) -> None:
    asset = desk.id("BTC")
    parent = btc(desk, True, "63500", "0.001")
    profit = stop(asset, False, "65000", "0.001", "66000", "tp")
    loss = stop(asset, False, "55000", "0.001", "62000", "sl")
    told = desk.orders(ALICE, parent, profit, loss, grouping="normalTpsl")
    assert told[1:] == ["waitingForFill", "waitingForFill"]
    assert len(desk.ask("frontendOpenOrders", ALICE)[0]["children"]) == 2
    desk.venue.move("BTC", 63_000)
    legs = {row["orderType"]: row["oid"] for row in desk.ask("frontendOpenOrders", ALICE)}
    assert set(legs) == {"Take Profit Market", "Stop Market"}
    desk.venue.move("BTC", 66_500)
    assert desk.status(ALICE, legs["Take Profit Market"]) == "filled"
    assert desk.status(ALICE, legs["Stop Market"]) in (
        "siblingFilledCanceled",
        "reduceOnlyCanceled",
    )
    assert desk.position(ALICE, "BTC") is None
