"""Weekly venue results: a mandate's live fills of one week, apart from every other figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from domain.ledger.state.venue_book import VenueBook
from domain.money import Usdc


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
        weeks.append(
            VenueWeek(
                network=network,
                realized=Usdc(now.realized - was.realized),
                fees=Usdc(now.fees - was.fees),
                net=Usdc(now.net - was.net),
                volume=Usdc(now.volume - was.volume),
                orders=now.orders - was.orders,
                fills=now.fills - was.fills,
            )
        )
    return tuple(weeks) or None
