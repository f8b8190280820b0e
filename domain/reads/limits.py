"""Limits: allowed against used, what is left, and what was broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import Any, Final, Literal, cast

from domain.money import Usdc
from domain.reads.fees import WorthSource, worth_source
from domain.rules.caps import budget, daily_cap, per_tx_cap, reserved, spent_today
from domain.rules.case import Book, moment, today
from domain.rules.checks import remaining
from domain.rules.codes import CLAUSE_OF
from domain.rules.worth import committed, floor_now, worth
from domain.times import Timestamp, read
from domain.wire import said

ROLLING: Final = timedelta(hours=24)

SetBy = Literal["mandate", "policy"]

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
    """How many items may wait for the owner."""

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
class Allowed:
    """What the terms and the agent's policy allow."""

    budget: AllowedAmount
    per_action: AllowedAmount
    per_day: AllowedAmount
    stop_line: AllowedStopLine
    period: AllowedPeriod
    pending_approvals: AllowedItems
    paid_reads: AllowedCredits


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
    day: str | None = field(metadata=said("UTC day, YYYY-MM-DD"))


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
    source: WorthSource
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
    """What is used of each, with where the figure comes from."""

    budget: UsedAmount
    per_action: UsedOnce
    per_day: UsedToday
    stop_line: UsedStopLine
    period: UsedPeriod
    pending_approvals: UsedItems
    paid_reads: UsedCredits


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The clause that binds."""

    clause: int
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The largest single action possible now, the clause that binds, and when time alone lifts it
    (null where time lifts nothing).
    """

    value: Usdc
    binding: Binding
    retry_at: Timestamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A rule that a stored row broke."""

    code: str
    clause: int | None
    event_id: str
    at: Timestamp | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Allowed against used (spec 2.9, contract 5); breaches newest first."""

    allowed: Allowed
    used: Used
    remaining: Left
    rolling_24h: UsedAmount
    breaches: tuple[Breach, ...]


def rolling_24h(book: Book) -> Usdc:
    """Spend of the last 24 hours, to the minute; two caps can meet at midnight (contract 5)."""
    since = (moment(book) - ROLLING).astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
    return Usdc(sum(amount for minute, amount in book.measured.minutes.items() if minute >= since))


def allowed(book: Book) -> Allowed:
    """What the terms and the agent's policy allow; the stricter binds."""
    cap, cap_by = per_tx_cap(book)
    most, most_by = budget(book)
    m = book.mandate
    return Allowed(
        budget=AllowedAmount(value=most, clause=1, set_by=cast(SetBy, most_by)),
        per_action=AllowedAmount(value=cap, clause=2, set_by=cast(SetBy, cap_by)),
        per_day=AllowedAmount(value=daily_cap(book), clause=3, set_by="mandate"),
        stop_line=AllowedStopLine(value=floor_now(book), signed=m.floor),
        period=AllowedPeriod(value=m.ends_at),
        pending_approvals=AllowedItems(value=book.config.pending_approvals_max),
        paid_reads=AllowedCredits(value=book.policy.credit_budget_daily if book.policy else None),
    )


def source_of(book: Book) -> SpendSource:
    """Where figures of spend come from: the chain alone, or also what only the agent reports."""
    claimed = book.state.claimed.notional or book.state.claimed.pending
    return "agent" if claimed or not book.measured.rows else "chain"


def used(book: Book) -> Used:
    """What is used of each, with where the figure comes from."""
    (most, most_day), source = book.measured.largest, source_of(book)
    return Used(
        budget=UsedAmount(value=committed(book), source="chain", basis="deposits - withdrawals"),
        per_action=UsedOnce(
            value=Usdc(most), source=source, basis="largest single action", day=most_day
        ),
        per_day=UsedToday(
            value=spent_today(book),
            source=source,
            basis="gross spend of the UTC day; what comes back gives nothing back",
            reserved=reserved(book),
        ),
        stop_line=UsedStopLine(value=worth(book), source=worth_source(book), basis="worth_est"),
        period=UsedPeriod(value=book.now, basis="now" if book.mandate.signed_at else "not signed"),
        pending_approvals=UsedItems(
            value=sum(a.shown(book.now) == "pending" for a in book.approvals),
            basis="items waiting for the owner",
        ),
        paid_reads=UsedCredits(
            value=credits_today(book), basis="1 credit = 0.01 USDC, rounded up a read; UTC day"
        ),
    )


def credits_today(book: Book) -> int:
    """Paid-read credits of the UTC day."""
    return book.state.claimed.credits.get(today(book), 0)


def left(book: Book) -> Left:
    """The largest single action possible now."""
    told = remaining(book)
    return Left(
        value=told.amount,
        binding=Binding(clause=int(told.binding), key=told.binding.key),
        retry_at=told.retry_at,
    )


def breaches(book: Book) -> tuple[Breach, ...]:
    """The rules that were broken, newest first."""
    return tuple(
        Breach(
            code=code,
            clause=int(CLAUSE_OF[code]) if code in CLAUSE_OF else None,
            event_id=row["event_id"],
            at=read(row["at"]),
            detail=(row.get("detail") or {}).get(code, {}),
        )
        for row in book.state.breaches
        for code in row["codes"]
    )


def limits(book: Book) -> Limits:
    """Allowed against used, what is left, and what was broken."""
    return Limits(
        allowed=allowed(book),
        used=used(book),
        remaining=left(book),
        rolling_24h=UsedAmount(
            value=rolling_24h(book), source=source_of(book), basis="last 24 hours, to the minute"
        ),
        breaches=breaches(book),
    )
