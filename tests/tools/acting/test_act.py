"""An agent acts in one call: what is sent is sent once, whatever is lost on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chain.contracts import abi_codec
from domain.chain_facts import SignedTransaction
from domain.money import Usdc
from domain.refusals import REFUSALS, Refusal
from domain.rules.target_rules import ARGUMENT
from domain.times import timestamp
from server.signer import agent_keys
from server.signer.agent_keys import AgentKeys
from tests.hosted import coins, hosted, signing
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world
from tools.actions import act
from tools.actions.act_steps import act_steps
from tools.actions.execute_call import EXECUTE_REFUSALS
from tools.model.operation import OperationResult
from tools.model.shutdown import Shutdown

pytestmark = pytest.mark.anyio


@pytest.fixture
async def both(database_url: str, evm: Evm, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(database_url, evm) as opened, signing(opened, tmp_path):
        yield opened


@pytest.fixture
async def keys(world: World, tmp_path: Path) -> AsyncIterator[AgentKeys]:
    async with signing(world, tmp_path) as agents:
        yield agents


async def acted(m: Mandated, key: str, **action: Any) -> OperationResult:
    asked = {"action": action, "why": "as planned", "idempotency_key": key}
    return await m.as_agent("mandate_act", **asked)


async def enter(m: Mandated, key: str, amount: str) -> OperationResult:
    return await acted(m, key, kind="enter", market="test-market", amount_usdc=amount)


async def address(m: Mandated) -> str:
    """The address of the held key."""
    key = await m.world.ok("owner_agent_hosted_key", m.owner, agent_id=m.agent.user_id)
    return str(key["address"])


async def sent_by(m: Mandated) -> int:
    """The transactions that the held key has sent."""
    return (await m.world.chains.get(CHAIN_ID).sending_facts(await address(m))).nonce


async def test_entering_and_leaving_by_name_land_and_are_reported(both: World) -> None:
    m = await hosted(both)
    told: Any = (await enter(m, "in-1", "40")).body
    assert told["outcome"] == "landed", told
    assert (told["event"]["kind"], told["event"]["amount_usdc"]) == ("buy", "40.000000")
    assert told["event"]["tx_hash"] == told["tx_hash"]
    assert told["event"]["payload"]["why"] == "as planned"
    assert told["event"]["payload"]["target"]["market"] == "test-market"
    assert told["remaining"]["value"] == "100.000000"
    out: Any = (await acted(m, "out-1", kind="exit", market="test-market", amount_usdc="15")).body
    assert (out["outcome"], out["event"]["kind"], out["event"]["amount_usdc"]) == (
        "landed",
        "sell",
        "15.000000",
    )
    assert await sent_by(m) == 2
    await m.as_owner("owner_vault_tx", tx_hash=told["tx_hash"])
    used = (await m.read())["limits"]["used"]["per_day"]
    assert (used["reserved"], used["value"]) == ("0.000000", "40.000000"), used


async def test_an_agent_hears_by_which_address_it_acts(world: World, keys: AgentKeys) -> None:
    m = await hosted(world)
    told: Any = await world.ok("agents_me", m.agent)
    key = await address(m)
    assert told["address"] == key != m.agent.address
    assert [each["agent_address"] for each in told["mandates"]] == [key]


async def test_a_lost_answer_is_asked_by_the_same_key_and_nothing_is_sent_again(
    both: World,
) -> None:
    m = await hosted(both)
    first = await enter(m, "in-1", "40")
    again = await enter(m, "in-1", "40")
    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert await sent_by(m) == 1
    other = await enter(m, "in-1", "41")
    assert (other.status, other.body["error"]) == (409, "idempotency_key_reused")


async def test_what_was_stored_and_not_sent_is_sent_by_the_repeat(
    both: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, chain = await hosted(both), both.chains.get(CHAIN_ID)

    async def dies(signed: SignedTransaction) -> None:
        raise RuntimeError("the process is gone")

    with monkeypatch.context() as broken:
        broken.setattr(chain, "broadcast", dies)
        assert (await enter(m, "in-1", "40")).status == 500
    assert await sent_by(m) == 0
    stored = await both.store.read(
        lambda uow: uow.sent_calls.find(m.agent.user_id or "", m.id, "in-1")
    )
    assert stored is not None
    assert stored.outcome is None
    told: Any = (await enter(m, "in-1", "40")).body
    assert (told["outcome"], told["tx_hash"]) == ("landed", stored.sent[0].tx_hash)
    assert await sent_by(m) == 1


async def test_an_act_in_a_process_that_is_about_to_end_begins_nothing(
    world: World, keys: AgentKeys
) -> None:
    m = await hosted(world)
    assert not await world.deps.shutdown.end()
    told = await enter(m, "in-1", "40")
    assert (told.status, told.body["error"]) == (503, "storage_unavailable")
    assert told.body["retry_safe"] is True
    assert await sent_by(m) == 0
    world.deps = replace(world.deps, shutdown=Shutdown())
    assert (await enter(m, "in-1", "40")).body["outcome"] == "landed"
    assert await sent_by(m) == 1


async def test_the_next_act_sends_first_what_holds_its_nonce(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, chain = await hosted(world), world.chains.get(CHAIN_ID)

    async def nothing(signed: SignedTransaction) -> None:
        return None

    monkeypatch.setattr(act, "WAIT_MS", 500)
    with monkeypatch.context() as deaf:
        deaf.setattr(chain, "broadcast", nothing)
        waits = await enter(m, "in-1", "40")
        assert (waits.status, waits.body["outcome"]) == (202, "pending")
        behind = await enter(m, "in-2", "41")
        assert (behind.status, behind.body["error"]) == (409, "tx_pending")
        assert behind.body["detail"] == {"public_id": m.id, "idempotency_key": "in-1"}
    assert (await enter(m, "in-2", "41")).body["outcome"] == "landed"
    assert (await enter(m, "in-1", "40")).body["outcome"] == "landed"
    assert await sent_by(m) == 2


async def test_what_waits_for_long_is_replaced_by_its_fee_alone(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, chain = await hosted(world), world.chains.get(CHAIN_ID)
    given: list[SignedTransaction] = []

    async def swallowed(signed: SignedTransaction) -> None:
        given.append(signed)

    monkeypatch.setattr(act, "WAIT_MS", 300)
    with monkeypatch.context() as deaf:
        deaf.setattr(chain, "broadcast", swallowed)
        await enter(m, "in-1", "40")
        await enter(m, "in-1", "40")
        world.clock.forward(seconds=31)
        assert (await enter(m, "in-1", "40")).body["outcome"] == "pending"
    old, same, new = given
    assert old.raw == same.raw
    assert new.transaction.is_fee_bump_of(old.transaction)
    told: Any = (await enter(m, "in-1", "40")).body
    assert (told["outcome"], told["tx_hash"]) == ("landed", new.tx_hash)
    assert await sent_by(m) == 1


async def test_the_same_act_twice_at_once_is_one_and_two_acts_are_two(both: World) -> None:
    m = await hosted(both)
    same = await asyncio.gather(*(enter(m, "in-1", "40") for _ in range(4)))
    hashes = {str(r.body["tx_hash"]) for r in same}
    assert {r.body["outcome"] for r in same} == {"landed"}
    assert len(hashes) == 1
    assert await sent_by(m) == 1
    two = await asyncio.gather(enter(m, "in-2", "20"), enter(m, "in-3", "20"))
    assert [r.body["outcome"] for r in two] == ["landed", "landed"]
    assert len({str(r.body["tx_hash"]) for r in two}) == 2
    assert await sent_by(m) == 3


async def test_a_call_that_reverts_on_the_chain_says_so_and_gives_its_reservation_back(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, chain = await hosted(world), world.chains.get(CHAIN_ID)
    pause: Any = (await m.as_owner("owner_pause_call")).body
    real = chain.broadcast

    async def late(signed: SignedTransaction) -> None:
        await world.mined(m.owner_wallet, pause["call"])
        await real(signed)

    monkeypatch.setattr(chain, "broadcast", late)
    told: Any = (await enter(m, "in-1", "40")).body
    assert told["outcome"] == "reverted"
    assert told["event"]["tx_hash"] == told["tx_hash"]
    assert (await m.read())["limits"]["used"]["per_day"]["reserved"] == "0.000000"


@pytest.mark.parametrize("on_chain", [False, True])
async def test_a_held_act_names_where_the_owner_decides_and_the_same_call_acts_after_that(
    sqlite_url: str, evm: Evm, tmp_path: Path, on_chain: bool
) -> None:
    async with (
        a_world(sqlite_url, evm, approvals_on_chain=on_chain) as world,
        signing(world, tmp_path),
    ):
        m = await hosted(world, approval_above_usdc="30")
        held = await enter(m, "in-1", "40")
        told: Any = held.body
        assert (held.status, told["outcome"]) == (202, "held")
        item = told["approval"]["approval_id"]
        assert told["approval_url"].endswith(f"/app/mandates/{m.id}/approvals/{item}")
        assert told["next"][0]["text"].endswith("repeat the act with the same idempotency_key")
        assert (await enter(m, "in-1", "40")).body["approval"] == told["approval"]
        assert await sent_by(m) == 0
        decision = {"approval_id": item, "decision": "approve"}
        decided = await m.as_owner("owner_approval_decide", **decision)
        if on_chain:
            asked: Any = decided.body
            signature = m.owner_wallet.sign_typed(asked["detail"]["typed_data"])
            decided = await m.as_owner("owner_approval_decide", **decision, signature=signature)
        assert decided.status == 200, decided.body
        done: Any = (await enter(m, "in-1", "40")).body
        assert done["outcome"] == "landed", done
        assert (await enter(m, "in-1", "40")).body["tx_hash"] == done["tx_hash"]
        assert await sent_by(m) == 1


async def test_without_gas_it_says_how_much_is_missing_and_reserves_nothing(
    world: World, keys: AgentKeys
) -> None:
    m = await hosted(world, gas=0)
    told = await enter(m, "in-1", "40")
    assert (told.status, told.body["error"]) == (409, "gas_needed")
    detail: Any = told.body["detail"]
    assert detail["address"] == await address(m)
    assert (await m.read())["limits"]["used"]["per_day"]["reserved"] == "0.000000"
    await coins(world, detail["address"], int(detail["amount_wei"]))
    assert (await enter(m, "in-1", "40")).body["outcome"] == "landed"


async def test_an_agent_gives_its_mandate_back_once(both: World) -> None:
    m = await hosted(both)
    extra = await acted(m, "end-1", kind="forfeit", market="test-market")
    assert (extra.status, extra.body["error"]) == (400, "invalid_request")
    done = await acted(m, "end-1", kind="forfeit")
    told: Any = done.body
    assert (done.status, told["outcome"], told["event"]) == (200, "landed", None)
    again = await acted(m, "end-1", kind="forfeit")
    assert (again.body, again.headers["Idempotent-Replayed"]) == (told, "true")
    assert await sent_by(m) == 1
    stopped = await m.as_owner("owner_vault_tx", tx_hash=told["tx_hash"], kind="stop")
    assert stopped.body["mandate"]["status"] == "stopped"
    row = next(e for e in (await m.read())["events"] if e["kind"] == "stop")
    assert (row["reported_by"], row["payload"]["reason"]) == ("chain", "agent")
    over = await acted(m, "end-2", kind="forfeit")
    assert (over.status, over.body["error"]) == (409, "mandate_stopped")


async def test_a_paused_mandate_is_not_given_back(world: World, keys: AgentKeys) -> None:
    m = await hosted(world)
    pause: Any = (await m.as_owner("owner_pause_call")).body
    await world.mined(m.owner_wallet, pause["call"])
    told = await acted(m, "end-1", kind="forfeit")
    assert (told.status, told.body["error"]) == (409, "mandate_paused")
    assert await sent_by(m) == 0


@pytest.mark.parametrize(("amount", "code"), [("101", "over_per_tx_cap"), ("0", "invalid_request")])
async def test_it_is_refused_as_execute_call_is(
    world: World, keys: AgentKeys, amount: str, code: str
) -> None:
    m = await hosted(world)
    told = await enter(m, "in-1", amount)
    assert told.body["error"] == code
    if code != "invalid_request":
        same = await m.execute(amount)
        assert (told.status, told.body["reason"]) == (same.status, same.body["reason"])
    assert await sent_by(m) == 0


async def test_a_foreign_target_a_revert_and_a_paused_mandate_are_refused_as_execute_call_does(
    world: World, keys: AgentKeys
) -> None:
    m = await hosted(world)
    usdc, data = world.evm.usdc, world.deposit_data(m.vault, "5")
    call = {"target": usdc, "data": data, "approve_amount": "5"}
    mine, theirs = (
        await acted(m, "c-1", kind="call", **call),
        await m.as_agent("mandate_execute_call", **call),
    )
    assert mine.body["error"] == theirs.body["error"] == "target_not_allowed"
    out = abi_codec.calldata("TestMarket", "withdraw", (Usdc.parse("50"), m.vault, m.vault))
    none = await acted(m, "c-2", kind="call", target=world.evm.market, data=out)
    assert none.body["error"] == "would_revert"
    assert none.body["next"][0]["text"] == "Fix the call: see detail.revert; then act again"
    deposit = abi_codec.calldata("TestMarket", "deposit", (Usdc.parse("5"), world.evm.usdc))
    elsewhere = {"target": world.evm.market, "data": deposit, "approve_amount": "5"}
    wrong = await acted(m, "c-4", kind="call", **elsewhere)
    assert wrong.body["detail"]["argument"] == 1
    for told in (mine, none, wrong):
        assert "execute" not in str(told.body["next"]), told.body
    gone = await acted(m, "c-3", kind="exit", market="test-market", amount_usdc="50")
    assert gone.body["error"] == "would_revert"
    pause: Any = (await m.as_owner("owner_pause_call")).body
    await world.mined(m.owner_wallet, pause["call"])
    assert (await enter(m, "in-1", "5")).body["error"] == "mandate_paused"
    assert await sent_by(m) == 0


@pytest.mark.parametrize("code", sorted(set(EXECUTE_REFUSALS) - {"not_configured"}))
def test_a_step_back_to_the_call_names_the_act(code: str) -> None:
    kind = REFUSALS[code]
    told = act_steps(Refusal(kind, "a reason", next=(ARGUMENT,))).as_json("agent")
    assert "execute" not in str(told["next"])


async def test_an_agent_that_asked_its_signer_too_often_is_told_when_to_come_again(
    world: World, keys: AgentKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_keys, "PER_MINUTE", 1)
    m = await hosted(world)
    assert (await enter(m, "in-1", "5")).body["outcome"] == "landed"
    world.clock.forward(seconds=20)
    told = await enter(m, "in-2", "6")
    assert (told.status, told.body["error"]) == (409, "signer_refused")
    assert (told.body["retry_safe"], told.body["who_fixes"]) == (True, "agent")
    assert told.body["next"][0]["text"].startswith("Wait until retry_at")
    assert told.body["retry_at"] == timestamp(world.clock.now() + timedelta(seconds=40))
    world.clock.forward(seconds=40)
    assert (await enter(m, "in-2", "6")).body["outcome"] == "landed"


async def test_a_market_without_a_recipe_names_the_plain_call(
    world: World, keys: AgentKeys
) -> None:
    m = await hosted(world)
    row = {"id": "reads", "name": "Reads", "status": "live", "kind": "x402"}
    config = replace(world.deps.config, markets=(*world.deps.config.markets, row))
    world.deps = replace(world.deps, config=config)
    told: Any = (await acted(m, "r-1", kind="enter", market="reads", amount_usdc="5")).body
    assert told["error"] == "no_recipe"
    assert 'kind: "call"' in told["next"][0]["text"]
    unknown = await acted(m, "r-2", kind="enter", market="nowhere", amount_usdc="5")
    assert unknown.body["error"] == "invalid_request"


async def test_where_no_key_is_held_it_is_not_configured(world: World, keys: AgentKeys) -> None:
    m = await hosted(world)
    told = await m.world.do("owner_agent_hosted_key_end", m.owner, agent_id=m.agent.user_id)
    assert told.status == 200
    assert told.body["ended_at"] is not None
    mine = await enter(m, "in-1", "5")
    assert (mine.status, mine.body["error"]) == (409, "not_configured")
    assert keys.keys.agent_key(f"{m.agent.user_id}-1") is None


async def test_only_the_owner_lets_the_service_hold_a_key_and_reads_what_is_at_stake(
    world: World, keys: AgentKeys
) -> None:
    m = await hosted(world)
    other, _ = await world.owner()
    named = {"agent_id": m.agent.user_id}
    for name in ("", "_make", "_end"):
        operation = f"owner_agent_hosted_key{name}"
        assert await world.error(operation, other, **named) == "not_found"
        assert await world.error(operation, m.agent, **named) == "forbidden"
        assert await world.error(operation, **named) == "unauthenticated"
    told = await world.ok("owner_agent_hosted_key", m.owner, **named)
    assert told["mandates"] == 1
    # Budget 500, stop line 400, and the 2% of it that a fair exit may cost.
    assert (told["worst_case_now_usdc"], told["worst_case_ever_usdc"]) == ("108.000000",) * 2
