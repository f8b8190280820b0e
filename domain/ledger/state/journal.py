"""The journal: rows of the measured book in chain order, whenever they arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from domain.ledger.events.event import Event, NewEvent
from domain.ledger.events.event_kinds import HOUSE, Reporter
from domain.ledger.events.pairing import place_of
from domain.ledger.events.payloads import LogReversed, Marked
from domain.ledger.state.measured import COUNTS, EMPTY, MeasuredBook, MeasuredRow, step

MAX_RECENT: Final = 48
"""The newest rows, kept one by one: a late row may precede them, a reorganisation remove them."""

END_OF_BLOCK: Final = 2**31

Place = tuple[int, int]
Past = Callable[[], Iterable[Event]]
"""The mandate's earlier rows, oldest first; read only where the journal has to be rebuilt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The measured book, and the newest rows from which it can be folded again.

    Shapes: `now` is `base` after the rows of `recent`, in the order of their places; `folded` is
    the highest place in `base`. `undone` are rows, by event id, that a reorganisation took away.
    The rows are few: rows arrive out of order only where two readers of one chain overlap, and a
    reorganisation is shallow. A row that belongs further back rebuilds the journal from all rows.
    """

    base: MeasuredBook = EMPTY
    folded: Place = (0, 0)
    recent: tuple[MeasuredRow, ...] = ()
    undone: tuple[str, ...] = ()
    now: MeasuredBook = EMPTY

    def at(self, place: Place) -> MeasuredBook:
        """The book right before a place; `base` for a place before the recent rows."""
        book = self.base
        for row in self.recent:
            if row.place < place:
                book = step(book, row)
        return book

    def cash_after(self, place: Place, new: Event | NewEvent) -> int:
        """The vault's cash after a row that is about to be added at a place; micro-USDC."""
        newest = not self.recent or place > self.recent[-1].place
        book = self.now if newest else self.at(place)
        row = MeasuredRow(
            place=place,
            event_id="",
            at=new.occurred_at,
            kind=new.kind,
            amount=_magnitude(new),
            body=new.content.body,
        )
        return step(book, row).cash or 0

    def flows_after(self, block: int) -> int:
        """Net flows of rows above a block."""
        return self.now.flows - self.at((block + 1, 0)).flows


NOTHING: Final = Journal()


def apply(journal: Journal, event: Event, past: Past | None = None) -> Journal:
    """The journal after one more row of the ledger; only rows of the house change it.

    Without `past`, a row that `base` holds cannot be moved or removed, and stays as it was.
    """
    if not counts(event):
        return journal
    payload = event.content
    if isinstance(payload.body, LogReversed):
        return _remove(journal, event, payload.body, past)
    if payload.restates is None:
        row = _measured_row(event)
        if past is not None and row.place[0] > 0 and row.place < journal.folded:
            return _rebuild(past, event)
        return _insert(_drop_marks_above(journal, event), row)
    # One log is one row: recorded again, it stands where the chain has it now.
    log_id = payload.restates.event_id
    row = _measured_row(event, log_id)
    recent = tuple(r for r in journal.recent if r.event_id != log_id)
    was_present = len(recent) < len(journal.recent) or log_id in journal.undone
    if past is not None and (not was_present or row.place < journal.folded):
        return _rebuild(past, event)
    if not was_present:
        return journal
    undone = tuple(u for u in journal.undone if u != log_id)
    return _insert(refolded(replace(journal, recent=recent, undone=undone)), row)


def counts(event: Event) -> bool:
    """True for a row that may change the measured book."""
    if event.reported_by not in HOUSE:
        return False
    if event.reported_by is Reporter.KEEPER:
        return isinstance(event.content.body, Marked)
    return type(event.content.body) in COUNTS or isinstance(event.content.body, LogReversed)


def _rebuild(past: Past, event: Event) -> Journal:
    """The journal folded from the first row on: a row of its base moved, or was taken away."""
    ordered, reversed_ids = standing_rows((*past(), event))
    early, late = ordered[:-MAX_RECENT], ordered[-MAX_RECENT:]
    base = EMPTY
    for row in early:
        base = step(base, row)
    folded = early[-1].place if early else (0, 0)
    return refolded(Journal(base=base, folded=folded, recent=tuple(late), undone=reversed_ids))


def standing_rows(events: Iterable[Event]) -> tuple[list[MeasuredRow], tuple[str, ...]]:
    """The rows that stand, in the order of their places, and the newest ids of those that a
    reorganisation took away.

    Shapes: `events` are a mandate's rows from the first on, oldest first.
    """
    rows: dict[str, MeasuredRow] = {}
    reversed_ids: list[str] = []
    for e in events:
        if not counts(e):
            continue
        restates, body = e.content.restates, e.content.body
        if isinstance(body, LogReversed):
            rows.pop(body.event_id, None)
            reversed_ids.append(body.event_id)
            continue
        row = _measured_row(e, None if restates is None else restates.event_id)
        if _is_reading(e):
            above = [k for k, r in rows.items() if _mark_above(r, row.place)]
            rows = {k: r for k, r in rows.items() if k not in above}
        rows.pop(row.event_id, None)
        rows[row.event_id] = row
    undone = tuple(dict.fromkeys(g for g in reversed_ids if g not in rows))[-MAX_RECENT:]
    return sorted(rows.values(), key=lambda r: r.place), undone


def _is_reading(event: Event) -> bool:
    """True for a mark that the house read at a block, and no log of the vault's."""
    is_log = event.log_index is not None or event.tx_hash is not None
    return isinstance(event.content.body, Marked) and not is_log and event.content.restates is None


def _mark_above(row: MeasuredRow, place: Place) -> bool:
    return row.place[1] == END_OF_BLOCK and row.place > place


def _drop_marks_above(journal: Journal, event: Event) -> Journal:
    """The journal without marks above this one: a mark at a lower block than the one before it
    shows that the chain went back, so marks above are of an abandoned branch.
    """
    if not _is_reading(event):
        return journal
    place = _place(event)
    recent = tuple(r for r in journal.recent if not _mark_above(r, place))
    if len(recent) == len(journal.recent):
        return journal
    return refolded(replace(journal, recent=recent))


def _measured_row(event: Event, event_id: str | None = None) -> MeasuredRow:
    return MeasuredRow(
        place=_place(event),
        event_id=event_id or event.event_id,
        at=event.occurred_at,
        kind=event.kind,
        amount=_magnitude(event),
        body=event.content.body,
        observed=event.content.observed,
    )


def _magnitude(event: Event | NewEvent) -> int:
    return max(0, event.amount_usdc.micros) if event.amount_usdc is not None else 0


def _place(event: Event) -> tuple[int, int]:
    """(block, log index). A row without a block, as a damaged one may be, stands first, in the
    order of the ledger.
    """
    body = event.content.body
    if isinstance(body, Marked) and _is_reading(event):
        return (0, event.seq) if body.block is None else (body.block, END_OF_BLOCK)
    return (0, event.seq) if event.block_number is None else place_of(event)


def _insert(journal: Journal, row: MeasuredRow) -> Journal:
    """Insert a row at its place; beyond `MAX_RECENT` the oldest is folded into the base."""
    at = bisect_right(journal.recent, row.place, key=lambda r: r.place)
    recent = (*journal.recent[:at], row, *journal.recent[at:])
    base, folded = journal.base, journal.folded
    last = at == len(journal.recent)
    if len(recent) > MAX_RECENT:
        base, folded, recent = step(base, recent[0]), max(folded, recent[0].place), recent[1:]
    changed = replace(journal, base=base, folded=folded, recent=recent)
    return replace(changed, now=step(journal.now, row)) if last else refolded(changed)


def refolded(journal: Journal) -> Journal:
    """The journal with `now` folded from the others."""
    now = journal.base
    for row in journal.recent:
        now = step(now, row)
    return replace(journal, now=now)


def _remove(journal: Journal, event: Event, reversal: LogReversed, past: Past | None) -> Journal:
    """Remove a reversed row and all that it changed."""
    recent = tuple(row for row in journal.recent if row.event_id != reversal.event_id)
    if len(recent) < len(journal.recent):
        undone = (*journal.undone, reversal.event_id)[-MAX_RECENT:]
        return refolded(replace(journal, recent=recent, undone=undone))
    if past is None or reversal.event_id in journal.undone:
        return journal
    return _rebuild(past, event)
