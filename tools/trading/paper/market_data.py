"""Market data for paper: fresh snapshots, mark prices and published funding."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import anyio

from domain.ports import Clock, Venue
from domain.refusals import Refused, refusal
from domain.trading.indices import dex_of
from domain.trading.paper.matching import is_later_by
from domain.trading.pricing import NoPrice, quote_of
from domain.trading.venue_values import OrderBook, Perp, Priority

PERPS_S: Final = 20
RATES_S: Final = 20
PUBLISHED_S: Final = 3_600
FIRST_DEX: Final = ""
_LOOKS: Final = 3
_AGAIN: Final = timedelta(milliseconds=100)
# The venue publishes an hour's rate some moments around the hour.
_AROUND: Final = timedelta(minutes=5)
Pause = Callable[[timedelta], Awaitable[None]]


async def pause(period: timedelta) -> None:
    """Wait."""
    await anyio.sleep(period.total_seconds())


def unavailable(reason: str) -> Refused:
    """The refusal of a paper order without fresh market data."""
    return Refused(refusal("wallet_venue_unavailable", why=reason))


async def snapshot(
    venue: Venue, coin: str, clock: Clock, priority: Priority, max_age_s: int
) -> OrderBook:
    """A fresh, two-sided book, never another price. Errors: `wallet_venue_unavailable`."""
    try:
        cached = await venue.book(coin, priority=priority, max_age_s=max_age_s)
    except Refused as refused:
        raise unavailable(refused.refusal.reason.rstrip(".")) from None
    quote = quote_of(cached.value, clock.now())
    if isinstance(quote, NoPrice) or cached.value is None:
        raise unavailable(quote.reason if isinstance(quote, NoPrice) else "it has no book")
    return cached.value


async def second_snapshot(
    venue: Venue, coin: str, clock: Clock, wait: Pause, latency: timedelta, priority: Priority
) -> OrderBook:
    """The snapshot `latency` after the one at acceptance, by the venue's own clock.

    Without a latency it is the one at acceptance, for measurements. Errors:
    `wallet_venue_unavailable`, also where the venue shows none so young.
    """
    if not latency:
        return await snapshot(venue, coin, clock, priority, 1)
    at_acceptance = await snapshot(venue, coin, clock, priority, 0)
    await wait(latency)
    for _ in range(_LOOKS):
        second = await snapshot(venue, coin, clock, priority, 0)
        if is_later_by(second, at_acceptance, latency):
            return second
        await wait(_AGAIN)
    raise unavailable("it shows no second book")


async def figures(
    venue: Venue, dexes: Sequence[str], priority: Priority = "house", *, needs: str | None = None
) -> Mapping[str, Perp]:
    """Every product of the dexes. Errors: `wallet_venue_unavailable`, for a stale answer too."""
    perps: dict[str, Perp] = {}
    for dex in dexes:
        try:
            cached = await venue.perps(dex, priority=priority, max_age_s=PERPS_S)
        except Refused as refused:
            if dex == FIRST_DEX:
                raise unavailable(refused.refusal.reason.rstrip(".")) from None
            continue
        if cached.stale:
            raise unavailable("its prices are stale")
        perps |= {perp.coin: perp for perp in cached.value}
    if needs is not None and needs not in perps:
        raise unavailable(f"it names no {needs}")
    return perps


async def rate_of(venue: Venue, coin: str, hour: datetime) -> Decimal | None:
    """The rate published for an hour, None where there is none. Errors: `venue_unavailable`."""
    # What was published stays so; what is not published yet is asked again soon.
    for max_age_s in (PUBLISHED_S, RATES_S):
        cached = await venue.funding(coin, hour - _AROUND, max_age_s=max_age_s)
        for row in cached.value:
            if row.coin == coin and abs(row.at - hour) <= _AROUND:
                return row.rate
    return None


def dexes_of(coins: Sequence[str], configured: Sequence[str]) -> tuple[str, ...]:
    """The dexes that hold these coins and those that are traded here, each once."""
    name = (FIRST_DEX, *configured, *(dex_of(coin) for coin in coins))
    return tuple(dict.fromkeys(name))
