"""Folded states: kept in memory by row hash, kept in the database at checkpoints."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Final

from domain.ledger.books import Books, to_json
from domain.ledger.events import Event
from storage.rows.row import event_of
from storage.sql import Row

EVENTS_KEPT: Final = 20_000


CACHED: Final = 2_048


STATES_A_MANDATE: Final = 16


class StateCache:
    """Folded states by mandate; each is good only for the very row (its hash) that it ends at.

    Several a mandate: while one transaction appends, others still stand at the rows before.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[str, tuple[tuple[str, Books], ...]] = OrderedDict()
        self._events: OrderedDict[str, Event] = OrderedDict()
        self._lock = threading.Lock()

    def event(self, row: Row) -> Event:
        """The event behind a row; the newest rows are read again and again, and a row hash names
        one row for good.
        """
        kept = self._events.get(row["row_hash"])
        if kept is None:
            kept = event_of(row)
            with self._lock:
                self._events[row["row_hash"]] = kept
                while len(self._events) > EVENTS_KEPT:
                    self._events.popitem(last=False)
        return kept

    def get(self, public_id: str, row_hash: str) -> Books | None:
        """The state at that row, if it is kept."""
        return next(
            (state for of, state in self._states.get(public_id, ()) if of == row_hash), None
        )

    def put(self, public_id: str, row_hash: str, state: Books) -> None:
        """Keep a state; the mandate least lately put goes first."""
        with self._lock:
            others = tuple(kept for kept in self._states.pop(public_id, ()) if kept[0] != row_hash)
            self._states[public_id] = ((row_hash, state), *others[: STATES_A_MANDATE - 1])
            while len(self._states) > CACHED:
                self._states.popitem(last=False)


def state_text(state: Books) -> str:
    """A checkpoint's text. Keys keep their order: the fold drops the oldest entries of a full
    mapping first.
    """
    return json.dumps(to_json(state), separators=(",", ":"))
