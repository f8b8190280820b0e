"""Mark prices of a mandate's positions at the venue, for its reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

import anyio

from domain.mandates.mandate import Mandate
from domain.ports import Venue
from domain.refusals import Refused
from domain.rules.venue_exposure import at_venue
from domain.trading.indices import dex_of
from domain.trading.venue_values import NETWORKS
from tools.model.operation import Deps

MARKS_S: Final = 20
# A mandate is read whether or not the venue answers; its open result is null then.
WAIT_S: Final = 1


async def venue_marks(deps: Deps, mandate: Mandate) -> Mapping[str, Mapping[str, Decimal]]:
    """Mark prices by network and product, of the products that the mandate's own fills left open;
    nothing is asked where there are none, and what the venue does not tell in time is missing.
    """
    if deps.venues is None or not at_venue(mandate):
        return {}
    book = await deps.store.read(lambda uow: uow.ledger.state(mandate.public_id).venue)
    marks = dict[str, Mapping[str, Decimal]]()
    for network in NETWORKS:
        positions = book.of(network).positions
        if positions:
            marks[network] = await marks_at(deps.venues.get(network), positions)
    return marks


async def marks_at(venue: Venue, products: Iterable[str]) -> Mapping[str, Decimal]:
    """Mark prices of some products, those that are told within a second and are fresh."""
    coins, prices = set(products), dict[str, Decimal]()
    with anyio.move_on_after(WAIT_S):
        for dex in sorted({dex_of(product) for product in coins}):
            try:
                perps = await venue.perps(dex, priority="house", max_age_s=MARKS_S)
            except Refused:
                continue
            if not perps.stale:
                marks = {p.coin: p.mark_px for p in perps.value if p.mark_px is not None}
                prices |= {coin: px for coin, px in marks.items() if coin in coins}
    return prices
