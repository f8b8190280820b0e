"""Orders on the terminal: prepared, signed by a browser's key, sent once, and known what became of them."""

from __future__ import annotations

import pytest

from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import trader

pytestmark = pytest.mark.anyio


async def test_a_live_order_is_prepared_signed_and_executed(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    order = made["order"]
    assert (order["mode"], order["network"], order["status"]) == ("live", "testnet", "awaiting_signature")
    reply = await t.execute(made)
    assert reply.status == 200, reply.body
    assert reply.body["status"] == "executed"
    assert reply.body["filled_size"] == order["size"]
    assert reply.body["fee_usdc"] is not None
    assert t.size() == order["size"]
