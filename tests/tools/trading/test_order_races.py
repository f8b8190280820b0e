"""Two calls that meet at one order: one of them wins, and the other one finds it changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import trader

pytestmark = pytest.mark.anyio


async def test_an_order_that_is_priced_anew_while_its_signature_is_checked_is_not_sent(
    both: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signature is over the bytes of before; what would leave are other ones."""
    t = await trader(both)
    made = await t.prepare()
    order_id = made["order"]["order_id"]
    venue = both.networks.get("testnet")
    real, opened = venue.agents, list[dict[str, Any]]()

    async def meanwhile(*told: Any, **more: Any) -> Any:
        monkeypatch.setattr(venue, "agents", real)
        opened.append(await both.ok("order_open", t.caller, order_id=order_id))
        return await real(*told, **more)

    monkeypatch.setattr(venue, "agents", meanwhile)
    reply = await t.execute(made)
    assert (reply.status, reply.body["error"]) == (409, "conflict")
    assert t.posted() == 0
    assert (await t.stored(order_id)).status == "awaiting_signature"
    assert (await t.execute(opened[0])).body["status"] == "executed"
    assert t.posted() == 1


async def test_a_key_says_nothing_of_another_order(both: Desk) -> None:
    t = await trader(both)
    first, second = await t.prepare(), await t.prepare()
    ids = [made["order"]["order_id"] for made in (first, second)]
    told = [await both.ok("order_cancel", t.caller, key="k1", order_id=i) for i in ids]
    assert [one["order"]["order_id"] for one in told] == ids
    assert {(await t.stored(i)).status for i in ids} == {"cancelled"}
