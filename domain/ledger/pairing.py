"""Which rows are two tellings of one action."""

from __future__ import annotations

from collections.abc import Iterable

from domain.ledger.events import Event, NewEvent
from domain.ledger.kinds import ACTION_KINDS, Kind, Reporter
from domain.ledger.payloads import Executed, Reverses, Unwound


def can_pair(row: Event | NewEvent) -> bool:
    """True for a row that can be one half of a pair: an agent's action, or an executed call by the
    chain.
    """
    if row.reported_by is Reporter.CHAIN:
        return row.kind is Kind.MOVE and isinstance(row.told.what, (Executed, Unwound))
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


def log_of(row: Event, rows: Iterable[Event]) -> tuple[str, int | None]:
    """(event id, log index) of the log that a chain row tells of, by the row that told it first.

    Shapes: `rows` are those of its transaction.
    """
    again = row.told.restates
    if again is None:
        return row.event_id, row.log_index
    if again.log_index is not None:
        return again.event_id, again.log_index
    first = next((e for e in rows if e.event_id == again.event_id), None)
    return again.event_id, first.log_index if first is not None else None


def stands(rows: Iterable[Event], of: str) -> Event | None:
    """The row by which a log stands in the ledger now; None where a reorganisation took it away.

    Shapes: `rows` are those of its transaction, oldest first; `of` is the event id of the row that
    told it first.
    """
    now: Event | None = None
    for e in rows:
        what, again = e.told.what, e.told.restates
        if isinstance(what, Reverses):
            now = None if what.event_id == of else now
        elif e.event_id == of or (again is not None and again.event_id == of):
            now = e
    return now
