"""One order book: price, then time; what the script quotes and what accounts rest share it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from devtools.devvenue.decimals import ZERO

DEPTH: Final = 20
Level = tuple[Decimal, Decimal]


@dataclass(slots=True, kw_only=True)
class Resting:
    """An order in the book; without an oid it is the script's."""

    px: Decimal
    sz: Decimal
    oid: int | None = None
    owner: str | None = None


@dataclass(slots=True)
class Side:
    """One side. Prices are kept ascending; bids are read from the other end."""

    is_bid: bool
    prices: list[Decimal] = field(default_factory=list)
    queues: dict[Decimal, deque[Resting]] = field(default_factory=dict)

    def add(self, entry: Resting) -> None:
        """Stand behind everything at the same price."""
        if entry.px not in self.queues:
            insort(self.prices, entry.px)
            self.queues[entry.px] = deque()
        self.queues[entry.px].append(entry)

    def remove(self, entry: Resting) -> None:
        """Take one entry out."""
        queue = self.queues[entry.px]
        queue.remove(entry)
        if not queue:
            del self.queues[entry.px]
            del self.prices[bisect_left(self.prices, entry.px)]

    def best(self) -> Resting | None:
        """The order that trades next."""
        if not self.prices:
            return None
        return self.queues[self.prices[-1 if self.is_bid else 0]][0]

    def levels(self) -> Iterator[tuple[Decimal, Decimal, int]]:
        """Price, size and number of orders, best first."""
        for px in reversed(self.prices) if self.is_bid else self.prices:
            queue = self.queues[px]
            yield px, sum((entry.sz for entry in queue), ZERO), len(queue)

    def reaches(self, px: Decimal, limit: Decimal) -> bool:
        """Whether a price of this side is good enough for a taker with that limit."""
        return px >= limit if self.is_bid else px <= limit

    def entries(self) -> list[Resting]:
        """All of them, in no order that matters."""
        return [entry for queue in self.queues.values() for entry in queue]


@dataclass(slots=True)
class Book:
    """Both sides of one market."""

    bids: Side = field(default_factory=lambda: Side(True))
    asks: Side = field(default_factory=lambda: Side(False))

    def side(self, is_buy: bool) -> Side:
        """The side on which an order of this direction rests."""
        return self.bids if is_buy else self.asks

    def opposite(self, is_buy: bool) -> Side:
        """The side that an order of this direction trades with."""
        return self.asks if is_buy else self.bids

    def best(self, is_buy: bool) -> Decimal | None:
        """The best price of one side."""
        entry = self.side(is_buy).best()
        return entry.px if entry else None

    def mid(self) -> Decimal | None:
        """Half way between the best prices; None with a side empty."""
        bid, ask = self.best(True), self.best(False)
        return None if bid is None or ask is None else (bid + ask) / 2

    def crosses(self, is_buy: bool, px: Decimal) -> bool:
        """Whether an order would trade at once."""
        best = self.opposite(is_buy).best()
        return best is not None and self.opposite(is_buy).reaches(best.px, px)

    def clear_script(self) -> None:
        """Take out what the script quoted; what accounts rest stays."""
        for side in (self.bids, self.asks):
            for entry in side.entries():
                if entry.oid is None:
                    side.remove(entry)

    def quote(self, is_buy: bool, levels: Iterable[Level]) -> None:
        """Add levels of the script; the caller has seen to it that nothing crosses."""
        for px, sz in levels:
            self.side(is_buy).add(Resting(px=px, sz=sz))

    def impact(self, is_buy: bool, notional: Decimal) -> Decimal | None:
        """The average price of trading so much; None where the book is too thin."""
        left, base = notional, ZERO
        for px, sz, _ in self.opposite(is_buy).levels():
            taken = min(sz, left / px)
            base, left = base + taken, left - taken * px
            if left <= 0:
                return notional / base
        return None

    def snapshot(self) -> list[list[tuple[Decimal, Decimal, int]]]:
        """Bids and asks, at most 20 levels each."""
        return [list(side.levels())[:DEPTH] for side in (self.bids, self.asks)]
