"""Paper matching: fills of an order on one snapshot, never more or better than it shows.

Source: trading 7.3 and 7.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from domain.trading.precision import lots, tick
from domain.trading.venue_values import Level, OrderBook

_NOTHING: Final = Decimal(0)
# Sizes that paper orders took from the levels of one side, by price.
ConsumedDepth = Mapping[Decimal, Decimal]


@dataclass(frozen=True, slots=True)
class Take:
    """A part of one level; `px` is the trade price: the limit of an order that rests."""

    px: Decimal
    size: Decimal
    level: Decimal


def facing(book: OrderBook, *, is_buy: bool) -> tuple[Level, ...]:
    """The levels that an order trades with, best first."""
    return book.asks if is_buy else book.bids


def is_within_limit(px: Decimal, limit: Decimal, *, is_buy: bool) -> bool:
    """True where a level is no worse than a limit."""
    return px <= limit if is_buy else px >= limit


def crosses(book: OrderBook, limit: Decimal, *, is_buy: bool) -> bool:
    """True where an order would trade at once."""
    levels = facing(book, is_buy=is_buy)
    return bool(levels) and is_within_limit(levels[0].px, limit, is_buy=is_buy)


def through(limit: Decimal, sz_decimals: int, *, is_buy: bool) -> Decimal:
    """The price that the other side has to reach before an order that waits trades: one tick
    through its limit.

    The place in the queue at the limit cannot be known from the levels, so a touch is no trade.
    """
    step = tick(limit, sz_decimals)
    return limit - step if is_buy else limit + step


def is_later_by(second: OrderBook, first: OrderBook, latency: timedelta) -> bool:
    """True where a snapshot is younger than the first by `latency`, by the venue's clock."""
    return second.at - first.at >= latency


def take_depth(
    levels: Sequence[Level],
    limit: Decimal,
    size: Decimal,
    *,
    is_buy: bool,
    share: Decimal,
    consumed: ConsumedDepth,
    sz_decimals: int,
    rests: bool = False,
) -> tuple[Take, ...]:
    """Walk the depth up to a limit, the best level first; an order that `rests` fills at its limit,
    and only where the other side is through it.

    Of each level no more than `share` of what it shows can be had, less what paper orders
    `consumed` of this very snapshot already. Sizes are floored to the lot; the rest is not filled.
    """
    takes, remaining = [], size
    bound = through(limit, sz_decimals, is_buy=is_buy) if rests else limit
    for level in levels:
        if remaining <= 0 or not is_within_limit(level.px, bound, is_buy=is_buy):
            break
        available = lots(level.size * share, sz_decimals) - consumed.get(level.px, _NOTHING)
        fill_size = min(remaining, available)
        if fill_size > 0:
            takes.append(Take(limit if rests else level.px, fill_size, level.px))
            remaining -= fill_size
    return tuple(takes)


def consumed_depth(takes: Iterable[tuple[Decimal, Decimal]]) -> ConsumedDepth:
    """Consumed sizes by level. Shapes: `takes` are pairs of a level's price and a size."""
    total: dict[Decimal, Decimal] = {}
    for level, size in takes:
        total[level] = total.get(level, _NOTHING) + size
    return total
