"""What an agent is told when it asks for calldata: nothing that the chain says would revert."""

from __future__ import annotations

from typing import Any

import pytest

from chain.contracts import abi_codec
from domain.money import Usdc
from tests.world import CHAIN_ID, Mandated, World, working
from tools.model.operation import OperationResult

pytestmark = pytest.mark.anyio


async def asked(m: Mandated, data: str, **more: Any) -> OperationResult:
    return await m.as_agent("mandate_execute_call", target=m.world.evm.market, data=data, **more)


async def reserved(m: Mandated) -> str:
    per_day = (await m.read())["limits"]["used"]["per_day"]
    return str(per_day["reserved"])


async def test_calldata_that_would_revert_is_refused_and_reserves_nothing(world: World) -> None:
    m = await working(world)
    await world.mined(m.agent_wallet, dict((await m.execute("20")).body), gas=900_000)
    before = await reserved(m)
    data = abi_codec.calldata("TestMarket", "withdraw", (Usdc.parse("50"), m.vault, m.vault))
    told = await asked(m, data, approve_amount="30")
    assert (told.status, told.body["error"]) == (409, "would_revert")
    assert told.body["detail"]["revert"]["name"] == "TargetReverted"
    assert told.body["next"][0]["tool"] == "mandate_execute_call"
    assert await reserved(m) == before
    dry = await asked(m, data, approve_amount="30", dry_run=True)
    assert (dry.status, dry.body["simulation"]["ok"]) == (200, False)


async def test_a_deposit_without_its_approve_amount_is_told_the_amount(world: World) -> None:
    m = await working(world)
    data = world.deposit_data(m.vault, "12.5")
    told = await asked(m, data)
    assert (told.status, told.body["error"]) == (409, "would_revert")
    assert "pulls 12.500000 USDC, approve_amount is 0.000000" in told.body["reason"]
    assert told.body["detail"]["pulls_usdc"] == "12.500000"
    dry = await asked(m, data, dry_run=True)
    assert dry.body["decoded"]["pulls_usdc"] == "12.500000"
    right = await asked(m, data, approve_amount="12.5")
    assert (right.status, right.body["decoded"]["pulls_usdc"]) == (200, "12.500000")
    assert right.body["gas"] >= 600_000


async def test_what_the_vault_refuses_by_its_own_error_has_that_errors_code(world: World) -> None:
    m = await working(world, per_tx_cap_usdc="100", daily_cap_usdc="250")
    ok, _ = await world.mined(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    assert ok
    told = await m.execute("5")
    assert (told.status, told.body["error"]) == (409, "mandate_paused")


async def test_a_listed_call_to_somebody_else_is_told_which_argument_is_wrong(world: World) -> None:
    m = await working(world)
    right = world.deposit_data(m.vault, "5")
    for data in (world.deposit_data(m.owner_wallet.address, "5"), right[:-2], right[:10]):
        told = await asked(m, data, approve_amount="5")
        assert (told.status, told.body["error"]) == (409, "target_not_allowed")
        assert told.body["who_fixes"] == "agent"
        assert "argument word 1 (counted from 0)" in told.body["reason"]
        assert told.body["next"][0]["tool"] == "mandate_execute_call"
        dry = await asked(m, data, approve_amount="5", dry_run=True)
        check = next(c for c in dry.body["checks"] if c["code"] == "target_not_allowed")
        assert (check["ok"], check["detail"]["argument"]) == (False, 1)
        assert dry.body["simulation"]["revert"]["name"] == "TargetNotAllowed"
    assert (await asked(m, right, approve_amount="5")).status == 200


async def test_the_owner_is_not_asked_for_what_would_revert(world: World) -> None:
    m = await working(world, approval_above_usdc="10")
    data = world.deposit_data(m.vault, "60")
    told = await asked(m, data, approve_amount="50")
    assert (told.status, told.body["error"]) == (409, "would_revert")
    items = (await m.as_owner("mandate_approvals")).body["items"]
    assert items == []


async def test_a_day_with_nothing_left_says_to_wait_and_not_to_ask_for_less(world: World) -> None:
    m = await working(world, per_tx_cap_usdc="100", daily_cap_usdc="150")
    assert (await m.execute("100")).status == 200
    some = await m.execute("60")
    assert some.body["error"] == "over_daily_cap"
    assert some.body["next"][0]["text"].startswith("Ask again with an amount within")
    assert (await m.execute("50")).status == 200
    told = await m.execute("10")
    assert (told.body["error"], told.body["remaining"]["value"]) == ("over_daily_cap", "0.000000")
    assert [s["text"] for s in told.body["next"]] == ["Wait until retry_at, then ask again"]
    assert told.body["retry_at"] is not None


async def test_an_exit_is_handed_out_on_a_day_that_reports_have_used_up(world: World) -> None:
    """A wrong report is stored, never refused; it must not lock money in."""
    m = await working(world, per_tx_cap_usdc="100", daily_cap_usdc="150")
    await world.mined(m.agent_wallet, dict((await m.execute("20")).body), gas=900_000)
    for n in (1, 2):
        tx = f"0x{n:064x}"
        report = {"kind": "buy", "amount_usdc": "100", "tx_hash": tx}
        assert (await m.as_agent("mandate_report_event", **report)).status in (201, 202)
    spend = await m.execute("1")
    assert spend.body["error"] == "over_daily_cap"
    data = abi_codec.calldata("TestMarket", "withdraw", (Usdc.parse("5"), m.vault, m.vault))
    exit_ = await asked(m, data, approve_amount="0")
    assert (exit_.status, exit_.body["simulation"]["ok"]) == (200, True)
    ok, _ = await world.mined(m.agent_wallet, dict(exit_.body), gas=900_000)
    assert ok


async def test_a_chain_that_cannot_be_asked_hands_out_unsimulated_calldata(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    node = world.chains.get(CHAIN_ID).node().clients[0]

    async def silent(method: str, *params: Any) -> Any:
        raise node.unavailable("it is silent")

    monkeypatch.setattr(node, "ask", silent)
    told = await m.execute("5")
    assert (told.status, told.body["simulation"], told.body["gas"]) == (200, None, None)
