"""The forms of the answers that this service reads itself; what an answer holds besides is checked,
and passed on unread."""

from __future__ import annotations

from typing import Annotated, Final, NotRequired, Required, TypedDict, get_args

from domain.trading.venue import UserRole
from venue.shapes import (
    Figure,
    Rows,
    Soft,
    SoftOrNull,
    Tally,
    each,
    figure,
    flag,
    maybe,
    obj,
    pair,
    rows,
    soft,
    soft_figure,
    text,
    whole,
    word,
)
from venue.words import ORDER_STATUSES

_TIER: Final = obj({"lowerBound": figure, "maxLeverage": whole})
_MARGIN_TABLES: Final = rows(pair(whole, obj({"description": text, "marginTiers": each(_TIER)})))
_SPOT_PAIRS: Final = rows(
    obj({"tokens": each(whole), "name": text, "index": whole, "isCanonical": flag})
)
_EVM: Final = soft(maybe(obj({"address": text, "evm_extra_wei_decimals": whole})))
_CUMULATIVE: Final = soft(
    obj({}, dict.fromkeys(("allTime", "sinceOpen", "sinceChange"), soft_figure))
)
_UNREAD_ROWS: Final = soft(rows(obj({})))


class Asset(TypedDict, total=False):
    """A row of a universe."""

    name: Required[str]
    szDecimals: Required[int]
    maxLeverage: Required[int]
    marginTableId: SoftOrNull[int]
    onlyIsolated: Soft[bool]
    marginMode: SoftOrNull[Annotated[str, word(("strictIsolated", "noCross"))]]
    isDelisted: Soft[bool]
    growthMode: SoftOrNull[str]
    lastGrowthModeChangeTime: SoftOrNull[str]


class Meta(TypedDict):
    """A dex's listing. An asset's number is its place in the list, so no row may be left out."""

    universe: list[Asset]
    marginTables: NotRequired[Annotated[list[object], _MARGIN_TABLES]]
    collateralToken: NotRequired[SoftOrNull[int]]


class Context(TypedDict, total=False):
    """The figures of one asset."""

    prevDayPx: Soft[Figure]
    dayNtlVlm: Soft[Figure]
    markPx: Soft[Figure]
    funding: Soft[Figure]
    openInterest: Soft[Figure]
    oraclePx: Soft[Figure]
    dayBaseVlm: Soft[Figure]
    midPx: SoftOrNull[Figure]
    premium: SoftOrNull[Figure]
    impactPxs: SoftOrNull[tuple[Figure, Figure]]


class _Token(TypedDict, total=False):
    name: Required[str]
    szDecimals: Required[int]
    weiDecimals: Required[int]
    index: Required[int]
    tokenId: Required[str]
    isCanonical: Required[bool]
    evmContract: Annotated[object, _EVM]
    fullName: SoftOrNull[str]
    deployerTradingFeeShare: Soft[Figure]


class SpotMeta(TypedDict):
    """The spot listing."""

    universe: Annotated[list[object], _SPOT_PAIRS]
    tokens: Rows[_Token]


_CoinFigures = Soft[Rows[tuple[str, Figure]]]


class Dex(TypedDict, total=False):
    """A builder's dex."""

    name: Required[str]
    fullName: SoftOrNull[str]
    deployer: SoftOrNull[str]
    oracleUpdater: SoftOrNull[str]
    feeRecipient: SoftOrNull[str]
    assetToStreamingOiCap: _CoinFigures
    deployerFeeScale: Soft[Figure]
    lastDeployerFeeScaleChangeTime: SoftOrNull[str]
    assetToFundingMultiplier: _CoinFigures
    assetToFundingInterestRate: _CoinFigures
    subDeployers: Soft[Rows[tuple[str, Rows[str]]]]


class _Order(TypedDict, total=False):
    coin: Required[str]
    side: Required[str]
    limitPx: Required[Soft[Figure]]
    sz: Required[Soft[Figure]]
    oid: Required[int]
    timestamp: Required[int]
    triggerCondition: SoftOrNull[str]
    isTrigger: Soft[bool]
    triggerPx: Soft[Figure]
    isPositionTpsl: Soft[bool]
    reduceOnly: Soft[bool]
    orderType: SoftOrNull[str]
    origSz: Soft[Figure]
    tif: SoftOrNull[str]
    cloid: SoftOrNull[str]
    children: Annotated[object, _UNREAD_ROWS]


class OrderUpdate(TypedDict):
    """An order and where it stands."""

    order: _Order
    status: Annotated[str, word(ORDER_STATUSES)]
    statusTimestamp: int


class _Leverage(TypedDict):
    type: Annotated[str, word(("cross", "isolated"))]
    value: int
    rawUsd: NotRequired[Soft[Figure]]


class Position(TypedDict, total=False):
    """What a close or an equity rests on is only right as a whole: one malformed size makes the
    answer none."""

    coin: Required[str]
    szi: Required[Figure]
    leverage: Soft[_Leverage]
    maxLeverage: SoftOrNull[int]
    liquidationPx: SoftOrNull[Figure]
    entryPx: SoftOrNull[Figure]
    positionValue: Soft[Figure]
    unrealizedPnl: Soft[Figure]
    returnOnEquity: Soft[Figure]
    marginUsed: Soft[Figure]
    cumFunding: Annotated[object, _CUMULATIVE]


class _Summary(TypedDict, total=False):
    accountValue: Required[Figure]
    totalNtlPos: Soft[Figure]
    totalRawUsd: Soft[Figure]
    totalMarginUsed: Soft[Figure]


class _Held(TypedDict):
    position: Position
    type: NotRequired[SoftOrNull[str]]


class Clearinghouse(TypedDict):
    """An account on one dex."""

    assetPositions: list[_Held]
    marginSummary: _Summary
    withdrawable: Figure
    time: int
    crossMarginSummary: NotRequired[Soft[_Summary]]
    crossMaintenanceMarginUsed: NotRequired[Soft[Figure]]


class Fill(TypedDict, total=False):
    """Money rests on these, so a figure that cannot be read makes the answer none."""

    coin: Required[str]
    px: Required[Figure]
    sz: Required[Figure]
    side: Required[str]
    time: Required[int]
    oid: Required[int]
    tid: Required[int]
    fee: Required[Figure]
    closedPnl: Required[Figure]
    builderFee: Figure | None
    cloid: SoftOrNull[str]
    startPosition: Soft[Figure]
    dir: SoftOrNull[str]
    hash: SoftOrNull[str]
    crossed: Soft[bool]
    feeToken: SoftOrNull[str]
    twapId: SoftOrNull[int]
    liquidation: Annotated[object, soft(maybe(obj({})))]


class ActiveAsset(TypedDict, total=False):
    """An account's setting for one product."""

    leverage: Required[_Leverage]
    user: SoftOrNull[str]
    coin: SoftOrNull[str]
    maxTradeSzs: Soft[Rows[Figure]]
    availableToTrade: Soft[Rows[Figure]]
    markPx: Soft[Figure]


class _Balance(TypedDict):
    token: int
    total: Figure
    hold: Figure
    coin: NotRequired[SoftOrNull[str]]
    entryNtl: NotRequired[Soft[Figure]]


class Balances(TypedDict):
    """An account's spot balances."""

    balances: list[_Balance]
    evmEscrows: NotRequired[Annotated[object, _UNREAD_ROWS]]


class _Level(TypedDict):
    px: Figure
    sz: Figure
    n: int


class Book(TypedDict):
    """Bids and asks of a coin."""

    coin: str
    time: int
    levels: tuple[list[_Level], list[_Level]]
    spread: NotRequired[Soft[Figure]]


class Agent(TypedDict):
    """A named agent."""

    name: str
    address: str
    validUntil: NotRequired[int | None]


class Role(TypedDict):
    """What an address is."""

    role: Annotated[str, word(get_args(UserRole))]
    data: NotRequired[Annotated[object, soft(obj({}, {"user": text, "master": text}))]]


class OpenOrder(TypedDict, total=False):
    """An open order that cannot be read may be one to cancel, so that it makes the answer none."""

    coin: Required[str]
    oid: Required[int]
    cloid: str | None
    side: SoftOrNull[str]
    limitPx: Soft[Figure]
    sz: Soft[Figure]
    origSz: Soft[Figure]
    timestamp: SoftOrNull[int]
    reduceOnly: Soft[bool]


class OrderStatus(TypedDict):
    """Where an order stands."""

    status: Annotated[str, word(("order", "unknownOid"))]
    order: NotRequired[OrderUpdate]


class Annotation(TypedDict, total=False):
    """What a coin is called."""

    category: SoftOrNull[str]
    displayName: SoftOrNull[str]
    keywords: Soft[Rows[str]]


def _anything(value: object, tally: Tally) -> str:
    """Told as text, whatever its form: it is only ever shown."""
    return str(value)[:200]


class Clock(TypedDict):
    """The venue's own time."""

    time: int
    specialStatuses: NotRequired[Annotated[str, _anything]]
