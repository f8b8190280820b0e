"""What waits for an owner goes no further than its mandate: a stop, a settlement or the end closes it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.world import CHAIN_ID, Mandated, World, error_of, working
from tools.model.operation import OperationResult

pytestmark = pytest.mark.anyio

BOTH: Final = ("approve", "decline")


async def _waiting(world: World, **terms: Any) -> tuple[Mandated, str, str]:
    """A mandate with one item that waits, and one that was approved."""
    m = await working(world, approval_above_usdc="20", **terms)
    waits, agreed = await _asked(m, "30"), await _asked(m, "31")
    assert (await _decide(m, agreed, "approve")).status == 200
    return m, waits, agreed


async def _asked(m: Mandated, amount: str) -> str:
    told = (await m.execute(amount)).body
    return str(told["approval"]["approval_id"])


async def _decide(m: Mandated, item: str, decision: str) -> OperationResult:
    return await m.as_owner("owner_approval_decide", approval_id=item, decision=decision)


async def _sent(m: Mandated, name: str, kind: str) -> None:
    """Send the owner's call, and bring its transaction in."""
    body = (await m.as_owner(name)).body
    ok, tx = await m.world.mined(m.owner_wallet, body.get("stop_call") or body["call"])
    assert ok
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx, kind=kind)).status == 200


async def _stopped_in_the_record(m: Mandated) -> None:
    assert (await m.as_owner("owner_stop")).status == 200


async def _stopped_by_the_agent(m: Mandated) -> None:
    """Only the vault's log tells of it."""
    call = (await m.as_agent("mandate_forfeit")).body["call"]
    await m.recorded(m.agent_wallet, call)


async def _left(m: Mandated) -> None:
    """One transaction stops, settles and pays."""
    await _sent(m, "owner_withdraw_call", "withdraw")


async def _ended(m: Mandated) -> None:
    m.world.clock.forward(hours=13)


WAYS: Final = {
    "record": (_stopped_in_the_record, "stopped"),
    "vault": (_stopped_by_the_agent, "stopped"),
    "left": (_left, "settled"),
    "end": (_ended, "ended"),
}


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_waits_and_nothing_is_decided_once_a_mandate_is_over(
    both: World, way: str
) -> None:
    m, waits, agreed = await _waiting(both, **({"horizon_days": 1} if way == "end" else {}))
    if way == "end":
        both.clock.forward(hours=12)
        waits = await _asked(m, "32")
    over, status = WAYS[way]
    await over(m)
    read = await m.read()
    assert read["progress"]["status"] == status
    assert read["limits"]["used"]["pending_approvals"]["value"] == 0
    listed = await both.ok("mandate_list", m.owner)
    assert [row["pending_approvals"] for row in listed["items"]] == [0]
    for name, named in (("mandate_approvals", {"public_id": m.id}), ("owner_approvals", {})):
        shown = (await both.ok(name, m.owner, **named))["items"]
        assert {i["approval_id"]: i["status"] for i in shown}[waits] == "expired"
        pending = await both.ok(name, m.owner, **named, status="pending")
        assert pending["items"] == []
        expired = (await both.ok(name, m.owner, **named, status="expired"))["items"]
        assert waits in [i["approval_id"] for i in expired]
    for decision in BOTH:
        told = await _decide(m, waits, decision)
        assert (told.status, told.body["error"]) == (409, "wrong_status"), told.body
        assert status in told.body["reason"]
    assert await error_of(_decide(m, agreed, "decline")) == "wrong_status"


async def test_a_decision_of_before_the_stop_is_repeated_after_it(world: World) -> None:
    m, waits, agreed = await _waiting(world)
    declined = await _asked(m, "33")
    said = {agreed: "approve", declined: "decline"}
    before = {item: (await _decide(m, item, what)).body for item, what in said.items()}
    await _stopped_in_the_record(m)
    for item, what in said.items():
        again = await _decide(m, item, what)
        assert (again.status, again.body) == (200, before[item])
    assert (await _decide(m, waits, "approve")).status == 409


async def test_a_stop_that_is_not_deep_enough_yet_is_a_stop_for_decisions(world: World) -> None:
    m, waits, _ = await _waiting(world)
    world.chains.get(CHAIN_ID).confirmations = 2
    call = (await m.as_agent("mandate_forfeit")).body["call"]
    ok, _ = await world.mined(m.agent_wallet, call)
    assert ok
    refused = await _decide(m, waits, "approve")
    assert refused.body["error"] == "wrong_status"
    read = await m.read()
    assert (read["mandate"]["provisional"], read["mandate"]["status"]) == (True, "stopped")
    assert read["limits"]["used"]["pending_approvals"]["value"] == 0


async def test_an_item_is_good_no_longer_than_its_mandate(world: World) -> None:
    m, _, _ = await _waiting(world, horizon_days=1)
    world.clock.forward(hours=20)
    told = (await m.execute("40")).body["approval"]
    assert told["expires_at"] == (await m.read())["mandate"]["ends_at"]
