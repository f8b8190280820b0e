"""Performance record: a mandate's days for the Hall and the day series, with the agent's
claims and the venue's fills beside the measured figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Final

from domain.ledger.events.event import Event
from domain.ledger.events.event_kinds import LedgerKind, Reporter
from domain.ledger.events.payloads import LogReversed, VenueFilled
from domain.ledger.state import venue_book
from domain.ledger.state.day_totals import DayTotals, RolledDay
from domain.ledger.state.journal import counts, standing_rows
from domain.ledger.state.measured import DAYS_KEPT, EMPTY, MeasuredBook, step
from domain.ledger.state.venue_book import VenueBook
from domain.times import day_of

CLAIMS: Final = frozenset({LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE, LedgerKind.RESOLVE})

# Before every day: a row that a reorganisation moved or took away may have changed any of them.
ALL_DAYS: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Claims and venue fills of a day, beside the measured figures; see `RolledDay`. Micro-USDC."""

    claimed_trades: int = 0
    claimed_net: int = 0
    claimed_fees: int = 0
    venue: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def plus(self, more: Beside) -> Beside:
        """Both together."""
        venue = {n: list(v) for n, v in self.venue.items()}
        for network, added in more.venue.items():
            before = venue.get(network, (0, 0, 0))
            venue[network] = [a + b for a, b in zip(before, added, strict=True)]
        return Beside(
            claimed_trades=self.claimed_trades + more.claimed_trades,
            claimed_net=self.claimed_net + more.claimed_net,
            claimed_fees=self.claimed_fees + more.claimed_fees,
            venue=venue,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DayParts:
    """One UTC day as it is stored; `measured` is None where no row of the house falls on it."""

    day: str
    measured: DayTotals | None = None
    beside: Beside = Beside()


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceRecord:
    """The checkpoint of a mandate's stored days: the last row folded, `seq`, and the venue book
    there.
    """

    seq: int = 0
    venue: VenueBook = venue_book.EMPTY


NOTHING: Final = PerformanceRecord()


def fold_days(
    record: PerformanceRecord, events: Sequence[Event]
) -> tuple[PerformanceRecord, dict[str, Beside], str | None]:
    """Fold more rows: the claims and fills that they add, by UTC day, and the first day whose
    measured figures they may change; None where none does.
    """
    added: dict[str, Beside] = {}
    since: str | None = None
    for event in events:
        more: Beside | None = None
        day = day_of(_occurred_at(event))
        if event.reported_by is Reporter.AGENT:
            more = _claimed(event)
        elif isinstance(event.content.body, VenueFilled):
            record, more = _filled(record, event)
        elif counts(event):
            is_reversal = isinstance(event.content.body, LogReversed)
            is_correction = is_reversal or event.content.restates is not None
            since = ALL_DAYS if is_correction or since == ALL_DAYS else min(day, since or day)
        if more is not None:
            added[day] = added.get(day, Beside()).plus(more)
    return replace(record, seq=events[-1].seq if events else record.seq), added, since


def _occurred_at(event: Event) -> datetime:
    """The time of a row: the venue's own for a fill, else `occurred_at`."""
    body = event.content.body
    traded = body.at if isinstance(body, VenueFilled) else None
    return traded or event.occurred_at


def _claimed(event: Event) -> Beside | None:
    amount = event.amount_usdc.micros if event.amount_usdc is not None else 0
    if event.kind is LedgerKind.FEE:
        return Beside(claimed_fees=amount, claimed_net=-amount)
    if event.kind is LedgerKind.RESOLVE:
        return Beside(claimed_trades=1, claimed_net=amount)
    return Beside(claimed_trades=1) if event.kind in CLAIMS else None


def _filled(record: PerformanceRecord, event: Event) -> tuple[PerformanceRecord, Beside | None]:
    """A fill at the venue, on the figures of its network alone."""
    book = venue_book.apply(record.venue, event)
    network = book.newest
    if book is record.venue or network is None:
        return record, None
    was, now = record.venue.of(network), book.of(network)
    more = (now.net - was.net, now.orders - was.orders, now.volume - was.volume)
    return replace(record, venue=book), Beside(venue={network: more})


def has_days_since(book: MeasuredBook, since: str) -> bool:
    """True where the book still holds every day from that one on."""
    return len(book.days) < DAYS_KEPT or min(book.days) <= since


def days_of(events: Iterable[Event]) -> dict[str, DayTotals]:
    """Every measured day of a mandate.

    Shapes: `events` are its rows from the first on, oldest first; the house's are enough.
    """
    book, days = EMPTY, dict[str, DayTotals]()
    for row in standing_rows(events)[0]:
        book = step(book, row)
        if book.days:
            newest = book.days[max(book.days)]
            days[newest.day] = newest
    return days


def full_days(parts: Iterable[DayParts], *, measured: bool = True) -> tuple[RolledDay, ...]:
    """Stored days with their gaps filled: a day without house rows carries the figures of the day
    before.

    Shapes: `parts` oldest first. `measured` is false for a mandate whose worth is unknown: the
    measured figures are then left out.
    """
    before, days = DayTotals(day=""), []
    for part in parts:
        figures = part.measured if measured else DayTotals(day=part.day)
        if figures is None:
            figures = DayTotals(
                day=part.day,
                start=before.worth,
                worth=before.worth,
                measured=before.measured,
                stood=before.held,
                held=before.held,
                put_in=before.put_in,
                deposited=before.deposited,
            )
        before = figures
        values = [(name, getattr(figures, name)) for name in _FIGURES]
        values += [(name, getattr(part.beside, name)) for name in _BESIDE]
        days.append(RolledDay(**dict(values)))
    return tuple(days)


_FIGURES, _BESIDE = ([f.name for f in fields(kind)] for kind in (DayTotals, Beside))
