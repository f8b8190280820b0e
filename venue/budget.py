"""The venue's weight budget: 1,200 a minute and address, with a reserve for what must not wait."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeVar

from domain.ports import Clock
from domain.refusals import Refused, refusal
from domain.trading.venue import Lane

A_MINUTE: Final = 1_200
RELAYS_AT_MOST: Final = 400
RESERVE: Final = 400  # what closes and the keeper find free, whoever else asks
SPAN_S: Final = 60
RESERVED: Final[frozenset[Lane]] = frozenset({"close", "keeper"})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Window:
    """What was spent in the last minute: (second, lane, weight), oldest first.

    A second counts until 60 whole seconds after it, because the venue's own minute may begin
    anywhere in it.
    """

    spent: tuple[tuple[int, Lane, int], ...] = ()

    @classmethod
    def read(cls, stored: str | None) -> Window:
        """The window behind its stored text."""
        return cls(tuple((s, lane, w) for s, lane, w in json.loads(stored))) if stored else cls()

    def write(self) -> str:
        """Its stored text."""
        return json.dumps(self.spent, separators=(",", ":"))

    def at(self, now_s: int) -> Window:
        """The part of it that still counts."""
        return Window(tuple(row for row in self.spent if row[0] + SPAN_S >= now_s))

    def used(self, *lanes: Lane) -> int:
        """Weight spent by these lanes, by all where none is named."""
        return sum(w for _, lane, w in self.spent if not lanes or lane in lanes)

    def fits(self, lane: Lane, weight: int) -> bool:
        """Whether a lane may spend now.

        The relays stay below their own limit; everyone but closes and the keeper leaves these their
        reserve.
        """
        if lane == "relay" and self.used("relay") + weight > RELAYS_AT_MOST:
            return False
        kept = 0 if lane in RESERVED else max(0, RESERVE - self.used(*RESERVED))
        return self.used() + weight <= A_MINUTE - kept

    def wait_s(self, lane: Lane, weight: int, now_s: int) -> int:
        """Seconds until the lane may spend; 0 where it may now."""
        rest = self.at(now_s)
        waited = 0
        while rest.spent and not rest.fits(lane, weight):
            waited = rest.spent[0][0] + SPAN_S + 1 - now_s
            rest = rest.at(now_s + waited)
        return waited

    def plus(self, now_s: int, lane: Lane, weight: int) -> Window:
        """The window with one more spending, or with less of an earlier one (`weight` below 0)."""
        if self.spent and self.spent[-1][:2] == (now_s, lane):
            return Window((*self.spent[:-1], (now_s, lane, self.spent[-1][2] + weight)))
        return Window((*self.spent, (now_s, lane, weight)))


class WeightStore(Protocol):
    """Keeps the windows; a change is atomic for all who share the store."""

    async def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key by what `work` makes of it, and return what `work` says."""
        ...


class InMemory:
    """The store of a process that has the address for itself."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    async def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key."""
        self._kept[key], said = work(self._kept.get(key))
        return said


@dataclass(frozen=True, slots=True)
class Spending:
    """A weight that was taken before a call, to be settled after it."""

    lane: Lane
    second: int
    weight: int


class Budget:
    """Takes weight before a call and gives back what the call did not cost."""

    def __init__(self, clock: Clock, store: WeightStore, key: str):
        self._clock, self._store, self._key = clock, store, key

    def now(self) -> datetime:
        """The time by which weight is counted."""
        return self._clock.now()

    def _now_s(self) -> int:
        return math.floor(self._clock.now().timestamp())

    async def take(self, lane: Lane, weight: int) -> Spending:
        """Take weight for a call.

        Errors: `venue_unavailable` with the seconds until there is enough.
        """
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, int]:
            window = Window.read(stored).at(now_s)
            wait = window.wait_s(lane, weight, now_s)
            return (window if wait else window.plus(now_s, lane, weight)).write(), wait

        wait = await self._store.change(self._key, work)
        if wait:
            why = "this service's share of its request budget is spent for the moment"
            raise Refused(refusal("venue_unavailable", why=why, detail={"retry_after_s": wait}))
        return Spending(lane, now_s, weight)

    async def settle(self, spending: Spending, cost: int) -> None:
        """Count what the call did cost in place of what was taken for it."""
        if cost == spending.weight:
            return
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, None]:
            window = Window.read(stored).at(now_s)
            rows = [*window.spent]
            for n, (second, lane, weight) in enumerate(rows):
                if (second, lane) == (spending.second, spending.lane):
                    rows[n] = (second, lane, max(0, weight + cost - spending.weight))
                    break
            return Window(tuple(rows)).write(), None

        await self._store.change(self._key, work)

    async def used(self) -> dict[str, int]:
        """What every lane spent in the last minute."""
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, dict[str, int]]:
            window = Window.read(stored).at(now_s)
            lanes: tuple[Lane, ...] = ("relay", "house", "close", "keeper")
            return window.write(), {lane: window.used(lane) for lane in lanes}

        return await self._store.change(self._key, work)
