"""Weekly statements: two folded states and the rows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from domain.ledger.events.event import Event
from domain.ledger.state.ledger_state import EMPTY, LedgerState
from domain.ledger.state.measured import MeasuredBook
from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc, total
from domain.reads.iso_weeks import Week
from domain.reads.record import event_steps, grouped
from domain.reads.step import Step, refusal_of, refused_by
from domain.reads.venue_windows import VenueWeek, venue_weeks
from domain.rules.rule_table import clause_of
from domain.rules.valuation import realized_micros, usdc, worth_as_observed
from domain.times import Timestamp
from domain.wire_fields import LEFT_OUT, copy_fields, described, wire_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """A notice that readers of results need."""

    code: Literal["net_of_fees", "past_results", "estimates", "off_switch"]
    text: str = field(metadata=described("the service's own words"))


DISCLOSURES: Final = (
    Disclosure(
        code="net_of_fees",
        text="Realized results are net of the fees that were reported or measured.",
    ),
    Disclosure(code="past_results", text="Past results say nothing certain about future ones."),
    Disclosure(
        code="estimates",
        text="An estimated value follows prices on the chain; a sale may bring more or less.",
    ),
    Disclosure(
        code="off_switch",
        text="You can pause, stop and withdraw at any time with your own wallet.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekPeriod:
    """An ISO week, from, inclusive, until, exclusive."""

    week: str
    from_: Timestamp = field(metadata=wire_name("from"))
    until: Timestamp
    zone: Literal["UTC"] = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthChange:
    """Worth at both ends by the newest observation at or before each: 0 before the first chain row,
    null where positions were open without a value.
    """

    start: Usdc | None
    end: Usdc | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Money that the owner moved."""

    deposits: Usdc
    withdrawals: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Realized, and estimated = worth change - net deposits - realized."""

    realized: Usdc
    estimated: Usdc | None = field(metadata=described("null where a worth is"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FeesByType:
    """Fees of the period by class."""

    tools: Usdc
    venue: Usdc
    network: Usdc
    unclassified: Usdc
    agent: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class FeesPaid:
    """Fees of the period."""

    by_type: FeesByType


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The amounts that the agent's calls took out of the vault: total = payments + in_purse +
    others, exactly.

    `payments` left the purse by signed x402 bills, and `in_purse` is the change of what lies in it;
    `others` went into markets, with what the purse gave back, less what others sent into it.
    """

    total: Usdc
    payments: Usdc
    in_purse: Usdc
    others: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestMove:
    """The largest single move against the cap per action."""

    allowed: Usdc
    used: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class BusiestDay:
    """The busiest UTC day against the cap per day; null where nothing happened."""

    allowed: Usdc
    used: Usdc
    day: str | None = field(metadata=described("UTC day, YYYY-MM-DD"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedVsUsed:
    """The week against the caps."""

    largest_move: LargestMove
    busiest_day: BusiestDay


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekBreach:
    """A broken rule, or an attempt that was refused; `reason` stands at attempts only."""

    code: str
    clause: int | None
    reason: str | None = field(default=None, metadata=LEFT_OUT)
    event_id: str
    at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The sums of a period."""

    worth: WorthChange
    flows: Flows
    result: Result
    fees: FeesPaid
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Figures):
    """One mandate and one ISO week (spec 2.16).

    The figures are the whole week's, `venue` only where live orders filled; `breaches` and `steps`
    are those of a page of its ledger rows, the newest first; `next_cursor` leads to those before.
    """

    public_id: str
    period: WeekPeriod
    allowed_vs_used: AllowedVsUsed
    venue: tuple[VenueWeek, ...] | None = field(default=None, metadata=LEFT_OUT)
    breaches: tuple[WeekBreach, ...]
    steps: tuple[Step, ...]
    disclosures: tuple[Disclosure, ...] = DISCLOSURES
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateWeek(Figures):
    """One mandate in the statement of all."""

    public_id: str
    purpose: str = field(metadata=described("the owner's own words"))
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOfAll:
    """All mandates of an owner together, and a page of them, the oldest first."""

    period: WeekPeriod
    totals: Figures | None = field(
        metadata=described("of all mandates; on the first page only, null on those after it")
    )
    mandates: tuple[MandateWeek, ...]
    disclosures: tuple[Disclosure, ...] = DISCLOSURES
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class StatementInput:
    """A mandate's states at both ends of a period, and the rows between."""

    mandate: Mandate
    week: Week
    before: LedgerState
    after: LedgerState
    events: Sequence[Event]


def _worth(state: LedgerState) -> Usdc | None:
    """Worth; 0 before the first chain row, so that the weeks of a life sum up."""
    return ZERO if state.measured.cash is None else usdc(worth_as_observed(state))


def figures(before: LedgerState, after: LedgerState) -> Figures:
    """The sums of a period: worth change = net flows + realized + estimated, exactly."""
    was, now, a, b = before.measured, after.measured, before.claimed, after.claimed
    deposits = Usdc(now.deposits - was.deposits)
    withdrawals = Usdc(now.withdrawals - was.withdrawals)
    realized = Usdc(realized_micros(after) - realized_micros(before))
    start, end = _worth(before), _worth(after)
    by_type = FeesByType(
        tools=Usdc(after.fee_tools - before.fee_tools),
        venue=Usdc(b.fee_venue - a.fee_venue),
        network=Usdc(b.fee_network - a.fee_network),
        unclassified=Usdc(b.fee_unclassified - a.fee_unclassified),
        agent=Usdc(now.payouts - was.payouts),
    )
    return Figures(
        worth=WorthChange(start=start, end=end),
        flows=Flows(deposits=deposits, withdrawals=withdrawals),
        result=Result(
            realized=realized,
            estimated=None
            if start is None or end is None
            else end - start - deposits + withdrawals - realized,
        ),
        fees=FeesPaid(by_type=by_type),
        spent=_spent(was, now),
    )


def _spent(was: MeasuredBook, now: MeasuredBook) -> Spent:
    spent, paid = now.spent - was.spent, now.purse.paid - was.purse.paid
    inside = now.purse.inside - was.purse.inside
    return Spent(
        total=Usdc(spent),
        payments=Usdc(paid),
        in_purse=Usdc(inside),
        others=Usdc(spent - paid - inside),
    )


NOTHING: Final = figures(EMPTY, EMPTY)


def add_figures(sums: Figures, spans: Sequence[StatementInput]) -> Figures:
    """The sums of a period with those of some more mandates; begin with `NOTHING`."""
    more: Figures = _sum([sums, *(figures(s.before, s.after) for s in spans)])
    return more


def _sum(values: Sequence[Any]) -> Any:
    """Values of one form added up, field by field; None where one of them is unknown."""
    if None in values:
        return None
    kind = type(values[0])
    if kind is Usdc:
        return total(values)
    return kind(**{f.name: _sum([getattr(v, f.name) for v in values]) for f in fields(kind)})


def _period(of: Week) -> WeekPeriod:
    return WeekPeriod(week=of.name, from_=of.start, until=of.end)


def _allowed_vs_used(period: StatementInput) -> AllowedVsUsed:
    """The week's largest move and busiest UTC day against the caps."""
    first, last = period.week.start.date().isoformat(), period.week.end.date().isoformat()
    measured_days = period.after.measured.days
    days = {d: v.spent for d, v in measured_days.items() if first <= d < last and v.spent}
    for d, amount in period.after.claimed.notional.items():
        if first <= d < last:
            days[d] = days.get(d, 0) + amount
    busiest = max(days.items(), key=lambda i: (i[1], i[0]), default=None)
    largest = max((measured_days[d].largest for d in days if d in measured_days), default=0)
    return AllowedVsUsed(
        largest_move=LargestMove(allowed=period.mandate.per_tx_cap, used=Usdc(largest)),
        busiest_day=BusiestDay(
            allowed=period.mandate.daily_cap,
            used=Usdc(busiest[1] if busiest else 0),
            day=busiest[0] if busiest else None,
        ),
    )


def _breaches(events: Sequence[Event]) -> tuple[WeekBreach, ...]:
    """Broken rules, then refused attempts."""
    broken = [(e, code, clause_of(code), None) for e in events for code in e.violation_codes]
    refused = [
        (e, "refused", next(iter(refused_by(e)), None), attempt.reason)
        for e in events
        if (attempt := refusal_of(e)) is not None
    ]
    return tuple(
        WeekBreach(code=code, clause=clause, reason=reason, event_id=e.event_id, at=e.occurred_at)
        for e, code, clause, reason in (*broken, *refused)
    )


def statement(
    period: StatementInput, next_cursor: str | None = None, *, steps: Sequence[Step] | None = None
) -> Statement:
    """One mandate's week; `period.events` are a page of its rows, `steps` theirs if known."""
    return copy_fields(
        Statement,
        figures(period.before, period.after),
        public_id=period.mandate.public_id,
        period=_period(period.week),
        allowed_vs_used=_allowed_vs_used(period),
        venue=venue_weeks(period.before.venue, period.after.venue),
        breaches=_breaches(period.events),
        steps=tuple(grouped(event_steps(period.events)) if steps is None else steps),
        next_cursor=next_cursor,
    )


def mandate_week(s: StatementInput) -> MandateWeek:
    """One mandate in the statement of all."""
    return copy_fields(
        MandateWeek,
        figures(s.before, s.after),
        public_id=s.mandate.public_id,
        purpose=s.mandate.purpose,
        status=s.mandate.status.value,
    )


def statement_of_all(
    mandates: Sequence[MandateWeek],
    period: Week,
    sums: Figures | None,
    next_cursor: str | None = None,
) -> StatementOfAll:
    """Some mandates in one week, under the sums of all where they are given."""
    return StatementOfAll(
        period=_period(period), totals=sums, mandates=tuple(mandates), next_cursor=next_cursor
    )
