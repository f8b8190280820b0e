"""The venue's weight budget: 1,200 a minute and address, shared by priority."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from domain.ports import Clock
from domain.refusals import Refused, refusal
from domain.trading.venue_values import Priority

A_MINUTE: Final = 1_200
RELAYS_AT_MOST: Final = 300
PAGES_AT_MOST: Final = 200
SPAN_S: Final = 60
# What each lane finds free, whatever the lanes below it spent; the highest first.
RESERVES: Final[Mapping[Priority, int]] = MappingProxyType(
    {"keeper": 200, "close": 200, "order": 200, "house": 200, "page": 100, "relay": 0}
)
LANES: Final[tuple[Priority, ...]] = tuple(RESERVES)
RESERVE: Final = RESERVES["keeper"] + RESERVES["close"]
AT_MOST: Final[Mapping[Priority, int]] = MappingProxyType(
    {"page": PAGES_AT_MOST, "relay": RELAYS_AT_MOST}
)
# What one person's account, or the caller of relays, may cost in a minute, so that none takes a
# lane for himself alone.
SHARE: Final[Mapping[Priority, int]] = MappingProxyType({"order": 250, "page": 80, "relay": 100})
_Row = tuple[int, Priority, int, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WeightWindow:
    """What was spent in the last minute: (second, lane, weight, whose account), oldest first.

    A second counts until 60 whole seconds after it, because the venue's own minute may begin
    anywhere in it.
    """

    spent: tuple[_Row, ...] = ()

    @classmethod
    def read(cls, stored: str | None) -> WeightWindow:
        """The window behind its stored text."""
        rows = json.loads(stored) if stored else []
        return cls(tuple((s, lane, w, who[0] if who else "") for s, lane, w, *who in rows))

    def write(self) -> str:
        """Its stored text."""
        return json.dumps(self.spent, separators=(",", ":"))

    def at(self, now_s: int) -> WeightWindow:
        """The part of it that still counts."""
        return WeightWindow(tuple(row for row in self.spent if row[0] + SPAN_S >= now_s))

    def used(self, *lanes: Priority) -> int:
        """Weight spent by these lanes, by all where none is named."""
        return sum(w for _, lane, w, _ in self.spent if not lanes or lane in lanes)

    def fits(self, priority: Priority, weight: int, who: str = "") -> bool:
        """Whether a lane may spend now, for one person's account: within the person's share and
        the lane's own limit, and leaving every lane above it what is reserved there.
        """
        if who and priority in SHARE:
            mine = sum(w for _, of, w, whose in self.spent if (of, whose) == (priority, who))
            # One answer may be longer than a share; a person with nothing spent gets it. A relays'
            # caller may have more than a share while a whole one is left for the next caller.
            spare = AT_MOST[priority] - SHARE[priority] if priority == "relay" else 0
            if mine and mine + weight > SHARE[priority] and self.used(priority) + weight > spare:
                return False
        if self.used(priority) + weight > AT_MOST.get(priority, A_MINUTE):
            return False
        return self.used() + weight <= A_MINUTE - self._left_above(priority)

    def _left_above(self, priority: Priority) -> int:
        """What the lanes above one still find of their reserves; closes and the keeper share
        theirs, but for the keeper's part of it.
        """
        if priority == "keeper":
            return 0
        if priority == "close":
            return max(0, RESERVES["keeper"] - self.used("keeper"))
        between = LANES[2 : LANES.index(priority)]
        first = max(0, RESERVE - self.used("keeper", "close"))
        return first + sum(max(0, RESERVES[of] - self.used(of)) for of in between)

    def wait_s(self, priority: Priority, weight: int, now_s: int, who: str = "") -> int:
        """Seconds until the lane may spend; 0 where it may now."""
        rest = self.at(now_s)
        pause_s = 0
        while rest.spent and not rest.fits(priority, weight, who):
            pause_s = rest.spent[0][0] + SPAN_S + 1 - now_s
            rest = rest.at(now_s + pause_s)
        return pause_s

    def plus(self, now_s: int, priority: Priority, weight: int, who: str = "") -> WeightWindow:
        """The window with one more spending, or with less of an earlier one (`weight` below 0)."""
        if self.spent:
            second, of, before, whose = self.spent[-1]
            if (second, of, whose) == (now_s, priority, who):
                return WeightWindow((*self.spent[:-1], (now_s, priority, before + weight, who)))
        return WeightWindow((*self.spent, (now_s, priority, weight, who)))


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
        self._kept[key], statement = work(self._kept.get(key))
        return statement


@dataclass(frozen=True, slots=True)
class WeightHold:
    """A weight that was taken before a call, to be settled after it."""

    priority: Priority
    second: int
    weight: int
    who: str = ""


class Budget:
    """Takes weight before a call and gives back what the call did not cost."""

    def __init__(self, clock: Clock, store: WeightStore, key: str):
        self._clock, self._store, self._key = clock, store, key

    def now(self) -> datetime:
        """The time by which weight is counted."""
        return self._clock.now()

    def _now_s(self) -> int:
        return math.floor(self._clock.now().timestamp())

    async def take(self, priority: Priority, weight: int, account: str = "") -> WeightHold:
        """Take weight for a call about a person's `account`, if it is about one; of a relay, for
        its caller.

        Errors: `venue_unavailable` with the seconds until there is enough.
        """
        now_s, who = self._now_s(), account.lower()[-8:] if priority in SHARE else ""

        def work(stored: str | None) -> tuple[str, int]:
            window = WeightWindow.read(stored).at(now_s)
            wait = window.wait_s(priority, weight, now_s, who)
            return (window if wait else window.plus(now_s, priority, weight, who)).write(), wait

        wait = await self._store.change(self._key, work)
        if wait:
            why = "this service's share of its request budget is spent for the moment"
            raise Refused(refusal("venue_unavailable", why=why, detail={"retry_after_s": wait}))
        return WeightHold(priority, now_s, weight, who)

    async def settle(self, spending: WeightHold, cost: int) -> None:
        """Count what the call did cost in place of what was taken for it."""
        if cost == spending.weight:
            return
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, None]:
            window = WeightWindow.read(stored).at(now_s)
            rows = [*window.spent]
            for n, (second, priority, weight, who) in enumerate(rows):
                if (second, priority, who) == (spending.second, spending.priority, spending.who):
                    rows[n] = (second, priority, max(0, weight + cost - spending.weight), who)
                    break
            return WeightWindow(tuple(rows)).write(), None

        await self._store.change(self._key, work)

    async def used(self) -> dict[str, int]:
        """What every lane spent in the last minute."""
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, dict[str, int]]:
            window = WeightWindow.read(stored).at(now_s)
            return window.write(), {lane: window.used(lane) for lane in LANES}

        return await self._store.change(self._key, work)
