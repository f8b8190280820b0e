"""Limits: allowed against used, the remaining amounts, and the broken rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import Final, Literal

from domain.money import Usdc
from domain.reads.event_rows import breach_detail
from domain.reads.row_models import BreachDetail
from domain.rules.action_checks import RemainingNow, remaining
from domain.rules.caps import SetBy, budget, daily_cap, per_tx_cap, reserved, spent_today
from domain.rules.paid_read_credits import used as credits_today
from domain.rules.rule_table import clause_of
from domain.rules.snapshot import MandateSnapshot, moment
from domain.rules.valuation import Source, committed, floor_now, usdc, valuation
from domain.rules.venue_exposure import at_venue
from domain.times import Timestamp, moment_of
from domain.wire_fields import LEFT_OUT, copy_fields, described

ROLLING: Final = timedelta(hours=24)

SpendSource = Literal["chain", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedAmount:
    """An amount that the terms or the agent's policy allow; the stricter binds."""

    value: Usdc
    clause: int
    set_by: SetBy


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedStopLine:
    """The floor that binds now, and the signed one."""

    value: Usdc
    signed: Usdc
    clause: Literal[4] = 4
    set_by: Literal["mandate"] = "mandate"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedPeriod:
    """Until when, exclusive; null before the signature."""

    value: Timestamp | None
    clause: Literal[8] = 8
    set_by: Literal["mandate"] = "mandate"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedItems:
    """The number of items that may wait for the owner."""

    value: int
    clause: Literal[6] = 6
    set_by: Literal["service"] = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedCredits:
    """Paid reads a UTC day, in credits of 0.01 USDC; null where the policy sets none."""

    value: int | None
    clause: None = None
    set_by: Literal["policy"] = "policy"
    unit: str = "credits a UTC day"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedByOrders:
    """The part of the UTC day's limit that orders at the venue use: open and traded amounts, at
    limit prices. Live ones share the cap with the vault's use; paper ones meet the same amount
    alone.
    """

    live: Usdc
    paper: Usdc
    source: Literal["service"] = "service"
    basis: str = "orders that cite the mandate, size x limit price, of the UTC day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Limits by the terms and the agent's policy."""

    budget: AllowedAmount
    per_action: AllowedAmount
    per_day: AllowedAmount
    stop_line: AllowedStopLine
    period: AllowedPeriod
    pending_approvals: AllowedItems
    paid_reads: AllowedCredits
    orders_per_day: AllowedAmount | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedAmount:
    """An amount that is used."""

    value: Usdc
    source: SpendSource
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedOnce:
    """The largest single action, and the UTC day of it."""

    value: Usdc
    source: SpendSource
    basis: str
    day: str | None = field(metadata=described("UTC day, YYYY-MM-DD"))


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedToday:
    """The gross spend of the UTC day; `reserved` is calldata that was handed out and may still be
    sent.
    """

    value: Usdc
    source: SpendSource
    basis: str
    reserved: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedStopLine:
    """The estimate of worth that is held against the stop line."""

    value: Usdc | None
    source: Source
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedPeriod:
    """The time now."""

    value: Timestamp
    source: Literal["clock"] = "clock"
    basis: Literal["now", "not signed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedItems:
    """Items that wait for the owner."""

    value: int
    source: Literal["service"] = "service"
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedCredits:
    """Credits of paid reads on this UTC day."""

    value: int
    source: Literal["agent"] = "agent"
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The used part of each limit, with the source of the figure."""

    budget: UsedAmount
    per_action: UsedOnce
    per_day: UsedToday
    stop_line: UsedStopLine
    period: UsedPeriod
    pending_approvals: UsedItems
    paid_reads: UsedCredits
    orders_per_day: UsedByOrders | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A rule that a stored row broke."""

    code: str
    clause: int | None
    event_id: str
    at: Timestamp | None
    detail: BreachDetail


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsNow:
    """Allowed against used, and what is left (spec 2.9, contract 5)."""

    allowed: Allowed
    used: Used
    remaining: RemainingNow
    rolling_24h: UsedAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(LimitsNow):
    """Limits with their violations, newest first."""

    breaches: tuple[Breach, ...]


def rolling_24h(snapshot: MandateSnapshot) -> UsedAmount:
    """Spend of the last 24 hours, to the minute; two caps can meet at midnight (contract 5)."""
    since = (moment(snapshot) - ROLLING).astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
    spent = (amount for minute, amount in snapshot.measured.minutes.items() if minute >= since)
    basis = "last 24 hours, to the minute"
    return UsedAmount(value=Usdc(sum(spent)), source=source_of(snapshot), basis=basis)


def allowed(snapshot: MandateSnapshot) -> Allowed:
    """The limits of terms and agent's policy; the stricter binds."""
    cap, cap_by = per_tx_cap(snapshot)
    budget_limit, budget_by = budget(snapshot)
    mandate, policy = snapshot.mandate, snapshot.policy
    day = AllowedAmount(value=daily_cap(snapshot), clause=3, set_by="mandate")
    return Allowed(
        budget=AllowedAmount(value=budget_limit, clause=1, set_by=budget_by),
        per_action=AllowedAmount(value=cap, clause=2, set_by=cap_by),
        per_day=day,
        stop_line=AllowedStopLine(value=floor_now(snapshot), signed=mandate.floor),
        period=AllowedPeriod(value=mandate.ends_at),
        pending_approvals=AllowedItems(value=snapshot.config.pending_approvals_max),
        paid_reads=AllowedCredits(value=policy.credit_budget_daily if policy else None),
        orders_per_day=day if at_venue(mandate) else None,
    )


def source_of(snapshot: MandateSnapshot) -> SpendSource:
    """The source of spend figures: the chain alone, or also claims of the agent."""
    claimed = snapshot.state.claimed.notional or snapshot.state.claimed.pending
    return "agent" if claimed or not snapshot.measured.rows else "chain"


def used(snapshot: MandateSnapshot) -> Used:
    """The used amount of each limit, with its source."""
    (largest, largest_day), source = snapshot.measured.largest, source_of(snapshot)
    at, orders, waits = valuation(snapshot), snapshot.orders, snapshot.mandate.signed_at is None
    pending = sum(a.status_at(snapshot.now) == "pending" for a in snapshot.approvals)
    credits_used = credits_today([snapshot.state], moment(snapshot))
    in_and_out = "deposits - withdrawals"
    day_basis = "gross spend of the UTC day; what comes back gives nothing back"
    credit_basis = "1 credit = 0.01 USDC, rounded up a read; UTC day"
    return Used(
        budget=UsedAmount(value=committed(snapshot), source="chain", basis=in_and_out),
        per_action=UsedOnce(
            value=Usdc(largest), source=source, basis="largest single action", day=largest_day
        ),
        per_day=UsedToday(
            value=spent_today(snapshot),
            source=source,
            basis=day_basis,
            reserved=reserved(snapshot),
        ),
        stop_line=UsedStopLine(value=usdc(at.worth), source=at.source, basis="worth_est"),
        period=UsedPeriod(value=snapshot.now, basis="not signed" if waits else "now"),
        pending_approvals=UsedItems(value=pending, basis="items waiting for the owner"),
        paid_reads=UsedCredits(value=credits_used, basis=credit_basis),
        orders_per_day=UsedByOrders(live=orders.live, paper=orders.paper)
        if at_venue(snapshot.mandate)
        else None,
    )


def breaches(snapshot: MandateSnapshot) -> tuple[Breach, ...]:
    """The rules that were broken, newest first."""
    return tuple(
        Breach(
            code=code,
            clause=clause_of(code),
            event_id=row.event_id,
            at=moment_of(row.at),
            detail=breach_detail(row.detail.get(code)),
        )
        for row in snapshot.state.breaches
        for code in row.codes
    )


def limits_now(snapshot: MandateSnapshot) -> LimitsNow:
    """Allowed against used, and the remaining amount."""
    return LimitsNow(
        allowed=allowed(snapshot),
        used=used(snapshot),
        remaining=remaining(snapshot),
        rolling_24h=rolling_24h(snapshot),
    )


def limits(snapshot: MandateSnapshot) -> Limits:
    """Allowed against used, the remaining amount, and the broken rules."""
    return copy_fields(Limits, limits_now(snapshot), breaches=breaches(snapshot))
