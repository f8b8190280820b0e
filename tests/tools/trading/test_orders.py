"""Orders on the terminal: prepared, signed by a browser's key, sent once, and known what became of them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from storage.unit_of_work import UnitOfWork
from tests.tools.trading.conftest import Desk, order_key
from tests.tools.trading.orders import agent, day_use, trader
from tools.trading.orders.status_sync import sync_due_orders

pytestmark = pytest.mark.anyio


def code(reply: Any) -> tuple[int, str]:
    return reply.status, str(reply.body.get("error"))


async def test_a_live_order_is_prepared_signed_and_executed(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    order = made["order"]
    assert (order["mode"], order["network"], order["status"]) == (
        "live",
        "testnet",
        "awaiting_signature",
    )
    assert made["to_sign"]["signer_must_be"] == [t.person.wallet.address, order_key(t.key).lower()]
    reply = await t.execute(made)
    assert reply.status == 200, reply.body
    told = reply.body
    assert told["status"] == "executed"
    assert (told["filled_size"], told["remaining_size"]) == (order["size"], "0")
    assert told["verified"] is True
    assert told["fills"][0]["fee_usdc"] == told["fee_usdc"]
    assert t.size() == order["size"]
    assert (await both.ok("order_get", t.caller, order_id=order["order_id"])) == told


async def test_the_fees_are_the_venues_own_to_the_last_digit(desk: Desk) -> None:
    t = await trader(desk)
    told = (await t.execute(await t.prepare())).body
    (fill,) = desk.test.account(t.person.wallet.address).fills
    assert told["fee_usdc"] == format(fill.fee.normalize(), "f")
    assert told["avg_px"] == format(fill.px.normalize(), "f")
    assert told["est"] is False


async def test_what_is_reserved_becomes_what_was_traded_and_never_more(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare(notional_usdc="40")
    notional = int(made["order"]["notional_usdc"].replace(".", ""))
    assert set((await day_use(both)).values()) == {(0, notional)}
    await t.execute(made)
    assert set((await day_use(both)).values()) == {(notional, 0)}
    caps = await both.ok("order_cap", t.caller)
    assert caps["per_day"]["used"]["value"] == made["order"]["notional_usdc"]
    assert caps["per_day"]["remaining"] == f"{(150_000_000 - notional) / 1e6:.6f}"


async def test_a_resting_order_is_cancelled_by_a_signature_with_every_switch_shut(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare(
        type="limit", limit_px="60000", tif="gtc", size="0.0005", notional_usdc=None
    )
    reply = await t.execute(made)
    assert reply.body["status"] == "resting", reply.body
    desk.switched(live_terminal=False)
    order_id = made["order"]["order_id"]
    asked = await desk.ok("order_cancel", t.caller, order_id=order_id)
    assert asked["order"]["status"] == "resting"
    action = json.loads(asked["to_sign"]["action"])
    assert action["type"] == "cancelByCloid"
    done = await desk.ok(
        "order_cancel",
        t.caller,
        order_id=order_id,
        confirm_id=asked["confirm_id"],
        signature=t.sign(asked["to_sign"]),
    )
    assert done["order"]["status"] == "cancelled"
    assert done["order"]["filled_size"] == "0"
    assert set((await day_use(desk)).values()) == {(0, 0)}
    assert desk.test.account(t.person.wallet.address).orders == {}


async def test_a_cancelled_order_cannot_be_executed_and_gives_its_part_of_the_day_back(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    told = await desk.ok("order_cancel", t.caller, order_id=made["order"]["order_id"])
    assert told["order"]["status"] == "cancelled"
    reply = await t.execute(made)
    assert (reply.status, reply.body["status"]) == (200, "cancelled")
    assert t.posted() == 0
    assert set((await day_use(desk)).values()) == {(0, 0)}


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
    used = {u for u, _ in (await day_use(desk)).values()}
    assert used == {int(opened["order"]["notional_usdc"].replace(".", ""))}


async def test_a_stored_answer_holds_nothing_that_could_be_signed(desk: Desk) -> None:
    t = await trader(desk)
    body = {
        "product": "BTC",
        "side": "buy",
        "type": "market",
        "notional_usdc": "20",
        "mode_seen": "live",
    }
    first = await desk.ok("order_prepare", t.caller, key="k1", **body)
    again = await desk.ok("order_prepare", t.caller, key="k1", **body)
    assert first["confirm_id"]
    assert first["to_sign"]
    assert (again["confirm_id"], again["to_sign"]) == (None, None)
    assert again["order"] == first["order"]
    assert again["next"][0]["route"] == "POST /wallet/order/{order_id}/open"
    assert (
        await desk.refused("order_prepare", t.caller, key="k1", **(body | {"side": "sell"}))
    ).body["error"] == "idempotency_key_reused"
    stored = json.dumps(
        [dict(r) for r in await desk.rows("orders")] + await desk.rows("idempotency"), default=str
    )
    assert first["confirm_id"] not in stored


async def test_an_order_that_nobody_signs_ends_with_its_time(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    desk.clock.forward(seconds=121)
    read = await desk.ok("order_get", t.caller, order_id=made["order"]["order_id"])
    assert read["status"] == "expired"
    assert code(await t.execute(made)) == (422, "wallet_signature_invalid")
    desk.clock.forward(seconds=5)
    await sync_due_orders(desk.deps)
    assert (await t.stored(made["order"]["order_id"])).status == "expired"
    assert set((await day_use(desk)).values()) == {(0, 0)}
    assert t.posted() == 0


async def test_an_order_that_the_browser_sent_and_never_told_of_is_found_before_it_expires(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    await _post(desk, t, made)
    desk.clock.forward(seconds=126)
    await sync_due_orders(desk.deps)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.status, stored.verified) == ("executed", True)
    assert {u for u, _ in (await day_use(desk)).values()} == {stored.counted.micros}


@pytest.mark.parametrize(("tif", "stands"), [("ioc", "executed"), ("gtc", "resting")])
async def test_an_order_that_the_browser_sent_is_not_called_cancelled(
    both: Desk, tif: str, stands: str
) -> None:
    """The venue has it: it is what the venue says, and its part of the day stays taken."""
    t = await trader(both)
    px = "64100" if stands == "executed" else "60000"
    made = await t.prepare(type="limit", limit_px=px, tif=tif, size="0.0005", notional_usdc=None)
    await _post(both, t, made)
    told = await both.ok("order_cancel", t.caller, order_id=made["order"]["order_id"])
    assert told["order"]["status"] == stands
    taken = {used + held for used, held in (await day_use(both)).values()}
    assert taken == {int(made["order"]["notional_usdc"].replace(".", ""))}
    assert (t.size() != "0") == (stands == "executed")


async def test_while_the_venue_is_silent_what_the_browser_may_have_sent_is_not_cancelled(
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


async def _post(ingest_context: Desk, t: Any, created: dict[str, Any]) -> None:
    """The browser posts by itself."""
    told = created["to_sign"]
    answer = ingest_context.test.exchange(
        {
            "action": json.loads(told["action"]),
            "nonce": told["nonce"],
            "signature": t.sign(told),
            "expiresAfter": told["expires_after"],
        }
    )
    assert answer["status"] == "ok", answer


async def test_a_record_is_true_only_by_the_venues_word(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    body = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
    forged = {"status": "ok", "response": {"data": {"statuses": [{"filled": {"totalSz": "9"}}]}}}
    told = await both.ok("order_record", t.caller, **body, venue_response=forged, oid=5)
    assert (told["status"], told["verified"], told["filled_size"]) == ("recorded", False, None)
    await _post(both, t, made)
    both.clock.forward(seconds=4)
    await sync_due_orders(both.deps)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.status, stored.verified) == ("executed", True)
    assert format((stored.filled_size or Decimal(0)).normalize(), "f") == made["order"]["size"]


async def test_a_record_without_a_trace_keeps_its_reservation_for_ten_minutes(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    body = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
    await desk.ok("order_record", t.caller, **body)
    for _ in range(20):
        desk.clock.forward(seconds=20)
        await sync_due_orders(desk.deps)
    assert all(reserved > 0 for _, reserved in (await day_use(desk)).values())
    for _ in range(15):
        desk.clock.forward(seconds=20)
        await sync_due_orders(desk.deps)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.status, stored.verified, stored.next_check_at) == ("recorded", False, None)
    assert set((await day_use(desk)).values()) == {(0, 0)}


# -- agents


async def test_an_agent_prepares_and_its_owner_opens_signs_and_executes(both: Desk) -> None:
    t = await trader(both)
    scout = await agent(both, t)
    made = await both.ok(
        "order_prepare",
        scout,
        product="BTC",
        side="buy",
        type="market",
        notional_usdc="20",
        mode_seen="live",
    )
    assert (made["confirm_id"], made["to_sign"]) == (None, None)
    assert made["order"]["status"] == "awaiting_owner"
    assert made["order"]["prepared_by"] == {"kind": "agent", "id": scout.user_id}
    assert await day_use(both) == {}
    order_id = made["order"]["order_id"]
    assert [o["order_id"] for o in (await both.ok("order_pending", scout))["orders"]] == [order_id]
    assert [o["order_id"] for o in (await both.ok("order_pending", t.caller))["orders"]] == [
        order_id
    ]
    both.clock.forward(hours=20)
    opened = await both.ok("order_open", t.caller, order_id=order_id)
    assert (await t.execute(opened)).body["status"] == "executed"


async def test_what_was_sent_and_is_not_over_is_listed_for_its_owner(
    both: Desk,
) -> None:
    t = await trader(both)
    scout, other = await agent(both, t), await trader(both)
    made = await both.ok(
        "order_prepare", scout, product="BTC", side="buy", type="limit", limit_px="60000",
        tif="gtc", size="0.0005", mode_seen="live",
    )  # fmt: skip
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
    by_scout = await both.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
    )
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
    assert code(await both.refused("order_history", t.caller, cursor="x")) == (
        400,
        "invalid_request",
    )


async def test_paper_orders_are_not_among_the_live_ones(desk: Desk) -> None:
    t = await trader(desk)
    desk.switched(live_terminal=False)
    assert (await t.prepare(mode_seen="paper"))["order"]["mode"] == "paper"
    assert (await desk.ok("order_history", t.caller))["items"] == []


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


async def test_an_agent_executes_nothing_live_and_sees_only_its_own(desk: Desk) -> None:
    t = await trader(desk)
    scout, other = await agent(desk, t), await agent(desk, t)
    made = await t.prepare()
    by_scout = await desk.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
    )
    mine = by_scout["order"]["order_id"]
    assert code(await desk.refused("order_execute", scout, order_id=mine)) == (403, "forbidden")
    assert code(await desk.refused("order_open", scout, order_id=mine)) == (403, "forbidden")
    for who, order_id in ((scout, made["order"]["order_id"]), (other, mine)):
        assert code(await desk.refused("order_get", who, order_id=order_id)) == (404, "not_found")
        assert code(await desk.refused("order_cancel", who, order_id=order_id)) == (
            404,
            "not_found",
        )
        assert code(await desk.refused("order_execute", who, order_id=order_id)) == (
            404,
            "not_found",
        )
    assert (await desk.ok("order_cancel", scout, order_id=mine))["order"]["status"] == "cancelled"


async def test_abuse_29_an_agent_reaches_no_cap_no_limit_and_nobody_elses_orders(
    desk: Desk,
) -> None:
    t = await trader(desk)
    scout = await agent(desk, t)
    stranger = await trader(desk)
    theirs = await agent(desk, stranger)
    await desk.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
    )
    assert code(await desk.refused("order_cap_raise", scout, step=1)) == (403, "forbidden")
    assert code(await desk.refused("trade_limits", scout, per_day_usdc="1")) == (403, "forbidden")
    assert (await desk.ok("order_pending", theirs))["orders"] == []
    assert code(await desk.refused("agent_status", scout, agent_id=theirs.user_id)) == (
        404,
        "not_found",
    )
    assert code(await desk.refused("agent_status", stranger.caller, agent_id=scout.user_id)) == (
        404,
        "not_found",
    )


async def test_abuse_40_at_most_ten_live_orders_of_an_agent_wait(desk: Desk) -> None:
    t = await trader(desk)
    scout = await agent(desk, t)
    for n in range(10):
        desk.clock.forward(minutes=7)
        assert (
            await desk.do(
                "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
            )
        ).status == 201, n
    desk.clock.forward(minutes=7)
    reply = await desk.refused(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
    )
    assert code(reply) == (429, "rate_limited")
    assert reply.body["next"][0]["tool"] == "order_pending"
    # The first of them is given up 24 hours after it was made, 70 minutes ago.
    wait = int(reply.headers["Retry-After"])
    assert wait == 24 * 3600 - 10 * 7 * 60
    desk.clock.forward(seconds=wait)
    again = await desk.do(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
    )
    assert again.status == 201


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
    scout = await agent(desk, t, **policy)
    reply = await desk.refused(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20"
    )
    assert reply.body["error"] == refused


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
    body = {
        "product": "BTC",
        "side": "buy",
        "type": "market",
        "notional_usdc": "20",
        "mode_seen": "live",
    }
    reply = await desk.refused("order_prepare", t.caller, **(body | asked))
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
    made = await t.prepare(
        type="limit", limit_px="50000", size="0.0002", notional_usdc=None, tif="gtc"
    )
    assert made["order"]["notional_usdc"] == "10.000000"
    assert (await t.execute(made)).body["status"] == "resting"


async def test_leverage_above_the_most_is_refused_and_never_changed(desk: Desk) -> None:
    t = await trader(desk)
    desk.test.account(t.person.wallet.address).leverage["BTC"] = (True, 20)
    reply = await desk.refused(
        "order_prepare", t.caller, product="BTC", side="buy", type="market", notional_usdc="20"
    )
    assert reply.body["remaining"] == {
        "field": "product",
        "nearest": "3",
        "rule": reply.body["remaining"]["rule"],
    }
    assert desk.test.account(t.person.wallet.address).leverage["BTC"] == (True, 20)


async def test_abuse_15_margin_on_the_wrong_dex_is_not_ready(desk: Desk) -> None:
    t = await trader(desk)
    reply = await desk.refused(
        "order_prepare",
        t.caller,
        product="xyz:XYZ100",
        side="buy",
        type="market",
        notional_usdc="20",
        mode_seen="live",
    )
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
        reply = await desk.refused(
            "order_prepare",
            t.caller,
            product="BTC",
            side="buy",
            type="market",
            notional_usdc="20",
            mode_seen="live",
        )
        assert code(reply) in ((503, "wallet_venue_unavailable"), (422, "wallet_invalid_order")), (
            reply.body
        )
    venue.resume("BTC")
    venue.stale_book("BTC", 1_000)
    desk.clock.forward(seconds=30)
    reply = await desk.refused(
        "order_prepare",
        t.caller,
        product="BTC",
        side="buy",
        type="market",
        notional_usdc="20",
        mode_seen="live",
    )
    assert code(reply) == (503, "wallet_venue_unavailable")
    assert reply.headers["Retry-After"] == "2"
    venue.stale_book("BTC", None)
    venue.book("BTC", [("64000", "1")], [("64010", "1")])
    desk.clock.forward(seconds=30)
    assert (await t.execute(await t.prepare())).body["status"] == "executed"
