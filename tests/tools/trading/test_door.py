"""The trade door: modes, limits that fall, closes with every lock shut, products, positions."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from tests.tools.trading.conftest import Desk, a_desk, order_key
from tests.tools.trading.orders import BTC, LIVE, Trader, allow, code, day_use
from tools.model.operation import Caller, OperationResult

pytestmark = pytest.mark.anyio


async def door(desk: Desk, **more: Any) -> Trader:
    """A trader at an open door; mainnet is on, so the link is made there."""
    desk.switched(venue_mainnet=True, live_door=True)
    p = await desk.linked(**more)
    n = desk.next_nonce()
    await desk.enabled(p, order_key(n), network="mainnet")
    await allow(desk, p.wallet.address)
    for coin in ("BTC", "ETH"):
        desk.main.account(p.wallet.address).leverage[coin] = (True, 3)
    return Trader(desk, p, n)


async def holding(desk: Desk, **order: Any) -> Trader:
    """The same with a position."""
    t = await door(desk)
    reply = await t.bring(await t.door(**order))
    assert reply.status == 200, reply.body
    return t


async def off_the_list(desk: Desk) -> None:
    await desk.store.write(lambda uow: uow.sql.run("UPDATE trade_allowlist SET removed_at = 1"))


async def test_a_live_order_takes_two_steps_of_one_route(both: Desk) -> None:
    t = await door(both)
    made = await t.door()
    assert (made["mode"], made["mode_seen"], made["network"]) == ("live", "live", "mainnet")
    reply = await t.bring(made)
    assert (reply.status, reply.body["order"]["status"]) == (200, "executed"), reply.body
    assert t.size(network="mainnet") == made["order"]["size"]
    again = await t.bring(made)
    assert (again.status, again.body["order"]) == (200, reply.body["order"])
    assert t.posted("mainnet") == 1


async def test_the_second_step_may_not_tell_of_another_order(desk: Desk) -> None:
    t = await door(desk)
    made = await t.door()
    assert code(await t.bring(made, side="sell")) == (422, "wallet_invalid_order")
    assert code(await t.bring(made, name="trade_close")) == (422, "wallet_signature_invalid")
    assert (await t.bring(made, side="buy", mode_seen="live")).status == 200


async def test_abuse_1_live_asked_with_a_lock_shut_says_which(desk: Desk) -> None:
    t = await door(desk)
    for shut, switch in (("live_door", "door"), ("venue_mainnet", "mainnet")):
        desk.switched(**{"live_door": True, "venue_mainnet": True, shut: False})
        reply = await desk.refused("trade_order", t.caller, **LIVE)
        assert code(reply) == (403, "wallet_live_off")
        assert reply.body["remaining"] == {"switch": switch}
        assert reply.body["who_fixes"] == "operator"
    desk.switched(live_door=True, venue_mainnet=True)
    stranger = await desk.linked()
    reply = await desk.refused("trade_order", stranger.caller, **LIVE)
    assert code(reply) == (403, "wallet_not_allowlisted")
    assert await desk.rows("orders") == []


async def test_abuse_1_a_listed_address_counts_only_where_it_is_linked(desk: Desk) -> None:
    desk.switched(venue_mainnet=True, live_door=True)
    p = await desk.person()
    await allow(desk, p.wallet.address)
    refused = await desk.refused("trade_order", p.caller, **LIVE)
    assert code(refused) == (403, "wallet_not_allowlisted")
    await desk.link(p)
    assert code(await desk.refused("trade_order", p.caller, **LIVE)) == (409, "wallet_not_ready")


async def test_abuse_38_the_mode_seen_is_required_and_never_guessed(desk: Desk) -> None:
    t = await door(desk)
    for seen in (None, "LIVE", "Paper", 1, True):
        reply = await desk.refused("trade_order", t.caller, **{**BTC, "mode_seen": seen})
        assert code(reply) == (422, "wallet_invalid_order")
        assert reply.body["remaining"]["field"] == "mode_seen"
    reply = await desk.refused("trade_order", t.caller, **{**BTC, "mode_seen": "paper"})
    assert code(reply) == (409, "wallet_mode_changed")
    assert reply.body["remaining"] == {"mode": "live"}


@pytest.mark.parametrize("switch", ["live_door", "venue_mainnet"])
async def test_abuse_2_a_switch_flipped_before_the_second_step_sends_nothing(
    switch: str, desk: Desk
) -> None:
    t = await door(desk)
    made = await t.door()
    desk.switched(**{switch: False})
    assert code(await t.bring(made)) == (409, "wallet_mode_changed")
    assert t.posted("mainnet") == 0
    desk.switched(**{switch: True})
    assert (await t.bring(made)).status == 200


async def test_abuse_2_taken_off_the_list_before_the_second_step_sends_nothing(desk: Desk) -> None:
    t = await door(desk)
    made = await t.door()
    await off_the_list(desk)
    assert code(await t.bring(made)) == (409, "wallet_mode_changed")
    assert t.posted("mainnet") == 0


# -- the limits


async def put(desk: Desk, who: Caller, **limits: Any) -> OperationResult:
    return await desk.do("trade_limits", who, **limits)


async def test_abuse_25_limits_only_fall_all_or_nothing(both: Desk) -> None:
    p = await both.person()
    told = (await put(both, p.caller, per_order_usdc="40", per_day_usdc=None)).body
    assert told["own"] == {"per_order": "40.000000", "per_day": "150.000000"}
    assert told["changed"] is True
    reply = await put(both, p.caller, per_order_usdc="30", per_day_usdc="151")
    assert code(reply) == (409, "wallet_limit_raise")
    assert re.search(r"stands at [\d,]+\.\d\d USDC\.", str(reply.body["reason"]))
    assert reply.body["remaining"] == {"per_order_usdc": "40.000000", "per_day_usdc": "150.000000"}
    same = (await put(both, p.caller, per_order_usdc="40")).body
    assert (same["own"]["per_order"], same["changed"]) == ("40.000000", False)
    (row,) = await both.rows("limit_log")
    assert row["changes"] == '{"per_order_usdc":{"from":"50.000000","to":"40.000000"}}'


@pytest.mark.parametrize("value", ["1e2", "50.0000001", "-0", "-1", "NaN", 5, [], True])
async def test_abuse_25_a_limit_of_another_form_is_refused(value: Any, desk: Desk) -> None:
    p = await desk.person()
    assert code(await put(desk, p.caller, per_day_usdc=value)) == (422, "wallet_invalid_order")
    assert await desk.rows("own_limits") == []


async def test_abuse_25_two_that_race_end_at_the_lower(both: Desk) -> None:
    p = await both.person()
    await asyncio.gather(*(put(both, p.caller, per_day_usdc=str(n)) for n in (90, 20, 70, 40, 30)))
    (row,) = await both.rows("own_limits")
    assert row["per_day_micros"] == 20_000_000


async def test_abuse_26_a_limit_of_zero_stops_orders_and_closes_still_work(desk: Desk) -> None:
    t = await holding(desk)
    assert (await put(desk, t.caller, per_order_usdc="0", per_day_usdc="0")).status == 200
    reply = await desk.refused("trade_order", t.caller, **LIVE)
    assert code(reply) == (403, "wallet_over_cap")
    assert reply.body["remaining"]["remaining"] == "0.000000"
    closed = await t.bring((await t.close()).body, "trade_close")
    assert (closed.status, closed.body["order"]["status"]) == (200, "executed"), closed.body
    assert Decimal(t.size(network="mainnet")) == 0


async def test_a_limit_that_fell_after_the_preparation_binds(desk: Desk) -> None:
    t = await door(desk)
    made = await t.door()
    await put(desk, t.caller, per_order_usdc="10")
    assert code(await t.bring(made)) == (403, "wallet_over_cap")
    assert t.posted("mainnet") == 0


async def test_the_terminals_step_up_is_never_read_by_the_door(desk: Desk) -> None:
    t = await door(desk)
    told = await desk.ok("order_cap_raise", t.caller, step=1)
    assert told["own"] == {"per_order": "100.000000", "per_day": "300.000000"}
    refused = await desk.refused("order_cap_raise", t.caller, step=1)
    assert code(refused) == (409, "wallet_limit_raise")
    me = await desk.ok("trade_me", t.caller)
    assert me["limits"] == {"per_order": "50.000000", "per_day": "150.000000"}


# -- closes


async def test_a_verified_live_close_works_with_every_lock_shut(both: Desk) -> None:
    t = await holding(both)
    await off_the_list(both)
    both.switched(live_door=False, venue_mainnet=False, live_terminal=False)
    made = await t.close()
    assert made.status == 201, made.body
    order = made.body["order"]
    assert (order["side"], order["reduce_only"], order["tif"]) == ("sell", True, "ioc")
    assert (order["builder"], order["network"]) == (None, "mainnet")
    before = await day_use(both)
    done = await t.bring(made.body, "trade_close")
    assert (done.status, done.body["order"]["status"]) == (200, "executed"), done.body
    assert Decimal(t.size(network="mainnet")) == 0
    assert await day_use(both) == before


async def test_closes_may_be_held_to_the_list_where_an_operator_wants_it(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, close_needs_allowlist=True) as desk:
        t = await holding(desk)
        await off_the_list(desk)
        assert code(await t.close()) == (403, "wallet_not_allowlisted")


async def test_there_is_nothing_to_close_without_a_position(desk: Desk) -> None:
    t = await door(desk)
    assert code(await t.close()) == (409, "wallet_no_position")
    p = await desk.person()
    refused = await desk.do("trade_close", p.caller, product="BTC", mode_seen="live")
    assert code(refused) == (409, "wallet_not_ready")


async def test_abuse_21_of_two_closes_the_second_finds_no_position(desk: Desk) -> None:
    t = await holding(desk)
    first, second = (await t.close()).body, (await t.close()).body
    assert (await t.bring(first, "trade_close")).status == 200
    assert code(await t.bring(second, "trade_close")) == (409, "wallet_no_position")
    assert Decimal(t.size(network="mainnet")) == 0


async def test_abuse_20_a_position_that_shrank_is_never_flipped(desk: Desk) -> None:
    t = await holding(desk, notional_usdc="40")
    made = (await t.close()).body
    half = (await t.close(fraction="0.5")).body
    assert (await t.bring(half, "trade_close")).status == 200
    reply = await t.bring(made, "trade_close")
    assert code(reply) == (409, "wallet_no_position")
    assert Decimal(t.size(network="mainnet")) > 0


async def test_a_close_whose_position_cannot_be_read_says_how_to_close_directly(
    sqlite_url: str,
) -> None:
    async with a_desk(sqlite_url) as desk:
        t = await holding(desk)
        made = (await t.close()).body
        desk.main.faults.add(VenueFault(effect="status", kind="clearinghouseState", status=500))
        for reply in (await t.close(), await t.bring(made, "trade_close")):
            assert code(reply) == (503, "wallet_venue_unavailable")
            assert reply.body["next"][0]["text"] == "Close directly at the venue"
        assert reply.body["detail"]["action"]["reduce_only"] is True
        assert reply.body["detail"]["action"]["size"] == made["order"]["size"]


async def test_abuse_16_a_delisted_product_says_that_the_venue_settled_it(desk: Desk) -> None:
    t = await holding(desk)
    desk.main.market("BTC").delisted = True
    desk.clock.forward(seconds=30)
    reply = await t.close()
    assert code(reply) == (422, "wallet_invalid_order")
    assert "settled" in reply.body["reason"]


async def test_abuse_19_a_rest_that_could_not_be_closed_is_taken_along(desk: Desk) -> None:
    t = await holding(desk)
    size = t.size(network="mainnet")
    made = (await t.close(fraction="0.8")).body
    assert Decimal(made["order"]["size"]) == Decimal(size)
    reply = await t.close(fraction="0.2")
    assert code(reply) == (422, "wallet_invalid_order")
    assert Decimal(reply.body["remaining"]["nearest"]) == Decimal(size)


# -- the throttle


async def test_abuse_27_orders_and_closes_share_ten_a_minute_refused_ones_too(desk: Desk) -> None:
    t = await door(desk)
    for n in range(10):
        name = ("trade_order", "trade_close")[n % 2]
        await desk.do(name, t.caller, product="NOPE", mode_seen="live")
    desk.clock.forward(seconds=10.2)
    reply = await desk.refused("trade_order", t.caller, **LIVE)
    assert code(reply) == (429, "wallet_rate_limited")
    assert reply.headers["Retry-After"] == "50"
    assert reply.body["retry_at"] == "2026-11-20T12:01:00.000Z"
    told = (await desk.ok("trade_me", t.caller))["throttle"]
    left = {"left_minute": 0, "left_hour": 50}
    assert told == {"per_minute": 10, "per_hour": 60, **left, "per_process": True}
    desk.clock.forward(seconds=50)
    assert (await desk.do("trade_order", t.caller, **LIVE)).status == 201


async def test_abuse_27_the_61st_of_an_hour_waits_for_the_first(desk: Desk) -> None:
    t = await door(desk)
    for _ in range(6):
        for _ in range(10):
            await desk.do("trade_order", t.caller, mode_seen="live")
        desk.clock.forward(seconds=61)
    reply = await desk.refused("trade_order", t.caller, **LIVE)
    assert code(reply) == (429, "wallet_rate_limited")
    assert reply.headers["Retry-After"] == str(3600 - 6 * 61)
    closed = await desk.do("trade_close", t.caller, product="BTC", mode_seen="live")
    assert code(closed) == (409, "wallet_no_position"), "a close has its own"


# -- reads


async def test_products_are_the_venues_own_and_an_outage_invents_none(desk: Desk) -> None:
    told = await desk.ok("trade_products")
    by = {p["product"]: p for p in told["products"]}
    assert (told["sample"], told["stale"], told["network"]) == (False, False, "mainnet")
    assert by["BTC"]["tick_example"] == "1"
    assert (by["BTC"]["fee_taker_bps"], by["xyz:XYZ100"]["fee_taker_bps"]) == ("4.50", "0.90")
    assert (by["xyz:XYZ100"]["kind"], by["BTC"]["kind"]) == ("index", "perp")
    assert (by["xyz:DXY"]["status"], by["xyz:DXY"]["live"]) == ("delisted", False)
    assert (by["BTC"]["bid_px"], by["BTC"]["live"]) == (None, False)
    assert "km:US500" not in by


async def test_a_silent_venue_gives_an_empty_list_of_products(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, down=True) as desk:
        told = await desk.ok("trade_products")
        assert (told["products"], told["stale"], told["sample"]) == ([], True, False)


async def test_positions_are_shown_while_live_is_off_and_null_while_the_venue_is_silent(
    desk: Desk,
) -> None:
    t = await holding(desk)
    desk.switched(live_door=False, venue_mainnet=False)
    desk.clock.forward(seconds=5)
    (held,) = (await desk.ok("trade_positions", t.caller))["live"]
    assert (held["product"], held["side"]) == ("BTC", "long")
    assert (held["mode"], held["network"]) == ("live", "mainnet")
    assert (held["can_close"], held["est"], held["leverage"]) == (True, False, 3)
    p = await desk.linked()
    desk.main.faults.add(VenueFault(effect="status", status=500))
    desk.test.faults.add(VenueFault(effect="status", status=500))
    told = await desk.ok("trade_positions", p.caller)
    assert (told["live"], told["stale"]) == (None, True)


async def test_paper_without_a_desk_for_it_is_refused_and_reserves_nothing(desk: Desk) -> None:
    p = await desk.person()
    desk.deps = replace(desk.deps, paper=None)
    reply = await desk.refused("trade_order", p.caller, **{**BTC, "mode_seen": "paper"})
    assert code(reply) == (409, "not_configured")
    assert await day_use(desk) == {}
