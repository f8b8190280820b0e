"""Abuse cases of the trading side that no other file has: fees, forged records, own trades, clocks, depth."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from domain.mandates.mandate import Status
from server.settings import Settings
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.mortal import Killed
from tests.tools.trading.orders import ordered, trader, use
from tests.tools.trading.stop_line import Lines, lines_of
from tools.trading.orders.status_sync import sync_due_orders

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def lines(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Lines]:
    async with a_desk(sqlite_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


def test_abuse_31_a_builder_of_101_tenths_stops_every_process_that_reads_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The service, the keeper and the signer read the same settings."""
    monkeypatch.setenv("WALLET_BUILDER_FEE_TENTHS_BPS", "101")
    with pytest.raises(ValidationError, match="less than or equal to 100"):
        Settings()
    monkeypatch.setenv("WALLET_BUILDER_FEE_TENTHS_BPS", "100")
    assert Settings().builder_fee_tenths_bps == 100


@pytest.mark.parametrize("days", [-2, 2])
async def test_abuse_36_a_keeper_whose_clock_is_days_off_believes_no_answer_and_sends_nothing(
    lines: Lines, days: int
) -> None:
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    state = lines.desk.test.state
    honest = state.now
    state.now = lambda: honest() + days * 86_400_000
    n = len(lines.log.exchange)
    for _ in range(4):
        await lines.tick()
    assert (await lines.stored(m)).status is Status.WORKING
    assert lines.log.exchange[n:] == []
    state.now = honest
    for _ in range(2):
        await lines.tick()
    assert lines.held(p) == 0, "with the clock set right it goes on"


async def test_abuse_37_an_order_of_a_hundred_times_the_depth_fills_half_of_what_is_shown(
    desk: Desk,
) -> None:
    p = await desk.person()
    desk.main.book("BTC", [("63999", "0.0012")], [("64001", "0.0006"), ("64002", "0.0004")])
    asked = {"notional_usdc": None, "size": "0.00075", "mode_seen": "paper"}
    order_id = (await ordered(desk, p.caller, **asked)).body["order"]["order_id"]
    desk.clock.forward(seconds=2)
    desk.main.book(
        "BTC", [("63999", "0.000015")], [("64001", "0.000015")]
    )  # a hundredth of it is left
    told = await desk.ok("order_execute", p.caller, order_id=order_id)
    filled = Decimal(told["filled_size"])
    assert filled <= Decimal("0.000015") / 2
    assert told["partial"] == (filled > 0)


async def test_abuse_44_an_order_against_ones_own_is_cancelled_by_the_venue_and_counts_nowhere(
    desk: Desk,
) -> None:
    t = await trader(desk)
    desk.test.book("BTC", [("63000", "1")], [("65000", "1")])
    rests = await t.limit("64000", "0.0005", side="sell")
    assert (await t.execute(rests)).body["status"] == "resting"
    meets = await t.limit("64000", "0.0005", tif="ioc")
    met = await t.execute(meets)
    assert met.body["status"] == "rejected", met.body
    desk.clock.forward(seconds=31)
    await sync_due_orders(desk.deps)
    own = await desk.ok("order_get", t.caller, order_id=rests["order"]["order_id"])
    assert (own["status"], own["venue"]["status"]) == ("cancelled", "selfTradeCanceled")
    assert (own["filled_size"], own["fills"]) == ("0", [])
    assert await use(desk) == (0, 0)
    assert not desk.test.account(t.person.wallet.address).fills
    assert await desk.rows("order_fills") == []


async def test_abuse_44_two_paper_orders_of_one_person_never_fill_each_other(desk: Desk) -> None:
    p = await desk.person()
    desk.main.book("BTC", [("63000", "1")], [("65000", "1")])
    inside = {"type": "limit", "limit_px": "64000", "size": "0.0005", "notional_usdc": None}
    for side in ("buy", "sell"):
        asked = {**inside, "side": side, "tif": "gtc", "mode_seen": "paper"}
        order_id = (await ordered(desk, p.caller, **asked)).body["order"]["order_id"]
        desk.clock.forward(seconds=2)
        told = await desk.ok("order_execute", p.caller, order_id=order_id)
        assert (told["status"], told["fills"]) == ("resting", [])
    for _ in range(5):
        desk.clock.forward(seconds=30)
        desk.main.book("BTC", [("63000", "1")], [("65000", "1")])
        await sync_due_orders(desk.deps)
    assert await desk.rows("paper_entries") == []


async def test_a_fee_is_never_required_to_open_to_close_or_to_be_closed(lines: Lines) -> None:
    """A builder is set, and the owner approved nothing: no step fails for want of a fee (00.14)."""
    assert lines.desk.deps.config.trading.builder_address is not None
    t = await trader(lines.desk)
    status = await lines.desk.ok("builder_fee_status", t.caller)
    assert status["approved"] is False
    ready = await lines.desk.ok("trade_me", t.caller)
    assert "builder_fee" in ready["locks"]
    await t.bought("0.0005")
    made = await t.close()
    assert made.status == 201, made.body
    assert made.body["order"]["builder"] is None
    ended = await t.bring(dict(made.body), "trade_close")
    assert (ended.status, ended.body["order"]["status"]) == (200, "executed"), ended.body
    assert Decimal(t.size()) == 0
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    for _ in range(2):
        await lines.tick()
    assert lines.held(p) == 0
    assert all("builder" not in a for a in lines.log.sent("order"))


async def test_a_switch_of_networks_hides_no_position_from_the_keeper(lines: Lines) -> None:
    """A link keeps the network that it was made on (00.2)."""
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    now = lines.desk.clock.now()
    await lines.desk.store.write(lambda uow: uow.switches.set("venue_mainnet", "on", now, "x"))
    await lines.tick()
    assert lines.held(p) == 0


async def test_an_order_marked_and_never_sent_is_void_only_after_its_bytes_have_ended(
    lines: Lines,
) -> None:
    """A process died between the record and the post: nobody knows that but the venue."""
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    posts = lines.desk.networks.get("testnet").client
    send = posts.send

    async def gone(*args: object, **more: object) -> None:
        raise Killed

    posts.send = gone  # type: ignore[method-assign, assignment]
    with pytest.raises(Killed):
        await lines.tick()
    posts.send = send  # type: ignore[method-assign]
    (left,) = await lines.closes(m)
    assert left.status == "executing"
    keeper = lines.another("two")
    lines.desk.clock.at += timedelta(seconds=91)
    for _ in range(4):
        await lines.tick(keeper)
    (first, *others) = await lines.closes(m)
    assert first.status == "rejected"
    assert [o.status for o in others] == ["executed"]
    assert lines.held(p) == 0
