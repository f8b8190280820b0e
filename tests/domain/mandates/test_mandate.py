"""The mandate's states: every pair of state and action, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Mandate, Status
from domain.refusals import Refused
from tests.domain.material import START, mandate, usdc

S, A = Status, LifecycleAction
# Where each action leads to from a state, in pairs `from-to`, or alone where it stays; every other pair is refused.
LEADS = {
    A.CORRECT: "draft",
    A.ASSIGN: "draft",
    A.ACCEPT: "draft signed working",
    A.CANCEL: "draft-cancelled",
    A.SIGN: "draft-signed",
    A.ATTACH: "signed",
    A.FUND: "signed-working working stopped",
    A.DECIDE: "signed working",
    A.STOP: "signed-stopped working-stopped",
    A.SETTLE: "working-settled stopped-settled",
}


@pytest.mark.parametrize("action", list(LifecycleAction))
@pytest.mark.parametrize("status", list(Status))
def test_every_pair_of_state_and_action_is_a_move_or_a_refusal(
    status: Status, action: LifecycleAction
) -> None:
    m, moves = mandate(status=status), [move.split("-") for move in LEADS[action].split()]
    to = {move[0]: move[-1] for move in moves}.get(status.value)
    if to is not None:
        assert status_after(m, action) is Status(to)
        return
    with pytest.raises(Refused) as refused:
        status_after(m, action)
    signed = action in (A.CORRECT, A.ASSIGN)
    assert refused.value.code == ("mandate_signed" if signed else "wrong_status")


@pytest.mark.parametrize(
    ("action", "expected"), [(A.CANCEL, S.CANCELLED), (A.STOP, None), (A.FUND, None), (A.ATTACH, S.SIGNED)]
)  # fmt: skip
def test_a_signed_mandate_without_a_vault_can_be_cancelled_and_not_stopped(
    action: LifecycleAction, expected: Status | None
) -> None:
    m = mandate(status=S.SIGNED, vault_address=None)
    if expected is not None:
        assert status_after(m, action) is expected
        return
    with pytest.raises(Refused, match="wrong_status"):
        status_after(m, action)


def test_a_mandate_is_over_at_its_end_and_not_before() -> None:
    m = mandate()
    end = START + timedelta(days=30)
    assert not m.ended(end - timedelta(microseconds=1))
    assert m.ended(end)


@pytest.mark.parametrize(
    ("bps", "floor"),
    [(0, "500.000000"), (2000, "400.000000"), (10000, "0.000000"), (3333, "333.350000")],
)
def test_the_floor_is_a_share_of_the_budget(bps: int, floor: str) -> None:
    assert str(mandate(stop_floor_bps=bps).floor) == floor


def _legacy(**caps: object) -> Mandate:
    return replace(mandate(), per_tx_cap_usdc=None, daily_cap_usdc=None, legacy_caps=caps)


def test_a_legacy_row_falls_back_to_its_caps_entry_and_then_to_the_budget() -> None:
    assert (_legacy().per_tx_cap, _legacy().daily_cap) == (usdc(500), usdc(500))
    assert _legacy(per_tx="20", daily="60").per_tx_cap == usdc(20)
    assert _legacy(per_tx="20", daily="60").daily_cap == usdc(60)


def test_an_unusable_legacy_cap_reads_as_nothing_and_says_so() -> None:
    assert _legacy(per_tx="lots").per_tx_cap == usdc(0)
    assert _legacy(per_tx="lots").data_issue
    assert not _legacy(per_tx="20").data_issue
