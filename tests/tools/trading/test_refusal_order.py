"""Where several refusals hold, the first of the table is told (trading 2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import trader

pytestmark = pytest.mark.anyio
MUCH = {"notional_usdc": "90"}  # one's own limit is 50 an order


@pytest.mark.parametrize("much", [{}, MUCH], ids=["within its cap", "over its cap"])
@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"sign_mode": "none"}, "sign_mode"),
        ({"intent_id": "in_nobodys"}, "intent_id"),
        ({"book": "b_nobodys", "mode_seen": "paper"}, "book"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
async def test_a_field_that_is_wrong_is_told_before_a_cap(
    asked: dict[str, Any], field: str, much: dict[str, str], desk: Desk
) -> None:
    t = await trader(desk)
    base = {"product": "BTC", "side": "buy", "type": "market", "notional_usdc": "20"}
    body = base | {"mode_seen": "live"} | asked | much
    reply = await desk.refused("order_prepare", t.caller, **body)
    assert reply.body["error"] == "wallet_invalid_order"
    assert reply.body["remaining"]["field"] == field
    assert await desk.rows("orders") == []


async def test_a_field_that_is_wrong_is_told_before_a_lock_that_is_shut(desk: Desk) -> None:
    t = await trader(desk, listed=False)
    reply = await desk.refused(
        "order_prepare",
        t.caller,
        product="BTC",
        side="buy",
        type="market",
        notional_usdc="20",
        mode_seen="live",
        sign_mode="none",
    )
    assert reply.body["error"] == "wallet_invalid_order"
    assert reply.body["remaining"]["field"] == "sign_mode"
