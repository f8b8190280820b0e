"""The order of the measured book: rows act by their place in the chain, whenever they arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from domain.ledger.events import Event
from domain.ledger.kinds import HOUSE, Kind, Reporter
from domain.ledger.measured import COUNTS, EMPTY, Measured, Row, step
from domain.ledger.measured_json import from_json as measured_from
from domain.ledger.measured_json import to_json as measured_json
from domain.ledger.pairing import place_of
from domain.ledger.payloads import Marked, Payload, Reverses
from domain.ledger.written import read, written
from domain.wire import JsonObject

KEPT: Final = 48
"""Rows that a later one may still come before, or a reorganisation take away, one by one."""

END_OF_BLOCK: Final = 2**31

Place = tuple[int, int]
Past = Callable[[], Iterable[Event]]
"""The mandate's earlier rows, oldest first; asked for where the journal has to be told anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The measured book, and the rows it may still have to be told anew from.

    Shapes: `now` is `base` after the rows of `recent`, in the order of their places; `folded` is
    the highest place in `base`. `undone` are rows, by event id, that a reorganisation took away.
    The rows are few: what arrives out of order is what one inlet brought before the other, and a
    reorganisation is shallow. A row that belongs further back is told with all rows before it.
    """

    base: Measured = EMPTY
    folded: Place = (0, 0)
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


def after(journal: Journal, event: Event, past: Past | None = None) -> Journal:
    """The journal after one more row of the ledger; a row by anybody but the house changes
    nothing.

    Without `past`, a row of the base cannot be told anew, and stays as it was.
    """
    if not counts(event):
        return journal
    told = event.told
    if isinstance(told.what, Reverses):
        return _without(journal, event, told.what, past)
    if told.restates is None:
        row = _row(event)
        if past is not None and row.place[0] > 0 and row.place < journal.folded:
            return _anew(past, event)
        return _with(_unmarked_above(journal, event), row)
    # One log is one row: told anew, it stands where the chain has it now.
    of = told.restates.event_id
    row = _row(event, of)
    rest = tuple(r for r in journal.recent if r.event_id != of)
    known = len(rest) < len(journal.recent) or of in journal.undone
    if past is not None and (not known or row.place < journal.folded):
        return _anew(past, event)
    if not known:
        return journal
    left = tuple(u for u in journal.undone if u != of)
    return _with(_told(replace(journal, recent=rest, undone=left)), row)


def counts(event: Event) -> bool:
    """True for a row that may change the measured book."""
    if event.reported_by not in HOUSE:
        return False
    if event.reported_by is Reporter.KEEPER:
        return isinstance(event.told.what, Marked)
    return type(event.told.what) in COUNTS or isinstance(event.told.what, Reverses)


def _anew(past: Past, event: Event) -> Journal:
    """The journal told from the first row: one that its base holds moved, or was taken away."""
    rows: dict[str, Row] = {}
    gone: list[str] = []
    for e in (*past(), event):
        if not counts(e):
            continue
        again, what = e.told.restates, e.told.what
        if isinstance(what, Reverses):
            rows.pop(what.event_id, None)
            gone.append(what.event_id)
            continue
        row = _row(e, None if again is None else again.event_id)
        if e.reported_by is Reporter.KEEPER:
            above = [k for k, r in rows.items() if _mark_above(r, row.place)]
            rows = {k: r for k, r in rows.items() if k not in above}
        rows.pop(row.event_id, None)
        rows[row.event_id] = row
    ordered = sorted(rows.values(), key=lambda r: r.place)
    early, late = ordered[:-KEPT], ordered[-KEPT:]
    base = EMPTY
    for row in early:
        base = step(base, row)
    lost = tuple(dict.fromkeys(g for g in gone if g not in rows))[-KEPT:]
    folded = early[-1].place if early else (0, 0)
    return _told(Journal(base=base, folded=folded, recent=tuple(late), undone=lost))


def _mark_above(row: Row, place: Place) -> bool:
    return row.place[1] == END_OF_BLOCK and row.place > place


def _unmarked_above(journal: Journal, event: Event) -> Journal:
    """A keeper that marks a lower block than it marked before reads a chain that went back: what
    it had read above is of a branch that is gone.
    """
    if event.reported_by is not Reporter.KEEPER:
        return journal
    place = _place(event)
    rest = tuple(r for r in journal.recent if not _mark_above(r, place))
    if len(rest) == len(journal.recent):
        return journal
    return _told(replace(journal, recent=rest))


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
    what = event.told.what
    if isinstance(what, Marked) and event.reported_by is Reporter.KEEPER:
        return (0, event.seq) if what.block is None else (what.block, END_OF_BLOCK)
    return (0, event.seq) if event.block_number is None else place_of(event)


def _with(journal: Journal, row: Row) -> Journal:
    """Put a row in its place; the first of too many goes into the base."""
    at = bisect_right(journal.recent, row.place, key=lambda r: r.place)
    recent = (*journal.recent[:at], row, *journal.recent[at:])
    base, folded = journal.base, journal.folded
    last = at == len(journal.recent)
    if len(recent) > KEPT:
        base, folded, recent = step(base, recent[0]), max(folded, recent[0].place), recent[1:]
    changed = replace(journal, base=base, folded=folded, recent=recent)
    return replace(changed, now=step(journal.now, row)) if last else _told(changed)


def _told(journal: Journal) -> Journal:
    now = journal.base
    for row in journal.recent:
        now = step(now, row)
    return replace(journal, now=now)


def _without(journal: Journal, event: Event, gone: Reverses, past: Past | None) -> Journal:
    """Take a row away, with all that it set."""
    rest = tuple(row for row in journal.recent if row.event_id != gone.event_id)
    if len(rest) < len(journal.recent):
        kept = (*journal.undone, gone.event_id)[-KEPT:]
        return _told(replace(journal, recent=rest, undone=kept))
    if past is None or gone.event_id in journal.undone:
        return journal
    return _anew(past, event)


def to_json(journal: Journal) -> dict[str, object]:
    """An exact JSON form."""
    return {
        "base": measured_json(journal.base),
        "folded": list(journal.folded),
        "recent": [_row_json(row) for row in journal.recent],
        "undone": list(journal.undone),
    }


def from_json(told: JsonObject) -> Journal:
    """Read `to_json`'s form back."""
    block, index = told["folded"]
    return _told(
        Journal(
            base=measured_from(told["base"]),
            folded=(block, index),
            recent=tuple(_row_from(row) for row in told["recent"]),
            undone=tuple(told["undone"]),
        )
    )


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
