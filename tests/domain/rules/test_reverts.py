"""What the chain says of a call before it is sent, as a refusal."""

from __future__ import annotations

import pytest

from domain.chain_facts import Revert
from domain.mandates.mandate import ClauseKey
from domain.money import Usdc
from domain.rules.action_checks import CheckResult
from domain.rules.revert_refusals import pulled, reverts

DAY = CheckResult(
    ClauseKey.PER_DAY,
    "over_daily_cap",
    True,
    {"allowed": "5.000000", "used": "1.000000", "attempted": "2.000000"},
)


def word(n: int) -> str:
    return f"{n:064x}"


@pytest.mark.parametrize(
    ("data", "amount"),
    [
        ("0x6e553f65" + word(5_000_000) + word(1), Usdc(5_000_000)),
        ("0x6E553F65" + word(0) + word(1), Usdc(0)),
        ("0x6e553f65" + word(5), None),
        ("0xb460af94" + word(5) + word(1) + word(1), None),
        ("0x", None),
    ],
)
def test_a_deposit_pulls_its_first_word(data: str, amount: Usdc | None) -> None:
    assert pulled(data) == amount


def test_the_vaults_own_error_keeps_its_code() -> None:
    revert = Revert("OverDailyCap", {"amount": 6, "cap": 5}, "over_daily_cap")
    told = reverts(revert, [DAY], pulls=Usdc(2), approved=Usdc(2)).as_json()
    assert (told["error"], told["detail"]["revert"]["name"]) == ("over_daily_cap", "OverDailyCap")
    paused = reverts(Revert("NotAgent", {}, "mandate_paused"), [], pulls=None, approved=Usdc(0))
    assert paused.as_json()["error"] == "mandate_paused"


def test_an_error_that_no_sentence_can_say_would_revert() -> None:
    for revert in (
        Revert("OverDailyCap", {}, "over_daily_cap"),
        Revert("TargetReverted", {"reason": "0x"}, None),
        None,
    ):
        told = reverts(revert, [], pulls=None, approved=Usdc(0)).as_json()
        assert told["error"] == "would_revert"
        assert told["detail"]["revert"] == (
            None if revert is None else {"name": revert.name, "args": dict(revert.args)}
        )


def test_a_pull_above_what_is_approved_is_named() -> None:
    told = reverts(None, [], pulls=Usdc(7_000_000), approved=Usdc(0)).as_json()
    assert told["detail"]["pulls_usdc"] == "7.000000"
    assert "it pulls 7.000000 USDC, approve_amount is 0.000000" in told["reason"]
