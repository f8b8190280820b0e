"""Event pairing: rows that report one action, or one log, twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain.ledger.events.chain_events import CHAIN_EVENTS
from domain.ledger.events.event import Event, NewEvent
from domain.ledger.events.event_kinds import ACTION_KINDS, LedgerKind, Reporter
from domain.ledger.events.payloads import Control, Executed, LogReversed, Marked, Settled, Unwound

LOGGED: Final = frozenset(e.what for e in CHAIN_EVENTS)


def can_pair(row: Event | NewEvent) -> bool:
    """True for a row that can be one half of a pair: an agent's action, or an executed call by the
    chain.
    """
    if row.reported_by is Reporter.CHAIN:
        return row.kind is LedgerKind.MOVE and isinstance(row.told.what, (Executed, Unwound))
    return row.reported_by is Reporter.AGENT and row.kind in ACTION_KINDS


def other_side(row: Event | NewEvent) -> Reporter:
    """Who the other half of a pair comes from."""
    return Reporter.AGENT if row.reported_by is Reporter.CHAIN else Reporter.CHAIN


def partner(row: Event | NewEvent, same_tx: Iterable[Event]) -> Event | None:
    """The earliest row of the other side that names the same transaction and has no partner yet.

    Shapes: `same_tx` are rows of one transaction, oldest first; `row` is none of them.
    """
    if not can_pair(row):
        return None
    rows = list(same_tx)
    taken = {e.pairs_with for e in rows}
    return next(
        (
            e
            for e in rows
            if e.reported_by is other_side(row)
            and e.pairs_with is None
            and e.seq not in taken
            and can_pair(e)
        ),
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHistory:
    """A log as the ledger tells of it.

    Shapes: `first` told it first, and its event id names the log for good; `now` is the newest row
    that tells it; `stands` is false where a reorganisation took it away.
    """

    first: Event
    now: Event
    stands: bool


def log_histories(rows: Iterable[Event]) -> tuple[LogHistory, ...]:
    """Every log that the chain's rows tell of, in the order of its place.

    Shapes: `rows` are those of one transaction, oldest first.
    """
    first: dict[str, Event] = {}
    now: dict[str, Event] = {}
    gone: set[str] = set()
    for e in rows:
        what, restates = e.told.what, e.told.restates
        if e.reported_by is not Reporter.CHAIN:
            continue
        if isinstance(what, LogReversed):
            gone.add(what.event_id)
        elif type(what) in LOGGED:
            of = e.event_id if restates is None else restates.event_id
            first.setdefault(of, e)
            now[of] = e
            gone.discard(of)
    histories = [LogHistory(first=first[k], now=now[k], stands=k not in gone) for k in first]
    return tuple(sorted(histories, key=lambda t: place_of(t.now)))


def stands(rows: Iterable[Event], of: str) -> Event | None:
    """The row by which a log stands in the ledger now; None where a reorganisation took it away.

    Shapes: `rows` are those of its transaction, oldest first; `of` is the event id of the row that
    told it first.
    """
    known = (t for t in log_histories(rows) if t.first.event_id == of and t.stands)
    return next((t.now for t in known), None)


def place_of(row: Event) -> tuple[int, int]:
    """(block, log index) of a chain's row; one that a reorganisation moved stands where it is
    restated.
    """
    payload = row.told
    name = payload.restates.log_index if payload.restates is not None else row.log_index
    index = payload.log_index if name is None else name
    return row.block_number or 0, index or 0


def tells_same(old: Event, new: NewEvent) -> bool:
    """True where two rows of one transaction tell of one log, wherever it stands."""
    return _content(old) == _content(new)


def _content(row: Event | NewEvent) -> tuple[object, ...]:
    what = row.told.what
    more: tuple[object, ...] = ()
    if isinstance(what, (Executed, Unwound)):
        target = what.place
        more = ((target.address or "").lower(), (target.selector or "").lower(), what.received)
    if isinstance(what, Executed):
        more = (*more, what.spent, what.approved)
    if isinstance(what, Control):
        more = (what.what,)
    if isinstance(what, (Settled, Marked)):
        more = (what,)
    return (row.kind, row.amount_usdc, type(what), *more)
