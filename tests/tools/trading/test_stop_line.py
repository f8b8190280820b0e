"""The keeper of the stop line at the venue, against the local one and a real signer."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from devtools.devvenue import VenueFault
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate, Status
from domain.mandates.targets import Target
from domain.money import Usdc
from domain.rules.status_derivation import derive_status
from domain.trading.orders import Envelope
from domain.trading.stop_line import cloid_of
from domain.trading.venue_account import milliseconds
from storage.schema.metadata import metadata
from tests.tools.trading.conftest import Person, a_desk
from tests.tools.trading.orders import allow
from tests.tools.trading.stop_line import Lines, lines_of
from tools.trading.orders.status_sync import sync_due_orders

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def lines(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Lines]:
    async with a_desk(sqlite_url) as desk, lines_of(desk, tmp_path) as made:
        yield made


async def test_two_looks_below_the_line_stop_the_mandate_and_close_its_position(
    lines: Lines,
) -> None:
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    assert (await lines.tick()).looked == 1
    lines.desk.test.move("BTC", "58000")  # 60 USDC lost, 50 allowed
    await lines.tick()
    assert (await lines.stored(m)).status is Status.WORKING, "one look closes nothing"
    with lines.only_shrinks(p, "BTC"):
        await lines.tick()
    assert (await lines.stored(m)).status is Status.STOPPED
    assert lines.held(p) == 0
    (close,) = await lines.closes(m)
    assert (close.status, close.side, close.slippage_bps) == ("executed", "sell", 100)
    assert close.filled_size == Decimal("0.01")
    (sent,) = lines.log.sent("order")[1:]
    assert (sent["orders"][0]["r"], sent["orders"][0]["t"]) == (True, {"limit": {"tif": "Ioc"}})
    await lines.tick()
    kept = await lines.keeping(m)
    assert kept is not None
    assert (kept.state, kept.episode) == ("done", 1)
    assert [kind for kind, _ in await lines.told(m)] == ["stop", "sell"]
    assert (await lines.tick()).looked == 0
    # Without an order that may rest, open orders are not even read.
    assert not [a for a in lines.log.info if a["type"] == "openOrders"]


async def at_line(
    lines: Lines, *coins: str, size: str = "0.01", **changes: Any
) -> tuple[Person, Mandate]:
    """A mandate whose loss has been looked at once; the next tick acts."""
    p = await lines.person(deposit="2000")
    m = await lines.mandate(p, *coins, **changes)
    await lines.bought(p, m, size=size)
    lines.desk.test.move("BTC", "58000" if not size.startswith("-") else "70000")
    await lines.tick()
    return p, m


async def test_an_entry_that_names_no_product_names_every_one_to_the_keeper_too(
    lines: Lines,
) -> None:
    p = await lines.person(deposit="2000")
    every = Target(kind="venue", venue="hyperliquid", symbols=())
    m = await lines.mandate(p, allowed_targets=(Target("vault"), every))
    await lines.bought(p, m)
    lines.trade(p, "ETH", "0.1")  # the owner's own, in a product that no order of the mandate is in
    lines.desk.test.move("BTC", "58000")
    await lines.ticks(2)
    assert (lines.held(p), lines.held(p, "ETH")) == (0, Decimal("0.1"))
    assert (await lines.stored(m)).status is Status.STOPPED


async def test_two_looks_are_two_later_answers_in_a_row_below_the_line(lines: Lines) -> None:
    p, m = await at_line(lines)
    # The same answer of the venue is not a second look.
    await lines.keeper.round()
    await lines.keeper.round()
    # One bad mark closes nothing.
    lines.desk.test.move("BTC", "64000")
    await lines.tick()
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    # Looks that are far apart are not two in a row.
    lines.desk.clock.forward(minutes=5)
    await lines.tick()
    assert (await lines.stored(m)).status is Status.WORKING
    assert lines.held(p) == Decimal("0.01")
    await lines.tick()
    assert lines.held(p) == 0


async def test_exactly_on_its_line_a_mandate_goes_on(lines: Lines) -> None:
    p = await lines.person()
    m = await lines.mandate(p)
    bought = await lines.bought(p, m)
    assert bought.avg_px is not None
    lines.desk.test.prices("BTC", bought.avg_px - 5_000)
    await lines.ticks(2)
    assert lines.held(p) == Decimal("0.01")
    lines.desk.test.prices("BTC", bought.avg_px - Decimal("5000.1"))
    await lines.ticks(2)
    assert lines.held(p) == 0


async def test_a_short_position_is_bought_back(lines: Lines) -> None:
    p, m = await at_line(lines, size="-0.01")
    with lines.only_shrinks(p, "BTC"):
        await lines.tick()
    (close,) = await lines.closes(m)
    assert (lines.held(p), close.side, close.status) == (0, "buy", "executed")


async def whole_database(lines: Lines) -> dict[str, list[Any]]:
    """Every row of every table but the weight of requests, which each read of the venue counts."""
    found = {}
    for table in metadata.tables:
        if table != "venue_weights":
            found[table] = sorted(map(repr, await lines.desk.rows(table)))
    return found


async def test_a_dry_run_reads_and_says_what_it_would_close_and_writes_nothing_anywhere(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    p, m = await at_line(lines)
    lines.switched(stop_line_dry_run=True)
    await lines.tick()
    before, sent = await whole_database(lines), (len(lines.log.exchange), signer_nonces(lines))
    with caplog.at_level(logging.INFO, "wallet.stop_line"):
        for _ in range(3):
            await lines.tick()
    after = await whole_database(lines)
    lease = [r for r in await lines.desk.rows("work_claims") if r["kind"] == "stop line"]
    assert len(lease) == 1, "but for the lease that says which process looks"
    before.pop("work_claims"), after.pop("work_claims")
    assert after == before
    assert (len(lines.log.exchange), signer_nonces(lines)) == sent
    (told, *_) = [r.getMessage() for r in caplog.records if "would_close" in r.getMessage()]
    action = json.loads(told.split("would_close ")[1])
    (order,) = action["orders"]
    asset = lines.desk.test.market("BTC").asset
    assert (order["a"], order["b"], order["s"], order["r"]) == (asset, False, "0.01", True)
    assert order["c"] == cloid_of(m.public_id, "testnet", "BTC", 1, 0)
    assert (await lines.stored(m)).status is Status.WORKING
    assert lines.held(p) == Decimal("0.01")


def signer_nonces(lines: Lines) -> list[str]:
    return [f.read_text() for f in lines.keys.glob("*.nonce")]


async def test_a_dry_run_that_ends_acts_at_the_next_tick(lines: Lines) -> None:
    p, _ = await at_line(lines)
    now, store = lines.desk.clock.now(), lines.desk.store
    for value, left in (("on", Decimal("0.01")), ("off", 0)):
        switch = ("stop_line_dry_run", value, now, "x")
        await store.write(lambda uow, switch=switch: uow.switches.set(*switch))
        await lines.tick()
        assert lines.held(p) == left


async def test_what_rests_is_cancelled_first_and_the_owners_own_orders_stay(lines: Lines) -> None:
    p, m = await at_line(lines)
    mine = await lines.resting(p, m, "BTC", "0.001", "50000")
    theirs = await lines.resting(p, None, "BTC", "0.001", "50500")
    n = len(lines.log.exchange)
    await lines.tick()
    kinds = [a["type"] for a in lines.log.exchange[n:]]
    assert kinds == ["cancelByCloid", "order"]
    assert lines.log.sent("cancelByCloid")[-1]["cancels"] == [
        {"asset": mine.action.asset_id, "cloid": mine.action.cloid}
    ]
    left = {o.cloid for o in lines.desk.test.account(p.wallet.address).orders.values()}
    assert theirs.action.cloid in left
    assert lines.held(p) == 0
    found = await lines.found(mine)
    assert found.status == "cancelled"


async def test_an_order_that_was_given_out_to_sign_is_waited_for_before_the_end(
    lines: Lines,
) -> None:
    p, m = await at_line(lines)
    until = lines.desk.clock.now() + timedelta(seconds=90)
    given = lines.order(
        p, m, "BTC", "0.001", "0x" + "77" * 16, status="awaiting_signature", expires_at=until, next_check_at=until, px="64000",
        envelope=Envelope(nonce=1, expires_after=milliseconds(until)),
    )  # fmt: skip
    await lines.desk.store.write(lambda uow: uow.orders.add(given))
    await lines.tick()
    assert lines.held(p) == 0
    await lines.tick()
    assert await lines.state(m) == "open", "its bytes are still about"
    lines.trade(p, "BTC", "0.001", cloid=given.action.cloid)  # the browser sends it past us
    assert lines.held(p) == Decimal("0.001")
    await lines.tick()  # asked after by its id
    await lines.tick()
    assert lines.held(p) == 0
    await lines.tick()
    assert await lines.state(m) == "done"


async def test_of_an_account_with_the_owners_own_position_only_the_mandates_part_is_closed(
    lines: Lines,
) -> None:
    p, m = await at_line(lines)
    lines.trade(p, "BTC", "0.02")
    await lines.ticks(2)
    assert lines.held(p) == Decimal("0.02")
    assert await lines.state(m) == "done"


async def test_of_a_dedicated_account_the_whole_position_is_closed(lines: Lines) -> None:
    p, m = await at_line(lines)
    lines.trade(p, "BTC", "0.02")
    lines.trade(p, "ETH", "0.1")
    config = lines.desk.deps.config
    lines.desk.deps = replace(
        lines.desk.deps, config=replace(config, trading=replace(config.trading, keeper_scope="all"))
    )
    keeper = lines.another("one")
    await lines.tick(keeper)
    await lines.tick(keeper)
    await lines.tick(keeper)
    assert lines.held(p) == 0
    assert lines.held(p, "ETH") == Decimal("0.1"), "what the terms do not name is not touched"
    assert await lines.state(m) == "done"


async def test_the_ladder_goes_further_where_nobody_takes_anything_and_then_its_owner_is_told_once(
    lines: Lines,
) -> None:
    p, m = await at_line(lines)
    with lines.only_shrinks(p, "BTC"):
        for n in range(3):
            # Half of what is left stands within reach, the rest nowhere near.
            size = lines.held(p) / 2
            lines.desk.test.book("BTC", [("58000", size), ("40000", "9")], [("58100", "9")])
            await lines.tick()
            assert lines.held(p) == Decimal("0.01") / 2 ** (n + 1)
    closes = await lines.closes(m)
    assert [o.slippage_bps for o in closes] == [100, 100, 100], "a price that is met is asked again"
    assert [o.partial for o in closes] == [True, True, True]
    # A touch that nobody can have: it is gone before an order comes.
    place = lines.desk.test.exchange

    def gone(body: Any) -> Any:
        if body["action"]["type"] == "order":
            lines.desk.test.book("BTC", [("40000", "9")], [("58100", "9")])
        try:
            return place(body)
        finally:
            lines.desk.test.book("BTC", [("58000", "1"), ("40000", "9")], [("58100", "9")])

    lines.desk.test.book("BTC", [("58000", "1"), ("40000", "9")], [("58100", "9")])
    lines.desk.test.exchange = gone  # type: ignore[method-assign]
    await lines.ticks(6)
    closes = await lines.closes(m)
    assert [o.slippage_bps for o in closes[3:]] == [100, 300, 800]
    kept = await lines.keeping(m)
    assert kept is not None
    assert (kept.state, kept.episode) == ("blocked", 1)
    (told,) = [text for kind, text in await lines.told(m) if kind == "note"]
    assert "nobody took it within 800 bps" in told
    assert lines.held(p) == Decimal("0.00125")
    lines.desk.test.exchange = place  # type: ignore[method-assign]
    lines.desk.test.move("BTC", "58000")
    lines.desk.clock.forward(minutes=10)
    await lines.tick()
    assert lines.held(p) == 0, "a rested ladder begins anew"
    assert (await lines.closes(m))[-1].slippage_bps == 100


@pytest.mark.parametrize("word", [None, "portfolioMarginCanceled", "aWordOfNobody"])
async def test_an_order_that_the_venue_forgot_holds_no_close(
    word: str | None, lines: Lines
) -> None:
    p, m = await at_line(lines)
    order = await lines.resting(p, m, "BTC", "0.001", "30000")
    lines.desk.test.account(p.wallet.address).orders.clear()
    path = () if word is None else ("order", "status")
    value = {"status": "unknownOid"} if word is None else word
    lie = VenueFault(effect="malformed", kind="orderStatus", path=path, value=value)
    lines.desk.test.faults.add(lie)
    await lines.tick()
    assert lines.held(p) == 0
    lines.desk.test.faults.rows.remove(lie)
    await lines.tick()
    assert await lines.state(m) == "done"
    assert [kind for kind, _ in await lines.told(m)] == ["stop", "sell"]
    lines.desk.test.faults.add(lie)
    for _ in range(9):
        lines.desk.clock.forward(seconds=61)
        await sync_due_orders(lines.desk.deps)
    found = await lines.found(order)
    assert found.status in ("cancelled", "resting")


@pytest.mark.parametrize("silent", ["cancelByCloid", "openOrders"])
async def test_an_order_that_cannot_be_cancelled_or_seen_holds_no_close_and_its_owner_is_told(
    silent: str, lines: Lines
) -> None:
    """No end comes while it may stand."""
    p, m = await at_line(lines)
    await lines.resting(p, m, "BTC", "0.001", "30000")
    place = lines.desk.test.exchange

    def deaf(body: Any) -> Any:
        closed = {"status": "err", "response": "Cancelling is closed for now"}
        return closed if body["action"]["type"] == silent else place(body)

    lines.desk.test.exchange = deaf  # type: ignore[method-assign]
    if silent == "openOrders":
        lines.desk.test.faults.add(VenueFault(effect="status", kind=silent, status=422))
    await lines.tick()
    assert lines.held(p) == 0
    await lines.ticks(3)
    assert await lines.state(m) == "open"
    (_, told) = await lines.told(m)
    words = {
        "cancelByCloid": "stands at the venue and is not cancelled",
        "openOrders": "open orders could not be read",
    }
    assert words[silent] in told[1]
    lines.desk.test.exchange = place  # type: ignore[method-assign]
    lines.desk.test.faults.clear()
    await lines.ticks(2)
    assert await lines.state(m) == "done"


async def test_a_tick_at_the_line_that_does_nothing_tells_its_owner_why_each_reason_once(
    lines: Lines,
) -> None:
    p, m = await at_line(lines)
    lines.desk.test.book("BTC", [], [("58100", "9")])
    await lines.tick()
    silence = VenueFault(effect="status", kind="clearinghouseState", status=422)
    silent = lines.desk.test.faults.add(silence)
    await lines.ticks(3)
    lines.desk.test.faults.rows.remove(silent)
    await lines.ticks(3)
    assert lines.held(p) == Decimal("0.01")
    told = [text for kind, text in await lines.told(m) if kind == "note"]
    assert len(told) == len(set(told)) == 2, told
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    assert lines.held(p) == 0


async def test_one_answer_that_shows_no_position_ends_nothing(lines: Lines) -> None:
    p, m = await at_line(lines)
    lines.desk.test.book("BTC", [("58000", "0.004"), ("40000", "9")], [("58100", "9")])
    await lines.tick()
    assert lines.held(p) == Decimal("0.006")
    kind, path = "clearinghouseState", ("assetPositions",)
    none = VenueFault(effect="malformed", kind=kind, path=path, value=[], times=1)
    lines.desk.test.faults.add(none)
    await lines.tick()
    assert await lines.state(m) == "open"
    lines.desk.test.move("BTC", "58000")
    await lines.tick()
    assert lines.held(p) == 0


# The owner's trade, the size that an answer claims, what its fills tell of, and what is left.
CLAIMS = {"no fill": ("0.09", "0.09", None, "0.09"), "a part": ("0.03", "0.02", "0.005", "0.025")}


@pytest.mark.parametrize("case", CLAIMS)
async def test_a_size_that_an_answer_only_claims_is_nobodys(case: str, lines: Lines) -> None:
    """The owner's own position is not closed for a fill that no fill tells of."""
    traded, claim, filled, left = CLAIMS[case]
    p, m = await at_line(lines)
    lines.trade(p, "BTC", traded)
    claimed = lines.order(
        p, m, "BTC", claim, "0x" + "88" * 16, filled_size=Decimal(claim), avg_px=Decimal(58000),
        fills_whole=filled is not None, sent_at=lines.desk.clock.now() - timedelta(hours=1),
    )  # fmt: skip
    if filled is None:
        await lines.desk.store.write(lambda uow: uow.orders.add(claimed))
    else:
        await lines.filled(claimed, Decimal(58000), Decimal(filled))
    await lines.ticks(4)
    assert lines.held(p) == Decimal(left)


async def test_a_close_that_is_only_said_to_be_filled_is_tried_again(lines: Lines) -> None:
    p, m = await at_line(lines)
    place = lines.desk.test.exchange
    size = {"totalSz": "0.01", "avgPx": "58000", "oid": 77}

    def lies(body: Any) -> Any:
        if body["action"]["type"] == "order":
            data = {"statuses": [{"filled": size}]}
            return {"status": "ok", "response": {"type": "order", "data": data}}
        return place(body)

    lines.desk.test.exchange = lies  # type: ignore[method-assign]
    await lines.tick()
    lines.desk.test.exchange = place  # type: ignore[method-assign]
    assert lines.held(p) == Decimal("0.01")
    for _ in range(10):
        await lines.tick()
    assert lines.held(p) == 0
    lines.desk.clock.forward(seconds=2)
    await sync_due_orders(lines.desk.deps)
    assert [o.verified for o in await lines.closes(m)] == [False, True]


async def test_an_order_whose_end_nobody_tells_holds_no_look_for_long(lines: Lines) -> None:
    p = await lines.person(deposit="2000")
    m = await lines.mandate(p)
    await lines.bought(p, m)
    now = lines.desk.clock.now()
    stuck = lines.order(
        p, m, "BTC", "0.001", "0x" + "99" * 16, status="unknown", sent_at=now, next_check_at=now,
        envelope=Envelope(nonce=1, expires_after=milliseconds(now)),
    )  # fmt: skip
    await lines.desk.store.write(lambda uow: uow.orders.add(stuck))
    lines.desk.test.move("BTC", "58000")
    await lines.ticks(2)
    assert (await lines.stored(m)).status is Status.WORKING, "it may still be told"
    lines.desk.clock.forward(minutes=10)
    await lines.ticks(2)
    assert (lines.held(p), (await lines.stored(m)).status) == (0, Status.STOPPED)


async def test_a_position_that_shrank_meanwhile_is_never_flipped(lines: Lines) -> None:
    for strict in (False, True):
        p, _ = await at_line(lines)
        lines.desk.test.rules.strict_reduce_only = strict
        place = lines.desk.test.exchange

        def first(body: Any, p: Person = p, place: Any = place) -> Any:
            if body["action"]["type"] == "order":
                lines.desk.test.exchange = place  # type: ignore[method-assign]
                lines.trade(p, "BTC", "-0.006")
            return place(body)

        lines.desk.test.exchange = first  # type: ignore[method-assign]
        await lines.tick()
        held = lines.held(p)
        assert held == (Decimal("0.004") if strict else 0)
        for _ in range(3):
            await lines.tick()
        assert lines.held(p) == 0
        lines.desk.test.move("BTC", "64000")


async def test_a_part_below_ten_usdc_is_told_and_a_whole_one_is_closed(lines: Lines) -> None:
    p, m = await at_line(lines)
    await lines.bought(p, m, size="-0.0099")
    lines.trade(p, "BTC", "0.001")
    await lines.ticks(2)
    assert await lines.state(m) == "blocked"
    (*_, told) = await lines.told(m)
    assert "less than 10 USDC" in told[1]
    lines.trade(p, "BTC", "-0.001")
    lines.desk.clock.forward(minutes=10)
    await lines.tick()
    assert lines.held(p) == 0


async def test_without_a_keeper_key_the_owner_is_told_once_and_nothing_is_stopped(
    lines: Lines,
) -> None:
    p = await lines.desk.linked()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    await lines.ticks(5)
    assert (await lines.stored(m)).status is Status.WORKING
    (told,) = await lines.told(m)
    assert "no keeper key" in told[1]
    events = await lines.desk.store.read(lambda uow: uow.ledger.newest(m.public_id))
    assert events[0].payload["why"] == "keeper_blocked"
    await lines.keyed(p)
    await lines.tick()
    assert lines.held(p) == 0


async def test_a_key_that_is_revoked_between_two_steps_ends_them(lines: Lines) -> None:
    p, m = await at_line(lines)
    lines.desk.test.book("BTC", [("58000", "0.005"), ("40000", "9")], [("58100", "9")])
    await lines.tick()
    assert lines.held(p) == Decimal("0.005")
    zero = "0x" + "00" * 20
    name = lines.desk.approval(p, zero, kind="keeper")["agent_name"].split()[0]
    await lines.desk.enabled(p, zero, kind="keeper", agent_name=name, revoke=True)
    await lines.ticks(3)
    assert lines.held(p) == Decimal("0.005")
    assert await lines.state(m) == "warned"


async def test_the_signer_refuses_terms_that_the_wallet_did_not_sign_and_its_owner_is_told_once(
    lines: Lines,
) -> None:
    p = await lines.person()
    m = await lines.mandate(p, by=Account.from_key("0x" + "d1" * 32))
    await lines.bought(p, m)
    lines.desk.test.move("BTC", "58000")
    await lines.ticks(5)
    assert lines.held(p) == Decimal("0.01")
    assert [kind for kind, _ in await lines.told(m)] == ["stop", "note"]
    assert not await lines.closes(m)


async def test_it_closes_with_every_switch_shut_pays_no_builder_and_ends_what_cites_the_mandate(
    lines: Lines,
) -> None:
    desk, store = lines.desk, lines.desk.deps.store
    assert not await store.read(lambda uow: uow.allowlist.all())
    defaults = desk.deps.defaults
    assert [defaults.live_terminal, defaults.live_door, defaults.venue_mainnet] == [False] * 3
    assert desk.deps.config.trading.builder_address is not None
    p, m = await at_line(lines)
    now = desk.clock.now()
    item = Approval(
        "ap_1", m.public_id, "pending", {"address": "0x" + "ee" * 20}, "0x", "h",
        Usdc.parse("30"), None, now, now + timedelta(days=1),
    )  # fmt: skip
    await store.write(lambda uow: uow.approvals.add(item))
    await lines.tick()
    assert lines.held(p) == 0
    assert "builder" not in lines.log.sent("order")[-1]
    assert not [a for a in lines.log.info if a["type"] == "maxBuilderFee"]
    (close,) = await lines.closes(m)
    desk.clock.forward(seconds=2)
    await sync_due_orders(desk.deps)
    assert [f.builder_fee for f in (await lines.found(close)).fills] == [0]
    # The record is stopped, and stays so when the chain is read again: the vault was not.
    books = await store.read(lambda uow: uow.ledger.state(m.public_id))
    assert derive_status(await lines.stored(m), books).status is Status.STOPPED
    assert books.measured.stopped is None
    kept = await store.read(lambda uow: uow.approvals.get(m.public_id, "ap_1"))
    assert kept is not None
    assert kept.status_at(now) == "expired"
    desk.switched(live_terminal=True)
    await allow(desk, p.wallet.address)
    reply = await desk.refused(
        "order_prepare", p.caller, product="BTC", side="buy", type="market", notional_usdc="20", mode_seen="paper", mandate_id=m.public_id,
        book=(await desk.ok("own_paper_book_open", p.caller, name="B"))["book"],
    )  # fmt: skip
    assert reply.body["error"] == "mandate_stopped"


async def test_a_mandate_that_keeps_at_its_floor_or_that_its_owner_stopped_is_left_alone(
    lines: Lines,
) -> None:
    p, m = await at_line(lines, on_floor="keep")
    await lines.ticks(3)
    assert lines.held(p) == Decimal("0.01")
    lines.desk.test.move("BTC", "64000")
    q, n = await at_line(lines)
    await lines.desk.ok("owner_stop", q.caller, public_id=n.public_id)
    await lines.ticks(3)
    assert lines.held(q) == Decimal("0.01")
    assert await lines.keeping(m) is None
    assert await lines.keeping(n) is None


async def test_where_the_vault_itself_stopped_at_its_line_what_it_holds_at_the_venue_is_closed_too(
    lines: Lines,
) -> None:
    p = await lines.person()
    m = await lines.mandate(p)
    await lines.bought(p, m)
    stop = NewEvent(
        kind=LedgerKind.STOP, reported_by=Reporter.CHAIN, occurred_at=lines.desk.clock.now(), tx_hash="0x" + "5" * 64, chain_id=m.chain_id,
        log_index=1, block_number=9, payload={"reason": "floor"},
    )  # fmt: skip

    def work(uow: Any) -> None:
        uow.ledger.append(m.public_id, stop, event_id="ev_stop", now=lines.desk.clock.now())
        found = uow.mandates.get(m.public_id)
        uow.mandates.save(replace(found, status=Status.STOPPED, stopped_at=lines.desk.clock.now()))

    await lines.desk.store.write(work)
    await lines.tick()
    assert lines.held(p) == 0
