"""Transfers: what each step moves, and what the chain's word makes of a report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.agents.transfers import (
    StoredTransfer,
    TransferOutcome,
    TransferTransition,
    confirm_unreported,
    gains,
    outcome,
    report_transfer,
    settle_transfer,
    units,
    unreported_deltas,
)
from domain.chain_facts import BlockStamp, Receipt, TransferLog
from domain.refusals import Refused

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TOKEN, OTHER = "0x" + "aa" * 20, "0x" + "bb" * 20
MINE, THEIRS = "0x" + "01" * 20, "0x" + "02" * 20


def a_report(direction: str = "out", amount: int = 5_000_000, **more: Any) -> StoredTransfer:
    given: dict[str, Any] = {"reported_by": "agent", "status": "reported", "reported_at": NOW}
    return StoredTransfer(84532, "0x" + "ab" * 32, "u_1", "USDC", amount, direction, **given | more)


def moves(step: TransferTransition) -> dict[str, int]:
    return {d.state: d.delta for d in step.deltas}


def receipt(*transfers: TransferLog, ok: bool = True, depth: int = 20) -> Receipt:
    return Receipt(
        "0x" + "ab" * 32, ok, MINE, TOKEN, BlockStamp(9, "0x1", NOW), depth, (), transfers
    )


def a_log(
    amount: int, sender: str = MINE, recipient: str = THEIRS, token: str = TOKEN
) -> TransferLog:
    return TransferLog(token, sender, recipient, amount, 0)


def judged(
    report: StoredTransfer,
    told: Receipt | None,
    *,
    holders: dict[str, str] = {MINE: "u_1"},  # noqa: B006 - nobody writes to it
    **more: Any,
) -> TransferOutcome | None:
    given: dict[str, Any] = {
        "confirmations": 12,
        "now": NOW,
        "fails_after": timedelta(days=1),
    }
    gained = gains(told.transfers, TOKEN, holders).get("u_1", 0) if told else 0
    return outcome(report, told, gained=gained, **given | more)


@pytest.mark.parametrize(
    ("direction", "idle", "moved"),
    [
        ("in", 0, {"in_transit": 5_000_000}),
        ("out", 5_000_000, {"in_transit": 5_000_000, "idle": -5_000_000}),
    ],
)
def test_a_report_is_in_transit_and_leaves_idle_where_it_goes_out(
    direction: str, idle: int, moved: dict[str, int]
) -> None:
    step = report_transfer(a_report(direction), idle=idle, allow_overdraft=False)
    assert moves(step) == moved
    assert step.report.override_reason is None


def test_an_outbound_report_above_idle_is_refused_with_what_is_left() -> None:
    with pytest.raises(Refused) as refused:
        report_transfer(a_report(), idle=4_000_000, allow_overdraft=False)
    block = refused.value.refusal.as_json()
    assert block["error"] == "insufficient_idle"
    assert block["reason"] == "Idle USDC on chain 84532 is 4.000000, the report moves 5.000000."
    assert block["remaining"] == {"idle": "4.000000"}


def test_an_allowed_overdraft_says_why() -> None:
    step = report_transfer(a_report(), idle=4_000_000, allow_overdraft=True)
    assert moves(step)["idle"] == -5_000_000
    assert step.report.override_reason is not None
    assert "4.000000" in step.report.override_reason


@pytest.mark.parametrize(
    ("direction", "actual", "idle", "landed"),
    [
        ("in", 5_000_000, 0, 5_000_000),
        ("in", 4_000_000, 0, 4_000_000),
        ("out", 5_000_000, 0, 0),
        ("out", 4_000_000, 0, 1_000_000),
        ("out", 6_000_000, 10_000_000, -1_000_000),
        ("out", 6_000_000, 400_000, -400_000),
        ("out", 6_000_000, 0, 0),
    ],
)
def test_a_confirmation_puts_what_really_moved_on_idle(
    direction: str, actual: int, idle: int, landed: int
) -> None:
    step = settle_transfer(a_report(direction), TransferOutcome(actual), idle=idle, now=NOW)
    assert moves(step).get("in_transit") == -5_000_000
    assert moves(step).get("idle", 0) == landed
    assert (step.report.status, step.report.confirmed_at) == ("confirmed", NOW)
    assert step.report.amount_actual == (actual if actual != 5_000_000 else None)


def test_an_overdraft_may_be_corrected_below_zero() -> None:
    step = settle_transfer(
        a_report(override_reason="allowed"), TransferOutcome(6_000_000), idle=-1, now=NOW
    )
    assert moves(step)["idle"] == -1_000_000


def test_a_failed_report_gives_an_outbound_amount_back() -> None:
    failed = [
        moves(settle_transfer(a_report(way), TransferOutcome(None), idle=0, now=NOW))
        for way in ("out", "in")
    ]
    assert failed == [{"in_transit": -5_000_000, "idle": 5_000_000}, {"in_transit": -5_000_000}]


@pytest.mark.parametrize(
    ("status", "actual"), [("confirmed", None), ("confirmed", 1), ("failed", None)]
)
def test_what_has_its_outcome_keeps_it(status: str, actual: int | None) -> None:
    with pytest.raises(ValueError, match=status):
        settle_transfer(a_report(status=status), TransferOutcome(actual), idle=0, now=NOW)


@pytest.mark.parametrize(
    ("direction", "actual", "idle", "landed"),
    [
        ("in", 4_000_000, 0, 4_000_000),
        ("out", 5_000_000, 9_000_000, -5_000_000),
        ("out", 5_000_000, 2_000_000, -2_000_000),
    ],
)
def test_what_failed_and_is_found_after_all_is_confirmed_late(
    direction: str, actual: int, idle: int, landed: int
) -> None:
    step = settle_transfer(
        a_report(direction, status="failed"), TransferOutcome(actual), idle=idle, now=NOW
    )
    assert moves(step) == {"idle": landed}
    assert (step.report.status, step.report.confirmed_at) == ("confirmed", NOW)


def test_a_transfer_that_only_the_chain_tells_of_is_idle_at_once() -> None:
    assert moves(confirm_unreported(a_report("in", status="confirmed"))) == {"idle": 5_000_000}


def test_a_report_waits_for_its_receipt_and_its_depth() -> None:
    assert judged(a_report(), None) is None
    assert judged(a_report(), None, now=NOW + timedelta(hours=23, minutes=59)) is None
    assert judged(a_report(), None, now=NOW + timedelta(days=1)) == TransferOutcome(None)
    assert judged(a_report(), receipt(a_log(5_000_000), depth=11)) is None
    assert judged(a_report(), receipt(a_log(5_000_000), depth=12)) == TransferOutcome(5_000_000)


def test_a_revert_fails_the_report() -> None:
    assert judged(a_report(), receipt(ok=False)) == TransferOutcome(None)


def test_only_the_asset_between_the_agent_and_others_counts() -> None:
    mixed = receipt(
        a_log(5_000_000),
        a_log(7_000_000, token=OTHER),
        a_log(1_000_000, THEIRS, MINE),
        a_log(9, MINE, MINE),
        a_log(3, THEIRS, THEIRS),
    )
    assert judged(a_report(), mixed) == TransferOutcome(4_000_000)
    assert judged(a_report("in"), mixed) is None


def test_a_transfer_that_touches_no_proven_address_of_the_agent_fails_in_time() -> None:
    foreign = receipt(a_log(5_000_000, THEIRS, OTHER))
    for told in (foreign, receipt(a_log(5_000_000))):
        holders = {THEIRS: "u_2"} if told is foreign else {}
        assert judged(a_report(), told, holders=holders) is None
        late = judged(a_report(), told, holders=holders, now=NOW + timedelta(days=1))
        assert late == TransferOutcome(None)


def test_one_that_is_mined_late_is_not_failed_while_it_gets_deep() -> None:
    told = receipt(a_log(5_000_000), depth=3)
    assert judged(a_report(), told, now=NOW + timedelta(days=2)) is None


def test_a_transaction_between_two_agents_moves_for_both() -> None:
    holders = {MINE: "u_1", THEIRS: "u_2", OTHER: "u_2"}
    logs = [a_log(5), a_log(3, THEIRS, OTHER), a_log(2, THEIRS, "0x" + "99" * 20)]
    assert gains(logs, TOKEN, holders) == {"u_1": -5, "u_2": 3}
    assert gains(logs, TOKEN, {"0x" + "98" * 20: "u_3"}) == {}


@pytest.mark.parametrize(
    ("gained", "idle", "moved"), [(5, 0, 5), (-5, 9, -5), (-5, 2, -2), (-5, 0, 0)]
)
def test_what_another_reported_takes_idle_no_further_than_zero(
    gained: int, idle: int, moved: int
) -> None:
    (row,) = unreported_deltas(84532, "0x" + "ab" * 32, "USDC", gained, idle=idle)
    assert (row.state, row.delta) == ("idle", moved)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0.000000"), (-1, "-0.000001"), (10**24 + 1, "1000000000000000000.000001")],
)
def test_units_are_exact(amount: int, text: str) -> None:
    assert units(amount) == text
