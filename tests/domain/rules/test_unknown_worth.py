"""A probe that did not answer: what nobody measured is unknown, and never nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from domain.chain_facts import BlockStamp, VaultState
from domain.mandates.targets import Target
from domain.rules.action_checks import action_checks
from domain.rules.exposure import exposure
from domain.rules.rule import ActionRequest
from domain.rules.stop_line import is_below_floor, latched, worth_marking
from tests.domain.material import (
    CALL,
    MARKET,
    START,
    TARGET,
    case,
    deposit,
    executed,
    ledger,
    mandate,
    mandate_read,
    marked,
    usdc,
)

NOW = START + timedelta(hours=2)
DEAD = VaultState(
    "0x" + "cc" * 20,
    BlockStamp(9, "0x", NOW),
    exists=True,
    cash=usdc(100),
    positions=usdc(0),
    floor=usdc(400),
    total_deposited=usdc(500),
    answered=(False,),
)


def funded(*more: Any, chain: VaultState | None = DEAD) -> Any:
    """500 paid in, 400 of it in the market."""
    return ledger(deposit(500), executed(400, tx="0xe1"), *more).case(chain=chain, now=NOW)


def test_a_silent_probe_leaves_worth_at_the_last_whole_mark_and_says_so() -> None:
    whole = marked(100, 410, 400, place=(5, 0), at=NOW - timedelta(seconds=60))
    told = mandate_read(funded(whole))["progress"]
    assert (told["worth_est"], told["worth_source"]) == ("510.000000", "chain_mark")
    assert told["data_issue"] is True
    answers = replace(DEAD, positions=usdc(410), answered=(True,))
    assert "data_issue" not in mandate_read(funded(whole, chain=answers))["progress"]


def test_a_silent_probe_before_any_mark_leaves_worth_at_cost() -> None:
    told = mandate_read(funded())["progress"]
    assert (told["worth_est"], told["worth_source"]) == ("500.000000", "cost")
    assert told["data_issue"] is True


def test_a_silent_probe_neither_marks_nor_stops() -> None:
    assert not is_below_floor(DEAD)
    assert is_below_floor(replace(DEAD, answered=(True,)))
    m = funded().measured
    assert not worth_marking(mandate(), m, DEAD, 900)
    assert worth_marking(mandate(), m, replace(DEAD, answered=(True,)), 900)


def test_a_vault_that_stands_exactly_on_its_line_goes_on() -> None:
    at_line = replace(DEAD, positions=usdc(300), answered=(True,))
    assert not is_below_floor(at_line)
    assert is_below_floor(replace(at_line, positions=usdc("299.999999")))
    ago = [NOW - timedelta(seconds=s) for s in (60, 30)]
    on = [marked(100, 300, 400, place=(5 + n, 0), at=at) for n, at in enumerate(ago)]
    under = [marked(100, "299.999999", 400, place=(5 + n, 0), at=at) for n, at in enumerate(ago)]
    assert not latched(funded(*on).measured, 900)
    assert latched(funded(*under).measured, 900)
    assert not latched(funded(*under).measured, 29)  # that is not in a row


def test_open_positions_are_marked_once_a_day_and_where_worth_moved() -> None:
    """510 at the last observation: 515.1 is 1% more."""
    whole = marked(100, 410, 400, place=(5, 0), at=NOW - timedelta(minutes=50))
    book = funded(whole).measured

    def worth(positions: str, **later: Any) -> bool:
        at = BlockStamp(9, "0x", NOW + timedelta(**later))
        seen = replace(DEAD, block=at, positions=usdc(positions), answered=(True,))
        return worth_marking(mandate(), book, seen, 900)

    assert not worth("410", hours=11)
    assert worth("410", hours=13)  # the next UTC day
    assert not worth("430")  # the last one is not an hour old
    assert worth("430", minutes=10)
    assert not worth("415.1", minutes=10)
    assert worth("415.100001", minutes=10)
    assert worth("404.899999", minutes=10)
    assert worth("299.999999")  # below the line
    idle = replace(DEAD, positions=usdc(0), cash=usdc(500), answered=(True,))
    assert not worth_marking(mandate(), ledger(deposit(500)).state.measured, idle, 900)
    venue = mandate(allowed_targets=(TARGET, Target("venue", venue="hyperliquid")))
    assert worth_marking(venue, book, replace(idle, positions=usdc(410), cash=usdc(100)), 900)


def test_the_pre_check_leaves_an_unknown_worth_to_the_vault() -> None:
    wanted = ActionRequest(MARKET, CALL, usdc(10))
    (check,) = [c for c in action_checks(funded(), wanted) if c.code == "below_stop_line"]
    assert (check.ok, check.detail["worth"]) == (True, None)


def test_the_exposure_counts_what_was_last_known_of_silent_positions() -> None:
    # 100 cash and 400 in the market at cost, floor 400: 100 above it and 2% of the floor.
    assert exposure(funded()).ever == usdc(108)
    assert exposure(funded()).today == usdc(108)


def test_one_transaction_may_take_the_whole_day() -> None:
    """An agent that is a contract calls `execute` as often as it likes in one transaction."""
    told = exposure(case(chain=replace(DEAD, cash=usdc(500), answered=())))
    assert told.before_pause == told.today == usdc(108)
    told = exposure(case(chain=replace(DEAD, cash=usdc(500), spent_today=usdc(100), answered=())))
    assert told.before_pause == told.today == usdc(50)
