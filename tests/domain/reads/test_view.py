"""The mandate read: its shape, the ten clauses, the record, the lock, and that no stored value makes it fail."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.chain_facts import BlockStamp, StagedLog, VaultState
from domain.ledger.events.event import NewEvent
from domain.mandates.approvals import Approval
from domain.mandates.clauses import clauses
from domain.mandates.mandate import ClauseKey, Status
from domain.mandates.targets import Target
from domain.mandates.terms import TermsStatus
from domain.reads.summary import summary
from domain.rules.snapshot import MandateSnapshot
from domain.settings import Switches
from tests.domain.ledger.test_books import GARBAGE
from tests.domain.material import (
    MARKET,
    SELECTOR,
    START,
    TARGET,
    Ledger,
    case,
    deposit,
    executed,
    ledger,
    mandate,
    mandate_read,
    on_the_wire,
    row,
    usdc,
    words,
)

PARTS = words(
    "as_of mandate progress events clauses card_header card_footer limits fees steps lock "
    "chain_state exposure terms_status x402 payments"
)
STEP = words(
    "id group kind code status at reported_by confirmed_on_chain est amount_usdc tx_hash why note "
    "resource target allowed_by breached clauses params"
)
FIGURES = words(
    "worth_est realized floor cash positions_est fees agent_fee_reserved leave_now_est "
    "leave_now_basis exit_cost_est rules next_event status day horizon_days"
)
LIMITS = words("budget per_action per_day stop_line period pending_approvals paid_reads")
KINDS = words("instruction research verify consent action outcome funding control note")
NOW = START + timedelta(hours=2)
CALLED = {"target": MARKET, "selector": SELECTOR, "spent": 40_000_000, "returned": 0, "approved": 0}
EARLY_LOG = StagedLog(
    name="Executed",
    address="0x" + "cc" * 20,
    mandate=None,
    args=CALLED | {"agent": "0xbb"},
    at=NOW - timedelta(minutes=1),
    block=9,
    tx_hash="0x01",
)


def steps(at: MandateSnapshot) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = mandate_read(at)["steps"]
    return told


def pending(name: str, minutes: int, **more: Any) -> Approval:
    place = {"market": "erc4626-test", "address": MARKET, "selector": SELECTOR}
    asked = START + timedelta(minutes=minutes)
    until, why = asked + timedelta(days=1), "to rebalance"
    return Approval(name, "m_1", "pending", place, "0x", "h", usdc(30), why, asked, until, **more)


def test_the_read_has_every_part_and_is_json() -> None:
    made = ledger(
        deposit(500), row("buy", 40, tx="0x01", position={"id": "p"}), executed(40, tx="0x01")
    )
    signed = TermsStatus(signed=True, version="2", digest_matches=True, signer_matches=True)
    view = mandate_read(made.case(terms_status=signed))
    assert set(view) == PARTS
    assert json.loads(json.dumps(view)) == view
    assert set(view["progress"]) >= FIGURES
    limits = view["limits"]
    assert set(limits["allowed"]) == set(limits["used"]) == LIMITS
    assert all({"value", "source", "basis"} <= set(u) for u in limits["used"].values())
    assert [e["event_id"] for e in view["events"]] == [e.event_id for e in reversed(made.events)]
    listed = words("public_id status mandate progress pending_approvals possible_now in_purse")
    assert set(on_the_wire(summary(made.case()))) == listed


def test_the_ten_clauses_stand_in_their_order_with_who_enforces_them() -> None:
    m = mandate(approval_above_usdc=usdc("12.5"), on_floor="close")
    told = on_the_wire(clauses(m, Switches(stop_line_dry_run=False)))
    assert [(c["n"], c["key"]) for c in told] == [(int(k), k.key) for k in ClauseKey]
    by = ["Contract"] * 5 + ["Service guard"] * 2 + ["Contract"] * 3
    assert [c["enforced_by"] for c in told] == by
    assert all(c["source"] == c["signed_fields"][0] for c in told)
    assert {c["status"] for c in told} == {"enforced"}
    assert told[1]["source"] == "perTxCap"
    assert "12.50 USDC" in told[5]["text_en"]
    assert told[0]["params"]["amount"] == "500.000000"


def test_what_a_switch_turns_off_is_stored_and_pending() -> None:
    off = on_the_wire(clauses(mandate(), Switches(approval_gate=False, stop_line_dry_run=True)))
    assert [c["n"] for c in off if c["status"] == "stored_pending"] == [6, 7]


def test_what_the_vault_asks_for_itself_no_switch_turns_off() -> None:
    m = mandate(approval_above_usdc=usdc(20), approvals_on_chain=True)
    told = on_the_wire(clauses(m, Switches(approval_gate=False)))[5]
    assert (told["enforced_by"], told["status"]) == ("Contract", "enforced")
    assert told["text_en"] == (
        "Above 20.00 USDC the vault takes an action only with your signature over that very "
        "action, once."
    )


def test_markets_name_every_entry_and_its_enforcer() -> None:
    targets = (
        Target("vault"),
        Target("x402", hosts=("a.example",)),
        TARGET,
        Target("venue", venue="perps", symbols=("BTC",)),
        Target("venue", venue="perps", symbols=("BTC",), label="Open Venue"),
    )
    told = on_the_wire(clauses(mandate(allowed_targets=targets), Switches()))[4]
    by = [i["enforced_by"] for i in told["params"]["items"]]
    assert by == ["Contract", "Service guard", "Contract", "Service guard", "Venue"]
    assert "paid reads (x402) at named hosts (1)" in told["text_en"]
    assert "a.example" not in told["text_en"]
    assert "Test market" in told["text_en"]


def _story() -> Ledger:
    place = {"position": {"id": "p"}}
    return ledger(
        deposit(500),
        row("fee", "0.01", fee_kind="x402", resource="https://a.example/x", text="prices"),
        row("note", preview={"ok": True}, text="checked"),
        row("note", approval={"approval_id": "ap_1", "status": "approved"}),
        row("buy", 40, tx="0x01", why="cheap", target={"address": MARKET}, **place),
        executed(40, tx="0x01"),
        executed(5, tx="0x02"),
        row("note", by="keeper", marks={"p": "41"}),
        row("note", mark="42", **place),
        row("resolve", 1, **place),
        row("stop", None, "chain", reason="owner"),
        row("withdraw", 455, "chain"),
        row("payout", "0.1", "chain"),
        row("note", text="good-bye"),
    )


def test_every_kind_of_step_appears_and_each_has_its_fields() -> None:
    told = steps(_story().case(mandate(purpose="grow slowly"), approvals=(pending("ap_2", 1),)))
    assert {s["kind"] for s in told} == KINDS
    assert all(set(s) == STEP for s in told)
    last = told[-1]
    assert (last["kind"], last["note"]) == ("instruction", "grow slowly")
    assert last["clauses"] == list(range(1, 11))


def test_a_pair_is_one_group_the_action_first_and_the_measured_outcome_after_it() -> None:
    told = steps(_story().case())
    group = [s for s in told if s["group"] == "0x01"]
    by = [(s["kind"], s["reported_by"]) for s in group]
    assert by == [("action", "agent"), ("outcome", "chain")]
    assert all(s["confirmed_on_chain"] for s in group)
    assert (group[0]["why"], group[1]["why"], group[0]["est"]) == ("cheap", None, False)
    assert (group[0]["allowed_by"], group[0]["breached"]) == ([2, 3, 4, 5, 8], [])
    (alone,) = [s for s in told if s["group"] == "0x02"]
    assert (alone["kind"], alone["code"]) == ("action", "executed")


def test_groups_stand_newest_first_and_pending_approvals_on_top() -> None:
    items = (pending("ap_2", 1), pending("ap_3", 2), pending("ap_4", -3_000))
    told = steps(_story().case(approvals=items))
    assert [s["id"] for s in told[:2]] == ["ap_3", "ap_2"]
    shown = ("consent", "pending", "to rebalance")
    assert (told[0]["kind"], told[0]["status"], told[0]["why"]) == shown
    assert "ap_4" not in [s["id"] for s in told]
    times = [s["at"] for s in told[2:-1] if s["tx_hash"] is None]
    assert times == sorted(times, reverse=True)


def test_a_reason_comes_only_from_the_agent_s_own_rows() -> None:
    made = ledger(row("note", by="keeper", text="mine", why="no"), row("note", text="yours"))
    told = {s["reported_by"]: s["why"] for s in steps(made.case())}
    assert told == {"keeper": None, "agent": "yours", "owner": None}


def test_a_log_that_is_not_deep_enough_is_shown_and_not_confirmed() -> None:
    early = (EARLY_LOG, replace(EARLY_LOG, name="New"))
    at = ledger(deposit(500), row("buy", 40, tx="0x01")).case(provisional=early)
    group = [s for s in steps(at) if s["group"] == "0x01"]
    assert [s["status"] for s in group] == ["done", "provisional"]
    assert {(s["confirmed_on_chain"], s["amount_usdc"]) for s in group} == {(False, "40.000000")}
    assert mandate_read(at)["progress"]["cash"] == "500.000000"


@pytest.mark.parametrize(
    ("reason", "clause"),
    [("TargetNotAllowed", 5), ("OverPerTxCap", 2), ("MandateEnded", 8), ("server_guard", None)],
)
def test_a_refused_attempt_is_a_note_that_cites_its_clause(reason: str, clause: int | None) -> None:
    step = steps(ledger(row("note", refusal={"reason": reason})).case())[0]
    assert (step["kind"], step["code"], step["status"]) == ("note", "refused", "refused")
    assert step["clauses"] == ([] if clause is None else [clause])
    assert step["breached"] == []


@pytest.mark.parametrize(
    ("seen", "withdrawable", "reason"),
    [
        ({"withdrawable": True}, True, None),
        ({"lock_reason": 1, "lock_until": NOW}, False, "open_positions"),
        (None, None, "unknown"),
    ],
)
def test_the_lock_mirrors_the_vault(
    seen: dict[str, Any] | None, withdrawable: bool | None, reason: str | None
) -> None:
    block = BlockStamp(1, "0x", NOW)
    chain = None if seen is None else VaultState("0xcc", block, True, **seen)
    lock = mandate_read(case(chain=chain))["lock"]
    assert set(lock) == {"withdrawable", "reason", "until", "message"}
    assert (lock["withdrawable"], lock["reason"]) == (withdrawable, reason)
    assert mandate_read(case(mandate(vault_address=None)))["lock"]["reason"] == "no_vault"


def test_the_chain_state_says_what_was_read_and_when() -> None:
    chain = VaultState("0xcc", BlockStamp(9, "0x", NOW), True, agent="0xbb", stopped=True)
    read = case(mandate(refreshed_at=NOW), chain=chain, provisional=(EARLY_LOG,))
    told = mandate_read(read)["chain_state"]
    assert (told["stopped"], told["settled"], told["agent"]) == (True, False, "0xbb")
    assert (told["agent_known"], told["as_of_block"]) == (True, 9)
    assert told["refreshed_at"] == "2026-11-02T11:00:00.000Z"
    unread = mandate_read(case())["chain_state"]
    assert (unread["stopped"], unread["agent_known"]) == (None, False)


def test_the_next_event_is_the_soonest() -> None:
    def next_of(at: MandateSnapshot) -> Any:
        return mandate_read(at)["progress"]["next_event"]

    made = ledger(deposit(500), row("note", next_at=(NOW + timedelta(hours=1)).isoformat()))
    assert next_of(made.case()) == {"kind": "next_at", "at": "2026-11-02T12:00:00.000Z"}
    item = replace(pending("ap_1", 0), expires_at=NOW + timedelta(minutes=5))
    assert next_of(made.case(approvals=(item,)))["kind"] == "approval_expiry"
    unclear = ledger(deposit(500), row("note", next_at="soon"))
    assert next_of(unclear.case())["kind"] == "ends_at"
    assert next_of(case(mandate(status=Status.CANCELLED, vault_address=None))) is None


def test_a_paused_mandate_says_so() -> None:
    told = mandate_read(case(mandate(paused_at=START)))["mandate"]
    assert (told["paused"], told["paused_at"]) == (True, "2026-11-02T09:00:00.000Z")


def test_paid_reads_count_in_credits_of_the_day_rounded_up_a_read() -> None:
    reads = [row("fee", "0.011", fee_kind="paid_read") for _ in range(60)]
    made = ledger(*reads, row("fee", 1, fee_kind="gas"))
    assert mandate_read(made.case())["limits"]["used"]["paid_reads"]["value"] == 120


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(st.lists(GARBAGE, max_size=6))
def test_no_stored_garbage_makes_a_read_fail(rows: list[NewEvent]) -> None:
    made = ledger(deposit(500), *rows)
    view = mandate_read(made.case(mandate(approval_above_usdc=usdc(1))))
    json.dumps(view, allow_nan=True)
    if made.state.bad:
        assert view["progress"]["data_issue"] is True
