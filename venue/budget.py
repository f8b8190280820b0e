"""Weight budget: the venue's 1,200 a minute and address, divided among priorities."""

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

WEIGHT_PER_MINUTE: Final = 1_200
MAX_RELAYS: Final = 300
MAX_PAGES: Final = 200
WINDOW_S: Final = 60
# What each lane finds free, whatever the lanes below it spent; the highest first.
RESERVES: Final[Mapping[Priority, int]] = MappingProxyType(
    {"keeper": 200, "close": 200, "order": 200, "house": 200, "page": 100, "relay": 0}
)
PRIORITIES: Final[tuple[Priority, ...]] = tuple(RESERVES)
RESERVE: Final = RESERVES["keeper"] + RESERVES["close"]
LIMITS: Final[Mapping[Priority, int]] = MappingProxyType({"page": MAX_PAGES, "relay": MAX_RELAYS})
# What one person's account, or the caller of relays, may cost in a minute, so that none takes a
# lane for himself alone.
SHARE: Final[Mapping[Priority, int]] = MappingProxyType({"order": 250, "page": 80, "relay": 100})
_Row = tuple[int, Priority, int, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WeightWindow:
    """Weight spent in the last minute: rows of (second, priority, weight, payer), oldest first.

    A second counts until 60 whole seconds after it, because the venue's own minute may begin
    anywhere in it.
    """

    rows: tuple[_Row, ...] = ()

    @classmethod
    def read(cls, stored: str | None) -> WeightWindow:
        """Parse the stored text."""
        rows = json.loads(stored) if stored else []
        return cls(
            tuple((s, priority, w, payer[0] if payer else "") for s, priority, w, *payer in rows)
        )

    def write(self) -> str:
        """Serialise to the stored text."""
        return json.dumps(self.rows, separators=(",", ":"))

    def at(self, now_s: int) -> WeightWindow:
        """The rows that still count at a second."""
        return WeightWindow(tuple(row for row in self.rows if row[0] + WINDOW_S >= now_s))

    def used(self, *priorities: Priority) -> int:
        """Weight spent by these priorities; by all where none is given."""
        return sum(w for _, priority, w, _ in self.rows if not priorities or priority in priorities)

    def fits(self, priority: Priority, weight: int, payer: str = "") -> bool:
        """True where a payer may spend now: within share and limit, and above no higher reserve."""
        if payer and priority in SHARE:
            own_weight = sum(
                w
                for _, row_priority, w, row_payer in self.rows
                if (row_priority, row_payer) == (priority, payer)
            )
            # One answer may be longer than a share; a person with nothing spent gets it. A relays'
            # caller may have more than a share while a whole one is left for the next caller.
            spare = LIMITS[priority] - SHARE[priority] if priority == "relay" else 0
            if (
                own_weight
                and own_weight + weight > SHARE[priority]
                and self.used(priority) + weight > spare
            ):
                return False
        if self.used(priority) + weight > LIMITS.get(priority, WEIGHT_PER_MINUTE):
            return False
        return self.used() + weight <= WEIGHT_PER_MINUTE - self._left_above(priority)

    def _left_above(self, priority: Priority) -> int:
        """Unspent reserves above; closes and the keeper share theirs, but for the keeper's part."""
        if priority == "keeper":
            return 0
        if priority == "close":
            return max(0, RESERVES["keeper"] - self.used("keeper"))
        higher = PRIORITIES[2 : PRIORITIES.index(priority)]
        first = max(0, RESERVE - self.used("keeper", "close"))
        return first + sum(max(0, RESERVES[above] - self.used(above)) for above in higher)

    def wait_s(self, priority: Priority, weight: int, now_s: int, payer: str = "") -> int:
        """Seconds until the priority may spend; 0 where it may spend now."""
        window = self.at(now_s)
        pause_s = 0
        while window.rows and not window.fits(priority, weight, payer):
            pause_s = window.rows[0][0] + WINDOW_S + 1 - now_s
            window = window.at(now_s + pause_s)
        return pause_s

    def plus(self, now_s: int, priority: Priority, weight: int, payer: str = "") -> WeightWindow:
        """The window with one more row, or with an earlier one reduced (`weight` below 0)."""
        if self.rows:
            second, last_priority, last_weight, last_payer = self.rows[-1]
            if (second, last_priority, last_payer) == (now_s, priority, payer):
                return WeightWindow(
                    (*self.rows[:-1], (now_s, priority, last_weight + weight, payer))
                )
        return WeightWindow((*self.rows, (now_s, priority, weight, payer)))


class WeightStore(Protocol):
    """Store of windows; a change is atomic for all processes that share the store."""

    async def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key: `work` returns the new text and the result."""
        ...


class InMemory:
    """Store of a process that alone uses its address."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    async def change(self, key: str, work: Callable[[str | None], tuple[str, T]]) -> T:
        """Replace the text under a key."""
        self._texts[key], result = work(self._texts.get(key))
        return result


@dataclass(frozen=True, slots=True)
class WeightHold:
    """Weight taken before a call, to be settled after it."""

    priority: Priority
    second: int
    weight: int
    who: str = ""


class Budget:
    """Takes weight before a call and returns the part that the call did not cost."""

    def __init__(self, clock: Clock, store: WeightStore, key: str):
        self._clock, self._store, self._key = clock, store, key

    def now(self) -> datetime:
        """The clock of the budget."""
        return self._clock.now()

    def _now_s(self) -> int:
        return math.floor(self._clock.now().timestamp())

    async def take(self, priority: Priority, weight: int, account: str = "") -> WeightHold:
        """Take weight for a call; `account` is the person's account that the call is about, or the
        caller of a relay.

        Errors: `venue_unavailable` with the seconds until there is enough.
        """
        now_s, payer = self._now_s(), account.lower()[-8:] if priority in SHARE else ""

        def work(stored: str | None) -> tuple[str, int]:
            window = WeightWindow.read(stored).at(now_s)
            wait = window.wait_s(priority, weight, now_s, payer)
            return (window if wait else window.plus(now_s, priority, weight, payer)).write(), wait

        wait = await self._store.change(self._key, work)
        if wait:
            reason = "this service's share of its request budget is spent for the moment"
            raise Refused(refusal("venue_unavailable", why=reason, detail={"retry_after_s": wait}))
        return WeightHold(priority, now_s, weight, payer)

    async def settle(self, spending: WeightHold, cost: int) -> None:
        """Replace the weight taken for a call by its actual cost."""
        if cost == spending.weight:
            return
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, None]:
            window = WeightWindow.read(stored).at(now_s)
            rows = [*window.rows]
            for n, (second, priority, weight, payer) in enumerate(rows):
                if (second, priority, payer) == (spending.second, spending.priority, spending.who):
                    rows[n] = (second, priority, max(0, weight + cost - spending.weight), payer)
                    break
            return WeightWindow(tuple(rows)).write(), None

        await self._store.change(self._key, work)

    async def used(self) -> dict[str, int]:
        """Weight spent in the last minute, by priority."""
        now_s = self._now_s()

        def work(stored: str | None) -> tuple[str, dict[str, int]]:
            window = WeightWindow.read(stored).at(now_s)
            return window.write(), {priority: window.used(priority) for priority in PRIORITIES}

        return await self._store.change(self._key, work)
