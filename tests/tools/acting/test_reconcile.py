"""What an agent is told after an answer was lost."""

from __future__ import annotations

from typing import Any

import pytest

from chain.rpc.client import NodeError
from domain.chain_facts import Call
from tests.tools.mandates.test_calls import bought, down
from tests.world import CHAIN_ID, Mandated, World, working
from tools.keeper.claim_expiry import expire_claims

pytestmark = pytest.mark.anyio


async def outcome(m: Mandated, **of: Any) -> dict[str, Any]:
    told = await m.as_agent("mandate_reconcile", **of)
    assert told.status == 200, told.body
    return dict(told.body)


async def held(m: Mandated) -> str:
    return str((await m.read())["limits"]["used"]["per_day"]["reserved"])


async def asked(m: Mandated, amount: str, approve: str) -> dict[str, Any]:
    """Calldata of a deposit that may pull more than it does."""
    told = await m.as_agent(
        "mandate_execute_call",
        target=m.world.evm.market,
        data=m.world.deposit_data(m.vault, amount),
        approve_amount=approve,
    )
    assert told.status == 200, told.body
    return dict(told.body)


async def reverted(m: Mandated, call: dict[str, Any]) -> str:
    """Let a call that was handed out revert: the owner pauses for as long."""
    pause = (await m.as_owner("owner_pause_call")).body["call"]
    assert (await m.world.mined(m.owner_wallet, pause))[0]
    ok, tx = await m.world.mined(m.agent_wallet, call, gas=900_000)
    assert not ok
    resume = (await m.as_owner("owner_resume_call")).body["call"]
    assert (await m.world.mined(m.owner_wallet, resume))[0]
    return tx


async def test_an_action_is_pending_while_it_may_be_sent_then_landed(world: World) -> None:
    m = await working(world)
    never = await outcome(m, action_hash="0x" + "ab" * 32)
    assert (never["outcome"], never["retry_safe"]) == ("not_seen", True)
    told = await m.execute("10")
    key = told.body["action_hash"]
    waits = await outcome(m, action_hash=key)
    assert (waits["outcome"], waits["reserved_until"]) == ("pending", told.body["reserved_until"])
    assert waits["retry_safe"] is False
    world.clock.forward(minutes=11)
    assert (await outcome(m, action_hash=key))["outcome"] == "not_seen"
    ok, tx = await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok
    mined = await outcome(m, action_hash=key.upper().replace("0X", "0x"))
    assert (mined["outcome"], mined["tx_hash"], mined["events"]) == ("landed", tx, [])
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    landed = (await m.as_owner("mandate_reconcile", action_hash=key)).body
    assert landed["outcome"] == "landed"
    assert [e["tx_hash"] for e in landed["events"]] == [tx]
    assert landed["block"]["number"] == mined["block"]["number"]
    other = (await m.execute("11", dry_run=True)).body["action_hash"]
    assert (await outcome(m, action_hash=other))["outcome"] == "not_seen"


async def test_a_reverted_call_is_never_pending_nor_landed_with_anothers(world: World) -> None:
    m = await working(world)
    first = await asked(m, "20", "20")
    failed = await reverted(m, first)
    assert await held(m) == "20.000000"
    told = await outcome(m, action_hash=first["action_hash"])
    assert (told["outcome"], told["tx_hash"]) == ("reverted", failed)
    assert await held(m) == "0.000000"
    alike = await asked(m, "19", "20")
    assert alike["action_hash"] != first["action_hash"]
    ok, tx = await world.mined(m.agent_wallet, alike, gas=900_000)
    assert ok
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    assert (await outcome(m, action_hash=first["action_hash"]))["outcome"] == "reverted"
    landed = await outcome(m, action_hash=alike["action_hash"])
    assert (landed["outcome"], landed["tx_hash"]) == ("landed", tx)


async def test_calldata_that_was_never_sent_is_never_landed(world: World) -> None:
    m = await working(world)
    tx = await bought(m, "10")
    alike = (await asked(m, "9", "10"))["action_hash"]
    again = (await m.execute("10")).body["action_hash"]
    for key in (alike, again):
        assert (await outcome(m, action_hash=key))["outcome"] == "pending"
    assert await held(m) == "20.000000"
    world.clock.forward(minutes=11)
    for key in (alike, again):
        told = await outcome(m, action_hash=key)
        assert (told["outcome"], told["events"]) == ("not_seen", [])
    assert (await outcome(m, tx_hash=tx))["outcome"] == "landed"


async def test_a_proven_revert_ends_its_own_reservation_and_no_other(world: World) -> None:
    m = await working(world)
    first, alike = await asked(m, "20", "20"), await asked(m, "19", "20")
    failed = await reverted(m, first)
    told = await m.as_agent(
        "mandate_report_refusal", reason="server_guard", check="NotAgent", tx_hash=failed
    )
    assert (told.body["proven"], told.body["vault_error"]) == (True, "NotAgent")
    assert await held(m) == "20.000000"
    assert (await outcome(m, action_hash=alike["action_hash"]))["outcome"] == "pending"
    # Handed out anew it counts anew, and the old revert says nothing of it.
    anew = await asked(m, "20", "20")
    assert anew["action_hash"] == first["action_hash"]
    assert await held(m) == "40.000000"
    assert (await outcome(m, tx_hash=failed))["outcome"] == "reverted"
    assert await held(m) == "40.000000"
    assert (await outcome(m, action_hash=anew["action_hash"]))["outcome"] == "pending"


async def test_a_reported_action_whose_receipt_reverted_holds_nothing(world: World) -> None:
    m = await working(world)
    failed = await reverted(m, await asked(m, "20", "20"))
    await m.as_agent("mandate_report_event", kind="buy", amount_usdc="20", tx_hash=failed)
    chain, mandate = (
        world.chains.get(CHAIN_ID),
        await world.store.read(lambda uow: uow.mandates.get(m.id)),
    )
    assert mandate is not None
    assert await expire_claims(world.deps, chain, [mandate]) == 1
    seen = await m.read()
    assert seen["progress"]["pending_claims"]["count"] == 0
    assert seen["limits"]["used"]["per_day"]["reserved"] == "0.000000"


async def test_what_nonces_cannot_tell_is_unknown_and_says_why(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    key = (await m.execute("10")).body["action_hash"]
    node = world.chains.get(CHAIN_ID).node().clients[0]
    real = node.ask

    async def smart(method: str, *args: Any) -> Any:
        return "0xef01" if method == "eth_getCode" else await real(method, *args)

    monkeypatch.setattr(node, "ask", smart)
    told = await outcome(m, action_hash=key)
    assert (told["outcome"], "contract" in told["why"]) == ("unknown", True)

    async def pruned(method: str, *args: Any) -> Any:
        if method == "eth_getTransactionCount":
            raise NodeError(-32000, "missing trie node", None)
        return await real(method, *args)

    monkeypatch.setattr(node, "ask", pruned)
    told = await outcome(m, action_hash=key)
    assert (told["outcome"], "no longer knows" in told["why"]) == ("unknown", True)
    down(monkeypatch)
    told = await outcome(m, action_hash=key)
    assert (told["outcome"], told["why"]) == ("unknown", "The chain could not be asked.")
    assert told["retry_safe"] is False


async def test_a_call_among_many_others_is_found_by_its_nonce(world: World) -> None:
    m = await working(world)
    given = await asked(m, "10", "10")
    for n in range(3):
        world.evm.chain.mine()
        await m.agent_wallet.send(Call(CHAIN_ID, m.owner_wallet.address, "0x", str(n)))
    ok, tx = await world.mined(m.agent_wallet, given, gas=900_000)
    assert ok
    for _ in range(5):
        world.evm.chain.mine()
    told = await outcome(m, action_hash=given["action_hash"])
    assert (told["outcome"], told["tx_hash"]) == ("landed", tx)
    assert told["block"]["depth"] == 5


async def test_a_transaction_of_something_else_is_not_called_landed(world: World) -> None:
    m = await working(world)
    receipt = await m.agent_wallet.send(Call(CHAIN_ID, m.owner_wallet.address, "0x", "1"))
    told = await outcome(m, tx_hash="0x" + bytes(receipt["transactionHash"]).hex())
    assert (told["outcome"], told["events"]) == ("unknown", [])
    assert "nothing in it is of this mandate" in told["why"]
    assert told["block"]["number"] == receipt["blockNumber"]


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
    node, sent = world.chains.get(CHAIN_ID).node().clients[0], "0x" + "77" * 32
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
    assert (await outcome(m, tx_hash=tx))["outcome"] == "landed"
    down(monkeypatch)
    by_ledger = await outcome(m, tx_hash=tx)
    assert (by_ledger["outcome"], by_ledger["why"]) == ("landed", "By the ledger.")
    node = world.chains.get(CHAIN_ID).node().clients[0]

    async def silent(method: str, *params: Any) -> Any:
        raise node.unavailable("it is silent")

    monkeypatch.setattr(node, "ask", silent)
    told = await outcome(m, tx_hash="0x" + "79" * 32)
    assert (told["outcome"], told["retry_safe"]) == ("unknown", False)
    assert told["why"] == "The chain could not be asked."


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
        {"tx_hash": "0x" + "00" * 32, "action_hash": "0x" + "11" * 32},
        {"action_hash": "none such"},
    ],
    ids=str,
)
async def test_exactly_one_thing_is_asked_for(world: World, fields: dict[str, Any]) -> None:
    m = await working(world)
    told = await m.as_agent("mandate_reconcile", **fields)
    assert (told.status, told.body["error"]) == (400, "invalid_request")
