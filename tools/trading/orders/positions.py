"""Positions at the venue: read fresh for a close, cached for a page."""

from __future__ import annotations

from dataclasses import dataclass

from domain.ports import Venue
from domain.trading.indices import dex_of, text
from domain.trading.orders import OrderAction
from domain.trading.venue_account import Link
from domain.trading.venue_values import Position


@dataclass(frozen=True, slots=True)
class LocatedPosition:
    """A position, as the venue has just shown it, or as a paper book has it (without a link)."""

    link: Link | None
    position: Position

    def as_item(self) -> dict[str, object]:
        """The position as a refused close describes it."""
        position = self.position
        return {
            "product": position.coin,
            "size": format(position.size, "f"),
            "entry_px": text(position.entry_px),
        }


async def place_of(venue: Venue, link: Link, coin: str) -> LocatedPosition | None:
    """A wallet's position in a product, read from the venue now; None where there is none.

    Errors: `venue_unavailable`.
    """
    cached = await venue.account(
        link.wallet, dex_of(coin), priority="close", max_age_s=0, fresh=True
    )
    position = next((p for p in cached.value.positions if p.coin == coin and p.size), None)
    return None if position is None else LocatedPosition(link, position)


def only_reduces(action: OrderAction, position: Position) -> bool:
    """Whether an action can only reduce a position: reduce-only, immediate, on the other side, no
    larger, and without a builder fee.
    """
    return (
        action.reduce_only
        and action.tif == "ioc"
        and action.builder is None
        and action.is_buy == (position.size < 0)
        and action.size <= abs(position.size)
    )
