"""A mandate from draft to withdrawal, by operations, on a real EVM."""

from __future__ import annotations

import pytest

from chain.contracts import abi_codec
from domain.money import Usdc
from tests.world import World, drafted, error_of, signed, working

pytestmark = pytest.mark.anyio


async def test_a_mandate_lives_from_draft_to_withdrawal(world: World) -> None:
    m = await working(world)
    told = await m.execute("60")
    assert told.status == 200, told.body
    assert told.body["simulation"]["ok"] is True
    assert told.body["decoded"]["market"] == "test-market"
    ok, tx = await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok
    report = await m.as_agent(
        "mandate_report_event",
        kind="buy",
        amount_usdc="60",
        tx_hash=tx,
        payload={"position": {"id": "p1"}},
        key="k1",
    )
    assert (report.status, report.body["violation"]) == (201, False)
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200
    seen = await m.read()
    assert seen["progress"]["cash"] == "440.000000"
    assert seen["progress"]["worth_est"] == "500.000000"
    assert seen["limits"]["used"]["per_day"]["value"] == "60.000000"
    assert seen["limits"]["used"]["per_day"]["reserved"] == "0.000000"
    stop = await m.as_owner("owner_stop")
    assert stop.body["chain_live"] is True
    await m.recorded(m.owner_wallet, stop.body["stop_call"])
    locked = await m.as_owner("owner_withdraw_call")
    assert locked.body["error"] == "withdraw_locked"
    assert locked.body["retry_at"]
    chain = world.chains.get(31337)
    raw = await chain.eth_call(
        world.evm.market,
        abi_codec.calldata("TestMarket", "balanceOf", (m.vault,)),
        await chain.latest(),
    )
    data = abi_codec.calldata(
        "TestMarket", "redeem", (int.from_bytes(raw, "big"), m.vault, m.vault)
    )
    unwind = await m.as_owner("mandate_unwind_call", target=world.evm.market, data=data)
    await m.recorded(m.owner_wallet, unwind.body["call"])
    from tools.model.operation import Caller

    settled = await world.do("keeper_settle", Caller("keeper"), public_id=m.id)
    assert settled.status == 200, settled.body
    assert settled.body["mandate"]["status"] == "settled"
    again = await world.do("keeper_settle", Caller("keeper"), public_id=m.id)
    assert again.body["transactions"] == []
    out = await m.as_owner("owner_withdraw_call")
    await m.recorded(m.owner_wallet, out.body["call"])
    assert (await m.read())["progress"]["cash"] == "0.000000"
    assert (await chain.usdc_balances([m.vault]))[m.vault] == Usdc(0)


async def test_the_same_draft_gives_the_same_terms_until_it_is_changed(world: World) -> None:
    m = await drafted(world)
    first = (await m.as_owner("owner_terms")).body
    world.clock.forward(hours=1)
    assert (await m.as_owner("owner_terms")).body["digest"] == first["digest"]
    body = {
        "budget_usdc": "400",
        "per_tx_cap_usdc": "100",
        "daily_cap_usdc": "250",
        "agent_id": m.agent.user_id,
        "chain_id": 31337,
    }
    assert (await m.as_owner("owner_mandate_correct", **body)).status == 200
    changed = (await m.as_owner("owner_terms")).body
    assert changed["digest"] != first["digest"]
    world.clock.forward(hours=25)
    stale = await m.as_owner(
        "owner_sign", signature=m.owner_wallet.sign_typed(changed["typed_data"])
    )
    assert stale.body["error"] == "terms_expired"


async def test_a_foreign_signature_and_its_high_s_twin_are_refused(world: World) -> None:
    m = await drafted(world)
    data = (await m.as_owner("owner_terms")).body["typed_data"]
    foreign = await m.as_owner("owner_sign", signature=m.agent_wallet.sign_typed(data))
    assert foreign.body["error"] == "invalid_signature"
    good = bytes.fromhex(m.owner_wallet.sign_typed(data)[2:])
    n = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    s = n - int.from_bytes(good[32:64], "big")
    twin = (
        good[:32]
        + s.to_bytes(32, "big")
        + bytes([good[64] ^ 7 if good[64] in (27, 28) else good[64] ^ 1])
    )
    assert (
        await error_of(m.as_owner("owner_sign", signature="0x" + twin.hex())) == "invalid_signature"
    )
    r, v = good[:32], good[64] - 27
    compact = r + (int.from_bytes(good[32:64], "big") | v << 255).to_bytes(32, "big")
    assert (await m.as_owner("owner_sign", signature="0x" + compact.hex())).status == 200


async def test_signed_terms_no_longer_change(world: World) -> None:
    m = await signed(world)
    put = await m.as_owner("owner_mandate_correct", budget_usdc="1")
    assert (put.status, put.body["error"]) == (409, "mandate_signed")
    assert (
        await error_of(m.as_owner("owner_mandate_assign", agent_id=m.agent.user_id))
        == "mandate_signed"
    )
    assert (await m.as_owner("owner_mandate_cancel")).body["mandate"]["status"] == "cancelled"


async def test_pausing_and_resuming_follow_the_chain(world: World) -> None:
    m = await working(world)
    early = await m.as_owner("owner_resume_call")
    assert early.body["error"] == "not_paused"
    pause = (await m.as_owner("owner_pause_call")).body["call"]
    _, tx = await world.mined(m.owner_wallet, pause)
    paused = (await m.as_owner("owner_vault_tx", tx_hash=tx)).body["mandate"]
    assert paused["paused"] is True
    assert paused["paused_at"]
    assert await error_of(m.execute("10")) == "mandate_paused"
    late = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="1")
    assert (late.status, late.body["violation"]) == (202, True)
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_resume_call")).body["call"])
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).body["mandate"]["paused"] is False
    assert (await m.execute("10")).status == 200


async def test_a_refused_attempt_is_proven_only_by_its_receipt(world: World) -> None:
    m = await working(world)
    ok, tx = await world.mined(m.agent_wallet, m.forced("150"))
    assert not ok
    told = await m.as_agent("mandate_report_refusal", reason="OverPerTxCap", tx_hash=tx)
    assert (told.status, told.body["proven"]) == (201, True)
    assert told.body["event"]["reported_by"] == "chain"
    assert told.body["event"]["payload"]["refusal"]["proof"]["error"] == "OverPerTxCap"
    again = await m.as_agent(
        "mandate_report_refusal", reason="OverPerTxCap", tx_hash=tx.upper().replace("0X", "0x")
    )
    assert (again.status, again.body["known"]) == (200, True)
    claimed = await m.as_agent(
        "mandate_report_refusal", reason="OverDailyCap", tx_hash="0x" + "ab" * 32
    )
    assert (claimed.body["proven"], claimed.body["event"]["reported_by"]) == (False, "agent")
