"""The journal: rows of the measured book in chain order, whenever they arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from domain.ledger.events.event import Event, NewEvent
from domain.ledger.events.event_kinds import HOUSE, LedgerKind, Reporter
from domain.ledger.events.pairing import place_of
from domain.ledger.events.payload_codec import read, write
from domain.ledger.events.payloads import EventPayload, LogReversed, Marked
from domain.ledger.state.measured import COUNTS, EMPTY, MeasuredBook, MeasuredRow, step
from domain.ledger.state.measured_codec import from_json as measured_from
from domain.ledger.state.measured_codec import to_json as measured_json
from domain.wire_fields import JsonObject

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

    base: MeasuredBook = EMPTY
    folded: Place = (0, 0)
    recent: tuple[MeasuredRow, ...] = ()
    undone: tuple[str, ...] = ()
    now: MeasuredBook = EMPTY

    def at(self, place: Place) -> MeasuredBook:
        """The book as it stood right before a place; the oldest that is known for one before."""
        before = self.base
        for row in self.recent:
            if row.place < place:
                before = step(before, row)
        return before

    def cash_after(self, place: Place, new: Event | NewEvent) -> int:
        """The vault's cash after a row that is about to be added at a place; micro-USDC."""
        newest = not self.recent or place > self.recent[-1].place
        before = self.now if newest else self.at(place)
        row = MeasuredRow(
            place=place,
            event_id="",
            at=new.occurred_at,
            kind=new.kind,
            amount=_magnitude(new),
            what=new.told.what,
        )
        return step(before, row).cash or 0

    def flows_after(self, block: int) -> int:
        """Net flows of rows above a block."""
        return self.now.flows - self.at((block + 1, 0)).flows


NOTHING: Final = Journal()


def apply(journal: Journal, event: Event, past: Past | None = None) -> Journal:
    """The journal after one more row of the ledger; a row by anybody but the house changes
    nothing.

    Without `past`, a row of the base cannot be told anew, and stays as it was.
    """
    if not counts(event):
        return journal
    payload = event.told
    if isinstance(payload.what, LogReversed):
        return _without(journal, event, payload.what, past)
    if payload.restates is None:
        row = _row(event)
        if past is not None and row.place[0] > 0 and row.place < journal.folded:
            return _anew(past, event)
        return _with(_unmarked_above(journal, event), row)
    # One log is one row: told anew, it stands where the chain has it now.
    of = payload.restates.event_id
    row = _row(event, of)
    rest = tuple(r for r in journal.recent if r.event_id != of)
    known = len(rest) < len(journal.recent) or of in journal.undone
    if past is not None and (not known or row.place < journal.folded):
        return _anew(past, event)
    if not known:
        return journal
    left = tuple(u for u in journal.undone if u != of)
    return _with(_refold(replace(journal, recent=rest, undone=left)), row)


def counts(event: Event) -> bool:
    """True for a row that may change the measured book."""
    if event.reported_by not in HOUSE:
        return False
    if event.reported_by is Reporter.KEEPER:
        return isinstance(event.told.what, Marked)
    return type(event.told.what) in COUNTS or isinstance(event.told.what, LogReversed)


def _anew(past: Past, event: Event) -> Journal:
    """The journal told from the first row: one that its base holds moved, or was taken away."""
    ordered, gone = standing_rows((*past(), event))
    early, late = ordered[:-KEPT], ordered[-KEPT:]
    base = EMPTY
    for row in early:
        base = step(base, row)
    folded = early[-1].place if early else (0, 0)
    return _refold(Journal(base=base, folded=folded, recent=tuple(late), undone=gone))


def standing_rows(events: Iterable[Event]) -> tuple[list[MeasuredRow], tuple[str, ...]]:
    """The rows that stand, in the order of their places, and the newest ids of those that a
    reorganisation took away.

    Shapes: `events` are a mandate's rows from the first on, oldest first.
    """
    rows: dict[str, MeasuredRow] = {}
    gone: list[str] = []
    for e in events:
        if not counts(e):
            continue
        restates, what = e.told.restates, e.told.what
        if isinstance(what, LogReversed):
            rows.pop(what.event_id, None)
            gone.append(what.event_id)
            continue
        row = _row(e, None if restates is None else restates.event_id)
        if _was_read(e):
            above = [k for k, r in rows.items() if _mark_above(r, row.place)]
            rows = {k: r for k, r in rows.items() if k not in above}
        rows.pop(row.event_id, None)
        rows[row.event_id] = row
    lost = tuple(dict.fromkeys(g for g in gone if g not in rows))[-KEPT:]
    return sorted(rows.values(), key=lambda r: r.place), lost


def _was_read(event: Event) -> bool:
    """True for a mark that the house read at a block, and no log of the vault's."""
    is_log = event.log_index is not None or event.tx_hash is not None
    return isinstance(event.told.what, Marked) and not is_log and event.told.restates is None


def _mark_above(row: MeasuredRow, place: Place) -> bool:
    return row.place[1] == END_OF_BLOCK and row.place > place


def _unmarked_above(journal: Journal, event: Event) -> Journal:
    """A mark that is read at a lower block than the one before it is of a chain that went back:
    what was read above is of a branch that is gone.
    """
    if not _was_read(event):
        return journal
    place = _place(event)
    rest = tuple(r for r in journal.recent if not _mark_above(r, place))
    if len(rest) == len(journal.recent):
        return journal
    return _refold(replace(journal, recent=rest))


def _row(event: Event, event_id: str | None = None) -> MeasuredRow:
    return MeasuredRow(
        place=_place(event),
        event_id=event_id or event.event_id,
        at=event.occurred_at,
        kind=event.kind,
        amount=_magnitude(event),
        what=event.told.what,
        observed=event.told.observed,
    )


def _magnitude(event: Event | NewEvent) -> int:
    return max(0, event.amount_usdc.micros) if event.amount_usdc is not None else 0


def _place(event: Event) -> tuple[int, int]:
    """(block, log index). A row without a block, as a damaged one may be, stands first, in the
    order of the ledger.
    """
    what = event.told.what
    if isinstance(what, Marked) and _was_read(event):
        return (0, event.seq) if what.block is None else (what.block, END_OF_BLOCK)
    return (0, event.seq) if event.block_number is None else place_of(event)


def _with(journal: Journal, row: MeasuredRow) -> Journal:
    """Put a row in its place; the first of too many goes into the base."""
    at = bisect_right(journal.recent, row.place, key=lambda r: r.place)
    recent = (*journal.recent[:at], row, *journal.recent[at:])
    base, folded = journal.base, journal.folded
    last = at == len(journal.recent)
    if len(recent) > KEPT:
        base, folded, recent = step(base, recent[0]), max(folded, recent[0].place), recent[1:]
    changed = replace(journal, base=base, folded=folded, recent=recent)
    return replace(changed, now=step(journal.now, row)) if last else _refold(changed)


def _refold(journal: Journal) -> Journal:
    now = journal.base
    for row in journal.recent:
        now = step(now, row)
    return replace(journal, now=now)


def _without(journal: Journal, event: Event, gone: LogReversed, past: Past | None) -> Journal:
    """Take a row away, with all that it set."""
    rest = tuple(row for row in journal.recent if row.event_id != gone.event_id)
    if len(rest) < len(journal.recent):
        undone = (*journal.undone, gone.event_id)[-KEPT:]
        return _refold(replace(journal, recent=rest, undone=undone))
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


def from_json(raw: JsonObject) -> Journal:
    """Read `to_json`'s form back."""
    block, index = raw["folded"]
    return _refold(
        Journal(
            base=measured_from(raw["base"]),
            folded=(block, index),
            recent=tuple(_row_from(row) for row in raw["recent"]),
            undone=tuple(raw["undone"]),
        )
    )


def _row_json(row: MeasuredRow) -> list[Any]:
    payload = write(EventPayload(what=row.what, observed=row.observed))
    return [*row.place, row.event_id, row.at.isoformat(), row.kind.value, row.amount, payload]


def _row_from(raw: Sequence[Any]) -> MeasuredRow:
    block, index, event_id, at, kind, amount, payload = raw
    parsed = read(LedgerKind(kind), payload)
    return MeasuredRow(
        place=(block, index),
        event_id=event_id,
        at=datetime.fromisoformat(at),
        kind=LedgerKind(kind),
        amount=amount,
        what=parsed.what,
        observed=parsed.observed,
    )
