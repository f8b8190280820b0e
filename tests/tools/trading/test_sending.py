"""Sending once: wrong signatures, two at once, lost answers, a process that dies, the edge of a cap."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from devtools.devvenue.faults import FaultKind
from tests.tools.trading.conftest import Desk, a_desk, order_key
from tests.tools.trading.orders import (
    LIVE,
    Trader,
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
# How long an order's fate is asked after, on the loop's clock.
RESULT_S = 30


# -- signatures


async def test_abuse_3_two_executions_of_one_confirm_id_at_once_post_once(both: Desk) -> None:
    t = await trader(both)
    made = await t.prepare()
    replies = await asyncio.gather(*(t.execute(made) for _ in range(5)))
    assert t.posted() == 1
    assert {r.status for r in replies} <= {200, 202}
    assert (await t.execute(made)).body["status"] == "executed"
    assert t.posted() == 1


async def test_abuse_4_a_confirm_id_is_nobody_elses(desk: Desk) -> None:
    t, other = await trader(desk), await trader(desk)
    made, mine = await t.prepare(), await other.prepare()
    body = {"confirm_id": made["confirm_id"], "signature": t.sign(made["to_sign"])}
    order_id = made["order"]["order_id"]
    refused = await desk.refused("order_execute", other.caller, order_id=order_id, **body)
    assert code(refused) == (404, "not_found")
    reply = await other.execute(mine, confirm_id=made["confirm_id"])
    assert code(reply) == (422, "wallet_signature_invalid")
    assert t.posted() == other.posted() == 0


@pytest.mark.parametrize("wrong", ["confirm_id", "other bytes", "high s", "other network"])
async def test_abuse_5_to_8_what_was_not_signed_exactly_so_sends_nothing(
    wrong: str, desk: Desk
) -> None:
    t = await trader(desk)
    made, other = await t.prepare(), await t.prepare(side="sell")
    told = json.loads(json.dumps(made["to_sign"]))
    assert told["typed_data"]["message"]["source"] == "b"
    told["typed_data"]["message"]["source"] = "a"
    changes = {
        "confirm_id": {"confirm_id": "c_" + "a" * 26},
        "other bytes": {"signature": t.sign(other["to_sign"])},
        "high s": {"signature": t.sign(made["to_sign"], high=True)},
        "other network": {"signature": t.sign(told)},
    }[wrong]
    assert code(await t.execute(made, **changes)) == (422, "wallet_signature_invalid")
    assert t.posted() == 0


async def test_abuse_5_a_confirm_id_has_128_bits_and_is_kept_as_a_hash(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    assert len(made["confirm_id"]) == 2 + 26
    (row,) = await desk.rows("orders")
    assert made["confirm_id"] not in json.dumps(row, default=str)
    assert len(row["confirm_hash"]) == 64


async def rotated(desk: Desk, t: Trader) -> None:
    """The venue may list the old key for a while."""
    desk.clock.forward(seconds=1)
    await desk.enabled(t.person, order_key(900))


async def ended(desk: Desk, t: Trader) -> None:
    """By our clock, whatever the venue does."""
    await desk.store.write(lambda uow: uow.sql.run("UPDATE venue_agent_keys SET valid_until = 1"))


async def moved(desk: Desk, t: Trader) -> None:
    """An address counts on the list only while it is linked."""
    link = await desk.store.read(lambda uow: uow.venue.link_to(t.person.wallet.address, "testnet"))
    assert link is not None
    await desk.store.write(lambda uow: uow.venue.end_link(link.link_id, "moved", desk.clock.now()))


@pytest.mark.parametrize(
    ("happens", "status", "refused"),
    [
        (rotated, 422, "wallet_signature_invalid"),
        (ended, 409, "wallet_not_ready"),
        (moved, 409, "wallet_mode_changed"),
    ],
    ids=["taken back", "past its end", "of a wallet that moved"],
)
async def test_abuse_9_to_11_a_key_that_ended_a_second_ago_is_dead(
    happens: Callable[[Desk, Trader], Awaitable[None]], status: int, refused: str, desk: Desk
) -> None:
    t = await trader(desk)
    made = await t.prepare()
    await happens(desk, t)
    assert code(await t.execute(made)) == (status, refused)
    if happens is ended:
        again = await desk.refused("order_prepare", t.caller, **LIVE)
        assert again.body["remaining"] == {"step": "enable"}
    assert t.posted() == 0


async def test_the_wallet_itself_may_sign_in_place_of_its_key(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    signed = t.person.wallet.sign_typed_data(full_message=made["to_sign"]["typed_data"])
    word = {"r": f"0x{signed.r:064x}", "s": f"0x{signed.s:064x}", "v": signed.v}
    assert (await t.execute(made, signature=word)).body["status"] == "executed"


async def test_what_is_signed_is_exactly_what_the_ordered_text_says(desk: Desk) -> None:
    import msgpack

    t = await trader(desk)
    told = (await t.prepare())["to_sign"]
    action = json.loads(told["action"])
    assert list(action["orders"][0]) == ["a", "b", "p", "s", "r", "t", "c"]
    assert "0x" + msgpack.packb(action).hex() == told["action_msgpack"]
    assert told["typed_data"]["message"]["connectionId"] == told["action_hash"]


# -- what the venue says


async def test_the_venues_refusal_ends_the_order_in_its_own_words(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    desk.test.book("BTC", [("63000", "1")], [("70000", "1")])
    reply = await t.execute(made)
    assert (reply.status, reply.body["status"], reply.body["verified"]) == (200, "rejected", True)
    refused = reply.body["refusal"]
    assert (refused["error"], refused["venue_kind"]) == ("wallet_venue_rejected", "no_liquidity")
    assert await use(desk) == (0, 0)


async def test_abuse_22_a_partly_filled_order_ends_and_the_rest_is_a_new_order(desk: Desk) -> None:
    t = await trader(desk)
    desk.test.book("BTC", [("63990", "1")], [("64000", "0.0004")])
    made = await t.prepare(size="0.0006", notional_usdc=None)
    told = (await t.execute(made)).body
    assert (told["status"], told["partial"]) == ("executed", True)
    assert (told["filled_size"], told["remaining_size"]) == ("0.0004", "0.0002")
    assert (await t.execute(made)).body == told
    assert t.posted() == 1
    filled = int(64_000 * 1.005 * 0.0004 * 1e6)
    used, reserved = await use(desk)
    assert reserved == 0
    assert abs(used - filled) < 100_000


async def test_abuse_30_a_builder_fee_that_was_taken_back_is_told_and_nothing_is_sent_again(
    desk: Desk,
) -> None:
    t = await trader(desk)
    account = desk.test.account(t.person.wallet.address)
    account.builders[desk.deps.config.trading.builder_address.lower()] = 100  # type: ignore[union-attr]  # it is set
    made = await t.prepare()
    assert made["order"]["builder"]["fee_tenths_bps"] == 100
    account.builders.clear()
    told = (await t.execute(made)).body
    assert (told["status"], told["refusal"]["error"]) == ("rejected", "wallet_not_ready")
    assert len(account.history) == 0


async def test_abuse_35_a_spent_request_budget_of_the_address_is_the_venues_refusal(
    desk: Desk,
) -> None:
    t = await trader(desk)
    first, made = await t.prepare(), await t.prepare()
    desk.test.account(t.person.wallet.address).requests = 10**6
    await t.execute(first)  # one in ten seconds is let through
    told = (await t.execute(made)).body
    assert told["refusal"]["error"] == "wallet_venue_rejected"
    assert told["refusal"]["venue_kind"] == "address_rate"


async def test_abuse_45_an_answer_of_an_unknown_form_is_never_a_success(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, result_s=RESULT_S) as desk:
        t = await trader(desk)
        made = await t.prepare()
        desk.test.faults.after["orderStatus"] = RESULT_S
        path, odd = ("response", "data", "statuses"), [{"waitingForFill": 1}]
        unheard = VenueFault(effect="malformed", route="/exchange", path=path, value=odd, times=1)
        desk.test.faults.add(unheard)
        desk.test.faults.add(VenueFault(effect="status", kind="orderStatus", status=500))
        reply = await t.execute(made)
        assert code(reply) == (504, "wallet_outcome_unknown")
        assert reply.body["detail"]["order"] == await desk.ok(
            "order_get", t.caller, order_id=made["order"]["order_id"]
        )
        desk.test.faults.clear()
        await later(desk, 15)
        assert (await t.stored(made["order"]["order_id"])).status == "executed"
        assert t.posted() == 1


# -- answers that do not come

LOST: list[tuple[FaultKind, dict[str, Any], bool]] = [
    ("hang", {}, False), ("status", {"status": 429}, False), ("status", {"status": 500}, False), ("lost", {}, True),
    ("executed_status", {}, True), ("executed_hang", {}, True), ("not_json", {}, True), ("truncated", {}, True), ("huge", {}, True),
    ("malformed", {"value": None}, True), ("malformed", {"path": ("status",), "value": "odd"}, True),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effect", "more", "happened"),
    LOST,
    ids=[f"{e}-{next(iter(m.values()), '')}" for e, m, _ in LOST],
)
async def test_a_lost_answer_is_asked_after_and_never_sent_again(
    effect: FaultKind, more: dict[str, Any], happened: bool, sqlite_url: str
) -> None:
    async with a_desk(sqlite_url, result_s=RESULT_S) as desk:
        t = await trader(desk)
        made = await t.prepare()
        if not happened:  # asked after, it is not there, until the time for that is over
            desk.test.faults.after["orderStatus"] = RESULT_S
        desk.test.faults.add(VenueFault(effect=effect, route="/exchange", **more))
        reply = await t.execute(made)
        order_id = made["order"]["order_id"]
        if happened:
            assert (reply.status, reply.body["status"]) == (200, "executed"), reply.body
        else:
            assert code(reply) == (504, "wallet_outcome_unknown")
            assert reply.body["detail"]["order"]["status"] == "unknown"
            assert reply.body["retry_safe"] is False
            again = await t.execute(made)
            assert (again.status, again.body["status"]) == (202, "unknown")
            assert all(reserved > 0 for _, reserved in (await day_use(desk)).values())
            await later(desk, *[60] * 5)
            stored = await t.stored(order_id)
            assert stored.status == "rejected"
            assert await use(desk) == (0, 0)
        assert t.posted() == (1 if happened else 0)


@pytest.mark.slow
async def test_while_the_venue_is_silent_about_it_an_order_stays_unknown_and_reserved(
    sqlite_url: str,
) -> None:
    async with a_desk(sqlite_url, result_s=RESULT_S) as desk:
        t = await trader(desk)
        made = await t.prepare()
        desk.test.faults.after["orderStatus"] = RESULT_S
        desk.test.faults.add(VenueFault(effect="lost", route="/exchange", times=1))
        desk.test.faults.add(VenueFault(effect="status", kind="orderStatus", status=503))
        assert code(await t.execute(made)) == (504, "wallet_outcome_unknown")
        await later(desk, *[200] * 4)
        assert (await t.stored(made["order"]["order_id"])).status == "unknown"
        assert all(reserved > 0 for _, reserved in (await day_use(desk)).values())
        desk.test.faults.clear()
        await later(desk, 61)
        stored = await t.stored(made["order"]["order_id"])
        assert (stored.status, stored.verified, stored.fills_whole) == ("executed", True, True)
        assert t.posted() == 1


async def test_without_a_connection_nothing_was_sent_and_the_order_ends(desk: Desk) -> None:
    t = await trader(desk)
    made = await t.prepare()
    venue = desk.networks.get("testnet")
    venue.client.url = "http://127.0.0.1:9"
    reply = await t.execute(made)
    assert code(reply) == (503, "wallet_venue_unavailable")
    assert int(reply.headers["Retry-After"]) >= 1
    assert t.posted() == 0


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", [False, True], ids=["before sending", "after sending"])
async def test_abuse_23_a_process_that_dies_leaves_an_order_that_is_settled_by_its_cloid(
    after: bool, both: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = await trader(both)
    made = await t.prepare()
    client = both.networks.get("testnet").client
    real = client.send

    async def dies(*raw: Any, **more: Any) -> Any:
        if after:
            await real(*raw, **more)
        raise Killed

    monkeypatch.setattr(client, "send", dies)
    with pytest.raises(BaseException):  # noqa: B017 - what ends a process
        await t.execute(made)
    monkeypatch.setattr(client, "send", real)
    order_id = made["order"]["order_id"]
    assert (await t.stored(order_id)).status == "executing"
    again = await t.execute(made)
    assert (again.status, again.body["status"]) == (202, "executing")
    await later(both, 11)
    stored = await t.stored(order_id)
    if after:
        assert (stored.status, t.posted()) == ("executed", 1)
    else:
        assert stored.status == "unknown"
        await later(both, *[60] * 5)
        assert ((await t.stored(order_id)).status, t.posted()) == ("rejected", 0)


# -- the edge of a cap


@pytest.mark.parametrize("cap", [6, 1])
async def test_abuse_24_fifty_parallel_orders_end_exactly_at_the_cap(
    cap: int, database_url: str
) -> None:
    """Orders of exactly 20 USDC against a day of `cap` times as much."""
    async with a_desk(database_url, cap_per_day_micros=cap * 20_000_000) as desk:
        t = await trader(desk)
        desk.deps.throttle.take = lambda *a, **k: None  # type: ignore[method-assign]  # the cap is what is tried
        body = {"type": "limit", "limit_px": "50000", "size": "0.0004", "notional_usdc": None}
        orders = (ordered(desk, t.caller, **body, mode_seen="live") for _ in range(50))
        replies = await asyncio.gather(*orders)
        took = [r for r in replies if r.status == 201]
        assert len(took) == cap
        assert {code(r) for r in replies if r.status != 201} == {(403, "wallet_over_cap")}
        assert await use(desk) == (0, cap * 20_000_000)


async def test_abuse_24_an_order_of_yesterday_that_is_sent_today_counts_today(desk: Desk) -> None:
    t = await trader(desk)
    desk.clock.forward(hours=11, minutes=59, seconds=30)
    made = await t.prepare()
    desk.clock.forward(seconds=60)
    assert (await t.execute(made)).body["status"] == "executed"
    rows = {
        (r["scope"].split(":")[1], r["day"]): (r["used_micros"], r["reserved_micros"])
        for r in await desk.rows("order_counters")
    }
    notional = micros(made["order"]["notional_usdc"])
    assert rows == {
        ("all", "2026-11-20"): (0, 0), ("all", "2026-11-21"): (notional, 0),
        ("terminal", "2026-11-20"): (0, 0), ("terminal", "2026-11-21"): (notional, 0),
    }  # fmt: skip


async def test_the_caps_of_a_wallet_hold_over_both_surfaces(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, cap_per_day_micros=50_000_000) as desk:
        t = await trader(desk)
        await t.prepare(notional_usdc="40")
        told = await desk.ok("order_cap", t.caller)
        assert told["per_day"]["source"] == "operator"
        reply = await ordered(desk, t.caller)
        assert code(reply) == (403, "wallet_over_cap")
        assert reply.body["retry_at"] == "2026-11-21T00:00:00.000Z"
        assert reply.body["remaining"]["cap"] == "per_day"


async def test_nonces_are_never_given_out_twice(both: Desk) -> None:
    t = await trader(both)
    both.deps.throttle.take = lambda *a, **k: None  # type: ignore[method-assign]  # many at once
    made = await asyncio.gather(*(t.prepare(notional_usdc="11") for _ in range(8)))
    assert len({m["to_sign"]["nonce"] for m in made}) == 8
    assert len({m["order"]["cloid"] for m in made}) == 8


# -- what is told of it


async def test_abuse_42_and_43_secrets_are_refused_and_nothing_signed_is_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    t = await trader(desk)
    made = await t.prepare()
    signature = t.sign(made["to_sign"])
    body = {"order_id": made["order"]["order_id"], "confirm_id": made["confirm_id"]}
    for extra in ({"privateKey": "x"}, {"api_secret": "x"}):
        reply = await desk.refused("order_record", t.caller, **body, venue_response=extra)
        assert code(reply) == (400, "secret_not_accepted")
    reply = await ordered(desk, t.caller, why="0x" + "4f" * 32)
    assert code(reply) == (400, "secret_not_accepted")
    assert (await t.execute(made)).body["status"] == "executed"
    for word in (made["confirm_id"], signature["r"], signature["s"]):
        assert word not in caplog.text


async def test_abuse_41_a_reason_is_kept_as_it_was_written(desk: Desk) -> None:
    t = await trader(desk)
    why = "<img src=x onerror=alert(1)> & 'more'"
    made = await t.prepare(why=why)
    assert (await desk.ok("order_get", t.caller, order_id=made["order"]["order_id"]))["why"] == why


async def test_a_mandate_that_an_order_cites_is_another_owners_404(desk: Desk) -> None:
    t = await trader(desk)
    scout = await agent(desk, t)
    for who in (t.caller, scout):
        reply = await ordered(desk, who, mandate_id="m_aaaaaaaaaa")
        assert code(reply) == (404, "not_found")
