"""Venue information, relayed without a key: fixed request types, known fields only, cached."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from domain.refusals import Refused, invalid, refusal
from domain.times import timestamp
from domain.trading.indices import dex_of
from domain.trading.modes import MARKET_NETWORK
from domain.trading.venue_account import milliseconds
from domain.trading.venue_values import CachedValue, Relay, RelayKind
from tools.model.fields import Nothing
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    OperationResult,
    RequestModel,
    ResponseModel,
)
from tools.trading.fields import NetworkName, TimestampText, address_of, venue_of

META_S: Final = 60
SPOT_META_S: Final = 300
FUNDING_S: Final = 60
ORDERS_S: Final = 15
FEES_S: Final = 60
PORTFOLIO_S: Final = 60
SPAN_MS: Final = 7 * 86_400_000
HOUR_MS: Final = 3_600_000
_LATEST_MS: Final = 253_402_300_799_000

UserAddress = Annotated[
    str,
    Field(
        max_length=128,
        description="account at the venue: 0x and 40 hex digits",
        examples=["0x" + "11" * 20],
        json_schema_extra={"pattern": "^0x[0-9a-fA-F]{40}$"},
    ),
]
Millis = Annotated[int | None, Field(ge=0, le=_LATEST_MS, description="milliseconds since 1970")]
Period = Literal[
    "day", "week", "month", "allTime", "perpDay", "perpWeek", "perpMonth", "perpAllTime"
]


class MetaIn(RequestModel):
    """Names a dex."""

    dex: str = Field(default="", max_length=64, description='a builder dex; "" is the first')


class FundingIn(RequestModel):
    """Names a coin and a time span."""

    coin: str = Field(
        pattern=r"^([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}$",
        description="a perpetual's full name",
        examples=["BTC", "xyz:XYZ100"],
    )
    start: Millis = None
    end: Millis = None


class UserIn(RequestModel):
    """Names an account."""

    user: UserAddress


class OrdersIn(UserIn):
    """Names an account, and the number of orders."""

    limit: int = Field(default=50, ge=1, le=200, description="newest orders at most")


class PortfolioIn(UserIn):
    """Names an account and a time span."""

    period: Period | None = Field(default=None, description="one period alone")


class Relayed(ResponseModel):
    """The venue's answer: its own JSON, cut to the fields that are known, its decimal strings
    unchanged.
    """

    source: Literal["venue"]
    network: NetworkName
    as_of: TimestampText
    stale: bool = Field(description="true where the venue gave no newer answer when it was asked")
    data: dict[str, Any] | list[Any] = Field(
        description="the venue's own words: JSON, cut to known fields"
    )


# One answer is given many times; its time is written once.
_stamp = lru_cache(maxsize=256)(timestamp)


def _reply(deps: Deps, cached: CachedValue[Any], max_age_s: int, data: object) -> OperationResult:
    age_s = int((deps.clock.now() - cached.as_of).total_seconds())
    left = 0 if cached.stale else max(0, max_age_s - age_s)
    body = {
        "source": "venue",
        "network": MARKET_NETWORK,
        "as_of": _stamp(cached.as_of),
        "stale": cached.stale,
        "data": data,
    }
    return OperationResult(200, body, {"Cache-Control": f"public, max-age={left}"})


async def _relay(
    deps: Deps,
    caller: Caller,
    kind: RelayKind,
    max_age_s: int,
    *parameters: tuple[str, str | int],
) -> CachedValue[Any]:
    venue = venue_of(deps, MARKET_NETWORK)
    return await venue.relay(Relay(kind, parameters), max_age_s, payer=caller.payer)


async def _of_user(
    deps: Deps, caller: Caller, kind: RelayKind, max_age_s: int, request: UserIn
) -> CachedValue[Any]:
    user = address_of(deps, request.user).lower()
    return await _relay(deps, caller, kind, max_age_s, ("user", user))


def _known_dex(deps: Deps, dex: str) -> str:
    if dex != "" and dex not in deps.config.trading.dexes:
        raise Refused(refusal("not_found", what="dex"))
    return dex


async def meta(deps: Deps, caller: Caller, request: MetaIn) -> OperationResult:
    """A dex's perpetuals. Errors: `not_found` for a dex that is not allowed here."""
    dex = _known_dex(deps, request.dex)
    cached = await _relay(deps, caller, "meta", META_S, ("dex", dex))
    return _reply(deps, cached, META_S, cached.value)


async def spot_meta(deps: Deps, caller: Caller, request: Nothing) -> OperationResult:
    """Spot pairs and tokens; a pair whose token is missing is left out and counted."""
    cached = await _relay(deps, caller, "spotMeta", SPOT_META_S)
    tokens, universe = {t["index"] for t in cached.value["tokens"]}, cached.value["universe"]
    pairs = [p for p in universe if set(p["tokens"]) <= tokens]
    data = {**cached.value, "universe": pairs, "dropped": len(universe) - len(pairs)}
    return _reply(deps, cached, SPOT_META_S, data)


def _span(deps: Deps, request: FundingIn) -> tuple[tuple[str, int], ...]:
    """The time span of a funding read; without a start the last 7 days, from a full hour."""
    now_ms = milliseconds(deps.clock.now())
    if request.start is None:
        if request.end is not None:
            raise invalid("end", "only with start")
        return (("startTime", (now_ms - SPAN_MS) // HOUR_MS * HOUR_MS + HOUR_MS),)
    end = request.end if request.end is not None else min(now_ms, request.start + SPAN_MS)
    if end < request.start:
        raise invalid("end", "not before start")
    if end - request.start > SPAN_MS:
        raise invalid("start", "at most 7 days before end")
    last = () if request.end is None else (("endTime", request.end),)
    return (("startTime", request.start), *last)


async def funding(deps: Deps, caller: Caller, request: FundingIn) -> OperationResult:
    """Funding rates of a coin; without a start also what is predicted next, for coins of the first
    dex."""
    coin, dex = request.coin, _known_dex(deps, dex_of(request.coin))
    span: tuple[tuple[str, str | int], ...] = (("coin", coin), *_span(deps, request))
    history = await _relay(deps, caller, "fundingHistory", FUNDING_S, *span)
    if request.start is not None or dex != "":
        return _reply(deps, history, FUNDING_S, {"history": history.value, "predicted": None})
    predictions = await _relay(deps, caller, "predictedFundings", FUNDING_S)
    predicted = next((venues for name, venues in predictions.value if name == coin), None)
    data = {"history": history.value, "predicted": predicted}
    as_of = min(predictions.as_of, history.as_of)
    both = CachedValue(data, as_of, history.stale or predictions.stale)
    return _reply(deps, both, FUNDING_S, data)


async def order_history(deps: Deps, caller: Caller, request: OrdersIn) -> OperationResult:
    """An account's newest orders."""
    cached = await _of_user(deps, caller, "historicalOrders", ORDERS_S, request)
    return _reply(deps, cached, ORDERS_S, cached.value[: request.limit])


async def fees(deps: Deps, caller: Caller, request: UserIn) -> OperationResult:
    """An account's fee rates."""
    cached = await _of_user(deps, caller, "userFees", FEES_S, request)
    return _reply(deps, cached, FEES_S, cached.value)


async def portfolio(deps: Deps, caller: Caller, request: PortfolioIn) -> OperationResult:
    """An account's value over time."""
    cached = await _of_user(deps, caller, "portfolio", PORTFOLIO_S, request)
    rows = [row for row in cached.value if request.period in (None, row[0])]
    return _reply(deps, cached, PORTFOLIO_S, rows)


_ALWAYS: Final = ("venue_unavailable", "rate_limited", "not_configured")
_relay_of: Final = partial(
    Operation,
    auth="open",
    response_model=Relayed,
    is_relay=True,
    family="venue",
    open_world=True,
)
OPERATIONS: Final = (
    _relay_of(
        name="info_meta",
        title="Read market metadata",
        summary="Perpetuals of a dex with size decimals and leverage, as the venue tells them.",
        route=("GET", "/wallet/info/meta"),
        request_model=MetaIn,
        pass_through=meta,
        refusals=("not_found", *_ALWAYS),
    ),
    _relay_of(
        name="info_spot_meta",
        title="Read spot metadata",
        summary="Spot pairs and tokens; pairs whose token is missing are left out and counted.",
        route=("GET", "/wallet/info/spot-meta"),
        request_model=Nothing,
        pass_through=spot_meta,
        refusals=_ALWAYS,
    ),
    _relay_of(
        name="info_funding",
        title="Read funding",
        summary="Funding rates of a coin over at most 7 days; without start, the next predicted.",
        route=("GET", "/wallet/info/funding"),
        request_model=FundingIn,
        pass_through=funding,
        refusals=("not_found", *_ALWAYS),
    ),
    _relay_of(
        name="info_order_history",
        title="Read an account's orders",
        summary="The newest orders of any account at the venue.",
        route=("GET", "/wallet/info/order-history"),
        request_model=OrdersIn,
        pass_through=order_history,
        refusals=("invalid_address", *_ALWAYS),
    ),
    _relay_of(
        name="info_fees",
        title="Read an account's fees",
        summary="Fee rates and volume of any account at the venue.",
        route=("GET", "/wallet/info/fees"),
        request_model=UserIn,
        pass_through=fees,
        refusals=("invalid_address", *_ALWAYS),
    ),
    _relay_of(
        name="info_portfolio",
        title="Read an account's value over time",
        summary="Value, result and volume of any account by period.",
        route=("GET", "/wallet/info/portfolio"),
        request_model=PortfolioIn,
        pass_through=portfolio,
        refusals=("invalid_address", *_ALWAYS),
    ),
)
