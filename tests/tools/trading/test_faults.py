"""Every fault of the venue on every route that asks it: the right refusal, in time, nothing half written, the loop free."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any, get_args

import pytest

from devtools.devvenue import VenueFault
from devtools.devvenue.faults import FaultKind
from domain.refusals import Refused
from domain.trading.venue_account import TERMS
from tests.tools.trading.conftest import Desk, Person, a_desk, order_key
from tools.catalogue import OPERATIONS
from tools.model.operation import Caller, OperationResult
from venue.budget import WEIGHT_PER_MINUTE

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WHO = "0x" + "ab" * 20
Call = Callable[[Desk, Person], Awaitable[OperationResult]]
TABLES = ("venue_links", "venue_agent_keys", "venue_builder_fees", "venue_intents")
# Without an answer: the words of the refusal, or what is said in place of one.
OPEN: dict[str, dict[str, Any]] = {
    "info_meta": {}, "info_spot_meta": {}, "info_funding": {"coin": "BTC"}, "info_order_history": {"user": WHO},
    "info_fees": {"user": WHO}, "info_portfolio": {"user": WHO}, "indices_list": {}, "index_get": {"sym": "xyz:XYZ100"},
}  # fmt: skip
EFFECTS: list[tuple[FaultKind, dict[str, Any]]] = [
    ("hang", {}), ("status", {"status": 429}), ("status", {"status": 500}), ("status", {"status": 502}), ("status", {"status": 422}),
    ("lost", {}), ("executed_status", {}), ("executed_hang", {}), ("not_json", {}), ("truncated", {}), ("huge", {}),
    ("malformed", {"value": "nonsense"}), ("malformed", {"value": None}), ("malformed", {"value": 5.5}),
]  # fmt: skip
IDS = [f"{e}-{next(iter(m.values()), '')}" for e, m in EFFECTS]


async def in_time(desk: Desk, name: str, who: Caller, **request: Any) -> OperationResult:
    """The reply, after two silences of the venue at most, while the loop keeps turning.

    Held is counted in CPU of the loop's thread, which a loaded machine does not change; a call that
    blocks it otherwise would never come back, because the venue answers on the same loop.
    """
    longest, last, done = 0.0, time.thread_time(), False

    async def beat() -> None:
        nonlocal longest, last
        while not done:
            await asyncio.sleep(0.005)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    beating = asyncio.ensure_future(beat())
    try:
        before = desk.outlasted()
        reply = await desk.do(name, who, **request)
        assert desk.outlasted() - before <= 2, "it waits for every silence anew"
    finally:
        done = True
        await beating
    assert longest < 0.25, f"something held the loop for {longest:.3f} s"
    return reply


def broken(desk: Desk, effect: FaultKind, more: dict[str, Any]) -> None:
    for venue in (desk.main, desk.test):
        venue.faults.add(VenueFault(effect=effect, **more))


each_fault = pytest.mark.parametrize(("effect", "more"), EFFECTS, ids=IDS)


def unavailable(reply: OperationResult) -> bool:
    return (reply.status, reply.body.get("error")) == (503, "venue_unavailable")


async def nothing_written(desk: Desk) -> bool:
    return [await desk.rows(t) for t in TABLES] == [[]] * 4


@each_fault
async def test_an_open_route_refuses_with_venue_unavailable(
    effect: FaultKind, more: dict[str, Any], desk: Desk
) -> None:
    broken(desk, effect, more)
    for name, asked in OPEN.items():
        desk.clock.forward(minutes=2)
        reply = await in_time(desk, name, Caller("nobody"), **asked)
        assert unavailable(reply), (name, reply.body)
        assert int(reply.headers["Retry-After"]) >= 1, name
        assert (reply.body["who_fixes"], reply.body["retry_safe"]) == ("venue", True), name
    assert await nothing_written(desk)


@each_fault
async def test_a_link_is_refused_and_leaves_no_link(
    effect: FaultKind, more: dict[str, Any], desk: Desk
) -> None:
    p = await desk.person()
    told = await desk.challenge(p)
    broken(desk, effect, more)
    reply = await in_time(desk, "own_link", p.caller, **desk.answered(told, p.wallet))
    assert unavailable(reply), reply.body
    assert await nothing_written(desk)


@each_fault
async def test_an_approval_without_an_answer_is_never_a_success(
    effect: FaultKind, more: dict[str, Any], desk: Desk
) -> None:
    p = await desk.linked()
    broken(desk, effect, more)
    asked = desk.approval(p, order_key(1))
    reply = await in_time(desk, "own_enable_relay", p.caller, **asked)
    assert (reply.status, reply.body.get("error")) == (504, "outcome_unknown"), reply.body
    routes = {n["route"] for n in reply.body["next"] if "route" in n}
    assert routes == {"POST /wallet/own/enable/verify", "POST /wallet/own/enable/relay"}
    assert [r["status"] for r in await desk.rows("venue_agent_keys")] == ["unknown"]
    for venue in (desk.main, desk.test):
        venue.faults.clear()
    desk.clock.forward(seconds=5)
    again = await in_time(desk, "own_enable_relay", p.caller, **asked)
    assert again.status == 200, again.body
    assert (await desk.ok("own_enable_verify", p.caller))["enabled"] is True
    assert sum(len(a.agents) for a in desk.test.state.accounts.values()) == 1


@each_fault
async def test_verify_status_and_builder_fee_say_that_they_do_not_know(
    effect: FaultKind, more: dict[str, Any], desk: Desk
) -> None:
    p = await desk.linked()
    await desk.enabled(p, order_key(1))
    await desk.ok("own_enable_verify", p.caller)
    before = [await desk.rows(t) for t in TABLES]
    broken(desk, effect, more)
    desk.clock.forward(minutes=5)
    assert unavailable(await in_time(desk, "own_enable_verify", p.caller))
    status = await in_time(desk, "own_status", p.caller)
    # What was verified stands.
    unknown = {"enabled": True, "stale": True, "equity_usdc": None, "funded": None}
    assert (status.status, status.body) == (200, {**status.body, **unknown})
    fee = await in_time(desk, "builder_fee_status", p.caller)
    assert (fee.status, fee.body["approved"], fee.body["stale"]) == (200, False, True)
    assert [await desk.rows(t) for t in TABLES] == before
    asked = {"wallet": p.wallet.address, "max_fee_rate": "0.1%"}
    told = await in_time(desk, "builder_fee_record", p.caller, **asked)
    figures = (told.status, told.body["verified"], told.body["approved_tenths_bps"])
    assert figures == (200, False, None)


async def quiet(desk: Desk, p: Person) -> list[int]:
    """The statuses of every route that asks the venue nothing."""
    text = {"address": p.wallet.address, "terms_sha256": TERMS.sha256}
    calls: list[tuple[str, Caller, dict[str, Any]]] = [
        ("own_terms", Caller("nobody"), {}),
        ("builder_fee_config", Caller("nobody"), {}),
        ("builder_fee_count", Caller("admin", credential="x"), {}),
        ("own_link_challenge", p.caller, text),
        ("own_intent", p.caller, {"kind": "hold"}),
        ("own_status", p.caller, {}),
    ]
    return [(await in_time(desk, name, who, **asked)).status for name, who, asked in calls]


@each_fault
async def test_what_needs_no_venue_is_answered_under_every_fault(
    effect: FaultKind, more: dict[str, Any], desk: Desk
) -> None:
    broken(desk, effect, more | {"times": 1_000})
    assert await quiet(desk, await desk.person()) == [200, 200, 200, 201, 201, 200]
    faults = [*desk.main.faults.rows, *desk.test.faults.rows]
    assert [f.times for f in faults] == [1_000, 1_000], "the venue was asked"


async def test_what_needs_no_venue_works_without_one(sqlite_url: str) -> None:
    async with a_desk(sqlite_url, down=True) as desk:
        p = await desk.person()
        assert await quiet(desk, p) == [200, 200, 200, 201, 201, 200]
        assert (await desk.ok("own_status", p.caller))["linked"] is False


def test_the_matrix_of_faults_has_every_route_of_this_side_once() -> None:
    """Nineteen routes; each stands in the test of its kind above."""
    here = ("/wallet/builder-fee/", "/wallet/indices", "/wallet/info/", "/wallet/own/")
    routes = {op.name for op in OPERATIONS if op.route and op.route[1].startswith(here)}
    kinds = [
        list(OPEN),
        ["own_link"],
        ["own_enable_relay"],
        ["own_enable_verify", "own_status", "builder_fee_status", "builder_fee_record"],
        ["own_terms", "builder_fee_config", "builder_fee_count", "own_link_challenge", "own_intent"],
    ]  # fmt: skip
    named = [name for kind in kinds for name in kind]
    assert len(named) == len(set(named)) == 19
    assert routes - {n for n in routes if n.startswith("own_paper")} == set(named)
    assert {e for e, _ in EFFECTS} | {"unknown_field", "frozen"} == set(get_args(FaultKind))


async def test_unknown_fields_change_no_answer(desk: Desk) -> None:
    p = await desk.linked()
    plain = [await desk.ok(name, **asked) for name, asked in OPEN.items()]
    desk.clock.forward(minutes=10)
    broken(desk, "unknown_field", {})
    again = [await desk.ok(name, **asked) for name, asked in OPEN.items()]

    def timeless(raw: Any) -> Any:
        return {k: v for k, v in raw.items() if k not in ("as_of", "indices", "data")}

    for one, two in zip(plain, again, strict=True):
        assert timeless(one).keys() == timeless(two).keys()
        assert "unheardOf" not in str(two)
    await desk.enabled(p, order_key(1))
    assert (await desk.ok("own_enable_verify", p.caller))["enabled"] is True
    met = desk.networks.unknown_counts()
    for kind in ("meta", "spotMeta", "fundingHistory", "userFees"):
        assert met["mainnet", kind, "field"] > 0
    assert met["mainnet", "metaAndAssetCtxs", "field"] > 0
    assert met["testnet", "extraAgents", "field"] > 0


EXHAUSTED = "Too many cumulative requests sent (37986 > 10436) for cumulative volume traded $1.0."


@pytest.mark.parametrize("words", [EXHAUSTED, "Something that nobody has heard"])
async def test_abuse_35_an_exhausted_address_or_unknown_words_are_refused_in_the_venues_words(
    words: str, desk: Desk
) -> None:
    p, value = await desk.linked(), {"status": "err", "response": words}
    desk.test.faults.add(VenueFault(effect="malformed", route="/exchange", value=value))
    reply = await desk.refused("own_enable_relay", p.caller, **desk.approval(p, order_key(1)))
    assert (reply.status, reply.body["error"]) == (409, "conflict")
    assert reply.body["detail"]["venue"] == words
    assert await desk.rows("venue_agent_keys") == []


async def test_abuse_35_while_an_address_is_exhausted_the_lanes_of_closes_and_the_keeper_stay_open(
    desk: Desk,
) -> None:
    """The venue refuses the address; this service's own budget is nobody's address, and keeps a
    reserve however often the refused owner and strangers try."""
    p = await desk.linked()
    refused = {"status": "err", "response": EXHAUSTED}
    desk.test.faults.add(VenueFault(effect="malformed", route="/exchange", value=refused))
    budget = desk.networks.get("testnet").client._budget
    tried = 0
    while tried < 2_000:
        asked = desk.approval(p, order_key(1_000 + tried))
        reply = await desk.refused("own_enable_relay", p.caller, **asked)
        tried += 1
        if reply.status == 503:
            break
        assert reply.body["detail"]["venue_kind"] == "address_rate"
        with contextlib.suppress(Refused):
            await budget.take("house", 20)
    assert reply.status == 503, "the house's share never ran out"
    assert int(reply.headers["Retry-After"]) >= 1
    await budget.take("close", 200)
    await budget.take("keeper", 200)
    assert sum((await budget.used()).values()) <= WEIGHT_PER_MINUTE


async def test_abuse_45_an_ok_with_an_unknown_object_is_unknown_and_not_a_success(
    desk: Desk,
) -> None:
    p = await desk.linked()
    new = {"status": "ok", "response": {"type": "new"}}
    for value in ({"status": "ok"}, new, {"status": "maybe"}, []):
        desk.test.faults.clear()
        desk.clock.forward(minutes=1)
        desk.test.faults.add(VenueFault(effect="malformed", route="/exchange", value=value))
        desk.test.faults.add(VenueFault(effect="malformed", kind="extraAgents", value=[]))
        asked = desk.approval(p, order_key(desk.next_nonce()))
        reply = await desk.refused("own_enable_relay", p.caller, **asked)
        assert (reply.status, reply.body["error"]) == (504, "outcome_unknown"), value
