"""What an agent is told after an answer was lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.mandates.test_calls import bought, down
from tests.world import CHAIN_ID, World, working

pytestmark = pytest.mark.anyio


async def test_an_action_is_pending_while_it_may_be_sent_then_landed(world: World) -> None:
    m = await working(world)
    assert (await m.as_agent("mandate_reconcile", action_hash="none such")).body[
        "outcome"
    ] == "not_seen"
    told = await m.execute("10")
    key = told.body["action_hash"]
    waits = (await m.as_agent("mandate_reconcile", action_hash=key)).body
    assert (waits["outcome"], waits["reserved_until"]) == ("pending", told.body["reserved_until"])
    world.clock.forward(minutes=11)
    assert (await m.as_agent("mandate_reconcile", action_hash=key)).body["outcome"] == "not_seen"
    tx = await bought(m, "10")
    landed = (await m.as_owner("mandate_reconcile", action_hash=key)).body
    assert landed["outcome"] == "landed"
    assert [e["tx_hash"] for e in landed["events"]] == [tx]
    assert landed["block"]["number"] > 0
    other = (await m.execute("11", dry_run=True)).body["action_hash"]
    assert (await m.as_agent("mandate_reconcile", action_hash=other)).body["outcome"] == "not_seen"


async def test_a_held_action_is_pending(world: World) -> None:
    m = await working(world, approval_above_usdc="5")
    held = (await m.execute("10")).body
    assert (await m.as_agent("mandate_reconcile", action_hash=held["action_hash"])).body[
        "outcome"
    ] == "pending"
    await m.as_owner(
        "owner_approval_decide", approval_id=held["approval"]["approval_id"], decision="decline"
    )
    assert (await m.as_agent("mandate_reconcile", action_hash=held["action_hash"])).body[
        "outcome"
    ] == "not_seen"


async def test_a_transaction_no_block_holds_yet_is_pending(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    node, sent = world.chains.get(CHAIN_ID).node(), "0x" + "77" * 32
    real = node.ask

    async def ask(method: str, *args: Any) -> Any:
        if method == "eth_getTransactionByHash" and args[0] == sent:
            return {"hash": sent, "blockNumber": None}
        return await real(method, *args)

    monkeypatch.setattr(node, "ask", ask)
    assert (await m.as_agent("mandate_reconcile", tx_hash=sent)).body["outcome"] == "pending"
    assert (await m.as_agent("mandate_reconcile", tx_hash="0x" + "78" * 32)).body[
        "outcome"
    ] == "not_seen"


async def test_an_unreachable_chain_is_never_called_not_seen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    tx = await bought(m, "10")
    assert (await m.as_agent("mandate_reconcile", tx_hash=tx)).body["outcome"] == "landed"
    down(monkeypatch)
    told = await m.as_agent("mandate_reconcile", tx_hash=tx)
    assert (told.status, told.body["error"], told.body["retry_safe"]) == (
        503,
        "chain_unavailable",
        True,
    )


async def test_a_key_tells_what_its_first_answer_was(world: World) -> None:
    m = await working(world)
    late = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="150", key="k1")
    assert late.status == 202
    told = (await m.as_agent("mandate_reconcile", idempotency_key="k1")).body
    assert (told["outcome"], told["response"]["status"]) == ("landed", 202)
    assert told["response"]["body"]["event"]["event_id"] == late.body["event"]["event_id"]
    refused = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="-1", key="k2")
    assert refused.refused
    assert (await m.as_agent("mandate_reconcile", idempotency_key="k2")).body[
        "outcome"
    ] == "not_seen"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tx_hash": "0x12"},
        {"idempotency_key": "a b"},
        {"tx_hash": "0x" + "00" * 32, "action_hash": "x"},
    ],
    ids=str,
)
async def test_exactly_one_thing_is_asked_for(world: World, fields: dict[str, Any]) -> None:
    m = await working(world)
    told = await m.as_agent("mandate_reconcile", **fields)
    assert (told.status, told.body["error"]) == (400, "invalid_request")
