"""The measured book: rows of the chain and the keeper, folded in the order of the chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from domain.ledger.events.event_kinds import LedgerKind
from domain.ledger.events.payloads import (
    AgentPaid,
    Control,
    Deposited,
    Executed,
    Marked,
    Observed,
    Payload,
    Settled,
    Stopped,
    Unwound,
    Withdrawn,
)
from domain.ledger.fast_copy import fast_replace
from domain.ledger.state.day_totals import BEGUN, DayTotals, Interval, resulted
from domain.ledger.state.movements import movement_of
from domain.ledger.state.positions import MeasuredPosition, after_call, revalued, shares
from domain.times import day_of

DAYS_KEPT: Final = 16
MINUTES_KEPT: Final = timedelta(hours=25)
MINUTES_MOST: Final = 1_600  # more than there are in MINUTES_KEPT, so that pruning is rare


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """What is kept of a house row.

    Shapes: `place` is (block, log index), a mark that was read standing at the end of its block;
    `amount` in micro-USDC, 0 where the row has none; `observed` what the vault held after it.
    """

    place: tuple[int, int]
    event_id: str
    at: datetime
    kind: LedgerKind
    amount: int
    what: Payload
    observed: Observed | None = None


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
class Seen:
    """The newest whole observation: its block, and when that was."""

    block: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultClosed:
    """When the vault closed, where in the chain, and why."""

    at: datetime
    block: int
    log_index: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementResult:
    """The vault's settlement."""

    at: datetime
    spent: int
    returned: int
    gain: int
    agent_fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBook:
    """Where the vault stands, by the rows of the house alone.

    Units: micro-USDC. Shapes: `days` by UTC day, the newest, and `interval` what happened since the
    worth was last known; `minutes` of spend by UTC minute; `largest_ever` and `busiest_ever` are
    (amount, day) of days no longer kept; `donated` is what left with `withdrawAll` beyond what was
    booked; `paused_at` and `stopped` are block times; `seen` is the newest whole observation of any
    row, `mark` and `earlier` the newest two of those that were made for their own sake.
    """

    rows: int = 0
    deposits: int = 0
    withdrawals: int = 0
    payouts: int = 0
    spent: int = 0
    received: int = 0
    donated: int = 0
    trades: int = 0
    positions: Mapping[str, MeasuredPosition] = field(default_factory=dict)
    days: Mapping[str, DayTotals] = field(default_factory=dict)
    interval: Interval = BEGUN
    minutes: Mapping[str, int] = field(default_factory=dict)
    largest_ever: tuple[int, str | None] = (0, None)
    busiest_ever: tuple[int, str | None] = (0, None)
    seen: Seen | None = None
    mark: Mark | None = None
    earlier: Mark | None = None
    paused: bool | None = None
    paused_at: datetime | None = None
    stopped: VaultClosed | None = None
    settled: SettlementResult | None = None

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
    def opened(self) -> Mapping[str, MeasuredPosition]:
        """The open positions; those that a settlement left stay open until they are unwound."""
        return {k: p for k, p in self.positions.items() if p.opened}

    @property
    def cost(self) -> int:
        """Cost of what is open."""
        return sum(p.cost for p in self.opened.values())

    @property
    def largest(self) -> tuple[int, str | None]:
        """The largest single action ever, and its UTC day."""
        largest_by_day = [(d.largest, day) for day, d in self.days.items()]
        return max([self.largest_ever, *largest_by_day], key=lambda o: o[0])


EMPTY: Final = MeasuredBook()


def step(book: MeasuredBook, row: MeasuredRow) -> MeasuredBook:
    """The book after the next row in the order of the chain."""
    acts = _STEPS.get(type(row.what))
    if acts is None:
        return book
    after = acts(book, row, row.what)
    is_complete = row.observed is not None and row.observed.whole
    if row.observed is not None and is_complete and _reached(after, row):
        after = _revalued(after, row, row.observed.values())
    return _dated(book, row, after)


def _reached(book: MeasuredBook, row: MeasuredRow) -> bool:
    """False for a mark that was read ahead of the ledger: it counts once the rows before it are
    here. Until then what was bought would count twice, and what was sold not at all.
    """
    if not isinstance(row.what, Marked):
        return True
    cash = row.what.cash if row.observed is None else row.observed.cash
    return cash.micros == book.cash


def _flowed(book: MeasuredBook, row: MeasuredRow) -> MeasuredBook:
    by = movement_of(row.what, row.amount)
    return replace(
        book,
        rows=book.rows + 1,
        deposits=book.deposits + by.deposited,
        withdrawals=book.withdrawals + by.withdrawn,
        payouts=book.payouts + by.paid,
        spent=book.spent + by.spent,
        received=book.received + by.received,
    )


def _withdrawn(book: MeasuredBook, row: MeasuredRow, what: Withdrawn) -> MeasuredBook:
    """Everything leaves but the agent's fee; what nobody had booked is booked as received here."""
    booked = (book.cash or 0) - book.fee_owed
    return replace(_flowed(book, row), donated=book.donated + max(0, row.amount - booked))


def _called(book: MeasuredBook, row: MeasuredRow, what: Executed | Unwound) -> MeasuredBook:
    by = movement_of(what, row.amount)
    observed = row.observed.values() if row.observed is not None else {}
    known = row.observed is not None and row.observed.whole
    after = observed.get(what.place.key, 0 if known else None)
    traded = fast_replace(
        _flowed(book, row),
        trades=book.trades + isinstance(what, Executed),
        positions=after_call(book.positions, what.place, by.spent, by.received, after),
    )
    return _spent_at(traded, row.at, by.spent) if by.spent else traded


def _revalued(book: MeasuredBook, row: MeasuredRow, values: Mapping[str, int]) -> MeasuredBook:
    """Every position at what its probe answered; one that no probe values is worth nothing."""
    state = Seen(block=row.place[0], at=row.at)
    return fast_replace(book, positions=revalued(book.positions, values), seen=state)


def _dated(book: MeasuredBook, row: MeasuredRow, after: MeasuredBook) -> MeasuredBook:
    """The book with the row in its UTC day, and an interval ended where the worth is known."""
    if after is book or isinstance(row.what, (Stopped, Control)):
        return after
    by = movement_of(row.what, row.amount)
    positions = sum(p.value for p in after.opened.values())
    worth = (after.cash or 0) + positions
    is_complete = row.observed.whole if row.observed is not None else isinstance(row.what, Marked)
    known = (is_complete and _reached(book, row)) or not after.opened
    called = isinstance(row.what, Executed)
    day = _day(book, row.at)
    day = fast_replace(
        day,
        inflow=day.inflow + by.deposited,
        outflow=day.outflow + by.withdrawn,
        calls=day.calls + called,
        trades=day.trades + (called and bool(by.spent or by.received)),
        put_in=after.deposits - after.withdrawals,
        deposited=after.deposits,
        worth=worth,
        held=positions,
        measured=after.seen is not None or not after.opened,
    )
    # What was given and leaves with everything is nobody's result: it came and went beside.
    donated = after.donated - book.donated
    interval = book.interval.moved(
        deposited=by.deposited,
        withdrawn=by.withdrawn - donated,
        spent=by.spent,
        received=by.received,
    )
    if known:
        day, interval = resulted(day, interval, worth, positions)
    if by.spent:
        # Per action the larger of what was approved and what left counts (contract 5).
        approved = row.what.approved.micros if isinstance(row.what, Executed) else 0
        largest = max(day.largest, by.spent, approved)
        day = fast_replace(day, spent=day.spent + by.spent, largest=largest)
    days = {**after.days, day.day: day}
    return _pruned(fast_replace(after, days=days, interval=interval))


def _day(book: MeasuredBook, at: datetime) -> DayTotals:
    """The day of a row. Blocks follow each other in time; one that a clock put before the newest
    day belongs to that.
    """
    newest = book.days[max(book.days)] if book.days else None
    name = day_of(at)
    if newest is not None and newest.day >= name:
        return newest
    positions = sum(p.value for p in book.opened.values())
    worth = (book.cash or 0) + positions
    return DayTotals(day=name, start=worth, worth=worth, stood=positions, held=positions)


def _pruned(book: MeasuredBook) -> MeasuredBook:
    if len(book.days) <= DAYS_KEPT:
        return book
    days, busiest, largest = dict(book.days), book.busiest_ever, book.largest_ever
    while len(days) > DAYS_KEPT:
        gone = days.pop(next(iter(days)))
        busiest = max(busiest, (gone.spent, gone.day), key=lambda o: o[0])
        largest = max(largest, (gone.largest, gone.day), key=lambda o: o[0])
    return fast_replace(book, days=days, busiest_ever=busiest, largest_ever=largest)


def _spent_at(book: MeasuredBook, at: datetime, spent: int) -> MeasuredBook:
    """Count spend in its UTC minute; what comes back never gives cap back."""
    minutes, minute = dict(book.minutes), _minute(at)
    minutes[minute] = minutes.get(minute, 0) + spent
    if len(minutes) > MINUTES_MOST:
        oldest = _minute(datetime.fromisoformat(max(minutes) + "+00:00") - MINUTES_KEPT)
        minutes = {k: v for k, v in minutes.items() if k >= oldest}
    return fast_replace(book, minutes=minutes)


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:16]


def _marked(book: MeasuredBook, row: MeasuredRow, what: Marked) -> MeasuredBook:
    """A mark, whole where every probe answered. One that says the sum alone, as older rows do,
    values all positions together; each takes its part of it.
    """
    if row.observed is not None and not row.observed.whole:
        return book
    mark = Mark(
        cash=what.cash.micros,
        positions=what.positions.micros,
        floor=what.floor.micros,
        at=row.at,
        block=row.place[0],
        flows=book.flows,
    )
    marked = fast_replace(book, mark=mark, earlier=book.mark)
    if row.observed is not None or not _reached(book, row):
        return marked
    parts = shares({k: p.value or p.cost for k, p in book.positions.items()}, mark.positions)
    return _revalued(marked, row, parts)


def _stopped(book: MeasuredBook, row: MeasuredRow, what: Stopped) -> MeasuredBook:
    if book.stopped is not None or what.record_only:
        return book
    block, index = row.place
    return replace(
        book, stopped=VaultClosed(at=row.at, block=block, log_index=index, reason=what.reason)
    )


def _settled(book: MeasuredBook, row: MeasuredRow, what: Settled) -> MeasuredBook:
    result = SettlementResult(
        at=row.at,
        spent=what.spent.micros,
        returned=what.returned.micros,
        gain=what.gain.micros,
        agent_fee=what.agent_fee.micros,
    )
    # What nobody observed ends with the estimate that it was.
    positions = book.positions if row.observed is not None else {}
    return replace(book, settled=result, positions=positions)


def _controlled(book: MeasuredBook, row: MeasuredRow, what: Control) -> MeasuredBook:
    """A stop revokes the agent too, in the log right behind its own; that is no pause."""
    paused, stop = what.what == "paused", book.stopped
    if stop is not None and row.place == (stop.block, stop.log_index + 1):
        return book
    return replace(book, paused=paused, paused_at=row.at if paused else None)


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
