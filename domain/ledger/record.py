"""The measured record of a mandate, day by day, from what the chain and the keeper say alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final

from domain.ledger import venue_book
from domain.ledger.days import SCALE as SCALE
from domain.ledger.days import Day as Day
from domain.ledger.days import joined
from domain.ledger.events import Event
from domain.ledger.kinds import HOUSE, Kind, Reporter
from domain.ledger.measured import Moved, moved
from domain.ledger.payloads import (
    AgentPaid,
    Deposited,
    Executed,
    Marked,
    Reverses,
    Settled,
    Unwound,
    Withdrawn,
)
from domain.ledger.venue_book import VenueBook
from domain.times import day_of
from domain.wire import JsonObject

# A gain on less than 1 USDC, or than a hundredth of what stood in the mandate, is not chained.
DUST: Final = 1_000_000
DUST_OF_WORTH: Final = 100


# Rows in a row that were stored some days before the newest: then that one is wrong, not they.
TOLD_AGAIN: Final = 8


CLAIMS: Final = frozenset({Kind.BUY, Kind.SELL, Kind.MOVE, Kind.RESOLVE})


@dataclass(frozen=True, slots=True)
class Record:
    """Where the fold of a mandate's rows stands after row `seq`.

    Shapes: `positions` is the house's latest mark and what was traded after it, at cost; `waiting`
    is a mark (cash, positions, whether the chain wrote it) of a block that the ledger has not
    reached; `exited` says that something came back from a position since the latest mark; `void`
    that what was open is marked at nothing, and may yet recover.
    `base` is the worth at the begin of the sub-period that runs, `inflow` and `outflow` the flows
    in it, `most` the most that was in positions at once, `last` what the one before was over.
    `behind` counts the newest rows that were all stored before the day, by their own clock.
    """

    seq: int = 0
    day: Day | None = None
    funded: bool = False
    cash: int = 0
    positions: int = 0
    waiting: tuple[int, int, bool] | None = None
    exited: bool = False
    void: bool = False
    settled: bool = False
    fee_owed: int = 0
    base: int = 0
    inflow: int = 0
    outflow: int = 0
    most: int = 0
    last: int = 0
    venue: VenueBook = venue_book.EMPTY
    behind: int = 0

    @property
    def worth(self) -> int:
        """Cash and positions, without the agent's fee once the settlement has fixed it."""
        return self.cash + self.positions - self.fee_owed

    def as_json(self) -> dict[str, object]:
        """An exact JSON form; the day is a row of its own."""
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "day"}
        return told | {"venue": venue_book.to_json(self.venue)}

    @classmethod
    def from_json(cls, told: JsonObject, day: Day) -> Record:
        """Read `as_json`'s form back, with the day it stands in."""
        waiting = told["waiting"]
        values = {**told, "waiting": None if waiting is None else tuple(waiting), "day": day}
        return cls(**(values | {"venue": venue_book.from_json(told.get("venue"))}))


EMPTY: Final = Record()


def roll(
    record: Record, events: Iterable[Event], past: Callable[[], Iterable[Day]] = tuple
) -> tuple[Record, list[Day]]:
    """Fold more rows in; every day they touch, oldest first, the one it stood in included.

    Shapes: `past` gives the days up to the one that the record stands in, which are asked for where
    a clock was set back. No day is after the one that the record then stands in: one that was kept
    and is, was stamped by a clock that ran ahead, and its rows are in an earlier one now.
    A row belongs to the UTC day it was stored on, so that a day that is over never changes.
    """
    days: dict[str, Day] = {}
    for event in events:
        if record.day is not None:
            days[record.day.day] = record.day
            record = _counted(record, record.day.day, _stored_on(event))
            if record.behind:
                known = {d.day: d for d in past()} | days
                record = _set_back(record, [known[d] for d in sorted(known)], _stored_on(event))
                days = {d: days[d] for d in days if d <= record.day.day} if record.day else days
        record = after(record, event)
    if record.day is not None:
        days[record.day.day] = record.day
    return record, [days[d] for d in sorted(days)]


def _stored_on(event: Event) -> str:
    return event.created_at.astimezone(UTC).date().isoformat()


def _counted(r: Record, newest: str, day: str) -> Record:
    behind = r.behind + 1 if day < newest else 0
    return r if behind == r.behind else replace(r, behind=behind)


def _set_back(r: Record, known: Sequence[Day], day: str) -> Record:
    """The record where a row is of an earlier day than the one it stands in: one of two clocks was
    wrong, and what is stored next says which.

    A row of the day before, or of none that is known, says at once that the newest day was stamped
    ahead. Of one further back it takes `TOLD_AGAIN` rows in a row: a clock that is behind for a
    moment moves no day.
    """
    older = [d for d in known if r.day is None or d.day < r.day.day]
    if r.day is None or (older and day < older[-1].day and r.behind < TOLD_AGAIN):
        return r
    whole = r.day
    while older and older[-1].day >= day:
        whole = joined(older.pop(), whole)
    return replace(r, day=replace(whole, day=day), behind=0)


def after(record: Record, event: Event) -> Record:
    """The record after one more row. An agent's row changes what it claims and nothing that is
    measured.
    """
    r = _on_day(replace(record, seq=event.seq), _stored_on(event))
    if event.reported_by in HOUSE:
        r = _caught_up(_measured(_at_venue(r, event), event))
        return _today(r, worth=r.worth, held=r.positions)
    return _claimed(r, event) if event.reported_by is Reporter.AGENT else r


def _on_day(r: Record, day: str) -> Record:
    if r.day is not None and r.day.day >= day:
        return r
    before = r.day if r.day is not None else Day(day, 0, 0)
    begun = Day(
        day=day,
        start=r.worth,
        worth=r.worth,
        stood=r.positions,
        held=r.positions,
        most=r.positions,
        put_in=before.put_in,
        deposited=before.deposited,
    )
    return replace(r, day=begun)


def _today(r: Record, **changes: Any) -> Record:
    return r if r.day is None else replace(r, day=replace(r.day, **changes))


def _add(r: Record, **more: int) -> Record:
    """Add to the day's sums."""
    return r if r.day is None else _today(r, **{n: getattr(r.day, n) + v for n, v in more.items()})


def _at_venue(r: Record, event: Event) -> Record:
    """The record after a fill at the venue: the day's own figures of its network."""
    book = venue_book.after(r.venue, event)
    network = book.newest
    if book is r.venue or network is None:
        return r
    was, now = r.venue.of(network), book.of(network)
    r = replace(r, venue=book)
    if r.day is None:
        return r
    more = (now.net - was.net, now.orders - was.orders, now.volume - was.volume)
    before = r.day.venue.get(network, (0, 0, 0))
    added = [a + b for a, b in zip(before, more, strict=True)]
    return _today(r, venue={**r.day.venue, network: added})


def _spent(r: Record, day: str, micros: int) -> Record:
    """Count spend on the day of its block."""
    if r.day is None or not micros:
        return r
    days = dict(r.day.spent)
    days[day] = days.get(day, 0) + micros
    return _today(r, spent=tuple(sorted(days.items())))


def _claimed(r: Record, event: Event) -> Record:
    amount = event.amount_usdc.micros if event.amount_usdc is not None else 0
    if event.kind is Kind.FEE:
        return _add(r, claimed_fees=amount, claimed_net=-amount)
    if event.kind is Kind.RESOLVE:
        return _add(r, claimed_trades=1, claimed_net=amount)
    return _add(r, claimed_trades=1) if event.kind in CLAIMS else r


# -- what the chain and the keeper say
# ---------------------------------------------------------------------------------


def _measured(r: Record, event: Event) -> Record:
    what, again = event.told.what, event.told.restates
    by_chain = event.reported_by is Reporter.CHAIN
    if isinstance(what, Marked):
        waiting = (what.cash.micros, what.positions.micros, by_chain)
        return replace(r, waiting=waiting)
    if not by_chain or (again is not None and again.moved):
        return r  # it stood before, and stands elsewhere in the chain: no sum changes
    amount = event.amount_usdc.micros if event.amount_usdc is not None else 0
    match what:
        case Reverses():
            return _reversed(r, what)
        case Deposited() | Withdrawn():
            by = moved(what, amount)
            return _add(_flow(replace(r, funded=True), by.flow), deposited=by.deposited)
        case AgentPaid():
            by = moved(what, amount)
            return replace(r, cash=r.cash + by.cash, fee_owed=max(0, r.fee_owed - by.paid))
        case Settled():
            fee = what.agent_fee.micros
            return _closed(replace(r, settled=True, positions=0, waiting=None, fee_owed=fee))
        case Executed() | Unwound():
            return _traded(r, event.occurred_at, what, moved(what, amount))
    return r


def _traded(r: Record, at: datetime, what: Executed | Unwound, by: Moved) -> Record:
    r = replace(_exchanged(r, -by.cash), exited=r.exited or by.received > 0)
    if isinstance(what, Executed):
        r = _add(r, calls=1, trades=int(bool(by.spent or by.received)))
        r = _spent(r, day_of(at), by.spent)
    return _closed(r) if r.positions == 0 else r


def _exchanged(r: Record, spent: int) -> Record:
    """Cash against positions, at cost until the next mark; what comes back after settlement is
    cash alone.
    """
    positions = 0 if r.settled else max(0, r.positions + spent)
    r = replace(r, cash=r.cash - spent, positions=positions, most=max(r.most, positions))
    return r if r.day is None else _today(r, most=max(r.day.most, positions))


def _caught_up(r: Record) -> Record:
    """Take a mark when the ledger stands where the chain stood.

    The house marks the newest block, and rows enter the ledger some blocks later: a mark taken at
    once would count what was bought twice, and what was sold not at all. Nothing is what a probe
    that does not answer says too: where nothing came back from the positions, only the vault's own
    log or the settlement makes it a loss.
    """
    if r.waiting is None or r.settled or r.waiting[0] != r.cash:
        return r
    _, positions, proven = r.waiting
    if not positions and r.positions and not r.exited and not proven:
        return replace(r, waiting=None)
    void = positions == 0 and (r.positions > 0 or r.void)
    return _closed(replace(r, positions=positions, waiting=None, exited=False, void=void))


def _reversed(r: Record, row: Reverses) -> Record:
    """Take back what a reorganisation took off the chain."""
    by = moved(row.what, row.amount.micros if row.amount is not None else 0)
    match row.what:
        case Deposited() | Withdrawn():
            return _add(_flow(r, -by.flow), deposited=-by.deposited)
        case AgentPaid():
            owed = r.fee_owed + (by.paid if r.settled else 0)
            return replace(r, cash=r.cash - by.cash, fee_owed=owed)
        case Settled():
            return replace(r, settled=False, fee_owed=0)
        case Executed():
            r = _add(r, calls=-1, trades=-int(bool(by.spent or by.received)))
            if row.occurred_at is not None:
                r = _spent(r, day_of(row.occurred_at), -by.spent)
            return _exchanged(r, by.cash)
        case Unwound():
            return _exchanged(r, by.cash)
    return r


# -- chained returns


def _flow(r: Record, amount: int) -> Record:
    """Money of the owner comes or goes: no result of the agent's.

    With nothing open worth is known to the last unit, so that a new sub-period begins here. With
    positions open it is known at the next mark only; until then the flow waits.
    """
    r = _add(r, inflow=max(0, amount), outflow=max(0, -amount), put_in=amount)
    if r.positions == 0 and not r.void:
        r = _closed(r)
        return replace(r, cash=r.cash + amount, base=r.base + amount)
    return replace(
        r,
        cash=r.cash + amount,
        inflow=r.inflow + max(0, amount),
        outflow=r.outflow + max(0, -amount),
    )


def _closed(r: Record) -> Record:
    """End the sub-period at a moment when worth is known, and chain its return into the day's.

    The result is over the most that was in positions at once, as a mark or their cost has it:
    idle cash neither thins out a loss nor is part of a gain, and what is sold and bought again
    counts once (contract 8).
    """
    gain = r.worth - r.base - r.inflow + r.outflow
    bottom = r.most or r.last or _beside(r, gain)
    ended = replace(r, base=r.worth, inflow=0, outflow=0, most=r.positions, last=r.most or r.last)
    # A gain on dust would chain into any return one likes, and then be shown over real money.
    dust = max(DUST, r.base // DUST_OF_WORTH)
    if gain == 0 or bottom <= 0 or (gain > 0 and bottom < dust) or r.day is None:
        return _today(ended, most=max(r.day.most, r.positions)) if r.day else ended
    part = max(0, SCALE * (bottom + gain) // bottom)
    most = max(r.day.most, r.positions, bottom)
    return _today(ended, factor=r.day.factor * part // SCALE, most=most)


def _beside(r: Record, gain: int) -> int:
    """What a result is over where nothing ever stood in positions: money that came by itself.

    A flow may have come before or after it, and is read against the agent: a gain is divided by
    all that may have been there, a loss by the least.
    """
    least = r.base - r.outflow if r.base > r.outflow else r.base
    return r.base + r.inflow if gain > 0 or r.base <= 0 else least
