"""Bytes that were given out to sign: whatever the browser does with them, one of an order's pricings acts, and the record learns of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import Trader, later, trader, use

pytestmark = pytest.mark.anyio


async def reopened(t: Trader, created: dict[str, Any]) -> dict[str, Any]:
    t.desk.clock.forward(seconds=20)
    t.desk.test.move("BTC", "64200")
    return await t.desk.ok("order_open", t.caller, order_id=created["order"]["order_id"])


async def test_one_of_two_pricings_acts_and_the_record_is_of_that_one(both: Desk) -> None:
    t = await trader(both)
    first = await t.prepare()
    second = await reopened(t, first)
    assert first["order"]["limit_px"] != second["order"]["limit_px"]
    assert "filled" in str(t.posts(first))
    assert "duplicate nonce" in str(t.posts(second))
    told = (await t.execute(second)).body
    size = first["order"]["size"]
    shown = (told["status"], told["filled_size"], told["cloid"])
    assert shown == ("executed", size, first["order"]["cloid"])
    assert Decimal(t.size()) == Decimal(size)
    used, reserved = await use(both)
    worth = Decimal(size) * Decimal(first["order"]["limit_px"]) * 10**6
    assert (reserved, used) == (0, -(-worth // 1))


async def test_a_pricing_that_acted_is_found_before_another_is_made(desk: Desk) -> None:
    t = await trader(desk)
    first = await t.prepare()
    second = await reopened(t, first)
    t.posts(first)
    reply = await desk.do("order_open", t.caller, order_id=second["order"]["order_id"])
    assert (reply.status, reply.body["error"]) == (409, "conflict"), reply.body
    await later(desk, 130)
    found = await t.stored(first["order"]["order_id"])
    assert (found.status, found.action.cloid) == ("executed", first["order"]["cloid"])


async def test_what_was_taken_back_and_sent_all_the_same_is_learnt_of(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    gone = await both.ok("order_cancel", t.caller, order_id=made["order"]["order_id"])
    assert gone["order"]["status"] == "cancelled"
    assert await use(both) == (0, 0)
    assert "filled" in str(t.posts(made))
    await later(both, 126)
    found = await t.stored(made["order"]["order_id"])
    assert (found.status, found.verified) == ("executed", True)
    assert found.filled_size == Decimal(made["order"]["size"])
    used, reserved = await use(both)
    assert (used, reserved) == (found.counted.micros, 0)
    assert used > 19_000_000


async def test_what_was_taken_back_and_stands_at_the_venue_can_be_cancelled_there(
    desk: Desk,
) -> None:
    t = await trader(desk)
    made = await t.limit("50000", "0.0004")
    order_id = made["order"]["order_id"]
    await desk.ok("order_cancel", t.caller, order_id=order_id)
    t.posts(made)
    await later(desk, 126)
    assert (await t.stored(order_id)).status == "resting"
    assert await use(desk) == (0, 20_000_000)
    reply = await t.cancel(order_id)
    assert (reply.status, reply.body["order"]["status"]) == (200, "cancelled")
    assert await use(desk) == (0, 0)


@pytest.mark.parametrize("ends", ["taken back", "run out", "refused"])
async def test_a_word_by_which_an_order_ended_is_asked_about_until_nobody_can_send_it(
    ends: str, desk: Desk
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    order_id, size = made["order"]["order_id"], made["order"]["size"]
    silent = VenueFault(effect="malformed", kind="orderStatus", value={"status": "unknownOid"})
    desk.test.faults.add(silent)
    if ends == "taken back":
        await desk.ok("order_cancel", t.caller, order_id=order_id)
        t.posts(made)
    elif ends == "run out":
        t.posts(made)
    else:
        lie = [{"error": "Insufficient margin to place order. asset=0"}]
        path = ("response", "data", "statuses")
        desk.test.faults.add(
            VenueFault(effect="malformed", kind="order", path=path, value=lie, times=1)
        )
        await t.execute(made)
        found = await t.stored(order_id)
        assert (found.status, found.verified) == ("rejected", False)
    await later(desk, 126)
    assert (await t.stored(order_id)).status in ("cancelled", "expired", "rejected")
    desk.test.faults.clear()
    await later(desk, 115)
    found = await t.stored(order_id)
    assert (found.status, found.filled_size, found.refusal) == ("executed", Decimal(size), None)
    assert await use(desk) == (found.counted.micros, 0)


async def test_what_nobody_sent_is_asked_about_a_few_times_and_never_again(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    order_id = made["order"]["order_id"]
    await desk.ok("order_cancel", t.caller, order_id=order_id)
    asked: list[str] = []
    info = desk.test.info

    def noted(body: Any) -> Any:
        asked.append(body["type"])
        return info(body)

    desk.test.info = noted  # type: ignore[method-assign]
    await later(desk, 126, 30, 90, 61, 61, 61, 600, 600)
    assert asked.count("orderStatus") == 5
    found = await t.stored(order_id)
    assert (found.status, found.verified, found.next_check_at) == ("cancelled", True, None)


async def test_an_order_whose_bytes_are_about_is_not_priced_for_another_network(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    desk.switched(live_terminal=True, venue_mainnet=True)
    reply = await desk.do("order_open", t.caller, order_id=made["order"]["order_id"])
    assert reply.refused, reply.body
    assert (await t.stored(made["order"]["order_id"])).network == "testnet"
