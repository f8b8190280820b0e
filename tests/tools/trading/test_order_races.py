"""Two that meet at one order, and a venue that tells of it piece by piece."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.money import Usdc
from domain.trading.precision import notional
from tests.tools.trading.conftest import Desk
from tests.tools.trading.orders import later, trader, use
from tests.tools.trading.stop_line import mandate_of

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

    async def meanwhile(*raw: Any, **more: Any) -> Any:
        monkeypatch.setattr(venue, "agents", real)
        opened.append(await both.ok("order_open", t.caller, order_id=order_id))
        return await real(*raw, **more)

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


async def test_fills_that_the_venue_tells_one_after_the_other_are_waited_for(both: Desk) -> None:
    """What it says of the order counts at once, whole; the rest of the fills is asked for again."""
    t = await trader(both)
    both.test.book("BTC", [("63990", "1")], [("64000", "0.0003"), ("64010", "0.0003")])
    made = await t.prepare(size="0.0006", notional_usdc=None)
    both.test.faults.add(VenueFault(effect="lost", route="/exchange", times=1))
    info = both.test.info

    def late(body: Any) -> Any:
        if body["type"] != "userFillsByTime":
            return info(body)
        both.test.info = info  # type: ignore[method-assign]
        return info(body)[1:]

    both.test.info = late  # type: ignore[method-assign]
    told = (await t.execute(made)).body
    assert (told["status"], told["filled_size"], told["partial"]) == ("executed", "0.0006", False)
    assert len(told["fills"]) == 1
    assert told["fee_usdc"] is None
    await later(both, 15)
    stored = await t.stored(made["order"]["order_id"])
    assert (stored.fills_whole, len(stored.fills)) == (True, 2)
    assert stored.avg_px == Decimal("64005")
    whole = notional(stored.action.size, stored.action.limit_px).micros
    assert await use(both) == (whole, 0)


async def test_an_order_of_yesterday_that_is_opened_again_has_no_part_of_today(desk: Desk) -> None:
    t = await trader(desk)
    m = mandate_of(t.person, "m_aaaaaaaaaa", ("BTC",), daily_cap_usdc=Usdc.parse("30"))
    await desk.store.write(lambda uow: uow.mandates.add(m))
    desk.clock.forward(hours=11, minutes=59, seconds=30)
    yesterdays = await t.prepare(mandate_id=m.public_id)
    desk.clock.forward(seconds=60)
    await t.prepare(mandate_id=m.public_id)
    reply = await desk.refused("order_open", t.caller, order_id=yesterdays["order"]["order_id"])
    assert reply.body["error"] == "over_daily_cap"
