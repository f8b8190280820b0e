"""Render cache: wire form of ledger rows, which never change, and of parts that follow from the
terms alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from domain.ledger.events.event import Event
from domain.mandates.mandate import Mandate
from domain.reads.event_rows import ledger_row
from domain.reads.record import record_steps
from domain.reads.row_models import LedgerRow
from domain.reads.step import Step, to_step
from domain.rules.snapshot import MandateSnapshot
from domain.settings import Switches
from tools.model.serialization import to_json

K = TypeVar("K")
V = TypeVar("V")
MAX_ROWS: Final = 20_000
PAGES: Final = 512
TERMS: Final = 4_096


@dataclass(slots=True)
class _Row:
    """Rendered JSON of one row; a step differs by the row of its other side."""

    event: Event
    row: object = None
    steps: dict[tuple[bool, int | None], Step] = field(default_factory=dict)


@dataclass(slots=True)
class _Page:
    """Rendered JSON of one page of rows."""

    events: tuple[Event, ...]
    rows: tuple[object, ...] | None = None
    steps: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Terms:
    """Rendered parts of a mandate that depend on its terms, the switches and the presence of a
    keeper's key alone.
    """

    mandate: Mandate
    key: tuple[Switches, bool]
    parts: dict[str, object] = field(default_factory=dict)


class RenderCache:
    """By the identity of a row: the store gives the same object while it keeps it. A mandate is
    compared, since each read dates it anew.

    Nothing here is ever wrong, only forgotten: an entry holds the very value that it belongs to.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._rows: dict[int, _Row] = {}
        self._pages: dict[int, _Page] = {}
        self._written: dict[int, tuple[Step, object]] = {}
        self._terms: dict[str, _Terms] = {}

    def _keep(self, entries: dict[K, V], key: K, value: V, limit: int) -> V:
        """Add an entry; of too many the oldest goes."""
        with self._lock:
            entries[key] = value
            while len(entries) > limit:
                del entries[next(iter(entries))]
        return value

    def terms_part(
        self, snapshot: MandateSnapshot, name: str, make: Callable[[], object]
    ) -> object:
        """The JSON of a part that follows from the mandate, the switches and the keeper's key."""
        mandate, key = snapshot.mandate, (snapshot.switches, snapshot.keeper_key)
        terms = self._terms.get(mandate.public_id)
        if terms is None or terms.key != key or terms.mandate != mandate:
            terms = self._keep(self._terms, mandate.public_id, _Terms(mandate, key), TERMS)
        if name not in terms.parts:
            terms.parts[name] = make()
        return terms.parts[name]

    def _row(self, event: Event) -> _Row:
        row = self._rows.get(id(event))
        if row is None or row.event is not event:
            row = self._keep(self._rows, id(event), _Row(event), MAX_ROWS)
        return row

    def _page(self, events: tuple[Event, ...]) -> _Page:
        page = self._pages.get(id(events))
        if page is None or page.events is not events:
            page = self._keep(self._pages, id(events), _Page(events), PAGES)
        return page

    def rows(self, events: tuple[Event, ...]) -> list[object]:
        """The JSON of a page of ledger rows."""
        page = self._page(events)
        if page.rows is None:
            page.rows = tuple(self.row(e) for e in events)
        return list(page.rows)

    def recorded(self, snapshot: MandateSnapshot) -> list[object]:
        """The JSON of the steps that the case's rows, and logs that are no rows yet, tell."""
        if snapshot.provisional:
            return [self.step(s) for s in record_steps(snapshot, self.step_of)]
        page = self._page(snapshot.events)
        if page.steps is None:
            page.steps = tuple(self.step(s) for s in record_steps(snapshot, self.step_of))
        return list(page.steps)

    def row(self, event: Event) -> object:
        """The JSON of a ledger row."""
        cached = self._row(event)
        if cached.row is None:
            cached.row = to_json(ledger_row(event), LedgerRow)
        return cached.row

    def step_of(self, event: Event, *, matched: bool, twin: Event | None = None) -> Step:
        """The step of a row."""
        steps, step_key = self._row(event).steps, (matched, twin.seq if twin else None)
        if step_key not in steps:
            steps[step_key] = to_step(event, matched=matched, twin=twin)
        return steps[step_key]

    def step(self, step: Step) -> object:
        """The JSON of a step."""
        entry = self._written.get(id(step))
        if entry is None or entry[0] is not step:
            entry = self._keep(self._written, id(step), (step, to_json(step, Step)), MAX_ROWS)
        return entry[1]


KEPT: Final = RenderCache()
