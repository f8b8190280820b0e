"""Products that can be traded at the venue now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field

from domain.ports import Venue
from domain.refusals import Refused
from domain.times import timestamp
from domain.trading.indices import index_coins, text
from domain.trading.modes import MARKET_NETWORK, live_here
from domain.trading.precision import tick
from domain.trading.pricing import LEAST, taker_tenths_bps
from domain.trading.venue_values import CachedValue, Perp
from tools.model.fields import Nothing
from tools.model.operation import Caller, Deps, Operation, OperationResult, ResponseModel
from tools.model.switches import switches
from tools.trading.fields import Figure, NetworkName, TimestampText, venue_of
from tools.trading.orders.market_state import FIRST_DEX

T = TypeVar("T")
CACHED_S: Final = 20
OLD: Final = timedelta(seconds=60)
_USDC: Final = 0

Bps = Annotated[str, Field(description="basis points, two decimals")]


class Product(ResponseModel):
    """One product. `live`: orders of it can be live here at all, for any caller."""

    product: str
    kind: Literal["perp", "index"]
    status: Literal["open", "halted", "delisted"]
    asset_id: int
    mark_px: Figure
    bid_px: Figure = Field(description="null unless a book of the last 20 seconds is held")
    ask_px: Figure = Field(description="null unless a book of the last 20 seconds is held")
    funding_hourly: Figure = Field(description="the rate of an hour; above 0 longs pay shorts")
    sz_decimals: int
    tick_example: Figure = Field(description="the step of prices at the mark price")
    min_notional_usdc: str
    max_leverage: int
    fee_taker_bps: Bps
    builder_fee_bps: Bps
    paper: bool
    live: bool


class ProductsOut(ResponseModel):
    """Every product; the list is whole. An outage gives an empty or an old one, never an invented
    one."""

    as_of: TimestampText
    stale: bool
    sample: Literal[False]
    network: NetworkName
    products: list[Product]


async def products(deps: Deps, caller: Caller, request: Nothing) -> OperationResult:
    """Every perpetual of the first and of the allowed dexes that is counted in USDC."""
    now = deps.clock.now()
    on = await deps.store.read(lambda uow: switches(uow, deps.defaults))
    venue, live = venue_of(deps, MARKET_NETWORK), live_here(on)
    dexes = (FIRST_DEX, *deps.config.trading.dexes)
    reads = (_or_none(venue.perps(d, max_age_s=CACHED_S)) for d in dexes)
    read = [cached for cached in await asyncio.gather(*reads) if cached is not None]
    categories = await _or_none(venue.categories())
    indices = frozenset(index_coins(categories.value) if categories else ())
    body = {
        "as_of": timestamp(min((h.as_of for h in read), default=now)),
        "stale": len(read) < len(dexes) or any(now - h.as_of > OLD for h in read),
        "sample": False,
        "network": venue.network,
        "products": [
            _row(deps, venue, perp, indices, live=live)
            for cached in read
            for perp in cached.value
            if perp.collateral_token in (None, _USDC)
        ],
    }
    return OperationResult(200, body, {"Cache-Control": f"public, max-age={CACHED_S}"})


async def _or_none(read: Awaitable[CachedValue[T]]) -> CachedValue[T] | None:
    try:
        return await read
    except Refused:
        return None


def _row(
    deps: Deps, venue: Venue, perp: Perp, indices: frozenset[str], *, live: bool
) -> dict[str, object]:
    book = venue.cached_book(perp.coin, CACHED_S)
    trading = deps.config.trading
    is_open = perp.mid_px is not None and not perp.delisted
    builder = trading.builder_fee_tenths_bps if trading.builder_address else 0
    mark = perp.mark_px
    return {
        "product": perp.coin,
        "kind": "index" if perp.coin in indices else "perp",
        "status": "delisted" if perp.delisted else "open" if is_open else "halted",
        "asset_id": perp.asset_id,
        "mark_px": text(mark),
        "bid_px": text(book.bids[0].px) if book and book.bids else None,
        "ask_px": text(book.asks[0].px) if book and book.asks else None,
        "funding_hourly": text(perp.funding),
        "sz_decimals": perp.sz_decimals,
        "tick_example": text(tick(mark, perp.sz_decimals)) if mark else None,
        "min_notional_usdc": f"{LEAST:.6f}",
        "max_leverage": perp.max_leverage,
        "fee_taker_bps": _bps(taker_tenths_bps(perp)),
        "builder_fee_bps": _bps(Decimal(builder)),
        "paper": is_open and deps.paper is not None,
        "live": is_open and live,
    }


def _bps(tenths: Decimal) -> str:
    return f"{tenths / 10:.2f}"


OPERATIONS: Final = (
    Operation(
        name="trade_products",
        title="List the products",
        summary="Products that can be traded, with price, tick, least order and fees.",
        auth="open",
        route=("GET", "/app/trade/products"),
        request_model=Nothing,
        response_model=ProductsOut,
        pass_through=products,
        on_mcp=True,
        open_world=True,
        family="trade door",
        refusals=("not_configured",),
    ),
)
