"""The measured book: what the chain and the keeper say, row after row in the order of the chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, assert_never

from domain.ledger.kinds import Kind
from domain.ledger.payloads import (
    AgentPaid,
    ApprovalTold,
    ClaimEnded,
    Control,
    Deposited,
    Executed,
    Marked,
    Payload,
    Place,
    RefusedAttempt,
    Reverses,
    Said,
    Settled,
    Signed,
    Stopped,
    Unwound,
    VenueFilled,
    Withdrawn,
)
from domain.times import day_of

DAYS_KEPT: Final = 16
MINUTES_KEPT: Final = timedelta(hours=25)
MINUTES_MOST: Final = 1_600  # more than there are in MINUTES_KEPT, so that pruning is rare


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is kept of a house row.

    Shapes: `place` is (block, log index), a keeper's mark standing at the end of its block;
    `amount` in micro-USDC, 0 where the row has none.
    """

    place: tuple[int, int]
    event_id: str
    at: datetime
    kind: Kind
    amount: int
    what: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A position at one market: what it cost, and what it is worth by the last whole mark.

    Units: micro-USDC; without a mark its value is its cost. `back` says that something came back
    from it since it was marked.
    """

    place: Place
    cost: int = 0
    value: int = 0
    back: bool = False

    @property
    def opened(self) -> bool:
        """True while there is anything in it; what is marked at nothing may yet recover."""
        return self.value > 0 or (self.cost > 0 and not self.back)


@dataclass(frozen=True, slots=True)
class Day:
    """One UTC day: gross spend, and the largest action of it."""

    spent: int = 0
    largest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A whole mark: cash and positions at one block. `flows` are the net flows before it."""

    cash: int
    positions: int
    floor: int
    at: datetime
    block: int
    flows: int

    @property
    def worth(self) -> int:
        """Cash and positions."""
        return self.cash + self.positions


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """When the vault closed, where in the chain, and why."""

    at: datetime
    block: int
    log_index: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The vault's settlement."""

    at: datetime
    spent: int
    returned: int
    gain: int
    agent_fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Where the vault stands, by the rows of the house alone.

    Units: micro-USDC. Shapes: `days` by UTC day, `minutes` of spend by UTC minute; `largest_ever`
    and `busiest_ever` are (amount, day) of days no longer kept; `donated` is what left with
    `withdrawAll` beyond what was booked; `paused_at` and `stopped` are block times.
    """

    rows: int = 0
    deposits: int = 0
    withdrawals: int = 0
    payouts: int = 0
    spent: int = 0
    received: int = 0
    donated: int = 0
    trades: int = 0
    positions: Mapping[str, Position] = field(default_factory=dict)
    days: Mapping[str, Day] = field(default_factory=dict)
    minutes: Mapping[str, int] = field(default_factory=dict)
    largest_ever: tuple[int, str | None] = (0, None)
    busiest_ever: tuple[int, str | None] = (0, None)
    mark: Mark | None = None
    earlier: Mark | None = None
    paused: bool | None = None
    paused_at: datetime | None = None
    stopped: Ended | None = None
    settled: Result | None = None

    @property
    def flows(self) -> int:
        """What came in from outside, less what went out for good."""
        return self.deposits - self.withdrawals - self.payouts

    @property
    def cash(self) -> int | None:
        """Chain cash (contract 5), the agent's unpaid fee with it; None before the first row of
        money.
        """
        if not self.rows:
            return None
        return self.flows - self.spent + self.received + self.donated

    @property
    def fee_owed(self) -> int:
        """What settlement found for the agent and nobody has paid yet."""
        return max(0, self.settled.agent_fee - self.payouts) if self.settled is not None else 0

    @property
    def opened(self) -> Mapping[str, Position]:
        """The open positions; a settlement ends every estimate, its figures are final."""
        if self.settled is not None:
            return {}
        return {k: p for k, p in self.positions.items() if p.opened}

    @property
    def cost(self) -> int:
        """Cost of what is open."""
        return sum(p.cost for p in self.opened.values())

    @property
    def largest(self) -> tuple[int, str | None]:
        """The largest single action ever, and its UTC day."""
        found = [(d.largest, day) for day, d in self.days.items()]
        return max([self.largest_ever, *found], key=lambda o: o[0])


EMPTY: Final = Measured()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What one row of the house moves, in micro-USDC; the one place that says so."""

    deposited: int = 0
    withdrawn: int = 0
    paid: int = 0
    spent: int = 0
    received: int = 0

    @property
    def flow(self) -> int:
        """The owner's money, in less out."""
        return self.deposited - self.withdrawn

    @property
    def cash(self) -> int:
        """What the vault's cash changes by."""
        return self.flow - self.paid - self.spent + self.received


STILL: Final = Moved()


def moved(what: Payload | None, amount: int) -> Moved:
    """What a payload moves; `amount` is its row's, 0 where it has none."""
    match what:
        case Deposited():
            return Moved(deposited=amount)
        case Withdrawn():
            return Moved(withdrawn=amount)
        case AgentPaid():
            return Moved(paid=amount)
        case Executed():
            return Moved(spent=what.spent.micros, received=what.received.micros)
        case Unwound():
            return Moved(received=what.received.micros)
        case Stopped() | Settled() | Control() | Marked() | Reverses() | ClaimEnded():
            return STILL
        case VenueFilled() | Signed() | ApprovalTold() | Said() | RefusedAttempt() | None:
            return STILL
        case other:  # the type checker names what is told anew and not judged here
            assert_never(other)


def step(m: Measured, row: Row) -> Measured:
    """The book after the next row in the order of the chain."""
    acts = _STEPS.get(type(row.what))
    return m if acts is None else acts(m, row, row.what)


def _flowed(m: Measured, row: Row) -> Measured:
    by = moved(row.what, row.amount)
    return replace(
        m,
        rows=m.rows + 1,
        deposits=m.deposits + by.deposited,
        withdrawals=m.withdrawals + by.withdrawn,
        payouts=m.payouts + by.paid,
        spent=m.spent + by.spent,
        received=m.received + by.received,
    )


def _withdrawn(m: Measured, row: Row, what: Withdrawn) -> Measured:
    """Everything leaves but the agent's fee; what nobody had booked is booked as received here."""
    booked = (m.cash or 0) - m.fee_owed
    return replace(_flowed(m, row), donated=m.donated + max(0, row.amount - booked))


def _called(m: Measured, row: Row, what: Executed | Unwound) -> Measured:
    by = moved(what, row.amount)
    changed = replace(
        _flowed(m, row),
        trades=m.trades + isinstance(what, Executed),
        positions=_traded(m.positions, what.place, by.spent, by.received),
    )
    if not by.spent:
        return changed
    # Per action the larger of what was approved and what left counts (contract 5).
    approved = what.approved.micros if isinstance(what, Executed) else 0
    return _spent_on(changed, row.at, by.spent, max(by.spent, approved))


def _traded(
    positions: Mapping[str, Position], place: Place, spent: int, received: int
) -> Mapping[str, Position]:
    """What comes back takes the same fraction of cost as of value, rounded down; everything
    closes.
    """
    key = place.key
    old = positions.get(key)
    if old is None and spent <= 0:
        return positions
    p = old or Position(place=place)
    value, cost = p.value + spent, p.cost + spent
    if received:
        rest = max(0, value - received)
        cost, value = (cost * rest // value if value else cost), rest
    if not value and (not cost or received > 0):
        return {k: v for k, v in positions.items() if k != key}
    back = p.back or received > 0
    return {**positions, key: replace(p, value=value, cost=cost, back=back)}


def _spent_on(m: Measured, at: datetime, spent: int, action: int) -> Measured:
    """Count spend on its UTC day and minute; what comes back never gives cap back."""
    day, days, minutes = day_of(at), dict(m.days), dict(m.minutes)
    old, busiest, largest = days.get(day, Day()), m.busiest_ever, m.largest_ever
    days[day] = Day(old.spent + spent, max(old.largest, action))
    while len(days) > DAYS_KEPT:
        first = min(days)
        gone = days.pop(first)
        busiest = max(busiest, (gone.spent, first), key=lambda o: o[0])
        largest = max(largest, (gone.largest, first), key=lambda o: o[0])
    minute = _minute(at)
    minutes[minute] = minutes.get(minute, 0) + spent
    if len(minutes) > MINUTES_MOST:
        oldest = _minute(datetime.fromisoformat(max(minutes) + "+00:00") - MINUTES_KEPT)
        minutes = {k: v for k, v in minutes.items() if k >= oldest}
    return replace(m, days=days, minutes=minutes, busiest_ever=busiest, largest_ever=largest)


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:16]


def _marked(m: Measured, row: Row, what: Marked) -> Measured:
    """A whole mark values all positions together; each takes its part of it."""
    mark = Mark(
        cash=what.cash.micros,
        positions=what.positions.micros,
        floor=what.floor.micros,
        at=row.at,
        block=row.place[0],
        flows=m.flows,
    )
    parts = shares({k: p.value or p.cost for k, p in m.positions.items()}, mark.positions)
    valued = {k: replace(p, value=parts[k]) for k, p in m.positions.items()}
    kept = {k: replace(p, back=False) if p.value else p for k, p in valued.items() if p.opened}
    return replace(m, mark=mark, earlier=m.mark, positions=kept)


def shares(weights: Mapping[str, int], whole: int) -> dict[str, int]:
    """A whole in parts by weight, rounded down; the last part takes what is over."""
    total, left = sum(weights.values()), whole
    parts = {}
    for n, (key, weight) in enumerate(weights.items(), start=1):
        parts[key] = left if n == len(weights) else whole * weight // total if total else 0
        left -= parts[key]
    return parts


def _stopped(m: Measured, row: Row, what: Stopped) -> Measured:
    if m.stopped is not None or what.record_only:
        return m
    block, index = row.place
    return replace(m, stopped=Ended(at=row.at, block=block, log_index=index, reason=what.reason))


def _settled(m: Measured, row: Row, what: Settled) -> Measured:
    result = Result(
        at=row.at,
        spent=what.spent.micros,
        returned=what.returned.micros,
        gain=what.gain.micros,
        agent_fee=what.agent_fee.micros,
    )
    return replace(m, settled=result)


def _controlled(m: Measured, row: Row, what: Control) -> Measured:
    """A stop revokes the agent too, in the log right behind its own; that is no pause."""
    paused, stop = what.what == "paused", m.stopped
    if stop is not None and row.place == (stop.block, stop.log_index + 1):
        return m
    return replace(m, paused=paused, paused_at=row.at if paused else None)


_STEPS: Final[Mapping[type, Any]] = {
    Deposited: lambda m, row, what: _flowed(m, row),
    AgentPaid: lambda m, row, what: _flowed(m, row),
    Withdrawn: _withdrawn,
    Executed: _called,
    Unwound: _called,
    Marked: _marked,
    Stopped: _stopped,
    Settled: _settled,
    Control: _controlled,
}

COUNTS: Final = frozenset(_STEPS)
