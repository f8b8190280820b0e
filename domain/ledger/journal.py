"""The order of the measured book: rows act by their place in the chain, whenever they arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from domain.ledger.events import Event
from domain.ledger.kinds import HOUSE, Kind, Reporter
from domain.ledger.measured import COUNTS, EMPTY, Measured, Row, step, undone
from domain.ledger.measured_json import from_json as measured_from
from domain.ledger.measured_json import to_json as measured_json
from domain.ledger.payloads import Marked, Payload, Reverses
from domain.ledger.stored import read
from domain.ledger.written import written
from domain.wire import JsonObject

KEPT: Final = 48
"""Rows that a later one may still come before, or a reorganisation take away, one by one."""

END_OF_BLOCK: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The measured book, and the rows it may still have to be told anew from.

    Shapes: `now` is `base` after the rows of `recent`, in the order of their places. `undone` are
    rows, by event id, that a reorganisation took out of `base`.
    The rows are few: what arrives out of order is what one inlet brought before the other, and a
    reorganisation is shallow. A row from further back still changes every sum by what it tells.
    """

    base: Measured = EMPTY
    recent: tuple[Row, ...] = ()
    undone: tuple[str, ...] = ()
    now: Measured = EMPTY

    def flows_after(self, block: int) -> int:
        """Net flows of rows above a block."""
        before = self.base
        for row in self.recent:
            if row.place[0] <= block:
                before = step(before, row)
        return self.now.flows - before.flows


NOTHING: Final = Journal()


def after(journal: Journal, event: Event) -> Journal:
    """The journal after one more row of the ledger; a row by anybody but the house changes
    nothing.
    """
    if event.reported_by not in HOUSE:
        return journal
    told = event.told
    if isinstance(told.what, Reverses):
        return _without(journal, told.what) if event.reported_by is Reporter.CHAIN else journal
    if type(told.what) not in COUNTS:
        return journal
    if event.reported_by is Reporter.KEEPER and not isinstance(told.what, Marked):
        return journal
    if told.restates is None:
        return _with(_unmarked_above(journal, event), _row(event))
    # One log is one row: told anew, it stands where the chain has it now.
    of = told.restates.event_id
    rest = tuple(row for row in journal.recent if row.event_id != of)
    if len(rest) < len(journal.recent):
        return _with(_told(journal.base, rest, journal.undone), _row(event, of))
    if of in journal.undone:
        left = tuple(u for u in journal.undone if u != of)
        return _with(replace(journal, undone=left), _row(event, of))
    return journal


def _unmarked_above(journal: Journal, event: Event) -> Journal:
    """A keeper that marks a lower block than it marked before reads a chain that went back: what
    it had read above is of a branch that is gone.
    """
    if event.reported_by is not Reporter.KEEPER:
        return journal
    place = _place(event)
    rest = tuple(r for r in journal.recent if r.place[1] != END_OF_BLOCK or r.place <= place)
    if len(rest) == len(journal.recent):
        return journal
    return _told(journal.base, rest, journal.undone)


def _row(event: Event, event_id: str | None = None) -> Row:
    return Row(
        place=_place(event),
        event_id=event_id or event.event_id,
        at=event.occurred_at,
        kind=event.kind,
        amount=_magnitude(event),
        what=event.told.what,
    )


def _magnitude(event: Event) -> int:
    return max(0, event.amount_usdc.micros) if event.amount_usdc is not None else 0


def _place(event: Event) -> tuple[int, int]:
    """(block, log index). A row without a block, as a damaged one may be, stands first, in the
    order of the ledger.
    """
    what, told = event.told.what, event.told
    if isinstance(what, Marked) and event.reported_by is Reporter.KEEPER:
        return (0, event.seq) if what.block is None else (what.block, END_OF_BLOCK)
    if event.block_number is None:
        return 0, event.seq
    index = told.restates.log_index if told.restates is not None else event.log_index
    return event.block_number, 0 if index is None else index


def _with(journal: Journal, row: Row) -> Journal:
    """Put a row in its place; the first of too many goes into the base."""
    at = bisect_right(journal.recent, row.place, key=lambda r: r.place)
    recent = (*journal.recent[:at], row, *journal.recent[at:])
    base = journal.base
    last = at == len(journal.recent)
    if len(recent) > KEPT:
        base, recent = step(base, recent[0]), recent[1:]
    if not last:
        return _told(base, recent, journal.undone)
    return Journal(base=base, recent=recent, undone=journal.undone, now=step(journal.now, row))


def _told(base: Measured, recent: tuple[Row, ...], gone: tuple[str, ...]) -> Journal:
    now = base
    for row in recent:
        now = step(now, row)
    return Journal(base=base, recent=recent, undone=gone, now=now)


def _without(journal: Journal, gone: Reverses) -> Journal:
    """Take a row away, with all that it set."""
    rest = tuple(row for row in journal.recent if row.event_id != gone.event_id)
    if len(rest) < len(journal.recent):
        kept = (*journal.undone, gone.event_id)[-KEPT:]
        return _told(journal.base, rest, kept)
    if gone.event_id in journal.undone or gone.what is None or gone.occurred_at is None:
        return journal
    row = Row(
        place=(0, 0),
        event_id=gone.event_id,
        at=gone.occurred_at,
        kind=gone.kind,
        amount=0 if gone.amount is None else gone.amount.micros,
        what=gone.what,
    )
    kept = (*journal.undone, gone.event_id)[-KEPT:]
    return _told(undone(journal.base, row), journal.recent, kept)


def to_json(journal: Journal) -> dict[str, object]:
    """An exact JSON form."""
    return {
        "base": measured_json(journal.base),
        "recent": [_row_json(row) for row in journal.recent],
        "undone": list(journal.undone),
    }


def from_json(told: JsonObject) -> Journal:
    """Read `to_json`'s form back."""
    recent = tuple(_row_from(row) for row in told["recent"])
    return _told(measured_from(told["base"]), recent, tuple(told["undone"]))


def _row_json(row: Row) -> list[Any]:
    payload = written(row.what)
    return [*row.place, row.event_id, row.at.isoformat(), row.kind.value, row.amount, payload]


def _row_from(told: Sequence[Any]) -> Row:
    block, index, event_id, at, kind, amount, payload = told
    what: Payload = read(Kind(kind), payload).what
    return Row(
        place=(block, index),
        event_id=event_id,
        at=datetime.fromisoformat(at),
        kind=Kind(kind),
        amount=amount,
        what=what,
    )
