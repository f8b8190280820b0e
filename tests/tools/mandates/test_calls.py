"""Calldata for agent and owner: the checks before it, the approvals around it, the states that refuse it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from domain.chain_facts import Revert, Simulation
from domain.money import Usdc
from domain.refusals import Refused, refusal
from tests.world import CHAIN_ID, Mandated, World, drafted, error_of, signed, working

pytestmark = pytest.mark.anyio
OWNER_CALLS = (
    "owner_stop_call",
    "owner_pause_call",
    "owner_resume_call",
    "owner_record_call",
    "owner_withdraw_call",
    "owner_close_all_plan",
)


async def rows(world: World, table: str) -> int:
    """How many rows a table has."""
    return await world.store.read(
        lambda uow: int(uow.sql.rows(f"SELECT COUNT(*) AS n FROM {table}")[0]["n"])
    )


async def bought(m: Mandated, amount: str) -> str:
    """Take an action through the vault and let the ledger know it."""
    told = await m.execute(amount)
    assert told.status == 200, told.body
    return await m.recorded(m.agent_wallet, told.body)


def exit_data(m: Mandated, amount: str) -> str:
    """Calldata of the market's withdraw, back to the vault."""
    return abi_codec.calldata("TestMarket", "withdraw", (Usdc.parse(amount), m.vault, m.vault))


def down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the chain give no answer from here on."""

    async def latest(self: EvmChain) -> Any:
        raise Refused(refusal("chain_unavailable", chain_id=CHAIN_ID, why="it is down"))

    monkeypatch.setattr(EvmChain, "latest", latest)


# -- checks --------------------------------------------------------------------------------------------------------


async def test_a_dry_run_shows_every_check_and_leaves_nothing_behind(world: World) -> None:
    m = await working(world, approval_above_usdc="20")
    told = await m.execute("60", dry_run=True)
    assert told.status == 200
    assert (told.body["dry_run"], told.body["needs_approval"]) == (True, True)
    assert told.body["remaining"]["value"] == "100.000000"
    assert {c["code"]: c["ok"] for c in told.body["checks"]}["approval_missing"] is False
    assert all(1 <= c["clause"] <= 10 for c in told.body["checks"])
    over = await m.execute("101", dry_run=True)
    assert over.status == 200
    assert [c["code"] for c in over.body["checks"] if not c["ok"]] == [
        "over_per_tx_cap",
        "approval_missing",
    ]
    assert "data" not in over.body
    assert (await rows(world, "approvals"), await rows(world, "reservations")) == (0, 0)


async def test_what_the_vault_would_refuse_is_refused_before_gas_is_spent(world: World) -> None:
    m = await working(world, per_tx_cap_usdc="100", daily_cap_usdc="150")
    over = await m.execute("100.000001")
    assert (over.status, over.body["error"]) == (409, "over_per_tx_cap")
    assert over.body["detail"]["clause"] == 2
    assert over.body["remaining"]["value"] == "100.000000"
    foreign = await m.as_agent(
        "mandate_execute_call", target=world.evm.usdc, data="0xa9059cbb", approve_amount="1"
    )
    assert (foreign.body["error"], foreign.body["detail"]["clause"]) == ("target_not_allowed", 5)
    await bought(m, "100")
    day = await m.execute("50.000001")
    assert day.body["error"] == "over_daily_cap"
    assert day.body["retry_at"] == "2026-11-21T00:00:00.000Z"
    assert (await m.execute("50")).status == 200
    assert (await m.read())["limits"]["used"]["per_day"]["reserved"] == "50.000000"


async def test_an_own_reservation_does_not_stand_in_its_own_way(world: World) -> None:
    m = await working(world, per_tx_cap_usdc="100", daily_cap_usdc="100")
    first = await m.execute("100")
    again = await m.execute("100")
    assert (first.status, again.status) == (200, 200)
    assert again.body["data"] == first.body["data"]
    assert await error_of(m.execute("1")) == "over_daily_cap"
    world.clock.forward(minutes=11)
    assert (await m.execute("1")).status == 200


async def test_more_than_the_vault_holds_is_over_budget(world: World) -> None:
    m = await working(world, deposit="30")
    told = await m.execute("31")
    assert (told.body["error"], told.body["detail"]["allowed"]) == ("over_budget", "30.000000")


async def test_before_acceptance_after_the_end_and_without_a_vault_there_is_no_calldata(
    world: World,
) -> None:
    m = await working(world, accept=False)
    assert await error_of(m.execute("1")) == "mandate_not_accepted"
    await m.as_agent("mandate_accept")
    world.clock.forward(days=30)
    ended = await m.execute("1")
    assert (ended.status, ended.body["error"]) == (409, "mandate_ended")
    assert await error_of(m.as_owner("owner_fund", amount="1")) == "mandate_ended"
    bare = await signed(world)
    await bare.as_agent("mandate_accept")
    assert await error_of(bare.execute("1")) == "wrong_status"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"approve_amount": "-1"}, "invalid_number"),
    ({"approve_amount": "1e3"}, "invalid_number"),
    ({"approve_amount": "99999999999999999999999999"}, "invalid_number"),
    ({"approve_amount": ["1"]}, "invalid_request"),
    ({"data": "0x123"}, "invalid_request"),
    ({"data": "6e553f65"}, "invalid_request"),
    ({"data": "0x" + "00" * 40_000}, "invalid_request"),
    ({"target": "0x1234"}, "invalid_address"),
    ({"target": "0x52908400098527886E0F7030069857D2E4169ee7"}, "invalid_address"),
    ({"approval_id": "ap_aaaaaaaaaa"}, "approval_expired"),
    ({"dry_run": "perhaps"}, "invalid_request"),
    ({"value": "1"}, "invalid_request"),
]


async def test_an_action_in_a_wrong_form_is_refused(world: World) -> None:
    m = await working(world, approval_above_usdc="1")
    right = {
        "target": world.evm.market,
        "data": world.deposit_data(m.vault, "5"),
        "approve_amount": "5",
    }
    for fields, code in WRONG:
        told = await m.as_agent("mandate_execute_call", **(right | fields))
        assert told.body["error"] == code, fields
    assert (await rows(world, "approvals"), await rows(world, "reservations")) == (0, 0)


async def test_the_stricter_policy_binds_and_is_named(world: World) -> None:
    m = await working(world)
    await world.ok(
        "owner_agent_policy_put",
        m.owner,
        agent_id=m.agent.user_id,
        accepts_mandates=True,
        per_tx_cap_usdc="10",
    )
    told = await m.execute("11")
    assert told.body["error"] == "over_per_tx_cap"
    assert told.body["detail"]["bound_by"] == "policy"
    assert "policy" in told.body["reason"]


# -- approvals -----------------------------------------------------------------------------------------------------


async def test_an_action_above_the_approval_amount_waits_for_the_owner(world: World) -> None:
    m = await working(world, approval_above_usdc="20")
    assert (await m.execute("20")).status == 200
    held = await m.execute("20.000001", why="the rate is good")
    assert (held.status, held.body["status"]) == (202, "pending_approval")
    assert "data" not in {k for k in held.body if k != "approval"}
    item = held.body["approval"]
    assert (item["status"], item["clause"], item["why"]) == ("pending", 6, "the rate is good")
    assert item["target"]["market"] == "test-market"
    assert item["expires_at"] == "2026-11-21T12:00:00.000Z"
    again = await m.execute("20.000001")
    assert again.body["approval"]["approval_id"] == item["approval_id"]
    seen = await m.read()
    assert seen["steps"][0]["kind"] == "consent"
    assert (
        await m.as_owner(
            "owner_approval_decide", approval_id=item["approval_id"], decision="approve"
        )
    ).status == 200
    told = await m.execute("20.000001")
    assert (told.status, told.body["approval_id"]) == (200, item["approval_id"])
    await m.recorded(m.agent_wallet, told.body)
    used = await m.as_agent("mandate_approvals", status="used")
    assert [i["approval_id"] for i in used.body["items"]] == [item["approval_id"]]
    fresh = await m.execute("20.000001")
    assert fresh.status == 202
    assert fresh.body["approval"]["approval_id"] != item["approval_id"]
    executed = [e for e in (await m.read())["events"] if "executed" in e["payload"]]
    assert "violation" not in executed[0]["payload"]


async def test_a_declined_action_rests_for_an_hour(world: World) -> None:
    m = await working(world, approval_above_usdc="20")
    item = (await m.execute("30")).body["approval"]["approval_id"]
    await m.as_owner("owner_approval_decide", approval_id=item, decision="decline", note="not now")
    told = await m.execute("30")
    assert (told.status, told.body["error"]) == (409, "owner_declined")
    assert told.body["retry_at"] == "2026-11-20T13:00:00.000Z"
    assert told.body["detail"]["approval"]["note"] == "not now"
    assert (await m.execute("31")).status == 202
    world.clock.forward(hours=1)
    anew = await m.execute("30")
    assert anew.status == 202
    assert anew.body["approval"]["approval_id"] != item


async def test_an_approval_lasts_a_day_and_covers_one_action(world: World) -> None:
    m = await working(world, approval_above_usdc="20")
    item = (await m.execute("30")).body["approval"]["approval_id"]
    await m.as_owner("owner_approval_decide", approval_id=item, decision="approve")
    assert await error_of(m.execute("40", approval_id=item)) == "approval_expired"
    assert (await m.execute("30", approval_id=item)).status == 200
    world.clock.forward(hours=24)
    late = await m.execute("30", approval_id=item)
    assert (late.status, late.body["error"]) == (409, "approval_expired")
    assert (await m.as_agent("mandate_approvals", approval_id=item)).body["items"][0][
        "status"
    ] == "expired"
    assert (
        await error_of(m.as_owner("owner_approval_decide", approval_id=item, decision="decline"))
        == "approval_expired"
    )


async def test_with_the_gate_off_nothing_is_held(world: World) -> None:
    m = await working(world, approval_above_usdc="20")
    world.deps = replace(world.deps, defaults=replace(world.deps.defaults, approval_gate=False))
    assert (await m.execute("60")).status == 200
    assert {c["n"]: c["status"] for c in (await m.read())["clauses"]}[6] == "stored_pending"


async def test_an_item_covers_the_very_call_and_nothing_alike(world: World) -> None:
    m = await working(world, approval_above_usdc="20")
    item = (await m.execute("30")).body["approval"]["approval_id"]
    await m.as_owner("owner_approval_decide", approval_id=item, decision="approve")
    alike = {"target": world.evm.market, "data": world.deposit_data(m.vault, "29")}
    other = await m.as_agent("mandate_execute_call", **alike, approve_amount="30")
    assert (other.status, other.body["status"]) == (202, "pending_approval")
    assert other.body["approval"]["approval_id"] != item
    await m.recorded(m.agent_wallet, m.forced("29", "30"))
    # The very call counts only once its calldata was handed out.
    await m.recorded(m.agent_wallet, m.forced("30"))
    given = await m.execute("30")
    assert (given.status, given.body["approval_id"]) == (200, item)
    await m.recorded(m.agent_wallet, given.body)
    rows_of = [e for e in (await m.read())["events"] if "executed" in e["payload"]]
    flags = [e["payload"].get("violation", {}).get("codes") for e in rows_of]
    assert flags == [None, ["approval_missing"], ["approval_missing"]]
    used = await m.as_agent("mandate_approvals", approval_id=item)
    assert used.body["items"][0]["status"] == "used"


async def test_a_creation_that_would_revert_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await signed(world)
    block = await world.chains.get(CHAIN_ID).latest()
    failed = Simulation(False, Revert("BadSignature", {}, "invalid_signature"), None, block)

    async def simulate(self: EvmChain, call: Any) -> Simulation:
        return failed

    monkeypatch.setattr(EvmChain, "simulate", simulate)
    told = await m.as_owner("owner_create_call")
    assert (told.status, told.body["error"]) == (409, "would_revert")
    assert told.body["detail"]["revert"]["name"] == "BadSignature"


# -- the owner's calls ---------------------------------------------------------------------------------------------


async def test_a_draft_has_no_vault_to_call(world: World) -> None:
    m = await drafted(world)
    for name in (*OWNER_CALLS, "owner_fund", "owner_create_call", "owner_stop"):
        told = await m.as_owner(name)
        assert (told.status, told.body["error"]) == (409, "wrong_status"), name


async def test_without_a_factory_there_is_nothing_to_create(world: World) -> None:
    m = await signed(world)
    world.chains.get(CHAIN_ID).factory = None
    told = await m.as_owner("owner_create_call")
    assert (told.status, told.body["configured"]) == (200, False)


async def test_calls_and_reads_outlive_the_chain(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, m = await signed(world), await working(world)
    before = (await bare.as_owner("owner_create_call")).body["predicted_vault"]
    assert before is not None
    down(monkeypatch)
    created = await bare.as_owner("owner_create_call")
    assert (created.status, created.body["simulation"]) == (200, None)
    assert created.body["predicted_vault"] == before
    seen = await m.read()
    # What the vault said last, with its age; what only a read of now can tell is not told.
    assert (seen["chain_state"]["agent_known"], seen["lock"]["withdrawable"]) == (True, None)
    assert seen["chain_state"]["age_s"] >= 0
    assert seen["progress"]["cash"] == "500.000000"
    told = await m.execute("5")
    assert (told.status, told.body["simulation"]) == (200, None)
    for name in (
        "owner_stop_call",
        "owner_pause_call",
        "owner_withdraw_call",
        "owner_close_all_plan",
        "owner_fund",
    ):
        assert (await m.as_owner(name)).status == 200, name
    lost = await m.as_owner("owner_vault_tx", tx_hash="0x" + "ab" * 32)
    assert (lost.body["error"], lost.body["retry_safe"]) == ("tx_pending", True)


async def test_a_stop_in_the_record_leaves_the_vault_to_its_own_stop(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    told = await m.as_owner("owner_stop")
    assert (told.body["chain_live"], told.body["mandate"]["status"]) == (True, "stopped")
    world.clock.forward(minutes=1)
    assert (await m.as_owner("owner_stop")).body["mandate"]["status"] == "stopped"
    stops = [e for e in (await m.read())["events"] if e["kind"] == "stop"]
    assert [(e["reported_by"], e["payload"]["record_only"]) for e in stops] == [("owner", True)]
    assert await error_of(m.execute("1")) == "mandate_stopped"
    unwind = {"target": world.evm.market, "data": exit_data(m, "1")}
    early = await m.as_owner("mandate_unwind_call", **unwind)
    assert early.body["error"] == "wrong_status"
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    assert (await m.as_owner("mandate_unwind_call", **unwind)).status == 200
    assert (await m.as_agent("mandate_unwind_call", **unwind)).status == 200
    more = unwind | {"data": exit_data(m, "61")}
    reverts = await m.as_owner("mandate_unwind_call", **more)
    assert (reverts.status, reverts.body["error"]) == (409, "would_revert")
    assert reverts.body["detail"]["revert"]["name"] == "TargetReverted"
    assert reverts.body["next"][0]["tool"] == "mandate_unwind_call"
    assert await error_of(m.as_owner("owner_stop_call")) == "mandate_stopped"
    assert (await m.as_owner("owner_stop")).body["chain_live"] is False
    assert await error_of(m.as_owner("owner_pause_call")) == "wrong_status"


async def test_the_agent_gives_its_role_up_by_the_vaults_own_stop(world: World) -> None:
    m = await working(world)
    told = await m.as_agent("mandate_forfeit")
    assert told.body["call"]["from"] == m.agent_wallet.address
    ok, tx = await world.mined(m.agent_wallet, told.body["call"])
    assert ok
    stopped = await m.as_owner("owner_vault_tx", tx_hash=tx, kind="stop")
    assert stopped.body["mandate"]["status"] == "stopped"
    row = next(e for e in (await m.read())["events"] if e["kind"] == "stop")
    assert (row["reported_by"], row["payload"]["reason"]) == ("chain", "agent")
    assert await error_of(m.as_agent("mandate_forfeit")) == "mandate_stopped"


async def test_the_way_out_is_stop_unwind_settle_withdraw(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    plan = (await m.as_owner("owner_close_all_plan")).body
    assert [s["step"] for s in plan["steps"]] == ["stop", "unwind", "settle", "withdraw"]
    assert [s["n"] for s in plan["steps"]] == [1, 2, 3, 4]
    unwind = plan["steps"][1]
    assert (unwind["market"], unwind["value_est"]) == ("test-market", "60.000000")
    assert unwind["exit_cost_est"] == "0.180000"
    assert (plan["exit_cost_est"], plan["leave_now_est"]) == ("0.180000", "499.820000")
    assert plan["est"] is True
    await m.recorded(m.owner_wallet, plan["steps"][0]["call"])
    left = (await m.as_owner("owner_close_all_plan")).body
    assert [s["step"] for s in left["steps"]] == ["unwind", "settle", "withdraw"]


async def test_a_vault_transaction_is_what_it_says_and_of_this_vault(world: World) -> None:
    m, other = await working(world), await working(world)
    before = await rows(world, "ledger_events")
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    wrong = await m.as_owner("owner_vault_tx", tx_hash=tx, kind="deposit")
    assert (wrong.status, wrong.body["error"]) == (409, "vault_mismatch")
    assert await error_of(other.as_owner("owner_vault_tx", tx_hash=tx)) == "vault_mismatch"
    assert (await rows(world, "ledger_events")) == before
    first = await m.as_owner("owner_vault_tx", tx_hash=tx, kind="pause")
    again = await m.as_owner("owner_vault_tx", tx_hash=tx.upper().replace("0X", "0x"))
    assert (first.status, again.status, again.body["mandate"]["paused"]) == (200, 200, True)
    assert len([e for e in (await m.read())["events"] if "control" in e["payload"]]) == 1


async def test_a_failed_or_unknown_transaction_changes_nothing(world: World) -> None:
    m = await working(world)
    before = await rows(world, "ledger_events")
    ok, tx = await world.mined(m.agent_wallet, m.forced("150"))
    assert not ok
    for each, code in ((tx, "vault_mismatch"), ("0x" + "00" * 32, "tx_pending")):
        told = await m.as_owner("owner_vault_tx", tx_hash=each)
        assert (told.status, told.body["error"]) == (409, code)
    assert await rows(world, "ledger_events") == before


async def test_a_young_transaction_is_recorded_once_it_is_deep(world: World) -> None:
    m = await working(world)
    world.chains.get(CHAIN_ID).confirmations = 3
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    young = (await m.as_owner("owner_vault_tx", tx_hash=tx)).body
    assert (young["recorded"], young["confirmations"]) == (False, 3)
    assert (young["mandate"]["paused"], young["mandate"]["provisional"]) == (True, True)
    for _ in range(3):
        world.evm.chain.mine()
    old = (await m.as_owner("owner_vault_tx", tx_hash=tx)).body
    assert (old["recorded"], old["mandate"]["paused"]) == (True, True)
    assert old["mandate"]["provisional"] is False


async def test_funding_stops_at_what_the_vault_holds_already(world: World) -> None:
    m = await working(world, deposit="100")
    told = (await m.as_owner("owner_fund", amount="400")).body
    assert told["room"] == "400.000000"
    assert [c["step"] for c in told["calls"]] == ["approve", "deposit"]
    assert await error_of(m.as_owner("owner_fund", amount="400.000001")) == "over_budget"
    for amount in ("0", "-1"):
        assert await error_of(m.as_owner("owner_fund", amount=amount)) == "invalid_number"
    assert (await m.as_owner("owner_fund")).body["calls"] == []
    for call in told["calls"]:
        ok, _ = await world.mined(m.owner_wallet, call)
        assert ok
    # The second deposit is mined, and no ledger row tells of it yet.
    assert (await m.as_owner("owner_fund")).body["room"] == "0.000000"
