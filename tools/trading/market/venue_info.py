"""Venue information, relayed without a key: fixed request types, known fields only, cached."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from domain.refusals import Refused, invalid, refusal
from domain.times import timestamp
from domain.trading.indices import dex_of
from domain.trading.modes import MARKET_NETWORK
from domain.trading.venue_account import milliseconds
from domain.trading.venue_values import CachedValue, Relay
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


def _reply(deps: Deps, cached: CachedValue[Any], max_age_s: int, data: Any) -> OperationResult:
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


async def _relay(deps: Deps, caller: Caller, call: Relay, max_age_s: int) -> CachedValue[Any]:
    return await venue_of(deps, MARKET_NETWORK).relay(call, max_age_s, payer=caller.payer)


def _known_dex(deps: Deps, dex: str) -> str:
    if dex != "" and dex not in deps.config.trading.dexes:
        raise Refused(refusal("not_found", what="dex"))
    return dex


async def meta(deps: Deps, caller: Caller, request: MetaIn) -> OperationResult:
    """A dex's perpetuals. Errors: `not_found` for a dex that is not allowed here."""
    call = Relay("meta", (("dex", _known_dex(deps, request.dex)),))
    cached = await _relay(deps, caller, call, META_S)
    return _reply(deps, cached, META_S, cached.value)


async def spot_meta(deps: Deps, caller: Caller, request: Nothing) -> OperationResult:
    """Spot pairs and tokens; a pair whose token is missing is left out and counted."""
    cached = await _relay(deps, caller, Relay("spotMeta"), SPOT_META_S)
    tokens = {t["index"] for t in cached.value["tokens"]}
    pairs = [p for p in cached.value["universe"] if set(p["tokens"]) <= tokens]
    dropped = len(cached.value["universe"]) - len(pairs)
    return _reply(
        deps, cached, SPOT_META_S, {**cached.value, "universe": pairs, "dropped": dropped}
    )


def _span(deps: Deps, request: FundingIn) -> tuple[tuple[str, Any], ...]:
    """The parameters of a funding read; without a start the last 7 days, from a full hour."""
    now_ms = milliseconds(deps.clock.now())
    if request.start is None:
        if request.end is not None:
            raise invalid("end", "only with start")
        start = (now_ms - SPAN_MS) // HOUR_MS * HOUR_MS + HOUR_MS
        return (("coin", request.coin), ("startTime", start))
    end = request.end if request.end is not None else min(now_ms, request.start + SPAN_MS)
    if end < request.start:
        raise invalid("end", "not before start")
    if end - request.start > SPAN_MS:
        raise invalid("start", "at most 7 days before end")
    last = () if request.end is None else (("endTime", request.end),)
    return (("coin", request.coin), ("startTime", request.start), *last)


async def funding(deps: Deps, caller: Caller, request: FundingIn) -> OperationResult:
    """Funding rates of a coin; without a start also what is predicted next, for coins of the first
    dex."""
    dex = _known_dex(deps, dex_of(request.coin))
    history = await _relay(deps, caller, Relay("fundingHistory", _span(deps, request)), FUNDING_S)
    predicted: Any = None
    if request.start is None and dex == "":
        predictions = await _relay(deps, caller, Relay("predictedFundings"), FUNDING_S)
        predicted = next(
            (venues for coin, venues in predictions.value if coin == request.coin), None
        )
        if predictions.as_of < history.as_of or predictions.stale:
            history = CachedValue(
                history.value,
                min(predictions.as_of, history.as_of),
                history.stale or predictions.stale,
            )
    return _reply(deps, history, FUNDING_S, {"history": history.value, "predicted": predicted})


async def order_history(deps: Deps, caller: Caller, request: OrdersIn) -> OperationResult:
    """An account's newest orders."""
    user = address_of(deps, request.user).lower()
    cached = await _relay(deps, caller, Relay("historicalOrders", (("user", user),)), ORDERS_S)
    return _reply(deps, cached, ORDERS_S, cached.value[: request.limit])


async def fees(deps: Deps, caller: Caller, request: UserIn) -> OperationResult:
    """An account's fee rates."""
    user = address_of(deps, request.user).lower()
    cached = await _relay(deps, caller, Relay("userFees", (("user", user),)), FEES_S)
    return _reply(deps, cached, FEES_S, cached.value)


async def portfolio(deps: Deps, caller: Caller, request: PortfolioIn) -> OperationResult:
    """An account's value over time."""
    user = address_of(deps, request.user).lower()
    cached = await _relay(deps, caller, Relay("portfolio", (("user", user),)), PORTFOLIO_S)
    rows = [row for row in cached.value if request.period in (None, row[0])]
    return _reply(deps, cached, PORTFOLIO_S, rows)


_ALWAYS: Final = ("venue_unavailable", "rate_limited", "not_configured")

OPERATIONS: Final = (
    Operation(
        name="info_meta",
        title="Read market metadata",
        summary="Perpetuals of a dex with size decimals and leverage, as the venue tells them.",
        auth="open",
        route=("GET", "/wallet/info/meta"),
        request_model=MetaIn,
        response_model=Relayed,
        is_relay=True,
        pass_through=meta,
        family="venue",
        open_world=True,
        refusals=("not_found", *_ALWAYS),
    ),
    Operation(
        name="info_spot_meta",
        title="Read spot metadata",
        summary="Spot pairs and tokens; pairs whose token is missing are left out and counted.",
        auth="open",
        route=("GET", "/wallet/info/spot-meta"),
        request_model=Nothing,
        response_model=Relayed,
        is_relay=True,
        pass_through=spot_meta,
        family="venue",
        open_world=True,
        refusals=_ALWAYS,
    ),
    Operation(
        name="info_funding",
        title="Read funding",
        summary="Funding rates of a coin over at most 7 days; without start, the next predicted.",
        auth="open",
        route=("GET", "/wallet/info/funding"),
        request_model=FundingIn,
        response_model=Relayed,
        is_relay=True,
        pass_through=funding,
        family="venue",
        open_world=True,
        refusals=("not_found", *_ALWAYS),
    ),
    Operation(
        name="info_order_history",
        title="Read an account's orders",
        summary="The newest orders of any account at the venue.",
        auth="open",
        route=("GET", "/wallet/info/order-history"),
        request_model=OrdersIn,
        response_model=Relayed,
        is_relay=True,
        pass_through=order_history,
        family="venue",
        open_world=True,
        refusals=("invalid_address", *_ALWAYS),
    ),
    Operation(
        name="info_fees",
        title="Read an account's fees",
        summary="Fee rates and volume of any account at the venue.",
        auth="open",
        route=("GET", "/wallet/info/fees"),
        request_model=UserIn,
        response_model=Relayed,
        is_relay=True,
        pass_through=fees,
        family="venue",
        open_world=True,
        refusals=("invalid_address", *_ALWAYS),
    ),
    Operation(
        name="info_portfolio",
        title="Read an account's value over time",
        summary="Value, result and volume of any account by period.",
        auth="open",
        route=("GET", "/wallet/info/portfolio"),
        request_model=PortfolioIn,
        response_model=Relayed,
        is_relay=True,
        pass_through=portfolio,
        family="venue",
        open_world=True,
        refusals=("invalid_address", *_ALWAYS),
    ),
)
