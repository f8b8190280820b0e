"""What the screens read: days, held actions over all mandates, calls that are tried out first, chains."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from chain.offline_chain import OfflineChain
from domain.money import Usdc
from tests.tools.mandates.test_calls import bought, down
from tests.world import CHAIN_ID, World, signed, working
from tools.keeper.hall_rollup import refresh

pytestmark = pytest.mark.anyio


async def test_the_days_are_the_same_before_and_after_the_house_rolled_them_up(both: World) -> None:
    world = both
    m = await working(world)
    await bought(m, "60")
    world.clock.forward(days=1)
    await bought(m, "25")
    ahead = (await m.as_agent("mandate_series")).body
    await refresh(world.deps, m.agent.user_id or "")
    rolled = (await m.as_owner("mandate_series")).body
    assert ahead == rolled
    assert [(p["day"], p["put_in"], p["spent"], p["deposits"]) for p in rolled["points"]] == [
        ("2026-11-20", "500.000000", "60.000000", "500.000000"),
        ("2026-11-21", "500.000000", "25.000000", "0.000000"),
    ]
    assert {p["floor"] for p in rolled["points"]} == {"400.000000"}
    assert rolled["points"][-1]["worth"] == (await m.read())["progress"]["worth_est"]
    assert (rolled["day_cap"], rolled["complete"]) == ("250.000000", True)
    stranger, _ = await world.owner()
    refused = await world.do("mandate_series", stranger, public_id=m.id)
    assert refused.body["error"] == "not_found"


async def test_what_was_signed_is_hashed_only_where_an_answer_tells_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    hashed: list[str] = []
    for name in ("digest", "targets_hash"):
        plain = getattr(OfflineChain, name)

        def counted(of: Any, name: str = name, plain: Any = plain) -> str:
            hashed.append(name)
            return str(plain(of))

        monkeypatch.setattr(OfflineChain, name, staticmethod(counted))
    await m.as_agent("mandate_limits")
    await m.as_owner("mandate_series")
    some = (await m.as_owner("mandate_get", parts="mandate,progress,limits")).body
    assert (set(some), hashed) == ({"mandate", "progress", "limits"}, [])
    told = (await m.as_owner("mandate_get", parts="terms_status")).body["terms_status"]
    assert (told["digest_matches"], told["signer_matches"]) == (True, True)  # type: ignore[index,call-overload]
    assert set(hashed) == {"digest", "targets_hash"}
    assert (await m.read())["terms_status"] == told


async def test_held_actions_of_all_mandates_and_what_one_would_leave(both: World) -> None:
    world = both
    m = await working(world, approval_above_usdc="20")
    await m.execute("30", why="it pays more")
    world.clock.forward(minutes=1)
    await m.execute("40")
    told = await world.ok("owner_approvals", m.owner, status="pending", limit=1)
    (newest,) = told["items"]
    assert (newest["public_id"], newest["agent_name"]) == (m.id, "Scout")
    assert newest["approve_amount_usdc"] == "40.000000"
    rest = await world.ok("owner_approvals", m.owner, limit=1, cursor=told["next_cursor"])
    assert (rest["items"][0]["approve_amount_usdc"], rest["next_cursor"]) == ("30.000000", None)
    (row,) = (await world.ok("mandate_list", m.owner))["items"]
    assert row["pending_approvals"] == 2
    item = {"approval_id": newest["approval_id"]}
    for reader in (m.as_owner, m.as_agent):
        held = (await reader("mandate_approval", **item)).body
        assert held["decoded"]["call"]["function"] == "deposit"
        assert held["simulation"]["ok"] is True
        assert held["remaining_after"]["value"] == "100.000000"
        assert {c["code"] for c in held["checks"] if not c["ok"]} == {"approval_missing"}
    assert (await m.as_owner("mandate_approval", approval_id="ap_none")).status == 404
    stranger, _ = await world.owner()
    assert (await world.ok("owner_approvals", stranger))["items"] == []
    await m.as_owner("owner_approval_decide", decision="decline", **item)
    closed = (await m.as_owner("mandate_approval", **item)).body
    assert (closed["simulation"], closed["remaining_after"]) == (None, None)
    world.clock.forward(days=2)
    over = await world.ok("owner_approvals", m.owner, status="expired")
    assert [i["approve_amount_usdc"] for i in over["items"]] == ["30.000000"]
    assert (await world.ok("owner_approvals", m.owner, status="pending"))["items"] == []


async def test_every_call_of_an_owner_says_what_it_does_and_was_tried_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfunded = await signed(world)
    create = (await unfunded.as_owner("owner_create_call")).body
    assert (create["decoded"]["function"], create["simulation"]["ok"]) == ("create", True)
    assert create["decoded"]["args"][0][0] == unfunded.id
    assert unfunded.agent_wallet.address in create["decoded"]["args"][0]
    m = await working(world, deposit="300")
    fund = (await m.as_owner("owner_fund", amount="50")).body
    approve, deposit = fund["calls"]
    assert approve["decoded"]["args"] == [m.vault, "50000000"]
    assert approve["simulation"]["ok"] is True
    assert (deposit["decoded"]["function"], deposit["simulation"]) == ("deposit", None)
    assert fund["in_wallet"] == "9700.000000"
    assert (await world.mined(m.owner_wallet, approve))[0]
    _, deposit = (await m.as_owner("owner_fund", amount="50")).body["calls"]
    assert deposit["simulation"]["ok"] is True
    functions = {}
    for name in (
        "owner_pause_call", "owner_stop_call", "owner_record_call", "owner_withdraw_call",
    ):  # fmt: skip
        told = (await m.as_owner(name)).body
        functions[name] = (told["decoded"]["function"], told["decoded"]["args"])
        assert (told["simulation"]["ok"], told["simulation"]["gas"] > 0) == (True, True)
    assert functions == {
        "owner_pause_call": ("revokeAgent", []),
        "owner_stop_call": ("stop", []),
        "owner_record_call": ("record", []),
        "owner_withdraw_call": ("withdrawAll", []),
    }
    plan = (await m.as_owner("owner_close_all_plan")).body["steps"]
    assert [
        (s["decoded"]["function"], s["simulation"] and s["simulation"]["ok"]) for s in plan
    ] == [("stop", True), ("settle", None), ("withdrawAll", None)]
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    resume = (await m.as_owner("owner_resume_call")).body
    assert resume["decoded"]["args"] == [m.agent_wallet.address]
    again = (await m.as_owner("owner_pause_call")).body
    assert again["simulation"] is not None
    down(monkeypatch)
    assert (await m.as_owner("owner_stop_call")).body["simulation"] is None


async def test_a_withdrawal_pays_what_it_says(world: World) -> None:
    m = await working(world, payout_rule={"kind": "share_of_verified_gain", "bps": 1000})
    await world.mint(m.vault, "7")  # nobody's: it goes to the owner with the rest
    told = (await m.as_owner("owner_withdraw_call")).body
    assert told["pays"] == {"owner": "507.000000", "agent_fee": "0.000000"}
    holder = m.owner_wallet.address
    chain = world.chains.get(CHAIN_ID)
    before = (await chain.usdc_balances([holder]))[holder]
    await m.recorded(m.owner_wallet, told["call"])
    after = (await chain.usdc_balances([holder]))[holder]
    assert after - before == Usdc.parse("507")


async def test_a_wallet_is_told_of_every_chain_and_of_no_key(world: World) -> None:
    told = {c["chain_id"]: c for c in (await world.ok("chains_list"))["items"]}
    assert told[84532]["name"] == "Base Sepolia"
    assert told[8453]["public_rpc"] == "https://mainnet.base.org"
    own = told[CHAIN_ID]
    assert (own["factory"], own["usdc"]) == (world.evm.factory, world.evm.usdc)
    assert own["public_rpc"] is None
    assert world.evm.url not in str(told)
    assert Decimal(own["confirmations"]) == 0
