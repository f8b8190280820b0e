"""Event pairing: rows that report one action, or one log, twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain.ledger.events.chain_events import CHAIN_EVENTS, PURSE_EVENTS
from domain.ledger.events.event import Event, NewEvent
from domain.ledger.events.event_kinds import ACTION_KINDS, LedgerKind, Reporter
from domain.ledger.events.payloads import (
    Control,
    Executed,
    LogReversed,
    Marked,
    PaidFee,
    PurseMoved,
    Settled,
    Unwound,
)

LOGGED: Final = frozenset(e.payload_type for e in (*CHAIN_EVENTS, *PURSE_EVENTS))


def purse_of(row: Event | NewEvent) -> str | None:
    """The purse, lower case, whose log a chain's row is; None for a log of the vault."""
    body = row.content.body
    if not isinstance(body, (PaidFee, PurseMoved)) or not body.purse:
        return None
    return body.purse.lower()


def can_pair(row: Event | NewEvent) -> bool:
    """True for a row that can be one half of a pair: an agent's action, or an executed call by the
    chain.
    """
    if row.reported_by is Reporter.CHAIN:
        return row.kind is LedgerKind.MOVE and isinstance(row.content.body, (Executed, Unwound))
    return row.reported_by is Reporter.AGENT and row.kind in ACTION_KINDS


def other_side(row: Event | NewEvent) -> Reporter:
    """The writer of the other half of a pair."""
    return Reporter.AGENT if row.reported_by is Reporter.CHAIN else Reporter.CHAIN


def partner(row: Event | NewEvent, same_tx: Iterable[Event]) -> Event | None:
    """The earliest row of the other side that names the same transaction and has no partner yet.

    Shapes: `same_tx` are rows of one transaction, oldest first; `row` is none of them.
    """
    if not can_pair(row):
        return None
    rows = list(same_tx)
    paired_seqs = {e.pairs_with for e in rows}
    return next(
        (
            e
            for e in rows
            if e.reported_by is other_side(row)
            and e.pairs_with is None
            and e.seq not in paired_seqs
            and can_pair(e)
        ),
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHistory:
    """A log with its rows in the ledger.

    Shapes: `first` is the log's first row, whose event id identifies the log for good; `now` is its
    newest row; `is_standing` is false where a reorganisation took it away.
    """

    first: Event
    now: Event
    is_standing: bool


def log_histories(rows: Iterable[Event]) -> tuple[LogHistory, ...]:
    """Every log that the chain's rows record, in the order of its place.

    Shapes: `rows` are those of one transaction, oldest first.
    """
    first: dict[str, Event] = {}
    now: dict[str, Event] = {}
    reversed: set[str] = set()
    for row in rows:
        body, restates = row.content.body, row.content.restates
        if row.reported_by is not Reporter.CHAIN:
            continue
        if isinstance(body, LogReversed):
            reversed.add(body.event_id)
        elif type(body) in LOGGED:
            log_id = row.event_id if restates is None else restates.event_id
            first.setdefault(log_id, row)
            now[log_id] = row
            reversed.discard(log_id)
    histories = [
        LogHistory(first=first[k], now=now[k], is_standing=k not in reversed) for k in first
    ]
    return tuple(sorted(histories, key=lambda t: place_of(t.now)))


def standing_row(rows: Iterable[Event], log_id: str) -> Event | None:
    """The row by which a log stands in the ledger now; None where a reorganisation took it away.

    Shapes: `rows` are those of its transaction, oldest first; `log_id` is the event id of the
    log's first row.
    """
    histories = (t for t in log_histories(rows) if t.first.event_id == log_id and t.is_standing)
    return next((t.now for t in histories), None)


def place_of(row: Event) -> tuple[int, int]:
    """(block, log index) of a chain's row; one that a reorganisation moved stands where it is
    restated.
    """
    payload = row.content
    restated_index = payload.restates.log_index if payload.restates is not None else row.log_index
    index = payload.log_index if restated_index is None else restated_index
    return row.block_number or 0, index or 0


def tells_same(old: Event, new: NewEvent) -> bool:
    """True where two rows of one transaction record one log, at whichever place in the chain."""
    return _content(old) == _content(new)


def _content(row: Event | NewEvent) -> tuple[object, ...]:
    body = row.content.body
    more: tuple[object, ...] = ()
    if isinstance(body, (Executed, Unwound)):
        target = body.target
        more = ((target.address or "").lower(), (target.selector or "").lower(), body.received)
    if isinstance(body, Executed):
        more = (*more, body.spent, body.approved)
    if isinstance(body, Control):
        more = (body.change,)
    if isinstance(body, (Settled, Marked, PurseMoved)):
        more = (body,)
    if isinstance(body, PaidFee):  # what it bought is no part of the log
        more = (body.payee, body.nonce, body.purse)
    return (row.kind, row.amount_usdc, type(body), *more)
