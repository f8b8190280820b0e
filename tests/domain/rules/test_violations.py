"""What a reported or executed action breaks: every code, its clause, its numbers, and equality at the caps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.agents.policy import Policy
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import PaymentUnexplained
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Status
from domain.mandates.targets import Target
from domain.reads.limits import breaches
from domain.reads.progress import rules
from domain.reads.record import steps
from domain.rules.rule_table import BY_CODE, RULES
from domain.rules.snapshot import MandateSnapshot
from domain.rules.violations import violations, with_violation
from domain.settings import Switches
from tests.domain.material import (
    MARKET,
    OTHER,
    SELECTOR,
    START,
    TARGET,
    deposit,
    executed,
    ledger,
    mandate,
    marked,
    on_the_wire,
    row,
    usdc,
)

NOON = START.replace(hour=12)
CODES = {
    "over_per_tx_cap": 2,
    "over_daily_cap": 3,
    "over_budget": 1,
    "target_not_allowed": 5,
    "mandate_stopped": 7,
    "mandate_ended": 8,
    "mandate_paused": 10,
    "not_accepted": 10,
    "below_stop_line": 4,
    "approval_missing": 6,
    "agent_mismatch": 10,
    "duplicate_tx": 10,
    "payment_unreported": 5,
}
MISSING = ["approval_missing"]
UNLISTED = ["target_not_allowed"]


def codes(snapshot: MandateSnapshot, event: NewEvent, *same: Any) -> list[str]:
    return [b.code for b in violations(snapshot, event, same)]


def funded(*rows: NewEvent, **more: Any) -> MandateSnapshot:
    return ledger(deposit(500), *rows).case(mandate(**more))


def item(amount: int, status: str = "approved", **more: Any) -> Approval:
    place = {"address": MARKET, "selector": SELECTOR}
    until, data_hash = START + timedelta(days=1), "0x" + "da" * 32
    plain = Approval("ap_1", "m_1", "approved", place, "0x", "h", usdc(amount), None, START, until)
    return replace(plain, status=status, **({"data_hash": data_hash} | more))


CASES: dict[str, Callable[[], tuple[MandateSnapshot, NewEvent]]] = {
    "over_per_tx_cap": lambda: (funded(), row("buy", "50.000001")),
    "over_daily_cap": lambda: (
        funded(*[row("buy", 50, tx=f"0x1{n}") for n in range(3)]),
        row("buy", "0.000001"),
    ),
    "over_budget": lambda: (
        funded(per_tx_cap_usdc=usdc(600), daily_cap_usdc=usdc(600)),
        row("buy", "500.000001"),
    ),
    "target_not_allowed": lambda: (funded(), row("buy", 1, target={"address": OTHER})),
    "mandate_stopped": lambda: (funded(status=Status.STOPPED, stopped_at=START), row("buy", 1)),
    "mandate_ended": lambda: (funded(ends_at=START), row("buy", 1)),
    "mandate_paused": lambda: (funded(paused_at=START), row("sell", 1)),
    "not_accepted": lambda: (funded(accepted_at=None), row("resolve", 1)),
    "below_stop_line": lambda: (
        funded(executed(150, tx="0x11"), marked(350, 49)),
        row("buy", "0.000001", at=NOON + timedelta(days=1)),
    ),
    "approval_missing": lambda: (funded(approval_above_usdc=usdc(20)), row("buy", "20.000001")),
    "agent_mismatch": lambda: (funded(), _by("0x" + "99" * 20)),
    "duplicate_tx": lambda: (funded(), row("buy", 1, tx="0x01")),
    "payment_unreported": lambda: (funded(), _unexplained()),
}


def _unexplained() -> NewEvent:
    body = PaymentUnexplained(event_id="ev_1", nonce="0x" + "00" * 32)
    return NewEvent(
        kind=LedgerKind.NOTE, reported_by=Reporter.KEEPER, occurred_at=NOON, amount_usdc=usdc(1), payload=written(body)
    )  # fmt: skip


def _by(agent: str) -> NewEvent:
    new = executed(1, tx="0x05")
    return replace(new, payload={"executed": {**new.payload["executed"], "agent": agent}})


def test_every_code_has_a_case_a_clause_and_a_sentence() -> None:
    assert {r.code: int(r.clause) for r in RULES} == CODES
    assert list(CASES) == list(CODES) == [r.code for r in RULES]


@pytest.mark.parametrize("code", list(CASES))
def test_a_broken_rule_is_flagged_with_its_clause_and_shows_everywhere(code: str) -> None:
    case, event = CASES[code]()
    same = tuple(ledger(row("buy", 2, tx="0x01")).events) if code == "duplicate_tx" else ()
    broken = violations(case, event, same)
    assert code in [b.code for b in broken]
    detail = next(b.detail() for b in broken if b.code == code)
    assert set(detail) == {"clause", "allowed", "used", "attempted", "bound_by"}
    kept = ledger(replace(event, payload=with_violation(event, broken)))
    shown = kept.case(case.mandate)
    rule = next(r for r in on_the_wire(rules(shown)) if r["code"] == code)
    assert rule == {"code": code, "clause": CODES[code], "text": BY_CODE[code].text, "ok": False}
    assert all(
        r["ok"] for r in on_the_wire(rules(shown)) if r["code"] not in [b.code for b in broken]
    )
    assert (code, CODES[code]) in [(b["code"], b["clause"]) for b in on_the_wire(breaches(shown))]
    step = on_the_wire(steps(shown))[0]
    assert CODES[code] in step["breached"]
    assert CODES[code] not in step["allowed_by"]
    assert CODES[code] in step["clauses"]


def test_an_amount_equal_to_a_cap_is_inside_it() -> None:
    case = funded(*[row("buy", 50, tx=f"0x1{n}") for n in range(2)], approval_above_usdc=usdc(50))
    assert codes(case, row("buy", 50)) == []


def test_an_action_without_spend_breaks_no_day_that_is_used_up() -> None:
    over = funded(*[row("buy", 50, tx=f"0x1{n}") for n in range(4)])
    assert codes(over, row("sell", 50)) == []
    assert codes(over, row("buy", 1)) == ["over_daily_cap"]


@pytest.mark.parametrize(
    ("claim", "broken"),
    [
        (row("buy", 30), []),
        (row("buy", "30.000001"), ["over_budget"]),
        (row("sell", 40), []),
        # The chain shows whether it was there, and a venue holds its own money.
        (row("buy", 40, tx="0x01"), []),
        (row("buy", 40, notional=True, target={"market": "BTC"}), []),
    ],
)
def test_a_claim_without_a_transaction_spends_no_more_than_the_cash(
    claim: NewEvent, broken: list[str]
) -> None:
    places = (TARGET, Target("venue", venue="perps", symbols=("BTC",)))
    case = ledger(deposit(30)).case(mandate(allowed_targets=places, stop_floor_bps=10_000))
    assert codes(case, claim) == broken
    assert codes(ledger().case(case.mandate), claim) == [], "no cash is known yet"


def test_a_claim_above_cash_and_budget_is_told_of_once() -> None:
    wide = {"per_tx_cap_usdc": usdc(600), "daily_cap_usdc": usdc(600)}
    case = ledger(deposit(30)).case(mandate(**wide))
    (broken,) = violations(case, row("buy", "500.000001"))
    assert (broken.code, broken.numbers.allowed) == ("over_budget", "500.000000")
    (broken,) = violations(case, row("buy", 500))
    assert (broken.code, broken.numbers.allowed) == ("over_budget", "30.000000")


def test_a_floor_that_is_reached_exactly_is_not_crossed() -> None:
    case = funded(executed(150, tx="0x11"), marked(350, 50))
    assert codes(case, row("buy", 50, at=START + timedelta(days=1))) == []


def test_a_chain_row_is_judged_only_by_what_the_vault_does_not_enforce() -> None:
    """60 above the cap of 50, at another target, past the end, while paused, over the day: the vault let it through."""
    made = ledger(deposit(500), *[executed(50, tx=f"0x{n}") for n in range(3)])
    at = mandate(ends_at=START, paused_at=START)
    case = made.case(at, now=START + timedelta(days=1))
    assert codes(case, executed(60, tx="0x09", target=OTHER)) == []
    assert codes(made.case(), deposit(1)) == []
    assert codes(made.case(mandate(accepted_at=None)), executed(1, tx="0x09")) == ["not_accepted"]
    late = mandate(accepted_at=START + timedelta(hours=1))
    assert codes(made.case(late), executed(1, tx="0x09")) == ["not_accepted"]
    assert codes(made.case(late), executed(1, tx="0x09", at=START + timedelta(hours=1))) == []


def test_a_chain_row_is_held_to_the_policys_total_and_not_to_the_budget() -> None:
    case, new = funded(), executed("500.000001", tx="0x01")
    assert codes(case, new) == []
    assert codes(replace(case, policy=Policy(total_cap_usdc=usdc(500))), new) == []
    assert codes(replace(case, policy=Policy(total_cap_usdc=usdc(499))), new) == ["over_budget"]


@pytest.mark.parametrize("agent_first", [True, False])
def test_both_rows_of_a_pair_get_one_verdict_by_the_chain_s_amounts(agent_first: bool) -> None:
    """The agent says 35, the chain measured 40: above the policy's 30, once."""
    made = ledger(deposit(500))
    rows = [row("buy", 35, tx="0x01"), executed(40, tx="0x01")]
    for new in rows if agent_first else rows[::-1]:
        same = tuple(e for e in made.events if e.tx_hash == "0x01")
        case = replace(made.case(), policy=Policy(per_tx_cap_usdc=usdc(30)))
        made.add(replace(new, payload=with_violation(new, violations(case, new, same))))
    assert made.events[-1].violation_codes == ("over_per_tx_cap",)
    assert made.state.violations == {"over_per_tx_cap": 1}
    assert len(on_the_wire(breaches(made.case()))) == 1


def test_a_withdrawal_and_a_stop_after_it_flag_no_clean_call() -> None:
    """Read late: the call stands before both in the chain, whatever the ledger holds by now."""
    told = {"spent": "0", "returned": "0", "gain": "0", "agent_fee": "0"}
    made = ledger(
        deposit(500),
        row("stop", None, "chain", reason="withdraw"),
        row("resolve", None, "chain", settled=told),
    )
    made.add(row("withdraw", 450, "chain"))
    closed = made.case(mandate(status=Status.SETTLED, stopped_at=START, settled_at=START))
    assert codes(closed, executed(50, tx="0x09", at=START)) == []


def test_a_second_report_of_one_transaction_flags_nothing_later() -> None:
    made = ledger(deposit(1_060), executed(300, tx="0x01"), row("buy", 300, tx="0x01"))
    m = mandate(budget_usdc=usdc(1_060), per_tx_cap_usdc=usdc(300), daily_cap_usdc=usdc(1_000))
    again = row("buy", 300, tx="0x01")
    broken = violations(made.case(m), again, tuple(made.events[1:]))
    assert [b.code for b in broken] == ["duplicate_tx"]
    made.add(replace(again, payload=with_violation(again, broken)))
    assert codes(made.case(m), row("buy", 100, tx="0x02")) == []


def test_a_matched_report_does_not_count_twice_against_the_day() -> None:
    made = ledger(deposit(500), *[executed(50, tx=f"0x{n}") for n in range(3)])
    same = tuple(e for e in made.events if e.tx_hash == "0x2")
    assert codes(made.case(), row("buy", 50, tx="0x2"), *same) == []


def test_per_action_the_approved_amount_counts_where_it_is_larger() -> None:
    new = executed(40, tx="0x01")
    more = replace(new, payload={"executed": {**new.payload["executed"], "approved": "51"}})
    strict = replace(funded(), policy=Policy(per_tx_cap_usdc=usdc(45)))
    assert codes(strict, more) == ["over_per_tx_cap"]
    assert codes(strict, new) == []


def test_the_stricter_of_policy_and_mandate_binds_and_is_named() -> None:
    case = replace(funded(), policy=Policy(per_tx_cap_usdc=usdc(30), total_cap_usdc=usdc(35)))
    broken = violations(case, row("buy", 36))
    assert [(b.code, b.numbers.allowed, b.numbers.bound_by) for b in broken] == [
        ("over_per_tx_cap", "30.000000", "policy"), ("over_budget", "35.000000", "policy")
    ]  # fmt: skip
    looser = replace(case, policy=Policy(per_tx_cap_usdc=usdc(60)))
    assert violations(looser, row("buy", 55))[0].numbers.bound_by == "mandate"


def test_an_approved_item_covers_its_own_action_once() -> None:
    new = executed(40, tx="0x01")
    ran = {**new.payload["executed"], "approved": "40", "data_hash": "0x" + "da" * 32}
    new = replace(new, payload={"executed": ran})
    case = funded(approval_above_usdc=usdc(20))
    assert codes(replace(case, approvals=(item(40),)), new) == []
    alike = replace(case, approvals=(item(40, data_hash="0x" + "db" * 32),))
    assert codes(alike, new) == MISSING
    assert codes(replace(case, approvals=(item(40, "used"),)), new) == MISSING
    assert codes(replace(case, approvals=(item(41),)), new) == MISSING
    elsewhere = item(40, target={"address": OTHER})
    assert codes(replace(case, approvals=(elsewhere,)), new) == MISSING
    assert codes(replace(case, switches=Switches(approval_gate=False)), new) == []


@pytest.mark.parametrize(
    ("approval", "broken"),
    [
        (item(40), []),
        (item(41), []),
        (item(39), MISSING),
        (item(40, "used"), MISSING),
        (item(40, target={"address": OTHER, "selector": SELECTOR}), MISSING),
        (item(40, target={"address": MARKET, "selector": "0xffffffff"}), MISSING),
        (item(40, expires_at=START - timedelta(days=1)), MISSING),
    ],
)
def test_a_claim_is_covered_by_an_approved_item_of_its_place_and_amount(
    approval: Approval, broken: list[str]
) -> None:
    claim = row("buy", 40, target={"address": MARKET, "selector": SELECTOR})
    case = replace(funded(approval_above_usdc=usdc(20)), approvals=(approval,))
    assert codes(case, claim) == broken


def test_a_report_of_an_approved_execution_is_clean_after_the_item_is_used_up() -> None:
    new = executed(40, tx="0x01")
    made = ledger(deposit(500), new)
    case = made.case(mandate(approval_above_usdc=usdc(20)))
    assert codes(case, row("buy", 40, tx="0x01"), made.events[-1]) == []


def test_what_happened_after_a_stop_of_the_record_is_flagged_and_nothing_before_it() -> None:
    stop = row("stop", None, "owner", at=NOON, reason="owner", record_only=True)
    made = ledger(deposit(500), stop)
    stopped = made.case(mandate(status=Status.STOPPED, stopped_at=NOON))
    told = made.state.record_stop
    assert told is not None
    assert codes(stopped, executed(10, tx="0x01", at=told)) == []
    late = executed(10, tx="0x01", at=told + timedelta(seconds=1))
    assert codes(stopped, late) == ["mandate_stopped"]
    before = ledger(executed(10, tx="0x01", at=told)).events
    assert codes(stopped, row("buy", 10, tx="0x01", at=told + timedelta(hours=1)), *before) == []


def test_unwinding_a_closed_mandate_breaks_nothing() -> None:
    unwound = {"target": MARKET, "selector": SELECTOR, "received": "42"}
    told = row("move", 42, "chain", tx="0x02", at=NOON, unwound=unwound)
    for closed in (funded(status=Status.STOPPED, stopped_at=START), funded(ends_at=START)):
        assert codes(closed, told) == []


def paid(at: str | None, **said: str) -> NewEvent:
    return row("fee", "0.01", **(said if at is None else said | {"resource": at}))


NAMES: tuple[dict[str, str], ...] = ({"fee_kind": "tools"}, {}, {"fee_kind": "data"})
PORTS = ("data.example:443", "own.example:81")
DATA, ELSE = "https://data.example/a", "https://else.example/a"


@pytest.mark.parametrize(
    ("hosts", "said", "broken"),
    [
        (("data.example",), paid(DATA, fee_kind="x402"), []),
        (("data.example",), paid(ELSE, fee_kind="x402"), UNLISTED),
        (("data.example",), paid("http://[bad", fee_kind="x402"), UNLISTED),
        ((), paid("https://any.example", fee_kind="x402"), []),
        (("data.example",), paid(None, fee_kind="gas"), []),
        # Whatever it is named.
        *[(("data.example",), paid(DATA, **kind), []) for kind in NAMES],
        *[(("data.example",), paid(ELSE, **kind), UNLISTED) for kind in NAMES],
        # A host with a port takes that port only.
        (PORTS, paid(DATA, fee_kind="x402"), []),
        (PORTS, paid("http://data.example/a", fee_kind="x402"), UNLISTED),
        (PORTS, paid("http://own.example:81/a", fee_kind="x402"), []),
    ],
)
def test_paid_reads_go_to_the_hosts_of_the_terms(
    hosts: tuple[str, ...], said: NewEvent, broken: list[str]
) -> None:
    assert codes(funded(allowed_targets=(Target("x402", hosts=hosts),)), said) == broken


def test_a_venue_order_is_judged_by_its_market() -> None:
    only = funded(
        allowed_targets=(Target("venue", venue="perps", symbols=("BTC",), market="perps-btc"),)
    )
    assert codes(only, row("buy", 1, target={"market": "BTC"})) == []
    assert codes(only, row("buy", 1, target={"market": "perps-btc"})) == []
    assert codes(only, row("buy", 1, target={"market": "DOGE"})) == ["target_not_allowed"]


def test_what_a_vault_took_that_keeps_approvals_itself_had_its_owner_s_signature() -> None:
    new = executed(40, tx="0x01")
    kept = funded(approval_above_usdc=usdc(20), approvals_on_chain=True)
    assert codes(kept, new) == []
    off = replace(kept, switches=Switches(approval_gate=False))
    assert codes(off, row("buy", 40, tx="0x02")) == ["approval_missing"]
