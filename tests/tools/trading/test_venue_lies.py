"""A venue that answers in its own forms and not truly: no word of it moves an order beyond what was asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.trading.orders import Order, SeenAtVenue
from domain.trading.outcome import DoubtfulPart
from domain.trading.venue_values import Network, Perp
from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import BTC, Trader, day_use, later, ordered, trader, use
from tools.trading.orders.order_end import CONTRADICTIONS

pytestmark = pytest.mark.anyio
STATUSES = ("response", "data", "statuses")
MARGIN = [{"error": "Insufficient margin to place order. asset=0"}]
UNHEARD = {"status": "err", "response": "Something else went wrong"}


def answers(desk: Desk, value: Any, *path: str | int) -> None:
    """The next order is done, and answered otherwise."""
    lie = VenueFault(effect="malformed", kind="order", path=path, value=value, times=1)
    desk.test.faults.add(lie)


def says(desk: Desk, kind: str, value: Any, *path: str | int) -> VenueFault:
    return desk.test.faults.add(VenueFault(effect="malformed", kind=kind, path=path, value=value))


def silent(desk: Desk, kind: str, *, for_s: float | None = None) -> VenueFault:
    """The venue answers no question of a kind; an execution gives up asking it after `for_s`."""
    if for_s is not None:
        desk.test.faults.after[kind] = for_s
    return desk.test.faults.add(VenueFault(effect="status", kind=kind, status=500))


def says_cancelled(t: Trader, left: str) -> None:
    """The status of the order that was made last: cancelled, with so much of it left."""
    order = {**here(t).history[-1].dated()["order"], "sz": left}
    answer = {"order": order, "status": "canceled", "statusTimestamp": 1}
    says(t.desk, "orderStatus", {"status": "order", "order": answer})


async def settled(desk: Desk, *, rounds: int = 1) -> None:
    await later(desk, *[61] * rounds)


async def rests(t: Trader) -> Order:
    """An order far below the market, as the venue keeps it."""
    told = (await t.execute(await t.limit("50000", "0.0004"))).body
    assert (told["status"], told["verified"]) == ("resting", True)
    return await t.stored(told["order_id"])


async def unknown_until_true(t: Trader, order: Order, filled: Decimal | None = None) -> None:
    """What was said is not taken, nothing reserved is given back, and the truth is believed."""
    before = await day_use(t.desk)
    await settled(t.desk)
    found = await t.stored(order.order_id)
    assert (found.status, found.filled_size) == ("unknown", filled)
    assert "contradicts" in (found.refusal or {})["reason"]
    assert await day_use(t.desk) == before, "what is reserved stays reserved"
    t.desk.test.faults.clear()
    await settled(t.desk)
    assert (await t.stored(order.order_id)).status == "resting", "believed again once it fits"


def here(t: Trader) -> Any:
    return t.desk.test.account(t.person.wallet.address)


# -- the answer to an order


async def test_a_fill_larger_than_the_order_is_asked_after_and_not_taken(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    size = made["order"]["size"]
    big = {"filled": {"totalSz": str(Decimal(size) * 1000), "avgPx": "64000", "oid": 1}}
    answers(both, [big], *STATUSES)
    told = (await t.execute(made)).body
    assert (told["status"], told["filled_size"], told["verified"]) == ("executed", size, True)
    assert Decimal(told["remaining_size"]) == 0


@pytest.mark.parametrize("px", ["70000", "0.00001"], ids=["bought dearer", "sold cheaper"])
async def test_a_fill_beyond_the_limit_is_asked_after_and_not_taken(px: str, desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare(side="buy" if px == "70000" else "sell")
    lie = {"filled": {"totalSz": made["order"]["size"], "avgPx": px, "oid": 1}}
    answers(desk, [lie], *STATUSES)
    told = (await t.execute(made)).body
    assert (told["status"], told["verified"]) == ("executed", True)
    assert Decimal(told["avg_px"]) > 60_000
    assert Decimal(told["avg_px"]) < 70_000


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (UNHEARD, ()),
        (MARGIN, STATUSES),
        ([{"error": "Something new is wrong. asset=0"}], STATUSES),
    ],
    ids=["unheard of", "known words", "unknown words"],
)
async def test_a_refusal_of_what_was_done_is_found_out(
    value: Any, path: tuple[str, ...], desk: Desk
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    answers(desk, value, *path)
    told = (await t.execute(made)).body
    assert (told["status"], told["refusal"]) == ("executed", None)
    assert told["filled_size"] == made["order"]["size"]
    used, reserved = await use(desk)
    assert (used > 0, reserved) == (True, 0)


async def test_a_refusal_is_not_final_while_the_orders_status_is_silent(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    quiet = silent(desk, "orderStatus", for_s=30)
    answers(desk, MARGIN, *STATUSES)
    await t.execute(made)
    assert (await t.stored(made["order"]["order_id"])).status == "unknown"
    assert all(reserved > 0 for _, reserved in (await day_use(desk)).values())
    desk.test.faults.rows.remove(quiet)
    await settled(desk)
    assert (await t.stored(made["order"]["order_id"])).status == "executed"


async def test_a_word_of_refusal_beside_a_figure_of_what_traded_is_no_refusal(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    answers(both, MARGIN, *STATUSES)
    says(both, "orderStatus", "iocCancelRejected", "order", "status")
    told = (await t.execute(made)).body
    assert (told["filled_size"], told["refusal"]) == (made["order"]["size"], None)
    both.test.faults.clear()
    await settled(both, rounds=2)
    found = await t.stored(made["order"]["order_id"])
    assert (found.filled_size, len(found.fills)) == (Decimal(made["order"]["size"]), 1)
    used, reserved = await use(both)
    assert reserved == 0
    assert used == found.counted.micros > 19_000_000


async def test_a_fill_that_neither_status_nor_fills_know_is_not_taken(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    says(desk, "orderStatus", {"status": "unknownOid"})
    says(desk, "userFillsByTime", [])
    desk.test.faults.after["orderStatus"] = 30
    reply = await t.execute(made)
    assert (reply.status, reply.body["error"]) == (504, "wallet_outcome_unknown")
    found = await t.stored(made["order"]["order_id"])
    assert (found.status, found.filled_size, found.verified) == ("unknown", None, False)
    assert all(reserved > 0 for _, reserved in (await day_use(desk)).values())
    desk.test.faults.clear()
    await settled(desk)
    found = await t.stored(made["order"]["order_id"])
    assert (found.status, found.verified, len(found.fills)) == ("executed", True, 1)


async def test_a_part_of_a_fill_is_not_the_end_while_the_orders_status_is_silent(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.limit("64000", "0.0004")
    desk.test.book("BTC", [("63900", "9")], [("64000", "0.0001")])
    silent(desk, "orderStatus", for_s=30)
    await t.execute(made)
    order_id = made["order"]["order_id"]
    assert (await t.stored(order_id)).status == "unknown"
    desk.test.faults.clear()
    await settled(desk, rounds=2)
    found = await t.stored(order_id)
    assert (found.status, found.filled_size) == ("resting", Decimal("0.0001"))


async def test_a_size_that_only_an_answer_claimed_gives_way_to_the_fills(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    size = Decimal(made["order"]["size"])
    both.test.book("BTC", [("63900", "9")], [("64000", "0.0001")])
    whole = {"filled": {"totalSz": f"{size:f}", "avgPx": "64000", "oid": 1}}
    answers(both, [whole], *STATUSES)
    silent(both, "orderStatus")
    await t.execute(made)
    order_id = made["order"]["order_id"]
    assert (await t.stored(order_id)).filled_size == size
    both.test.faults.clear()
    (row,) = both.test.account(t.person.wallet.address).history
    order = await t.stored(order_id)
    seen = SeenAtVenue(oid=row.oid, status="filled", checked_at=both.clock.now())
    await both.store.write(lambda uow: uow.orders.save(replace(order, seen=seen), order))
    await settled(both, rounds=9)
    found = await t.stored(order_id)
    assert (found.filled_size, found.verified) == (Decimal("0.0001"), False)
    assert await use(both) == (found.counted.micros, 0)
    assert found.counted.micros < 7_000_000


# -- the status of an order


@pytest.mark.parametrize("left", ["0.04", "5", "0.0005"])
async def test_what_is_left_of_an_order_lifts_no_limit(left: str, both: Desk) -> None:
    t = await trader(both)
    order = await rests(t)
    says_cancelled(t, left)
    await unknown_until_true(t, order)
    reply = await ordered(both, t.caller, notional_usdc="49", mode_seen="live")
    assert reply.status == 201


@pytest.mark.parametrize(
    ("path", "value"),
    [(("order", "order", "coin"), "ETH"), (("order", "order", "side"), "A"), (("order", "status"), "filled")],
    ids=["product", "side", "filled with all of it left"],
)  # fmt: skip
async def test_a_status_that_cannot_be_this_orders_is_not_taken(
    path: tuple[str, ...], value: str, desk: Desk
) -> None:
    t = await trader(desk)
    order = await rests(t)
    says(desk, "orderStatus", value, *path)
    await unknown_until_true(t, order)


async def test_an_order_made_larger_at_the_venue_uses_no_less_than_it_did(desk: Desk) -> None:
    t = await trader(desk)
    order = await rests(t)
    (row,) = here(t).orders.values()
    row.sz = row.orig_sz = Decimal("0.04")
    row.status, row.status_sz = "canceled", Decimal("0.04")
    here(t).orders.clear()
    await settled(desk)
    found = await t.stored(order.order_id)
    assert (found.status, found.filled_size) == ("cancelled", 0)
    assert await use(desk) == (0, 0)


async def overstated(ingest_context: Desk) -> tuple[Trader, Order, VenueFault]:
    """An order of which a part filled, and whose status says that more of it did."""
    t = await trader(ingest_context)
    made = await t.prepare(notional_usdc=None, size="0.0004")
    ingest_context.test.book("BTC", [("63900", "9")], [("64000", "0.0001")])
    lie = says(ingest_context, "orderStatus", "0.0001", "order", "order", "sz")
    answers(ingest_context, UNHEARD)
    await t.execute(made)
    order = await t.stored(made["order"]["order_id"])
    figures = (order.status, order.filled_size, order.verified, len(order.fills))
    assert figures == ("executed", Decimal("0.0003"), True, 1)
    return t, order, lie


async def test_a_size_that_a_status_overstated_gives_way_to_the_fills(both: Desk) -> None:
    t, order, lie = await overstated(both)
    both.test.faults.rows.remove(lie)
    await settled(both, rounds=9)
    found = await t.stored(order.order_id)
    figures = (found.filled_size, found.verified, found.fills_whole, found.next_check_at)
    assert figures == (Decimal("0.0001"), True, True, None)
    assert await use(both) == (found.counted.micros, 0)
    assert found.counted.micros < 7_000_000


async def test_a_status_that_goes_on_to_deny_the_fills_is_not_verified_and_counted(
    desk: Desk,
) -> None:
    t, order, _ = await overstated(desk)
    before = Counter(CONTRADICTIONS)
    await settled(desk, rounds=9)
    found = await t.stored(order.order_id)
    figures = (found.filled_size, found.verified, found.next_check_at)
    assert figures == (Decimal("0.0003"), False, None)
    assert Counter(CONTRADICTIONS) - before == {("testnet", "filled"): 1}
    assert found.counted == order.counted, "what may have traded stays counted"


async def test_fills_that_a_status_denied_wait_for_it_while_it_is_silent(desk: Desk) -> None:
    t, order, _ = await overstated(desk)
    desk.test.faults.clear()
    quiet = silent(desk, "orderStatus")
    await settled(desk, rounds=9)
    found = await t.stored(order.order_id)
    assert (found.filled_size, found.verified) == (Decimal("0.0003"), True)
    assert found.next_check_at is not None
    desk.test.faults.rows.remove(quiet)
    await settled(desk)
    found = await t.stored(order.order_id)
    assert (found.filled_size, found.verified) == (Decimal("0.0001"), True)


async def test_a_cancel_that_denies_what_traded_is_held_against_the_fills(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.limit("64000", "0.0004")
    desk.test.book("BTC", [("63900", "9")], [("64100", "9")])
    await t.execute(made)
    says_cancelled(t, "0.0004")
    desk.test.book("BTC", [("63900", "9")], [("64000", "0.0001")])
    quiet = silent(desk, "userFillsByTime")
    before = await day_use(desk)
    await settled(desk)
    found = await t.stored(made["order"]["order_id"])
    assert found.status == "resting", "nothing is given back on a status alone"
    assert await day_use(desk) == before
    desk.test.faults.rows.remove(quiet)
    await settled(desk)
    found = await t.stored(made["order"]["order_id"])
    assert (found.status, found.filled_size) == ("cancelled", Decimal("0.0001"))
    assert len(found.fills) == 1


async def rests_in_part(ingest_context: Desk) -> tuple[Trader, Order]:
    """An order of which a part was taken, and whose rest stands in the book."""
    t = await trader(ingest_context)
    made = await t.limit("64000", "0.0004")
    ingest_context.test.book("BTC", [("63900", "9")], [("64000", "0.0001")])
    await t.execute(made)
    await settled(ingest_context)
    order = await t.stored(made["order"]["order_id"])
    assert (order.status, order.filled_size) == ("resting", Decimal("0.0001"))
    return t, order


@pytest.mark.parametrize("word", ["less", "refused"])
async def test_a_status_that_denies_what_is_known_to_be_filled_is_not_taken(
    word: str, desk: Desk
) -> None:
    t, order = await rests_in_part(desk)
    if word == "less":
        says_cancelled(t, "0.0004")
    else:
        says(desk, "orderStatus", "rejected", "order", "status")
    await unknown_until_true(t, order, Decimal("0.0001"))


# -- fills


@pytest.mark.parametrize(
    ("field", "value"),
    [("px", "-5"), ("px", "70000"), ("sz", "1000000"), ("fee", "-999999"), ("fee", "50"), ("side", "A"), ("coin", "ETH")],
)  # fmt: skip
async def test_a_fill_that_cannot_be_the_orders_is_in_no_figure(
    field: str, value: str, desk: Desk
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    says(desk, "userFillsByTime", value, 0, field)
    told = (await t.execute(made)).body
    # By its own status alone.
    assert (told["filled_size"], told["verified"]) == (made["order"]["size"], True)
    assert (told["fills"], told["fee_usdc"]) == ([], None)
    desk.test.faults.clear()
    await settled(desk)
    found = await t.stored(made["order"]["order_id"])
    assert (found.verified, len(found.fills)) == (True, 1)


async def test_a_fill_that_was_told_too_small_counts_whole_in_the_end(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    lie = {"filled": {"totalSz": "0.00001", "avgPx": "64000", "oid": 1}}
    answers(desk, [lie], *STATUSES)
    says(desk, "userFillsByTime", [])
    await t.execute(made)
    first = await t.stored(made["order"]["order_id"])
    desk.test.faults.clear()
    # The order's own number at the venue is another than the one told.
    await settled(desk)
    found = await t.stored(made["order"]["order_id"])
    assert first.filled_size == Decimal(made["order"]["size"]), "its own status says more"
    assert (found.filled_size, found.verified) == (Decimal(made["order"]["size"]), True)
    used, reserved = await use(desk)
    assert reserved == 0
    assert used == found.counted.micros > 19_000_000


@pytest.mark.parametrize(
    ("kind", "path", "value", "part"),
    [("orderStatus", ("order", "order", "sz"), "5", "filled"), ("orderStatus", ("order", "order", "coin"), "ETH", "product"), ("orderStatus", ("order", "order", "side"), "A", "side"),
     ("userFillsByTime", (0, "px"), "70000", "price"), ("userFillsByTime", (0, "side"), "A", "side"), ("userFillsByTime", (0, "sz"), "5", "filled")],
)  # fmt: skip
async def test_what_contradicts_an_order_is_counted_by_its_part(
    kind: str, path: tuple[Any, ...], value: str, part: DoubtfulPart, desk: Desk
) -> None:
    before = Counter(CONTRADICTIONS)
    t = await trader(desk)
    if kind == "orderStatus":
        await rests(t)
        if part == "filled":
            says_cancelled(t, value)
        else:
            says(desk, kind, value, *path)
        await settled(desk)
    else:
        made = await t.prepare()
        says(desk, kind, value, *path)
        await t.execute(made)
    assert (Counter(CONTRADICTIONS) - before).keys() == {("testnet", part)}


# -- an order that the venue forgot


@pytest.mark.parametrize("word", [None, "somethingNobodyHeardOf"])
async def test_an_order_that_the_venue_knows_no_more_ends_by_its_fills(
    word: str | None, both: Desk
) -> None:
    t = await trader(both)
    order = await rests(t)
    here(t).orders.clear()
    if word is None:
        says(both, "orderStatus", {"status": "unknownOid"})
    else:
        says(both, "orderStatus", word, "order", "status")
    await settled(both, rounds=4)
    assert (await t.stored(order.order_id)).status == "resting", "one look ends nothing"
    await settled(both, rounds=3)
    found = await t.stored(order.order_id)
    assert (found.status, found.filled_size, found.verified) == ("cancelled", 0, False)
    assert await use(both) == (0, 0)


async def test_an_order_that_still_stands_open_is_not_forgotten(desk: Desk) -> None:
    t = await trader(desk)
    order = await rests(t)
    says(desk, "orderStatus", {"status": "unknownOid"})
    await settled(desk, rounds=9)
    assert (await t.stored(order.order_id)).status == "resting"


async def test_an_order_that_the_venue_forgot_can_be_cancelled(desk: Desk) -> None:
    t = await trader(desk)
    order = await rests(t)
    here(t).orders.clear()
    here(t).history.clear()
    reply = await t.cancel(order.order_id)
    assert (reply.status, reply.body["order"]["status"]) == (200, "cancelled"), reply.body


async def test_a_new_word_for_a_cancelled_order_is_known_by_its_ending(desk: Desk) -> None:
    t = await trader(desk)
    order = await rests(t)
    says(desk, "orderStatus", "portfolioMarginCanceled", "order", "status")
    await settled(desk)
    assert (await t.stored(order.order_id)).status == "cancelled"


# -- what is listed


@pytest.mark.parametrize(
    ("path", "value"),
    [((0, "universe", 0, "maxLeverage"), 0), ((0, "universe", 0, "maxLeverage"), -3), ((0, "universe", 0, "szDecimals"), 99)],
)  # fmt: skip
async def test_a_listing_that_no_market_can_have_is_none(
    path: tuple[Any, ...], value: int, desk: Desk
) -> None:
    t = await trader(desk)
    desk.clock.forward(seconds=65)
    desk.main.faults.add(
        VenueFault(effect="malformed", kind="metaAndAssetCtxs", path=path, value=value)
    )
    reply = await desk.refused("trade_order", t.caller, **{**BTC, "mode_seen": "paper"})
    assert (reply.status, reply.body["error"]) == (503, "wallet_venue_unavailable"), reply.body


async def btc(desk: Desk, network: Network = "mainnet") -> Perp:
    rows = (await desk.networks.get(network).perps("")).value
    return next(p for p in rows if p.coin == "BTC")


@pytest.mark.parametrize("px", ["9" * 40, "1", "900000000"])
async def test_a_mark_far_from_the_last_one_is_none(px: str, desk: Desk) -> None:
    was = await btc(desk)
    assert was.mark_px is not None
    rows = (await desk.networks.get("mainnet").perps("")).value
    path = (1, [p.coin for p in rows].index("BTC"), "markPx")
    desk.main.faults.add(
        VenueFault(effect="malformed", kind="metaAndAssetCtxs", path=path, value=px)
    )
    desk.clock.forward(seconds=65)
    now = await btc(desk)
    assert (now.mark_px, now.oracle_px is None) == (None, False)
    met = desk.networks.unknown_counts()
    counts = [met.get(("mainnet", "metaAndAssetCtxs", what), 0) for what in ("far", "malformed")]
    assert counts == ([0, 1] if len(px) > 10 else [1, 0]), "far from the last, or beyond any price"
    desk.main.faults.clear()
    desk.clock.forward(seconds=65)
    assert (await btc(desk)).mark_px == was.mark_px


async def test_a_price_that_stays_far_is_the_price_after_an_hour(desk: Desk) -> None:
    await btc(desk)
    desk.main.move("BTC", "1000")
    for minutes, expected in ((2, None), (30, None), (30, Decimal(1000))):
        desk.clock.forward(minutes=minutes)
        assert (await btc(desk)).mark_px == expected


async def test_a_book_with_nobody_on_one_side_is_no_halt_and_is_over_once_it_is_whole(
    desk: Desk,
) -> None:
    t = await trader(desk)
    whole: Any = ([("63900", "1")], [("64100", "1")])
    for side in ("bids", "asks"):
        desk.clock.forward(seconds=30)
        desk.test.book("BTC", *(([], whole[1]) if side == "bids" else (whole[0], [])))
        assert (await btc(desk, "testnet")).mid_px is None
        told = await ordered(desk, t.caller, mode_seen="live")
        assert (told.status, told.body["error"]) == (503, "wallet_venue_unavailable"), told.body
        assert "nobody on one side" in str(told.body)
        desk.test.book("BTC", *whole)
        desk.clock.forward(seconds=2)  # the list of products that is held has no price yet
        assert (await t.prepare())["order"]["status"] == "awaiting_signature"


async def test_an_order_that_stood_and_is_said_to_be_refused_still_stands(desk: Desk) -> None:
    t = await trader(desk)
    order = await rests(t)
    says(desk, "orderStatus", "iocCancelRejected", "order", "status")
    await settled(desk, rounds=8)
    assert (await t.stored(order.order_id)).status == "resting"
    here(t).orders.clear()
    await settled(desk, rounds=3)
    found = await t.stored(order.order_id)
    assert (found.status, found.filled_size, found.verified) == ("cancelled", 0, False)
