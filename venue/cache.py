"""Venue cache: bounded, with one request in flight per key, and stale values marked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from domain.ports import Clock
from domain.refusals import Refused
from domain.trading.venue_values import CachedValue

KEYS: Final = 5_000
BYTES: Final = 64 * 2**20
PAUSE_S: Final = 2  # after a failure, what is held is given without asking again


@dataclass(frozen=True, slots=True)
class _Entry:
    cached: CachedValue[Any]
    size: int


class Cache:
    """LRU cache, bounded by keys and bytes; a cancelled caller does not cancel a shared request."""

    def __init__(self, clock: Clock, keys: int = KEYS, size: int = BYTES):
        self._clock, self._max_keys, self._max_bytes = clock, keys, size
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._flights: dict[Hashable, asyncio.Task[_Entry]] = {}
        self._paused: OrderedDict[Hashable, datetime] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes_held(self) -> int:
        """Size of all entries in bytes, as received."""
        return self._bytes

    def peek(self, key: Hashable, max_age_s: int) -> CachedValue[Any] | None:
        """The entry if it is younger than `max_age_s`; does not count as use."""
        entry = self._entries.get(key)
        if entry is None or (self._clock.now() - entry.cached.as_of).total_seconds() >= max_age_s:
            return None
        return entry.cached

    async def get(
        self,
        key: Hashable,
        max_age_s: int,
        load: Callable[[], Awaitable[tuple[Any, int]]],
        *,
        fresh: bool = False,
    ) -> CachedValue[Any]:
        """The value under a key, loaded where the entry is older than `max_age_s` seconds.

        Shapes: `load` returns the value and its size in bytes. Where it is refused, the old entry
        is returned as stale, unless `fresh` is set.
        Errors: the errors of `load`.
        """
        cached = self.peek(key, max_age_s)
        if cached is not None:
            self._entries.move_to_end(key)
            return cached
        old = self._entries.get(key)
        if (
            old is not None
            and not fresh
            and self._paused.get(key, old.cached.as_of) > self._clock.now()
        ):
            return CachedValue(old.cached.value, old.cached.as_of, stale=True)
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.ensure_future(self._load(key, load))
            flight.add_done_callback(lambda task: self._finish_flight(key, task))
        try:
            return (await asyncio.shield(flight)).cached
        except Refused:
            if old is None or fresh:
                raise
            self._pause(key)
            return CachedValue(old.cached.value, old.cached.as_of, stale=True)

    async def _load(self, key: Hashable, load: Callable[[], Awaitable[tuple[Any, int]]]) -> _Entry:
        value, size = await load()
        entry = _Entry(CachedValue(value, self._clock.now()), size)
        self._put(key, entry)
        return entry

    def _finish_flight(self, key: Hashable, flight: asyncio.Task[_Entry]) -> None:
        self._flights.pop(key, None)
        if not flight.cancelled():
            flight.exception()  # read once, so that one nobody waits for any more is no warning

    def _put(self, key: Hashable, entry: _Entry) -> None:
        self.drop(key)
        self._entries[key] = entry
        self._bytes += entry.size
        while len(self._entries) > self._max_keys or (
            self._bytes > self._max_bytes and len(self._entries) > 1
        ):
            _, evicted = self._entries.popitem(last=False)
            self._bytes -= evicted.size

    def _pause(self, key: Hashable) -> None:
        self._paused[key] = self._clock.now() + timedelta(seconds=PAUSE_S)
        self._paused.move_to_end(key)
        while len(self._paused) > self._max_keys:
            self._paused.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        """Remove the entry under a key."""
        dropped = self._entries.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size

    async def close(self) -> None:
        """Cancel the requests in flight."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
