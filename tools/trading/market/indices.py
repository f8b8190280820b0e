"""Index perpetuals, as the venue has them now."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from domain.ports import Venue
from domain.refusals import Refused, refusal
from domain.times import timestamp
from domain.trading.indices import (
    Names,
    candidates,
    dex_of,
    index,
    index_coins,
)
from domain.trading.modes import MARKET_NETWORK
from domain.trading.venue_values import CachedValue, Perp
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    OperationResult,
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


async def _perps(deps: Deps, venue: Venue, dex: str) -> CachedValue[tuple[Perp, ...]]:
    if dex in deps.config.trading.dexes:
        return await venue.perps(dex, max_age_s=OWN_S)
    return await venue.perps(dex, priority="relay", max_age_s=PLANNED_S)


async def _indices_of_dex(
    deps: Deps, venue: Venue, dex: str, coins: frozenset[str], *, live: bool
) -> tuple[CachedValue[tuple[Perp, ...]], list[dict[str, Any]]]:
    """The wanted indices of one dex."""
    perps = await _perps(deps, venue, dex)
    allowed = dex in deps.config.trading.dexes
    names = Names(
        display=(await venue.display_names()).value,
        at_cap=(await venue.at_open_interest_cap(dex)).value if allowed else frozenset(),
        tokens=(await venue.token_names()).value,
    )
    rows = [
        index(perps, p, names, allowed=allowed, live=live) | {"network": venue.network}
        for p in perps.value
        if p.coin in coins
    ]
    return perps, rows


async def _live_here(deps: Deps) -> bool:
    """True where live orders can be placed at all on the network that is shown."""
    now = await deps.store.read(lambda uow: switches(uow, deps.defaults))
    return now.venue_mainnet and (now.live_terminal or now.live_door)


async def list_indices(deps: Deps, caller: Caller, request: IndicesIn) -> OperationResult:
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
    included = [
        row for _, rows in read for row in rows if request.include or row["status"] != "planned"
    ]
    parts: list[CachedValue[Any]] = [categories, *(cached for cached, _ in read)]
    body = {
        "network": venue.network,
        "as_of": timestamp(min(p.as_of for p in parts)),
        "stale": any(p.stale for p in parts),
        "indices": sorted(included, key=lambda row: str(row["sym"])),
    }
    return OperationResult(200, body)


async def get_index(deps: Deps, caller: Caller, request: IndexIn) -> OperationResult:
    """One index.

    Errors: `conflict` with `detail.candidates` for a bare base that several dexes have,
    `not_found`.
    """
    venue = venue_of(deps, MARKET_NETWORK)
    matches = candidates(request.sym, index_coins((await venue.categories()).value))
    if len(matches) > 1:
        why = f"Several dexes have {request.sym}; name one in full."
        raise Refused(refusal("conflict", why=why, detail={"candidates": matches}))
    if not matches:
        raise Refused(refusal("not_found", what="index"))
    coin = matches[0]
    live = await _live_here(deps)
    _, rows = await _indices_of_dex(deps, venue, dex_of(coin), frozenset({coin}), live=live)
    if not rows:
        raise Refused(refusal("not_found", what="index"))
    return OperationResult(200, rows[0])


OPERATIONS: Final = (
    Operation(
        name="indices_list",
        title="List index perpetuals",
        summary="Index perpetuals of the allowed dexes with price, funding, interest and status.",
        auth="open",
        route=("GET", "/wallet/indices"),
        request_model=IndicesIn,
        response_model=IndicesOut,
        pass_through=list_indices,
        family="venue",
        open_world=True,
        refusals=("not_found", "venue_unavailable", "not_configured"),
    ),
    Operation(
        name="index_get",
        title="Read one index perpetual",
        summary="One index perpetual by its full name, or by its base where only one dex has it.",
        auth="open",
        route=("GET", "/wallet/indices/{sym}"),
        request_model=IndexIn,
        response_model=IndexOut,
        pass_through=get_index,
        family="venue",
        open_world=True,
        refusals=("not_found", "conflict", "venue_unavailable", "not_configured"),
    ),
)
