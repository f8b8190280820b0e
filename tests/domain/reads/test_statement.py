"""Weekly statements: worked by hand, and Σ over the weeks of a life equals the life."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.ledger.events.event import Event, NewEvent
from domain.ledger.state.ledger_state import LedgerState
from domain.reads.iso_weeks import Week, last_full_week, week, week_of
from domain.reads.statement import (
    NOTHING,
    StatementInput,
    add_figures,
    figures,
    mandate_week,
    statement,
    statement_of_all,
)
from domain.refusals import Refused
from tests.domain.ledger.test_books import interleaved, stories
from tests.domain.material import (
    START,
    Ledger,
    deposit,
    executed,
    mandate,
    marked,
    on_the_wire,
    refold,
    row,
)

P: dict[str, Any] = {"position": {"id": "p"}}


def span(events: Sequence[Event], period: Week) -> StatementInput:
    """The states at both ends of a week, by the time the rows were written."""

    def before(at: datetime) -> LedgerState:
        return refold([e for e in events if e.occurred_at < at], all_events=events)

    inside = [e for e in events if period.start <= e.occurred_at < period.end]
    return StatementInput(mandate(), period, before(period.start), before(period.end), inside)


def spread(rows: list[NewEvent], gap: timedelta) -> list[Event]:
    """A ledger whose rows come a gap apart."""
    made = Ledger()
    for new in rows:
        made.at += gap
        made.add(replace(new, occurred_at=made.at))
    return made.events


def test_weeks_are_iso_weeks_in_utc() -> None:
    assert week("2026-W01").start == datetime(2025, 12, 29, tzinfo=UTC)
    assert week_of(datetime(2027, 1, 3, 23, 59, 59, tzinfo=UTC)).name == "2026-W53"
    assert week_of(datetime(2027, 1, 4, tzinfo=UTC)).name == "2027-W01"
    assert last_full_week(START).name == "2026-W44"


@pytest.mark.parametrize(
    "name",
    ["2026-W54", "2026-W00", "2026-1", "", "2026-W1", "9999999-W01", "0000-W01", "2026-W01\n"],
)
def test_a_week_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        week(name)
    assert refused.value.code == "invalid_request"


def test_a_week_worked_by_hand() -> None:
    """Monday: 500 in, buy 40 on chain, marked 45 (the agent says 5,000); a fee of 0.5; a result of 2 elsewhere. Worth 460 + 45 = 505.
    Realized 2 - 0.5 = 1.5; estimated 505 - 500 - 1.5 = 3.5. The largest move 40 of 50; the busiest day 40 of 150."""
    rows = [
        deposit(500),
        row("buy", 40, tx="0x01", mark="5000", **P),
        executed(40, tx="0x01"),
        marked(460, 45),
        row("fee", "0.5", fee_kind="venue"),
    ]
    events = spread([*rows, row("resolve", 2, position={"id": "elsewhere"})], timedelta(minutes=1))
    told = on_the_wire(statement(span(events, week_of(START))))
    assert told["period"] == {
        "week": "2026-W45",
        "from": "2026-11-02T00:00:00.000Z",
        "until": "2026-11-09T00:00:00.000Z",
        "zone": "UTC",
    }
    assert told["worth"] == {"start": "0.000000", "end": "505.000000"}
    assert told["flows"] == {"deposits": "500.000000", "withdrawals": "0.000000"}
    assert told["result"] == {"realized": "1.500000", "estimated": "3.500000"}
    others = dict.fromkeys(("tools", "network", "unclassified", "agent"), "0.000000")
    assert told["fees"]["by_type"] == others | {"venue": "0.500000"}
    assert told["allowed_vs_used"] == {
        "largest_move": {"allowed": "50.000000", "used": "40.000000"},
        "busiest_day": {"allowed": "150.000000", "used": "40.000000", "day": "2026-11-02"},
    }
    codes = {d["code"] for d in told["disclosures"]}
    assert codes == {"net_of_fees", "past_results", "estimates", "off_switch"}
    assert len(told["steps"]) == 6


def test_the_next_week_starts_where_this_one_ended() -> None:
    rows = [deposit(500), row("buy", 40, tx="0x01", **P), executed(40, tx="0x01"), marked(460, 50)]
    events = spread(rows, timedelta(days=3))
    first, second = (
        on_the_wire(statement(span(events, week(w)))) for w in ("2026-W45", "2026-W46")
    )
    assert first["worth"]["end"] == second["worth"]["start"]
    assert second["result"]["estimated"] == "10.000000"
    assert second["allowed_vs_used"]["busiest_day"]["day"] == "2026-11-11"


def test_attempts_and_breaches_are_listed() -> None:
    broken = {"codes": ["over_daily_cap"], "detail": {}}
    rows = [row("buy", 1, violation=broken), row("note", refusal={"reason": "OverPerTxCap"})]
    told = on_the_wire(statement(span(spread(rows, timedelta(minutes=1)), week_of(START))))
    breaches = [(b["code"], b.get("clause"), b.get("reason")) for b in told["breaches"]]
    assert breaches == [("over_daily_cap", 3, None), ("refused", 2, "OverPerTxCap")]


def test_an_empty_week_is_zeros_and_not_a_failure() -> None:
    told = on_the_wire(statement(span([], week("2026-W45"))))
    assert told["worth"] == {"start": "0.000000", "end": "0.000000"}
    assert told["allowed_vs_used"]["busiest_day"]["day"] is None


def sums(period: StatementInput) -> dict[str, int | None]:
    """The figures of a period by name, in micro-USDC."""
    of = figures(period.before, period.after)
    parts = (of.worth, of.flows, of.result, of.fees.by_type)
    amounts = {f.name: getattr(part, f.name) for part in parts for f in fields(part)}
    return {name: None if v is None else v.micros for name, v in amounts.items()}


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(stories(), st.lists(st.booleans(), max_size=20), st.integers(1, 200))
def test_the_weeks_of_a_life_sum_up_to_the_last_digit(
    story: tuple[list[NewEvent], list[NewEvent]], choose: list[bool], hours: int
) -> None:
    settled = {"spent": "7", "returned": "9.123456", "gain": "2.123456", "agent_fee": "0.212345"}
    rows = [
        *interleaved(*story, choose),
        row("fee", "0.3"),
        row("resolve", None, "chain", settled=settled),
        row("payout", "0.2", "chain"),
    ]
    events = spread(rows, timedelta(hours=hours))
    life = sums(_life(events))
    weeks, period = [], week_of(START)
    while period.start <= events[-1].created_at:
        weeks.append(sums(span(events, period)))
        period = week_of(period.end)
    known = [w for w in weeks if w["estimated"] is not None]
    for name in life.keys() - {"start", "end", "estimated"}:
        assert sum(w[name] or 0 for w in weeks) == life[name]
    assert len(known) < len(weeks) or sum(w["estimated"] or 0 for w in weeks) == life["estimated"]
    for w in known:
        start, end, deposits, withdrawals, realized, estimated, *_ = (v or 0 for v in w.values())
        assert end - start == deposits - withdrawals + realized + estimated
    assert all((w["start"] is None or w["end"] is None) == (w not in known) for w in weeks)
    assert all(a["end"] == b["start"] for a, b in pairwise(weeks))
    assert weeks[-1]["end"] == life["end"]


def _life(events: Sequence[Event]) -> StatementInput:
    nothing = refold([])
    return StatementInput(mandate(), week_of(START), nothing, refold(events), events)


def test_all_mandates_add_up() -> None:
    period = week_of(START)
    one = span(spread([deposit(500), row("fee", "0.5")], timedelta(minutes=1)), period)
    two = span(spread([deposit("0.000001"), row("resolve", -1)], timedelta(minutes=1)), period)
    both = [mandate_week(one), mandate_week(two)]
    told = on_the_wire(statement_of_all(both, period, add_figures(NOTHING, [one, two])))
    totals = told["totals"]
    assert totals["worth"]["end"] == "500.000001"
    assert totals["result"]["realized"] == "-1.500000"
    for part, name in (("worth", "end"), ("flows", "deposits"), ("result", "estimated")):
        of_each = sum(Decimal(m[part][name]) for m in told["mandates"])
        assert of_each == Decimal(totals[part][name])
    nothing = on_the_wire(statement_of_all([], period, NOTHING))["totals"]
    assert nothing["worth"] == {"start": "0.000000", "end": "0.000000"}


def test_a_worth_that_nobody_observed_leaves_the_sum_unknown() -> None:
    period = week_of(START)
    unseen = span(spread([deposit(500), executed(40, tx="0x01")], timedelta(minutes=1)), period)
    sums = add_figures(NOTHING, [unseen])
    assert (sums.worth.end, sums.result.estimated) == (None, None)
    assert str(sums.flows.deposits) == "500.000000"
