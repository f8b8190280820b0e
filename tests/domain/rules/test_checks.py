"""The pre-checks of execute-call, what remains, and the exposure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from domain.agents.policy import Policy
from domain.chain_facts import BlockStamp, VaultState
from domain.mandates.actions import Action
from domain.mandates.approvals import Approval, Reservation
from domain.mandates.mandate import Status
from domain.mandates.targets import Target, TargetMismatch
from domain.reads.limits import limits
from domain.rules import retry_times
from domain.rules.action_checks import action_checks, remaining
from domain.rules.caps import day_used
from domain.rules.exposure import exposure
from domain.rules.retry_times import by_waiting
from domain.rules.rule import ActionRequest
from domain.rules.snapshot import MandateSnapshot
from domain.settings import Config
from tests.domain.material import (
    CALL,
    MARKET,
    OTHER,
    SELECTOR,
    START,
    TARGET,
    VAULT,
    deposit,
    executed,
    ledger,
    mandate,
    on_the_wire,
    row,
    usdc,
)

NOW = START + timedelta(hours=2)
TOMORROW = NOW + timedelta(days=1)
MINUTES = timedelta(minutes=10)
ORDER = (
    "mandate_not_accepted mandate_stopped mandate_paused mandate_ended target_not_allowed "
    "over_per_tx_cap over_daily_cap over_budget below_stop_line approval_missing"
)


def want(
    amount: str | int = 10, target: str = MARKET, data: str = CALL, held: int = 0, name: str = ""
) -> ActionRequest:
    return ActionRequest(target, data, usdc(amount), usdc(held), name or None)


def vault(at: datetime = NOW, **more: Any) -> VaultState:
    plain = {"cash": usdc(500), "floor": usdc(400), "total_deposited": usdc(500)}
    return VaultState(VAULT, BlockStamp(7, "0x07", at), True, **(plain | more))


def funded(*rows: Any, **more: Any) -> MandateSnapshot:
    return ledger(deposit(500), *rows).case(**more)


def failing(snapshot: MandateSnapshot, request: ActionRequest | None = None) -> list[str]:
    return [c.code for c in action_checks(snapshot, request or want()) if c.ok is False]


def hold(amount: str | int, name: str = "h", *, until: timedelta = MINUTES) -> Reservation:
    of = {"action_hash": f"{amount}:{name}", "data_hash": name}
    action = Action(target=MARKET, selector=SELECTOR, amount=usdc(amount), **of)
    return Reservation(
        public_id="m_1", action=action, made_at=NOW, expires_at=NOW + until, sender="0x1"
    )


def spent(*amounts: int) -> list[Any]:
    """Executed calls of the day."""
    return [executed(a, tx=f"0x{n}", at=NOW) for n, a in enumerate(amounts)]


def check_of(snapshot: MandateSnapshot, code: str, request: ActionRequest | None = None) -> Any:
    return next(c for c in action_checks(snapshot, request or want()) if c.code == code)


def test_the_checks_come_in_a_fixed_order_and_an_ordinary_action_passes_all() -> None:
    told = action_checks(funded(chain=vault()), want())
    assert [c.code for c in told] == ORDER.split()
    assert all(c.ok and c.refusal is None for c in told)


@pytest.mark.parametrize(
    ("code", "case", "wanted"),
    [
        ("mandate_not_accepted", funded(mandate=mandate(accepted_at=None)), want()),
        ("mandate_stopped", funded(mandate=mandate(status=Status.STOPPED)), want()),
        ("mandate_stopped", funded(chain=vault(stopped=True)), want()),
        ("mandate_paused", funded(mandate=mandate(paused_at=START)), want()),
        ("mandate_paused", funded(chain=vault(paused=True)), want()),
        ("mandate_ended", funded(mandate=mandate(ends_at=NOW)), want()),
        ("mandate_ended", funded(mandate=mandate(ends_at=TOMORROW), chain=vault(TOMORROW)), want()),
        ("target_not_allowed", funded(), want(target=OTHER)),
        ("target_not_allowed", funded(), want(data="0xdeadbeef")),
        ("over_per_tx_cap", funded(), want("50.000001")),
        ("over_per_tx_cap", funded(policy=Policy(per_tx_cap_usdc=usdc(5))), want("5.000001")),
        ("over_daily_cap", funded(*spent(50, 50, 50)), want("0.000001")),
        ("over_daily_cap", funded(chain=vault(spent_today=usdc(150))), want("0.000001")),
        ("over_daily_cap", funded(reservations=(hold(145),)), want("5.000001")),
        ("over_budget", funded(chain=vault(cash=usdc(9), positions=usdc(491))), want("9.000001")),
        ("over_budget", funded(policy=Policy(total_cap_usdc=usdc(9))), want("9.000001")),
        ("over_budget", ledger(deposit(9)).case(mandate(stop_floor_bps=10000)), want("9.000001")),
        ("below_stop_line", funded(chain=vault(cash=usdc("399.999999"))), want()),
    ],
)
def test_a_failing_check_is_a_refusal_with_its_code_and_numbers(
    code: str, case: MandateSnapshot, wanted: ActionRequest
) -> None:
    check = check_of(case, code, wanted)
    assert not check.ok
    assert check.refusal is not None
    block = check.refusal.as_json()
    assert block["error"] == code
    assert block["detail"]["clause"] == int(check.clause)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (SELECTOR + "0" * 64 + OTHER[2:].rjust(64, "0"), "and another stands there"),
        (SELECTOR + "0" * 64 + VAULT[2:].rjust(64, "f"), "and another stands there"),
        (SELECTOR, "and none stands there"),
        (CALL[:-2], "and none stands there"),
    ],
)
def test_a_listed_call_that_is_not_to_the_vault_is_told_the_argument(data: str, says: str) -> None:
    check = next(c for c in action_checks(funded(), want(data=data)) if c.ok is False)
    assert check.refusal is not None
    assert check.detail["argument"] == 1
    block = check.refusal.as_json("agent")
    assert (block["error"], block["who_fixes"]) == ("target_not_allowed", "agent")
    assert "vault's own address as argument word 1" in str(block["reason"])
    assert says in str(block["reason"])
    assert "not among" not in str(block["reason"])
    steps: Any = block["next"]
    assert steps[0]["tool"] == "mandate_execute_call"


def test_what_no_entry_pins_may_be_anything_as_in_the_vault() -> None:
    free = Target("contract", address=MARKET, selector="0xb6b55f25")
    m = mandate(allowed_targets=(free, TARGET, replace(TARGET, self_args=(0,))))
    for data in ("0xb6b55f25", "0xb6b55f25ff", CALL.upper().replace("0X", "0x"), CALL + "00"):
        assert m.mismatch_of(MARKET, data) is None
    # One of two entries for a function is enough.
    assert m.mismatch_of(MARKET, f"{SELECTOR}{VAULT[2:]:0>64}") is None
    unpinned = m.mismatch_of(MARKET, f"{SELECTOR}{1:064x}{1:064x}")
    assert unpinned is not None
    assert m.mismatch_of(OTHER, CALL) == TargetMismatch()
    early = replace(m, vault_address=None)
    assert early.mismatch_of(MARKET, f"{SELECTOR}{1:064x}") is None
    assert mandate(vault_address=None).mismatch_of(MARKET, CALL) is None
    assert mandate(vault_address=None).mismatch_of(MARKET, SELECTOR) is not None


def test_equality_passes_every_cap() -> None:
    case = funded(*spent(50, 50), chain=vault(cash=usdc(400), spent_today=usdc(100)))
    assert failing(case, want(50)) == []
    asked = replace(case, mandate=mandate(approval_above_usdc=usdc(50)))
    assert failing(asked, want(50)) == []
    above = ["over_per_tx_cap", "over_daily_cap", "approval_missing"]
    assert failing(asked, want("50.000001")) == above


def test_asking_refuses_nothing_by_itself_and_an_approved_item_lets_it_pass() -> None:
    case = funded(mandate=mandate(approval_above_usdc=usdc(5)))
    check = action_checks(case, want(10))[-1]
    assert (check.ok, check.refusal) == (False, None)
    place = {"address": MARKET, "selector": SELECTOR}
    item = Approval("ap_1", "m_1", "approved", place, "0x", "h", usdc(10), None, NOW, TOMORROW)
    asked = replace(case, approvals=(item,))
    assert action_checks(asked, want(10, name="h"))[-1].ok
    assert not action_checks(asked, want(10, name="another call, alike in all but its data"))[-1].ok
    assert not action_checks(asked, want(10))[-1].ok


def test_the_refusal_of_the_day_names_what_is_left_and_when_it_lifts() -> None:
    block = check_of(funded(*spent(50, 50, 30)), "over_daily_cap", want(21)).refusal.as_json()
    assert block["retry_at"] == "2026-11-03T00:00:00.000Z"
    assert block["remaining"]["value"] == "20.000000"
    assert "21.00 USDC" in block["reason"]
    assert "today leaves: 130.00 USDC of 150.00 USDC are used or reserved" in block["reason"]


def test_one_action_that_is_reserved_reported_and_mined_counts_once() -> None:
    """Handed out 50, reported 50, mined 50, not yet a ledger row: 50 of 150 are used, not 150."""
    case = funded(
        row("buy", 50, tx="0x01", at=NOW),
        reservations=(hold(50),),
        chain=vault(cash=usdc(450), spent_today=usdc(50)),
    )
    assert remaining(case).as_json()["value"] == "50.000000"
    assert failing(case, want(50)) == []
    two = replace(case, reservations=(hold(50), hold(50, "i")))
    assert failing(two, want(50)) == []
    told = limits(two).used.per_day
    assert (told.value, told.reserved) == (usdc(50), usdc(50))
    three = replace(two, reservations=(*two.reservations, hold("0.000001", "j")))
    assert failing(three, want(50)) == ["over_daily_cap"]


def test_a_claim_of_less_than_was_handed_out_frees_nothing() -> None:
    """Handed out 100, reported 1: 100 are held till the chain tells, 1 of them as the claim."""
    case = funded(row("buy", 1, tx="0x01", at=NOW), reservations=(hold(100),))
    assert day_used(case) == usdc(100)
    told = limits(case).used.per_day
    assert (told.value, told.reserved) == (usdc(1), usdc(99))


def test_two_actions_one_reported_and_one_handed_out_both_count() -> None:
    case = funded(row("buy", 50, tx="0x01", at=NOW), reservations=(hold(50), hold(50, "i")))
    assert day_used(case) == usdc(100)


def test_more_becomes_possible_when_the_first_hold_or_claim_ends() -> None:
    left = remaining(funded(reservations=(hold(150),)))
    assert (left.binding.key, left.retry_at) == ("per_day", NOW + MINUTES)
    claim, midnight = row("buy", 150, tx="0x01", at=NOW), START.replace(hour=0) + timedelta(days=1)
    waits = remaining(funded(claim, chain=vault()))
    assert waits.retry_at == NOW + timedelta(seconds=Config().claim_ttl_s)
    # It landed, or nobody looked: the end of its wait gives nothing back.
    assert remaining(funded(claim, chain=vault(spent_today=usdc(150)))).retry_at == midnight
    assert remaining(funded(claim)).retry_at == midnight
    used = remaining(funded(*spent(50, 50, 50)))
    assert used.retry_at == midnight


def used_up(**more: Any) -> MandateSnapshot:
    """Claims of 145 of today's 150, and 11 and 10 of calldata; the first two holds end within an
    hour, the claims after midnight."""
    late = NOW.replace(hour=23, minute=50)
    three, five = (late - NOW + timedelta(minutes=n) for n in (3, 5))
    held = (hold(11, until=three), hold(10, "i", until=five))
    said = [row("buy", "29", tx=f"0x{n}", at=late, target={"address": OTHER}) for n in range(5)]
    return funded(*said, now=late, reservations=held, **more)


def test_the_time_to_come_back_is_one_at_which_something_is_possible() -> None:
    """166 of 150 are used: when 11 end, 155 are, and when 10 more end 145 are."""
    case = used_up()
    left = remaining(case)
    assert (left.value, left.binding.key) == (usdc(0), "per_day")
    assert left.retry_at == case.now + timedelta(minutes=5)
    then = by_waiting(case, left.retry_at)
    assert remaining(then).value == usdc(5)
    assert failing(then, want(5)) == []
    before = by_waiting(case, left.retry_at - timedelta(seconds=1))
    assert remaining(before).value == usdc(0)


@pytest.mark.parametrize(("amount", "minutes"), [(5, 5), ("5.000001", 10), (50, 10)])
def test_the_refusal_of_the_day_says_when_this_amount_fits(amount: Any, minutes: int) -> None:
    case = used_up()
    refused = next(c.refusal for c in action_checks(case, want(amount)) if c.refusal)
    assert refused.kind.code == "over_daily_cap"
    assert refused.retry_at == case.now + timedelta(minutes=minutes)
    assert refused.remaining == remaining(case).as_json()


def test_the_refusal_of_the_cash_says_when_this_amount_fits() -> None:
    """Cash 40 with 30 and 8 held: 10 fit when the 30 end, 39 when both have, 41 never."""
    first, low = hold(30, until=timedelta(minutes=4)), vault(cash=usdc(40), positions=usdc(460))
    case = funded(chain=low, reservations=(first, hold(8, "i")))
    for amount, minutes in ((10, 4), (39, 10), (41, None)):
        refused = next(c.refusal for c in action_checks(case, want(amount)) if c.refusal)
        assert refused.kind.code == "over_budget"
        told = None if minutes is None else NOW + timedelta(minutes=minutes)
        assert refused.retry_at == told, amount
    assert remaining(case).retry_at == first.expires_at


def test_no_time_is_told_that_comes_after_the_end() -> None:
    ends = used_up().now + timedelta(minutes=5)
    assert remaining(used_up(mandate=mandate(ends_at=ends))).retry_at is None


def test_a_time_is_found_without_trying_every_end(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[datetime] = []

    def counted(snapshot: MandateSnapshot, at: datetime) -> MandateSnapshot:
        looked.append(at)
        return by_waiting(snapshot, at)

    monkeypatch.setattr(retry_times, "by_waiting", counted)
    held = tuple(hold("0.5", f"h{n}", until=timedelta(seconds=n + 1)) for n in range(600))
    case = funded(reservations=held)
    # 300 of 150 are held by 600 holds of a half: the first 301 have to end.
    assert remaining(case).retry_at == NOW + timedelta(seconds=301)
    assert len(looked) <= 11


@pytest.mark.parametrize("more", [{}, {"chain": vault(spent_today=usdc(150))}])
def test_an_exit_is_possible_on_a_day_that_is_used_up(more: dict[str, Any]) -> None:
    """The vault asks its day cap of a spend alone, and what is reported may pass the cap."""
    case = used_up(**more)
    assert day_used(case) > mandate().daily_cap
    assert failing(case, want(0)) == []
    assert "over_daily_cap" in failing(case, want("0.000001"))


def test_an_exit_is_possible_without_cash_and_under_a_policy_that_allows_nothing() -> None:
    nothing = Policy(per_tx_cap_usdc=usdc(0), total_cap_usdc=usdc(0))
    broke = vault(cash=usdc(0), positions=usdc(500))
    assert failing(funded(chain=broke, policy=nothing, reservations=(hold(9),)), want(0)) == []


def test_ten_parallel_calls_cannot_all_pass() -> None:
    held: tuple[Reservation, ...] = ()
    passed = 0
    for n in range(10):
        if not failing(funded(reservations=held), want(40)):
            passed, held = passed + 1, (*held, hold(40, f"h{n}"))
    assert passed == 3


def test_asking_again_for_the_same_action_does_not_count_its_own_reservation() -> None:
    assert failing(funded(reservations=(hold(130),)), want(50, held=0)) == ["over_daily_cap"]
    assert failing(funded(reservations=(hold(130),)), want(50, held=50)) == []


def test_an_exit_is_possible_below_the_stop_line() -> None:
    assert failing(funded(chain=vault(cash=usdc(1))), want(0)) == []


@pytest.mark.parametrize(
    ("case", "value", "key", "retry"),
    [
        (funded(), "50.000000", "per_action", False),
        (funded(*spent(45, 45, 45)), "15.000000", "per_day", True),
        (funded(chain=vault(cash=usdc(7), positions=usdc(493))), "7.000000", "budget", False),
        (funded(mandate=mandate(status=Status.STOPPED)), "0.000000", "at_stop", False),
        (funded(mandate=mandate(paused_at=START)), "0.000000", "your_floors", False),
        (funded(mandate=mandate(ends_at=START)), "0.000000", "period", False),
        (funded(chain=vault(cash=usdc(100))), "0.000000", "stop_line", False),
        (funded(policy=Policy(per_tx_cap_usdc=usdc(5))), "5.000000", "per_action", False),
    ],
)
def test_what_remains_names_the_clause_that_binds(
    case: MandateSnapshot, value: str, key: str, retry: bool
) -> None:
    told = remaining(case).as_json()
    assert (told["value"], told["binding"]["key"]) == (value, key)
    assert (told["retry_at"] is not None) is retry


def at_stake(case: MandateSnapshot) -> list[str]:
    """Before a pause, today, ever."""
    told = on_the_wire(exposure(case))
    return [told[n] for n in ("before_pause", "today", "ever")]


def test_the_exposure_before_funding_is_that_of_the_terms() -> None:
    """Above the floor 500 - 400 = 100, and 2% of 400 = 8: 108 ever; a day, and one transaction, 108 (under its 150)."""
    assert at_stake(ledger().case(mandate(status=Status.SIGNED))) == ["108.000000"] * 3


def test_the_live_exposure_follows_the_vault() -> None:
    """Cash 460, position 45, floor 400: 105 above it, and 8: 113 ever. Today, and at once, min(113, 110 + 45) = 113."""
    case = funded(chain=vault(cash=usdc(460), positions=usdc(45), spent_today=usdc(40)))
    assert at_stake(case) == ["113.000000"] * 3
    paused = funded(chain=vault(paused=True))
    assert at_stake(paused) == ["0.000000", "0.000000", "108.000000"]


@pytest.mark.parametrize(
    "case",
    [
        funded(chain=vault(stopped=True)),
        funded(mandate=mandate(ends_at=START)),
        funded(chain=vault(settled=True)),
    ],
)
def test_a_closed_mandate_exposes_nothing(case: MandateSnapshot) -> None:
    assert at_stake(case) == ["0.000000"] * 3


def test_a_stop_that_only_the_record_knows_does_not_lower_the_exposure() -> None:
    stopped = mandate(status=Status.STOPPED)
    assert at_stake(funded(mandate=stopped, chain=vault()))[2] == "108.000000"
    assert at_stake(funded(mandate=stopped))[2] == "108.000000"
    on_chain = funded(row("stop", None, "chain", reason="owner"), mandate=stopped)
    assert at_stake(on_chain)[2] == "0.000000"


@pytest.mark.parametrize(
    ("changes", "seen", "lost"),
    [
        ({"ends_at": START}, {}, "0.600000"),
        ({}, {"stopped": True, "stop_reason": 1}, "0.600000"),
        ({}, {"stopped": True, "stop_reason": 3}, "0.000000"),
        ({"on_floor": "close"}, {"stopped": True, "stop_reason": 3}, "0.600000"),
        ({"paused_at": START}, {"stopped": True, "stop_reason": 1}, "0.000000"),
        ({"ends_at": NOW - timedelta(days=3)}, {}, "0.000000"),
    ],
)
def test_after_the_close_the_agent_can_lose_two_percent_of_what_it_may_unwind(
    changes: dict[str, Any], seen: dict[str, Any], lost: str
) -> None:
    """Exits are fair: of 30 in positions 0.60 can go, while the agent may unwind at all."""
    chain = vault(cash=usdc(475), positions=usdc(30), **seen)
    assert at_stake(funded(mandate=mandate(**changes), chain=chain)) == [lost] * 3
