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
    PaidFee,
    Payload,
    PurseMoved,
    Settled,
    Stopped,
    Unwound,
    Withdrawn,
)
from domain.ledger.fast_copy import fast_replace
from domain.ledger.state import purse_book
from domain.ledger.state.day_totals import BEGUN, DayTotals, Interval, end_interval
from domain.ledger.state.movements import movement_of
from domain.ledger.state.positions import MeasuredPosition, after_call, revalue, shares
from domain.ledger.state.purse_book import PurseBook
from domain.times import day_of

DAYS_KEPT: Final = 16
MINUTES_KEPT: Final = timedelta(hours=25)
MAX_MINUTES: Final = 1_600  # more than there are in MINUTES_KEPT, so that pruning is rare


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """The fields of a house row that the measured book needs.

    Shapes: `place` is (block, log index), a mark that was read standing at the end of its block;
    `amount` in micro-USDC, 0 where the row has none; `observed` the vault right after it.
    """

    place: tuple[int, int]
    event_id: str
    at: datetime
    kind: LedgerKind
    amount: int
    body: Payload
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
    """The vault's closing: time, place in the chain, reason."""

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
    """The vault's money, positions and state by the rows of the house alone.

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
    purse: PurseBook = purse_book.EMPTY

    @property
    def flows(self) -> int:
        """Deposits from outside, less withdrawals for good."""
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
        """The agent's fee of the settlement, less what was paid of it."""
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
    apply_row = _STEPS.get(type(row.body))
    if apply_row is None:
        return book
    updated: MeasuredBook = apply_row(book, row, row.body)
    if isinstance(row.body, (PaidFee, PurseMoved)):
        return updated  # the vault's money and worth are as they were
    is_complete = row.observed is not None and row.observed.is_complete
    if row.observed is not None and is_complete and _matches_ledger(updated, row):
        updated = _with_probe_values(updated, row, row.observed.values())
    return _with_day(book, row, updated)


def _matches_ledger(book: MeasuredBook, row: MeasuredRow) -> bool:
    """False for a mark that was read ahead of the ledger: it counts once the rows before it are
    stored. Until then a purchase would count twice, and a sale not at all.
    """
    if not isinstance(row.body, Marked):
        return True
    cash = row.body.cash if row.observed is None else row.observed.cash
    return cash.micros == book.cash


def _apply_flow(book: MeasuredBook, row: MeasuredRow) -> MeasuredBook:
    movement = movement_of(row.body, row.amount)
    return replace(
        book,
        rows=book.rows + 1,
        deposits=book.deposits + movement.deposited,
        withdrawals=book.withdrawals + movement.withdrawn,
        payouts=book.payouts + movement.paid,
        spent=book.spent + movement.spent,
        received=book.received + movement.received,
    )


def _apply_withdrawal(book: MeasuredBook, row: MeasuredRow, body: Withdrawn) -> MeasuredBook:
    """Book that everything but the agent's fee leaves; USDC that no row had booked counts as
    donated.
    """
    booked = (book.cash or 0) - book.fee_owed
    return replace(_apply_flow(book, row), donated=book.donated + max(0, row.amount - booked))


def _apply_call(book: MeasuredBook, row: MeasuredRow, body: Executed | Unwound) -> MeasuredBook:
    movement = movement_of(body, row.amount)
    if body.purse:
        purse = purse_book.with_call(book.purse, movement.spent, movement.received)
        moved = fast_replace(_apply_flow(book, row), purse=purse)
        return _add_spend(moved, row.at, movement.spent) if movement.spent else moved
    observed = row.observed.values() if row.observed is not None else {}
    is_complete = row.observed is not None and row.observed.is_complete
    value_after = observed.get(body.target.key, 0 if is_complete else None)
    traded = fast_replace(
        _apply_flow(book, row),
        trades=book.trades + isinstance(body, Executed),
        positions=after_call(
            book.positions, body.target, movement.spent, movement.received, value_after
        ),
    )
    return _add_spend(traded, row.at, movement.spent) if movement.spent else traded


def _apply_payment(book: MeasuredBook, row: MeasuredRow, body: PaidFee) -> MeasuredBook:
    purse = purse_book.with_payment(book.purse, row.event_id, row.at, row.amount, body)
    return fast_replace(book, purse=purse)


def _apply_purse(book: MeasuredBook, row: MeasuredRow, body: PurseMoved) -> MeasuredBook:
    purse = purse_book.with_movement(book.purse, row.at, row.amount, body)
    return fast_replace(book, purse=purse)


def _with_probe_values(
    book: MeasuredBook, row: MeasuredRow, values: Mapping[str, int]
) -> MeasuredBook:
    """Every position at what its probe answered; one that no probe values is worth nothing."""
    observation = Seen(block=row.place[0], at=row.at)
    return fast_replace(book, positions=revalue(book.positions, values), seen=observation)


def _with_day(book: MeasuredBook, row: MeasuredRow, updated: MeasuredBook) -> MeasuredBook:
    """The book with the row in its UTC day, and an interval ended where the worth is known."""
    if updated is book or isinstance(row.body, (Stopped, Control)):
        return updated
    movement = movement_of(row.body, row.amount)
    positions = sum(p.value for p in updated.opened.values())
    worth = (updated.cash or 0) + positions
    is_complete = (
        row.observed.is_complete if row.observed is not None else isinstance(row.body, Marked)
    )
    is_worth_known = (is_complete and _matches_ledger(book, row)) or not updated.opened
    is_execution = isinstance(row.body, Executed)
    # Pocket money is no trade: nothing was bought for it, and no return is over it.
    of_purse = isinstance(row.body, (Executed, Unwound)) and row.body.purse
    day = _day(book, row.at)
    day = fast_replace(
        day,
        inflow=day.inflow + movement.deposited,
        outflow=day.outflow + movement.withdrawn,
        calls=day.calls + is_execution,
        trades=day.trades
        + (is_execution and not of_purse and bool(movement.spent or movement.received)),
        put_in=updated.deposits - updated.withdrawals,
        deposited=updated.deposits,
        worth=worth,
        held=positions,
        measured=updated.seen is not None or not updated.opened,
    )
    # A donation that leaves with everything else is no result: it is taken out of the outflow.
    donated = updated.donated - book.donated
    interval = book.interval.with_movement(
        deposited=movement.deposited,
        withdrawn=movement.withdrawn - donated,
        spent=0 if of_purse else movement.spent,
        received=0 if of_purse else movement.received,
    )
    if is_worth_known:
        day, interval = end_interval(day, interval, worth, positions)
    if movement.spent:
        # Per action the larger of what was approved and what left counts (contract 5).
        approved = row.body.approved.micros if isinstance(row.body, Executed) else 0
        largest = max(day.largest, movement.spent, approved)
        day = fast_replace(day, spent=day.spent + movement.spent, largest=largest)
    days = {**updated.days, day.day: day}
    return _prune_days(fast_replace(updated, days=days, interval=interval))


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


def _prune_days(book: MeasuredBook) -> MeasuredBook:
    if len(book.days) <= DAYS_KEPT:
        return book
    days, busiest, largest = dict(book.days), book.busiest_ever, book.largest_ever
    while len(days) > DAYS_KEPT:
        oldest = days.pop(next(iter(days)))
        busiest = max(busiest, (oldest.spent, oldest.day), key=lambda o: o[0])
        largest = max(largest, (oldest.largest, oldest.day), key=lambda o: o[0])
    return fast_replace(book, days=days, busiest_ever=busiest, largest_ever=largest)


def _add_spend(book: MeasuredBook, at: datetime, spent: int) -> MeasuredBook:
    """Count spend in its UTC minute; what comes back never gives cap back."""
    minutes, minute = dict(book.minutes), _minute(at)
    minutes[minute] = minutes.get(minute, 0) + spent
    if len(minutes) > MAX_MINUTES:
        oldest = _minute(datetime.fromisoformat(max(minutes) + "+00:00") - MINUTES_KEPT)
        minutes = {k: v for k, v in minutes.items() if k >= oldest}
    return fast_replace(book, minutes=minutes)


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()[:16]


def _apply_mark(book: MeasuredBook, row: MeasuredRow, body: Marked) -> MeasuredBook:
    """A mark, whole where every probe answered. One that says the sum alone, as older rows do,
    values all positions together; each takes its part of it.
    """
    if row.observed is not None and not row.observed.is_complete:
        return book
    mark = Mark(
        cash=body.cash.micros,
        positions=body.positions.micros,
        floor=body.floor.micros,
        at=row.at,
        block=row.place[0],
        flows=book.flows,
    )
    marked = fast_replace(book, mark=mark, earlier=book.mark)
    if row.observed is not None or not _matches_ledger(book, row):
        return marked
    parts = shares({k: p.value or p.cost for k, p in book.positions.items()}, mark.positions)
    return _with_probe_values(marked, row, parts)


def _apply_stop(book: MeasuredBook, row: MeasuredRow, body: Stopped) -> MeasuredBook:
    if book.stopped is not None or body.record_only:
        return book
    block, index = row.place
    return replace(
        book, stopped=VaultClosed(at=row.at, block=block, log_index=index, reason=body.reason)
    )


def _apply_settlement(book: MeasuredBook, row: MeasuredRow, body: Settled) -> MeasuredBook:
    result = SettlementResult(
        at=row.at,
        spent=body.spent.micros,
        returned=body.returned.micros,
        gain=body.gain.micros,
        agent_fee=body.agent_fee.micros,
    )
    # Positions that no probe observed end here at their estimate.
    positions = book.positions if row.observed is not None else {}
    return replace(book, settled=result, positions=positions)


def _apply_control(book: MeasuredBook, row: MeasuredRow, body: Control) -> MeasuredBook:
    """A stop revokes the agent too, in the log right behind its own; that is no pause."""
    paused, stop = body.change == "paused", book.stopped
    if stop is not None and row.place == (stop.block, stop.log_index + 1):
        return book
    return replace(book, paused=paused, paused_at=row.at if paused else None)


_STEPS: Final[Mapping[type, Any]] = {
    Deposited: lambda m, row, body: _apply_flow(m, row),
    AgentPaid: lambda m, row, body: _apply_flow(m, row),
    Withdrawn: _apply_withdrawal,
    Executed: _apply_call,
    Unwound: _apply_call,
    PaidFee: _apply_payment,
    PurseMoved: _apply_purse,
    Marked: _apply_mark,
    Stopped: _apply_stop,
    Settled: _apply_settlement,
    Control: _apply_control,
}

COUNTS: Final = frozenset(_STEPS)
