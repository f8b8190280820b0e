"""When the recorded value is renewed, and what an old one refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.chain_facts import BlockStamp, Revert, VaultState
from domain.mandates.mandate import ClauseKey
from domain.rules.action_checks import action_checks
from domain.rules.mark_policy import (
    came_out_low,
    fall_persists,
    record_drift,
    recorded_value,
    refuses,
)
from domain.rules.revert_refusals import reverts
from domain.rules.rule import ActionRequest
from tests.domain.material import CALL, MARKET, START, VAULT, deposit, ledger, mandate, usdc

NOW = START + timedelta(hours=2)
M = mandate(ends_at=START + timedelta(days=30))


def vault(now: str, recorded: str = "400", **changes: Any) -> VaultState:
    told = {"answered": (True,), "total_deposited": usdc(500)} | changes
    block = BlockStamp(9, "0x09", NOW)
    found = VaultState(VAULT, block, exists=True, positions=usdc(now), recorded=usdc(recorded))
    return replace(found, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "recorded", "move"),
    [
        ("404", "400", "gain"),
        ("403.999999", "400", None),
        ("396", "400", "fall"),
        ("396.000001", "400", None),
        ("20.99", "20", None),  # over 1%, under 1 USDC
        ("19.01", "20", None),
        ("21", "20", "gain"),
        ("19", "20", "fall"),
        ("0.999999", "400", None),  # dust costs no gas
        ("1", "400", "fall"),
        ("400", "0", "gain"),
    ],
)
def test_a_record_is_renewed_from_one_percent_and_one_usdc_on(
    now: str, recorded: str, move: str | None
) -> None:
    assert record_drift(M, vault(now, recorded)) == move


def test_in_the_last_hour_a_gain_of_one_usdc_pays_and_a_fall_still_needs_one_percent() -> None:
    ending = replace(M, ends_at=NOW + timedelta(minutes=30))
    assert record_drift(ending, vault("401")) == "gain"
    assert record_drift(M, vault("401")) is None
    assert record_drift(ending, vault("397")) is None
    assert record_drift(ending, vault("396")) == "fall"


@pytest.mark.parametrize("changes", [{"stopped": True}, {"settled": True}, {"answered": (False,)}])
def test_a_closed_vault_and_one_with_a_silent_probe_are_left_alone(changes: Any) -> None:
    assert record_drift(M, vault("100", **changes)) is None
    assert record_drift(M, vault("900", **changes)) is None


def test_nothing_is_recorded_that_could_be_mined_after_the_end() -> None:
    assert record_drift(replace(M, ends_at=NOW + timedelta(minutes=2)), vault("100")) is None
    assert record_drift(replace(M, ends_at=NOW + timedelta(minutes=3)), vault("100")) == "fall"


@pytest.mark.parametrize(
    ("deep", "newest", "fell"),
    [
        ("300", "300", True),
        ("300", "297", True),
        ("300", "296.999999", False),  # it falls on: a moment later it may stand
        ("297", "300", True),
        ("296.9", "300", False),
        ("400", "300", False),  # pressed in the newest block
        ("300", "400", False),  # pressed some blocks ago
        ("500", "300", False),
    ],
)
def test_a_fall_is_recorded_where_it_stood_some_blocks_ago_too(
    deep: str, newest: str, fell: bool
) -> None:
    assert fall_persists(M, vault(deep), vault(newest)) is fell


def test_what_could_not_be_read_some_blocks_ago_lowers_nothing() -> None:
    assert not fall_persists(M, None, vault("300"))
    assert not fall_persists(M, replace(vault("300"), exists=False), vault("300"))
    assert not fall_persists(M, vault("300", answered=(False,)), vault("300"))


def test_the_record_of_now_counts_for_the_earlier_reading_too() -> None:
    assert fall_persists(M, vault("300", recorded="0"), vault("300"))


@pytest.mark.parametrize(("found", "was"), [("297", False), ("296.999999", True), ("310", False)])
def test_a_record_that_came_out_one_percent_too_low_was_pressed(found: str, was: bool) -> None:
    assert came_out_low(usdc(300), usdc(found)) is was


def test_the_record_is_told_beside_the_value_now() -> None:
    told = recorded_value(vault("388"))
    assert told is not None
    assert told.as_json() == {
        "recorded": "400.000000", "now": "388.000000", "least_returned": "392.000000", "stale": True,
        "who_may_record": ["owner", "keeper"],
    }  # fmt: skip
    fair = recorded_value(vault("392"))
    assert fair is not None
    assert not fair.stale
    risen = recorded_value(vault("450"))
    assert risen is not None
    assert (str(risen.least_returned), risen.stale) == ("441.000000", False)


@pytest.mark.parametrize(
    "state",
    [None, vault("1", exists=False), vault("1", settled=True), vault("1", answered=(False,))],
)
def test_an_unknown_record_is_not_told(state: VaultState | None) -> None:
    assert recorded_value(state) is None


BELOW = Revert("MandateStopped", {"reason": 3}, "below_stop_line")


def unfair(given: int, returned: int) -> Revert:
    told = {"given": given * 1_000_000, "returned": returned * 1_000_000}
    return Revert("UnfairExit", told, None)


@pytest.mark.parametrize(
    ("state", "revert", "by_the_record"),
    [
        (vault("200"), BELOW, True),
        (vault("399.7"), BELOW, False),  # the rounding of a share price
        (vault("400"), BELOW, False),
        (vault("200", stopped=True), BELOW, False),
        (vault("200"), Revert("MandateStopped", {"reason": 1}, "mandate_stopped"), False),
        (vault("200"), Revert("OverPerTxCap", {}, "over_per_tx_cap"), False),
        (vault("200"), None, False),
        (None, BELOW, False),
        (vault("200", stopped=True), unfair(400, 198), True),
        (vault("200", stopped=True), unfair(400, 150), False),  # unfair by the value now as well
        (vault("200", stopped=True), unfair(300, 98), True),
    ],
)
def test_a_refused_exit_names_the_record_where_a_new_one_would_let_it_pass(
    state: VaultState | None, revert: Revert | None, by_the_record: bool
) -> None:
    assert (refuses(state, revert) is not None) is by_the_record


def test_the_refusal_has_the_code_of_the_vaults_error_and_says_who_may_record() -> None:
    state = vault("200", floor=usdc(400))
    case = replace(ledger(deposit(500)).case(), chain=state)
    checks = action_checks(case, ActionRequest(MARKET, CALL, usdc(0)))
    line = next(c for c in checks if c.code == "below_stop_line")
    assert (line.ok, line.clause) == (True, ClauseKey.STOP_LINE)
    told = recorded_value(state)
    assert told is not None
    assert line.detail["recorded_value_stale"] == told.as_json()
    block = reverts(BELOW, checks, stale=told).as_json("agent")
    assert (block["error"], block["who_fixes"], block["retry_safe"]) == (
        "below_stop_line", "owner", True,
    )  # fmt: skip
    assert block["detail"] == {
        "revert": {"name": "MandateStopped", "args": {"reason": 3}},
        "recorded_value_stale": told.as_json(),
    }
    assert "record()" in block["next"][0]["text"]  # type: ignore[index]
    other = reverts(unfair(400, 198), stale=told).as_json("owner")
    assert other["error"] == "would_revert"
    assert "400.000000 USDC stands recorded for the positions, now it is 200.000000" in str(
        other["reason"]
    )
    assert other["next"][0]["route"] == "GET /wallet/mandates/{public_id}/record-call"  # type: ignore[index]


def test_a_spend_is_told_nothing_of_the_record() -> None:
    case = replace(ledger(deposit(500)).case(), chain=vault("200", floor=usdc(100)))
    checks = action_checks(case, ActionRequest(MARKET, CALL, usdc(10)))
    line = next(c for c in checks if c.code == "below_stop_line")
    assert "recorded_value_stale" not in line.detail
