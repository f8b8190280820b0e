"""What became of an act, asked in another way than by its repeat, or after something else changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chain.contracts import transactions
from domain.chain_facts import SignedTransaction, Transaction
from domain.refusals import Refused, refusal
from server.signer.agent_keys import AgentKeys
from server.signer.client import SignerClient
from tests.hosted import coins, hosted, key_ends_under_way, signing
from tests.tools.acting.test_act import enter, sent_by
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world
from tools.actions import act

pytestmark = pytest.mark.anyio


@pytest.fixture
async def keys(world: World, tmp_path: Path) -> AsyncIterator[AgentKeys]:
    async with signing(world, tmp_path) as agents:
        yield agents


async def waiting(m: Mandated, key: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Act, and let no node hear of it; the signed bytes."""
    chain = m.world.chains.get(CHAIN_ID)

    async def nothing(signed: SignedTransaction) -> None:
        return None

    with monkeypatch.context() as deaf:
        deaf.setattr(act, "WAIT_MS", 300)
        deaf.setattr(chain, "broadcast", nothing)
        assert (await enter(m, key, "40")).body["outcome"] == "pending"
    stored = await m.world.store.read(
        lambda uow: uow.sent_calls.find(m.agent.user_id or "", m.id, key)
    )
    assert stored is not None
    return stored.newest.raw


async def landed(m: Mandated, raw: str) -> str:
    chain = m.world.chains.get(CHAIN_ID)
    signed = chain.signed_transaction(raw)
    assert signed is not None
    await chain.broadcast(signed)
    return signed.tx_hash


async def test_reconcile_finds_an_act_that_landed_with_its_first_fee(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await hosted(world)
    first = await waiting(m, "in-1", monkeypatch)
    world.clock.forward(seconds=31)
    assert await waiting(m, "in-1", monkeypatch) != first
    tx_hash = await landed(m, first)
    told: Any = (await m.as_agent("mandate_reconcile", idempotency_key="in-1")).body
    assert (told["outcome"], told["retry_safe"]) == ("landed", False)
    assert (await enter(m, "in-1", "40")).body["tx_hash"] == tx_hash


async def test_what_the_agent_reported_itself_is_not_reported_again(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await hosted(world)
    tx_hash = await landed(m, await waiting(m, "in-1", monkeypatch))
    mine = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="40", tx_hash=tx_hash)
    told: Any = (await enter(m, "in-1", "40")).body
    assert told["event"] == mine.body["event"]
    rows: Any = (await m.as_agent("mandate_events")).body["items"]
    assert [r["event_id"] for r in rows if r["tx_hash"] == tx_hash] == [told["event"]["event_id"]]


async def test_a_revert_is_told_on_a_day_whose_refused_attempts_are_all_recorded(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await hosted(world)
    for n in range(world.deps.config.refusals_per_day):
        told = await m.as_agent("mandate_report_refusal", reason="server_guard", check=str(n))
        assert told.status == 201
    raw = await waiting(m, "in-1", monkeypatch)
    pause: Any = (await m.as_owner("owner_pause_call")).body
    await world.mined(m.owner_wallet, pause["call"])
    await landed(m, raw)
    reverted: Any = (await enter(m, "in-1", "40")).body
    assert (reverted["outcome"], reverted["event"]) == ("reverted", None)
    assert (await m.read())["limits"]["used"]["per_day"]["reserved"] == "0.000000"


async def test_what_was_sent_is_told_after_the_key_has_ended(world: World, keys: AgentKeys) -> None:
    m = await hosted(world)
    first = await enter(m, "in-1", "40")
    await world.ok("owner_agent_hosted_key_end", m.owner, agent_id=m.agent.user_id)
    assert (await enter(m, "in-1", "40")).body == first.body
    assert (await enter(m, "in-2", "40")).body["error"] == "not_configured"


async def test_a_key_that_ends_while_a_call_is_checked_signs_it_no_more(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await hosted(world)
    key_ends_under_way(m, monkeypatch)
    assert (await enter(m, "in-1", "40")).body["error"] == "signer_refused"
    assert await sent_by(m) == 0


async def test_a_key_that_ended_while_the_signer_was_away_does_not_come_back(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    named = {"agent_id": agent.user_id}

    async def away(self: SignerClient, agent_id: str) -> None:
        raise Refused(refusal("not_configured", what="the signer"))

    before = (await world.ok("owner_agent_hosted_key_make", owner, **named))["address"]
    with monkeypatch.context() as gone:
        gone.setattr(SignerClient, "agent_key_end", away)
        assert await world.error("owner_agent_hosted_key_end", owner, **named) == "not_configured"
    after = (await world.ok("owner_agent_hosted_key_make", owner, **named))["address"]
    assert after != before
    assert (await world.ok("owner_agent_hosted_key_make", owner, **named))["address"] == after


async def took_its_nonce(m: Mandated, keys: AgentKeys) -> None:
    """The account sends something else with its next nonce, as its key could outside of here."""
    chain, key = m.world.chains.get(CHAIN_ID), keys.keys.agent_key(f"{m.agent.user_id}-1")
    assert key is not None
    facts = await chain.sending_facts(transactions.address_of(key))
    sent = Transaction(
        chain_id=CHAIN_ID, to=m.owner_wallet.address, data="0x", value=1, nonce=facts.nonce,
        gas=21_000, max_fee=facts.max_fee, tip=facts.tip,
    )  # fmt: skip
    await chain.broadcast(transactions.sign(key, sent))


async def test_an_act_whose_nonce_another_transaction_took_is_done_anew_after_enough_blocks(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, chain = await hosted(world), world.chains.get(CHAIN_ID)
    before = await waiting(m, "in-1", monkeypatch)
    await took_its_nonce(m, keys)
    with monkeypatch.context() as young:
        young.setattr(act, "WAIT_MS", 300)
        young.setattr(chain, "confirmations", 2)
        told = await enter(m, "in-1", "40")
        assert (told.status, told.body["outcome"]) == (200, "unknown")
        assert "Another transaction" in str(told.body["reason"])
        stored = await world.store.read(
            lambda uow: uow.sent_calls.find(m.agent.user_id or "", m.id, "in-1")
        )
        assert stored is not None
        assert stored.newest.raw == before
        for _ in range(2):
            await coins(world, m.owner_wallet.address, 1)
        done = await enter(m, "in-1", "40")
    assert (done.body["outcome"], done.headers) == ("landed", {})
    assert await sent_by(m) == 2
    assert (await enter(m, "in-1", "40")).body["tx_hash"] == done.body["tx_hash"]
    raw = chain.signed_transaction(before)
    assert raw is not None
    assert await chain.receipt(raw.tx_hash) is None


async def test_a_void_act_gives_the_owners_approval_back(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await hosted(world, approval_above_usdc="30")
    held: Any = (await enter(m, "in-1", "40")).body
    decision = {"approval_id": held["approval"]["approval_id"], "decision": "approve"}
    assert (await m.as_owner("owner_approval_decide", **decision)).status == 200
    await waiting(m, "in-1", monkeypatch)
    await took_its_nonce(m, keys)
    # Another key names another act: the one that can never be mined took nothing.
    done: Any = (await enter(m, "in-2", "40")).body
    assert done["outcome"] == "landed", done
    assert await sent_by(m) == 2


async def test_a_result_that_nobody_asked_for_is_recorded_by_the_next_act(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await hosted(world)
    tx_hash = await landed(m, await waiting(m, "in-1", monkeypatch))
    assert (await enter(m, "in-2", "5")).body["outcome"] == "landed"
    rows: Any = (await m.as_agent("mandate_events")).body["items"]
    assert [r["kind"] for r in rows if r["tx_hash"] == tx_hash] == ["buy"]


async def test_what_no_node_takes_for_lack_of_coins_says_so(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, chain = await hosted(world), world.chains.get(CHAIN_ID)
    real = type(chain).sending_facts
    balance = 1_000

    async def poor(self: Any, address: str) -> Any:
        return replace(await real(self, address), balance=balance)

    async def refusing(signed: SignedTransaction) -> None:
        monkeypatch.setattr(type(chain), "sending_facts", poor)
        raise Refused(refusal("chain_unavailable", chain_id=CHAIN_ID, why="insufficient funds"))

    with monkeypatch.context() as broke:
        broke.setattr(chain, "broadcast", refusing)
        told = await enter(m, "in-1", "40")
    assert (told.status, told.body["error"], told.body["retry_safe"]) == (409, "gas_needed", True)
    detail: Any = told.body["detail"]
    assert int(detail["amount_wei"]) > 0
    monkeypatch.setattr(type(chain), "sending_facts", real)
    assert (await enter(m, "in-1", "40")).body["outcome"] == "landed"
    assert await sent_by(m) == 1


@pytest.mark.parametrize("on_chain", [False, True])
async def test_an_approval_is_taken_by_one_act_before_the_chain_reader_has_seen_it(
    sqlite_url: str, evm: Evm, tmp_path: Path, on_chain: bool
) -> None:
    async with (
        a_world(sqlite_url, evm, approvals_on_chain=on_chain) as world,
        signing(world, tmp_path),
    ):
        m = await hosted(world, approval_above_usdc="30")
        held: Any = (await enter(m, "in-1", "40")).body
        decision = {"approval_id": held["approval"]["approval_id"], "decision": "approve"}
        decided = await m.as_owner("owner_approval_decide", **decision)
        if on_chain:
            asked: Any = decided.body
            signature = m.owner_wallet.sign_typed(asked["detail"]["typed_data"])
            await m.as_owner("owner_approval_decide", **decision, signature=signature)
        done: Any = (await enter(m, "in-1", "40")).body
        assert done["outcome"] == "landed"
        other = await enter(m, "in-2", "40")
        assert (other.status, other.body["error"]) == (409, "conflict")
        assert other.body["retry_safe"] is True
        assert done["tx_hash"] in str(other.body["reason"])
        assert await sent_by(m) == 1
        assert (await m.as_owner("owner_vault_tx", tx_hash=done["tx_hash"])).status == 200
        again: Any = (await enter(m, "in-2", "40")).body
        assert again["outcome"] == "held"
        assert again["approval"]["approval_id"] != decision["approval_id"]
