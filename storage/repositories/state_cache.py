"""State cache: folded states, in memory by row hash and in the database at checkpoints."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Final

import orjson

from domain.ledger.events.event import Event
from domain.ledger.state.ledger_state import LedgerState
from storage.repositories.event_row import as_stored, event_of
from storage.repositories.paper_checkpoints import KEPT, AccountCache
from storage.repositories.recent_cache import RecentCache
from storage.sql import Row

EVENTS_KEPT: Final = 20_000
PAGES_KEPT: Final = 512
CACHED: Final = 2_048
STATES_A_MANDATE: Final = 16


class StateCache:
    """Folded states by mandate; each is good only for the very row (its hash) that it ends at.

    Several a mandate: while one transaction appends, others still stand at the rows before.
    `accounts` are those of paper books.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[str, tuple[tuple[str, LedgerState], ...]] = OrderedDict()
        self._events = RecentCache[str, Event](EVENTS_KEPT)
        self._pages = RecentCache[tuple[str, int], tuple[str, tuple[Event, ...]]](PAGES_KEPT)
        self._lock = threading.Lock()
        self.accounts = AccountCache(KEPT)

    def event(self, row: Row) -> Event:
        """The event behind a row; the newest rows are read again and again, and a row hash names
        one row for good.
        """
        cached = self._events.get(row["row_hash"])
        if cached is None:
            cached = event_of(row)
            self._events.put(row["row_hash"], cached)
        return cached

    def keep_event(self, row: Row, event: Event) -> Event:
        """Keep the event of a row that is written now, and give it as it will be read; where the
        row is taken back, none has its hash.
        """
        cached = event
        if not _reads_as(row["payload"], event.payload):
            cached = replace(event, payload=as_stored(row), parsed=event.content)
        self._events.put(row["row_hash"], cached)
        return cached

    def page(self, public_id: str, row_hash: str, limit: int) -> tuple[Event, ...] | None:
        """The newest page, if the row with this hash is the newest; always the same object."""
        known, page = self.newest_page(public_id, limit)
        return page if known == row_hash else None

    def newest_page(self, public_id: str, limit: int) -> tuple[str, tuple[Event, ...]]:
        """(hash of its newest row, the page that was last kept); empty where none is."""
        return self._pages.get((public_id, limit)) or ("", ())

    def keep_page(self, public_id: str, row_hash: str, page: tuple[Event, ...], limit: int) -> None:
        """Keep a page: what was written below a row never changes."""
        self._pages.put((public_id, limit), (row_hash, page))

    def newest(self, public_id: str) -> tuple[str, LedgerState] | None:
        """(row hash, state) that was last kept."""
        states = self._states.get(public_id)
        return states[0] if states else None

    def get(self, public_id: str, row_hash: str) -> LedgerState | None:
        """The state at that row, if it is kept."""
        for of, state in self._states.get(public_id, ()):
            if of == row_hash:
                return state
        return None

    def rewind(self, public_id: str, row_hash: str) -> None:
        """Forget what was kept after the state at this row: it never became the record."""
        with self._lock:
            states = self._states.get(public_id, ())
            at = next((n for n, (of, _) in enumerate(states) if of == row_hash), len(states))
            self._states[public_id] = states[at:]

    def put(self, public_id: str, row_hash: str, state: LedgerState) -> None:
        """Keep a state; the mandate least lately put goes first."""
        with self._lock:
            others = self._states.pop(public_id, ())
            if row_hash in [of for of, _ in others]:
                others = tuple(one for one in others if one[0] != row_hash)
            self._states[public_id] = ((row_hash, state), *others[: STATES_A_MANDATE - 1])
            while len(self._states) > CACHED:
                self._states.popitem(last=False)


def _reads_as(text: str, payload: object) -> bool:
    try:
        return bool(orjson.loads(text) == payload)
    except ValueError:  # half of a surrogate pair
        return False
