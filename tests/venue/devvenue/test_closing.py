"""Reduce-only orders at the local venue."""

from __future__ import annotations

import pytest

from tests.venue.devvenue.material import ALICE, Desk, btc, hold, refused


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
    assert [row["oid"] for row in desk.ask("openOrders", ALICE)] == [newer]
    desk.order(ALICE, btc(desk, False, "63000", "0.001", "Ioc", reduce=True))
    assert desk.status(ALICE, newer) == "reduceOnlyCanceled"
