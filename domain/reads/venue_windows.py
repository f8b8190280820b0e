"""Live orders at the venue in fixed windows and weeks, from fills alone, apart from vaults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from domain.ledger.state.day_totals import RolledDay
from domain.ledger.state.venue_book import VenueBook
from domain.money import Usdc
from domain.reads.performance_windows import by_window
from domain.wire_fields import wire_name


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueWindow:
    """Results of orders in a window: `net_usdc` is realized less fees, without open positions;
    `orders` counts those whose first fill is in it; `volume_usdc` gross.
    """

    net_usdc: Usdc
    orders: int
    volume_usdc: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueResults:
    """Live orders on one network of the venue, by the last 7, 30 and 90 UTC days, today included,
    and all days. The testnet's money is none.
    """

    network: str
    days_7: VenueWindow = field(metadata=wire_name("7d"))
    days_30: VenueWindow = field(metadata=wire_name("30d"))
    days_90: VenueWindow = field(metadata=wire_name("90d"))
    since: VenueWindow
    source: Literal["venue"] = "venue"


def venue_results(
    mandates: Iterable[Sequence[RolledDay]], today: str
) -> tuple[VenueResults, ...] | None:
    """The results of some mandates together, a network each; None where no live order filled."""
    days = [day for of in mandates for day in of if day.venue]
    networks = sorted({network for day in days for network in day.venue})
    return tuple(_network(days, network, today) for network in networks) or None


def _network(days: Sequence[RolledDay], network: str, today: str) -> VenueResults:
    week, month, quarter, ever = by_window(partial(_window, days, network), today)
    return VenueResults(network=network, days_7=week, days_30=month, days_90=quarter, since=ever)


def _window(days: Sequence[RolledDay], network: str, since: str | None) -> VenueWindow:
    rows = [d.venue.get(network, (0, 0, 0)) for d in days if since is None or d.day >= since]
    net, orders, volume = (sum(row[n] for row in rows) for n in range(3))
    return VenueWindow(net_usdc=Usdc(net), orders=orders, volume_usdc=Usdc(volume))


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueWeek:
    """Fills of live orders that cite the mandate in the week, on one network of the venue; in no
    other figure. `net` is realized less fees, without open positions.
    """

    network: str
    realized: Usdc
    fees: Usdc
    net: Usdc
    volume: Usdc
    orders: int
    fills: int
    source: Literal["venue"] = "venue"


def venue_weeks(before: VenueBook, after: VenueBook) -> tuple[VenueWeek, ...] | None:
    """Fills of live orders in the week, a network each; None where none filled."""
    weeks = []
    for network, now in sorted(after.accounts.items()):
        was = before.of(network)
        if now.fills == was.fills:
            continue
        week = VenueWeek(
            network=network,
            realized=Usdc(now.realized - was.realized),
            fees=Usdc(now.fees - was.fees),
            net=Usdc(now.net - was.net),
            volume=Usdc(now.volume - was.volume),
            orders=now.orders - was.orders,
            fills=now.fills - was.fills,
        )
        weeks.append(week)
    return tuple(weeks) or None
