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
# The move's end, or the code of the refusal; every pair that is not named is refused with wrong_status.
MOVES: dict[tuple[Status, LifecycleAction], Status | str] = {
    (S.DRAFT, A.CORRECT): S.DRAFT,
    (S.DRAFT, A.ASSIGN): S.DRAFT,
    (S.DRAFT, A.ACCEPT): S.DRAFT,
    (S.DRAFT, A.CANCEL): S.CANCELLED,
    (S.DRAFT, A.SIGN): S.SIGNED,
    (S.SIGNED, A.ACCEPT): S.SIGNED,
    (S.SIGNED, A.ATTACH): S.SIGNED,
    (S.SIGNED, A.FUND): S.WORKING,
    (S.SIGNED, A.DECIDE): S.SIGNED,
    (S.SIGNED, A.STOP): S.STOPPED,
    (S.WORKING, A.ACCEPT): S.WORKING,
    (S.WORKING, A.FUND): S.WORKING,
    (S.WORKING, A.DECIDE): S.WORKING,
    (S.WORKING, A.STOP): S.STOPPED,
    (S.WORKING, A.SETTLE): S.SETTLED,
    (S.STOPPED, A.FUND): S.STOPPED,
    (S.STOPPED, A.SETTLE): S.SETTLED,
} | {
    (status, action): "mandate_signed"
    for status in (S.SIGNED, S.WORKING, S.STOPPED, S.SETTLED, S.CANCELLED)
    for action in (A.CORRECT, A.ASSIGN)
}  # fmt: skip


@pytest.mark.parametrize("action", list(LifecycleAction))
@pytest.mark.parametrize("status", list(Status))
def test_every_pair_of_state_and_action_is_a_move_or_a_refusal(
    status: Status, action: LifecycleAction
) -> None:
    m = mandate(status=status)
    expected = MOVES.get((status, action), "wrong_status")
    if isinstance(expected, Status):
        assert status_after(m, action) is expected
        return
    with pytest.raises(Refused) as refused:
        status_after(m, action)
    assert refused.value.code == expected


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
