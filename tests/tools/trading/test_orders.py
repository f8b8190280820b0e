"""Orders on the terminal: prepared, signed by a browser's key, sent once, and known what became of them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from storage.unit_of_work import UnitOfWork
from tests.tools.trading.conftest import Desk, order_key
from tests.tools.trading.orders import (
    LIVE,
    agent,
    code,
    day_use,
    later,
    micros,
    ordered,
    trader,
    use,
)

pytestmark = pytest.mark.anyio


async def test_a_live_order_is_prepared_signed_and_executed(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare(notional_usdc="40")
    order, notional = made["order"], micros(made["order"]["notional_usdc"])
    shown = (order["mode"], order["network"], order["status"])
    assert shown == ("live", "testnet", "awaiting_signature")
    assert made["to_sign"]["signer_must_be"] == [t.person.wallet.address, order_key(t.key).lower()]
    assert await use(both) == (0, notional)
    reply = await t.execute(made)
    assert reply.status == 200, reply.body
    told = reply.body
    assert (told["status"], told["verified"], told["est"]) == ("executed", True, False)
    assert (told["filled_size"], told["remaining_size"]) == (order["size"], "0")
    # The fees are the venue's own, to the last digit.
    (fill,) = both.test.account(t.person.wallet.address).fills
    assert told["fills"][0]["fee_usdc"] == told["fee_usdc"] == format(fill.fee.normalize(), "f")
    assert told["avg_px"] == format(fill.px.normalize(), "f")
    assert t.size() == order["size"]
    assert (await both.ok("order_get", t.caller, order_id=order["order_id"])) == told
    # What was reserved became what was traded.
    assert await use(both) == (notional, 0)
    day = (await both.ok("order_cap", t.caller))["per_day"]
    assert day["used"]["value"] == order["notional_usdc"]
    assert day["remaining"] == f"{(150_000_000 - notional) / 1e6:.6f}"


async def test_a_resting_order_is_cancelled_by_a_signature_with_every_switch_shut(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.limit("60000", "0.0005")
    reply = await t.execute(made)
    assert reply.body["status"] == "resting", reply.body
    desk.switched(live_terminal=False)
    order_id = made["order"]["order_id"]
    asked = await desk.ok("order_cancel", t.caller, order_id=order_id)
    assert asked["order"]["status"] == "resting"
    assert json.loads(asked["to_sign"]["action"])["type"] == "cancelByCloid"
    done = (await t.cancel(order_id)).body["order"]
    assert (done["status"], done["filled_size"]) == ("cancelled", "0")
    assert await use(desk) == (0, 0)
    assert desk.test.account(t.person.wallet.address).orders == {}


async def test_opening_prices_an_order_anew_and_voids_the_former_confirm_id(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    desk.test.move("BTC", "64500")
    desk.clock.forward(seconds=30)
    opened = await desk.ok("order_open", t.caller, order_id=made["order"]["order_id"])
    assert opened["order"]["limit_px"] != made["order"]["limit_px"]
    assert opened["order"]["cloid"] != made["order"]["cloid"]
    assert opened["to_sign"]["nonce"] == made["to_sign"]["nonce"], "one of the two can act"
    assert code(await t.execute(made)) == (422, "wallet_signature_invalid")
    assert (await t.execute(opened)).body["status"] == "executed"
    assert await use(desk) == (micros(opened["order"]["notional_usdc"]), 0)


async def test_a_stored_answer_holds_nothing_that_could_be_signed(desk: Desk) -> None:
    t = await trader(desk)
    first = await desk.ok("order_prepare", t.caller, key="k1", **LIVE)
    again = await desk.ok("order_prepare", t.caller, key="k1", **LIVE)
    assert first["confirm_id"]
    assert first["to_sign"]
    assert (again["confirm_id"], again["to_sign"]) == (None, None)
    assert again["order"] == first["order"]
    assert again["next"][0]["route"] == "POST /wallet/order/{order_id}/open"
    other = await desk.refused("order_prepare", t.caller, key="k1", **(LIVE | {"side": "sell"}))
    assert other.body["error"] == "idempotency_key_reused"
    stored = json.dumps(await desk.rows("orders") + await desk.rows("idempotency"), default=str)
    assert first["confirm_id"] not in stored


async def test_an_order_that_nobody_signs_ends_with_its_time(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    await later(desk, 121)
    read = await desk.ok("order_get", t.caller, order_id=made["order"]["order_id"])
    assert read["status"] == "expired"
    # The browser may have sent it in the last moment: it stands until the venue was asked.
    assert (await t.stored(made["order"]["order_id"])).status == "awaiting_signature"
    assert code(await t.execute(made)) == (422, "wallet_signature_invalid")
    await later(desk, 5)
    assert (await t.stored(made["order"]["order_id"])).status == "expired"
    assert await use(desk) == (0, 0)
    assert t.posted() == 0


async def test_an_order_that_the_browser_sent_and_never_told_of_is_found_before_it_expires(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    t.posts(made)
    await later(desk, 126)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.status, stored.verified) == ("executed", True)
    assert await use(desk) == (stored.counted.micros, 0)


@pytest.mark.parametrize(("tif", "stands"), [("ioc", "executed"), ("gtc", "resting")])
async def test_an_order_that_the_browser_sent_is_not_called_cancelled(
    both: Desk, tif: str, stands: str
) -> None:
    """The venue has it: it is what the venue says, and its part of the day stays taken."""
    t = await trader(both)
    made = await t.limit("64100" if stands == "executed" else "60000", "0.0005", tif=tif)
    t.posts(made)
    told = await both.ok("order_cancel", t.caller, order_id=made["order"]["order_id"])
    assert told["order"]["status"] == stands
    assert sum(await use(both)) == micros(made["order"]["notional_usdc"])
    assert (t.size() != "0") == (stands == "executed")


async def test_what_the_browser_may_have_sent_is_cancelled_once_the_venue_says_it_has_nothing(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    order_id = made["order"]["order_id"]
    desk.test.faults.add(VenueFault(effect="status", kind="orderStatus"))
    refused = await desk.refused("order_cancel", t.caller, order_id=order_id)
    assert code(refused) == (503, "wallet_venue_unavailable")
    assert (await t.stored(order_id)).status == "awaiting_signature"
    desk.test.faults.clear()
    told = await desk.ok("order_cancel", t.caller, order_id=order_id)
    assert told["order"]["status"] == "cancelled"
    assert await use(desk) == (0, 0)
    reply = await t.execute(made)
    assert (reply.status, reply.body["status"], t.posted()) == (200, "cancelled", 0)


async def test_a_record_is_true_only_by_the_venues_word(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    body = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
    forged = {"status": "ok", "response": {"data": {"statuses": [{"filled": {"totalSz": "9"}}]}}}
    told = await both.ok("order_record", t.caller, **body, venue_response=forged, oid=5)
    assert (told["status"], told["verified"], told["filled_size"]) == ("recorded", False, None)
    t.posts(made)
    await later(both, 4)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.status, stored.verified) == ("executed", True)
    assert stored.filled_size == Decimal(made["order"]["size"])


async def test_abuse_39_a_forged_record_without_a_trace_keeps_its_reservation_for_ten_minutes(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    body = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
    filled = {"filled": {"totalSz": "9", "avgPx": "1"}}
    forged = {"status": "ok", "response": {"data": {"statuses": [filled]}}}
    told = await desk.ok("order_record", t.caller, **body, venue_response=forged, oid=5)
    assert (told["filled_size"], told["fills"]) == (None, [])
    await later(desk, *[20] * 20)
    assert all(reserved > 0 for _, reserved in (await day_use(desk)).values())
    await later(desk, *[20] * 15)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.status, stored.verified, stored.next_check_at) == ("recorded", False, None)
    assert stored.filled_size is None
    assert await use(desk) == (0, 0)


# -- agents


async def test_an_agent_prepares_and_its_owner_opens_signs_and_executes(both: Desk) -> None:
    t = await trader(both)
    scout = await agent(both, t)
    made = (await ordered(both, scout, mode_seen="live")).body
    assert (made["confirm_id"], made["to_sign"]) == (None, None)
    assert made["order"]["status"] == "awaiting_owner"
    assert made["order"]["prepared_by"] == {"kind": "agent", "id": scout.user_id}
    assert await day_use(both) == {}
    order_id = made["order"]["order_id"]
    for who in (scout, t.caller):
        waiting = (await both.ok("order_pending", who))["orders"]
        assert [o["order_id"] for o in waiting] == [order_id]
    both.clock.forward(hours=20)
    opened = await both.ok("order_open", t.caller, order_id=order_id)
    assert (await t.execute(opened)).body["status"] == "executed"


async def test_what_was_sent_and_is_not_over_is_listed_for_its_owner(both: Desk) -> None:
    t = await trader(both)
    scout, other = await agent(both, t), await trader(both)
    asked = {"type": "limit", "limit_px": "60000", "tif": "gtc", "size": "0.0005"}
    made = (await ordered(both, scout, **asked, notional_usdc=None, mode_seen="live")).body
    order_id = made["order"]["order_id"]
    assert (await both.ok("order_under_way", t.caller))["orders"] == []
    opened = await both.ok("order_open", t.caller, order_id=order_id)
    assert (await t.execute(opened)).body["status"] == "resting"
    for who, listed in ((t.caller, [order_id]), (other.caller, [])):
        told = await both.ok("order_under_way", who)
        assert [o["order_id"] for o in told["orders"]] == listed
    assert (await both.ok("order_pending", t.caller))["orders"] == []


async def test_every_live_order_is_listed_whatever_became_of_it_a_page_at_a_time(
    both: Desk,
) -> None:
    t, other = await trader(both), await trader(both)
    scout = await agent(both, t)
    assert (await both.ok("order_history", t.caller)) == {"items": [], "next_cursor": None}
    ids = []
    for n in range(5):
        made = await t.prepare()
        ids.append(made["order"]["order_id"])
        if n == 1:
            await both.ok("order_cancel", t.caller, order_id=ids[-1])
        both.clock.forward(seconds=20 if n % 2 else 0)  # some were made in the same moment
    by_scout = (await ordered(both, scout)).body
    ids.append(by_scout["order"]["order_id"])
    both.clock.forward(hours=25)
    seen: list[dict[str, Any]] = []
    cursor, pages = None, 0
    while cursor or not pages:
        page = await both.ok("order_history", t.caller, limit=2, cursor=cursor)
        seen, cursor, pages = seen + page["items"], page["next_cursor"], pages + 1
    assert (pages, sorted(o["order_id"] for o in seen)) == (3, sorted(ids))
    assert [o["created_at"] for o in seen] == sorted((o["created_at"] for o in seen), reverse=True)
    assert {o["order_id"]: o["status"] for o in seen}[ids[1]] == "cancelled"
    assert {o["status"] for o in seen} == {"cancelled", "expired"}
    assert (await both.ok("order_history", other.caller))["items"] == []
    assert code(await both.refused("order_history", scout)) == (403, "forbidden")
    refused = await both.refused("order_history", t.caller, cursor="x")
    assert code(refused) == (400, "invalid_request")
    both.switched(live_terminal=False)
    assert (await t.prepare(mode_seen="paper"))["order"]["mode"] == "paper"
    assert len((await both.ok("order_history", t.caller))["items"]) == 6, "live ones alone"


async def test_a_page_of_past_orders_walks_an_index(desk: Desk) -> None:
    def plan(uow: UnitOfWork) -> str:
        rows = uow.sql.rows(
            "EXPLAIN QUERY PLAN SELECT * FROM orders WHERE owner_id = :who AND mode = 'live' "
            "AND (created_at < :at OR (created_at = :at AND order_id < :id)) "
            "ORDER BY created_at DESC, order_id DESC LIMIT 50",
            who="u_", at=1, id="",
        )  # fmt: skip
        return " ".join(str(r["detail"]) for r in rows)

    told = await desk.store.read(plan)
    assert "orders_made" in told
    assert "TEMP B-TREE" not in told


async def test_abuse_29_an_agent_executes_nothing_live_and_reaches_only_its_own(desk: Desk) -> None:
    t, stranger = await trader(desk), await trader(desk)
    scout, other, theirs = await agent(desk, t), await agent(desk, t), await agent(desk, stranger)
    owners = (await t.prepare())["order"]["order_id"]
    mine = (await ordered(desk, scout)).body["order"]["order_id"]
    for name in ("order_execute", "order_open"):
        assert code(await desk.refused(name, scout, order_id=mine)) == (403, "forbidden")
    assert code(await desk.refused("order_cap_raise", scout, step=1)) == (403, "forbidden")
    assert code(await desk.refused("trade_limits", scout, per_day_usdc="1")) == (403, "forbidden")
    for who, order_id in ((scout, owners), (other, mine), (theirs, mine)):
        for name in ("order_get", "order_cancel", "order_execute"):
            assert code(await desk.refused(name, who, order_id=order_id)) == (404, "not_found")
    assert (await desk.ok("order_pending", theirs))["orders"] == []
    for asks, of in ((scout, theirs), (stranger.caller, scout)):
        refused = await desk.refused("agent_status", asks, agent_id=of.user_id)
        assert code(refused) == (404, "not_found")
    assert (await desk.ok("order_cancel", scout, order_id=mine))["order"]["status"] == "cancelled"


async def test_abuse_40_at_most_ten_live_orders_of_an_agent_wait(desk: Desk) -> None:
    t = await trader(desk)
    scout = await agent(desk, t)
    for n in range(10):
        desk.clock.forward(minutes=7)
        assert (await ordered(desk, scout)).status == 201, n
    desk.clock.forward(minutes=7)
    reply = await ordered(desk, scout)
    assert code(reply) == (429, "rate_limited")
    assert reply.body["next"][0]["tool"] == "order_pending"
    # The first of them is given up 24 hours after it was made, 70 minutes ago.
    wait = int(reply.headers["Retry-After"])
    assert wait == 24 * 3600 - 10 * 7 * 60
    desk.clock.forward(seconds=wait)
    assert (await ordered(desk, scout)).status == 201


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ({"venues": []}, "target_not_allowed"),
        ({"per_tx_cap_usdc": "15"}, "over_per_tx_cap"),
        ({"total_cap_usdc": "15"}, "over_budget"),
        ({"slippage_bps": 10}, "wallet_invalid_order"),
    ],
    ids=["venue", "per_tx", "total", "slippage"],
)
async def test_the_owners_policy_binds_an_agents_live_order(
    policy: dict[str, Any], refused: str, desk: Desk
) -> None:
    t = await trader(desk)
    assert code(await ordered(desk, await agent(desk, t, **policy)))[1] == refused


async def test_the_status_names_every_reason(desk: Desk) -> None:
    p = await desk.person()
    t = await trader(desk)
    scout = await agent(desk, t)
    told = await desk.ok("agent_status", scout)
    assert (told["may_trade"], told["reasons"], told["mode"]) == (True, [], "live")
    assert {c["name"]: c["ok"] for c in told["checks"]}["order_key"] is True
    desk.switched(live_terminal=False)
    nobody = await desk.ok("agent_status", p.caller)
    assert nobody["reasons"] == ["wallet_live_off", "wallet_not_allowlisted", "wallet_not_ready"]
    assert nobody["may_trade"] is False


# -- limits of one order


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"product": "NOPE"}, "product"), ({"product": "km:US500"}, "product"), ({"product": "xyz:DXY"}, "product"),
        ({"notional_usdc": "9.999999"}, "notional_usdc"), ({"notional_usdc": None, "size": "0.0000001"}, "size"),
        ({"type": "limit", "limit_px": "64000.5"}, "limit_px"), ({"type": "limit", "limit_px": "1"}, "limit_px"),
        ({"slippage_bps": 101}, "slippage_bps"), ({"sign_mode": "none"}, "sign_mode"),
    ],
)  # fmt: skip
async def test_abuse_16_to_19_what_the_venue_would_not_take_is_refused_with_the_field(
    asked: dict[str, Any], field: str, desk: Desk
) -> None:
    t = await trader(desk)
    reply = await ordered(desk, t.caller, mode_seen="live", **asked)
    assert code(reply) == (422, "wallet_invalid_order")
    assert reply.body["remaining"]["field"] == field
    assert await desk.rows("orders") == []


async def test_abuse_18_a_coin_without_size_decimals_and_a_tiny_price_is_ordered(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare(product="kPEPE", notional_usdc="20")
    assert "." not in made["order"]["size"]
    assert (await t.execute(made)).body["status"] == "executed"


async def test_abuse_19_exactly_ten_usdc_is_enough(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.limit("50000", "0.0002")
    assert made["order"]["notional_usdc"] == "10.000000"
    assert (await t.execute(made)).body["status"] == "resting"


async def test_leverage_above_the_most_is_refused_and_never_changed(desk: Desk) -> None:
    t = await trader(desk)
    leverage = desk.test.account(t.person.wallet.address).leverage
    leverage["BTC"] = (True, 20)
    remaining = (await ordered(desk, t.caller)).body["remaining"]
    assert (remaining["field"], remaining["nearest"]) == ("product", "3")
    assert leverage["BTC"] == (True, 20)


async def test_abuse_15_margin_on_the_wrong_dex_is_not_ready(desk: Desk) -> None:
    t = await trader(desk)
    reply = await ordered(desk, t.caller, product="xyz:XYZ100", mode_seen="live")
    assert code(reply) == (409, "wallet_not_ready")
    assert reply.body["remaining"] == {"step": "fund"}
    assert reply.body["detail"]["dex"] == "xyz"


async def test_abuse_14_a_unified_account_is_funded_by_its_spot_balance(desk: Desk) -> None:
    t = await trader(desk)
    desk.test.abstraction(t.person.wallet.address, "unifiedAccount")
    assert (await t.execute(await t.prepare())).body["status"] == "executed"


async def test_abuse_17_without_a_sound_book_nothing_is_priced(desk: Desk) -> None:
    t = await trader(desk)
    venue = desk.test
    crossed = [("64010", "1")], [("64000", "1")]
    for bids, asks in (([], []), ([("64000", "1")], []), ([], [("64010", "1")]), crossed):
        venue.book("BTC", bids, asks)
        desk.clock.forward(seconds=30)
        reply = await ordered(desk, t.caller, mode_seen="live")
        assert code(reply) == (503, "wallet_venue_unavailable"), reply.body
    venue.resume("BTC")
    venue.stale_book("BTC", 1_000)
    desk.clock.forward(seconds=30)
    reply = await ordered(desk, t.caller, mode_seen="live")
    assert code(reply) == (503, "wallet_venue_unavailable")
    assert reply.headers["Retry-After"] == "2"
    venue.stale_book("BTC", None)
    venue.book("BTC", [("64000", "1")], [("64010", "1")])
    desk.clock.forward(seconds=30)
    assert (await t.execute(await t.prepare())).body["status"] == "executed"
