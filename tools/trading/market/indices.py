"""Index perpetuals, as the venue has them now."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.trading.indices import (
    CATEGORY,
    COUNTED_IN,
    base_of,
    candidates,
    change_bps,
    dex_of,
    index_coins,
    status,
    text,
    usdc_text,
)
from domain.trading.modes import MARKET_NETWORK, live_here
from domain.trading.venue_values import CachedValue, Perp
from tools.model.operation import (
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestModel,
    ResponseModel,
)
from tools.model.switches import switches
from tools.trading.fields import Amount, Figure, NetworkName, TimestampText, venue_of

PLANNED_S: Final = 300  # what is not traded here is read seldom, out of the relays' share
OWN_S: Final = 20


class IndicesIn(RequestModel):
    """Filters of indices."""

    dex: str | None = Field(default=None, pattern=r"^[a-z0-9]{2,4}$", description="one dex alone")
    include: Literal["planned"] | None = Field(
        default=None, description="planned: also those that are not traded here"
    )


class IndexIn(RequestModel):
    """Names an index."""

    sym: Annotated[
        str,
        Field(
            pattern=r"^([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}$",
            description="full name, or the bare base where only one dex has it",
            examples=["xyz:XYZ100", "XYZ100"],
        ),
    ]


class IndexOut(ResponseModel):
    """One index perpetual. Units: prices in the collateral, funding per hour, open interest in the
    coin."""

    sym: str
    dex: str
    base: str
    display_name: str = Field(description="the venue's own words")
    category: Literal["indices"]
    asset_id: int
    sz_decimals: int
    max_leverage: int
    margin_mode: Literal["cross", "no_cross", "strict_isolated"]
    growth_mode: bool
    collateral: str | None
    status: Literal["live", "paper", "planned", "halted", "delisted"]
    mark_px: Figure
    oracle_px: Figure
    mid_px: Figure
    prev_day_px: Figure
    change_24h_bps: int | None
    funding_hourly: Figure
    open_interest: Figure
    open_interest_usdc: Amount
    day_volume_usdc: Amount
    at_oi_cap: bool
    limit_enforced_by: Literal["Venue"]
    network: NetworkName
    as_of: TimestampText
    stale: bool


class IndicesOut(ResponseModel):
    """Every index of the allowed dexes; the list is whole, so it has no pages."""

    network: NetworkName
    as_of: TimestampText
    stale: bool
    indices: list[IndexOut]


async def _indices_of_dex(
    deps: Deps, venue: Venue, dex: str, coins: Container[str], *, live: bool
) -> tuple[CachedValue[tuple[Perp, ...]], list[IndexOut]]:
    """The wanted indices of one dex."""
    allowed = dex in deps.config.trading.dexes
    perps = await (
        venue.perps(dex, max_age_s=OWN_S)
        if allowed
        else venue.perps(dex, priority="relay", max_age_s=PLANNED_S)
    )
    names = (await venue.display_names()).value
    at_cap = (await venue.at_open_interest_cap(dex)).value if allowed else frozenset()
    tokens = (await venue.token_names()).value

    def shown(perp: Perp) -> IndexOut:
        token = perp.collateral_token
        collateral = None if token is None else tokens.get(token)
        counted, worth = collateral == COUNTED_IN, None
        if counted and perp.open_interest is not None and perp.mark_px is not None:
            worth = perp.open_interest * perp.mark_px
        return IndexOut(
            sym=perp.coin,
            dex=perp.dex,
            base=base_of(perp.coin),
            display_name=names.get(perp.coin, base_of(perp.coin)),
            category=CATEGORY,
            asset_id=perp.asset_id,
            sz_decimals=perp.sz_decimals,
            max_leverage=perp.max_leverage,
            margin_mode=perp.margin_mode,
            growth_mode=perp.growth_mode,
            collateral=collateral,
            status=status(perp, collateral, allowed=allowed, live=live),
            mark_px=text(perp.mark_px),
            oracle_px=text(perp.oracle_px),
            mid_px=text(perp.mid_px),
            prev_day_px=text(perp.prev_day_px),
            change_24h_bps=change_bps(perp.mark_px, perp.prev_day_px),
            funding_hourly=text(perp.funding),
            open_interest=text(perp.open_interest),
            open_interest_usdc=usdc_text(worth),
            day_volume_usdc=usdc_text(perp.day_volume if counted else None),
            at_oi_cap=perp.coin in at_cap,
            limit_enforced_by="Venue",
            network=venue.network,
            as_of=perps.as_of,
            stale=perps.stale,
        )

    return perps, [shown(perp) for perp in perps.value if perp.coin in coins]


async def _live_here(deps: Deps) -> bool:
    return live_here(await deps.store.read(lambda uow: switches(uow, deps.defaults)))


async def list_indices(deps: Deps, caller: Caller, request: IndicesIn) -> HandlerResult[IndicesOut]:
    """Every index of the allowed dexes, with `planned` also of the others.

    Errors: `not_found` for a dex that the venue does not have, `venue_unavailable`.
    """
    venue = venue_of(deps, MARKET_NETWORK)
    categories = await venue.categories()
    coins = index_coins(categories.value)
    if request.dex is not None and request.dex not in (await venue.dexes()).value:
        raise Refused(refusal("not_found", what="dex"))
    dexes = sorted({dex_of(c) for c in coins} if request.include else deps.config.trading.dexes)
    live = await _live_here(deps)
    read = [
        await _indices_of_dex(deps, venue, dex, frozenset(coins), live=live)
        for dex in dexes
        if request.dex in (None, dex)
    ]
    planned = request.include is not None
    included = [row for _, rows in read for row in rows if planned or row.status != "planned"]
    parts: list[CachedValue[Any]] = [categories, *(cached for cached, _ in read)]
    return HandlerResult(
        IndicesOut(
            network=venue.network,
            as_of=min(p.as_of for p in parts),
            stale=any(p.stale for p in parts),
            indices=sorted(included, key=lambda row: row.sym),
        )
    )


async def get_index(deps: Deps, caller: Caller, request: IndexIn) -> HandlerResult[IndexOut]:
    """One index.

    Errors: `conflict` with `detail.candidates` for a bare base that several dexes have,
    `not_found`.
    """
    venue = venue_of(deps, MARKET_NETWORK)
    matches = candidates(request.sym, index_coins((await venue.categories()).value))
    if len(matches) > 1:
        why = f"Several dexes have {request.sym}; name one in full."
        raise Refused(refusal("conflict", why=why, detail={"candidates": matches}))
    for coin in matches:
        live = await _live_here(deps)
        _, rows = await _indices_of_dex(deps, venue, dex_of(coin), {coin}, live=live)
        if rows:
            return HandlerResult(rows[0])
    raise Refused(refusal("not_found", what="index"))


_read: Final = partial(Operation, auth="open", family="venue", open_world=True)
OPERATIONS: Final = (
    _read(
        name="indices_list",
        title="List index perpetuals",
        summary="Index perpetuals of the allowed dexes with price, funding, interest and status.",
        route=("GET", "/wallet/indices"),
        request_model=IndicesIn,
        response_model=IndicesOut,
        pass_through=list_indices,
        refusals=("not_found", "venue_unavailable", "not_configured"),
    ),
    _read(
        name="index_get",
        title="Read one index perpetual",
        summary="One index perpetual by its full name, or by its base where only one dex has it.",
        route=("GET", "/wallet/indices/{sym}"),
        request_model=IndexIn,
        response_model=IndexOut,
        pass_through=get_index,
        refusals=("not_found", "conflict", "venue_unavailable", "not_configured"),
    ),
)
