"""The forms of the answers that this service reads itself; what an answer holds besides is checked,
and passed on unread."""

from __future__ import annotations

from typing import Annotated, Final, NotRequired, Required, TypedDict, get_args

from domain.trading.venue import UserRole
from venue.shapes import (
    Amount,
    Figure,
    HourlyRate,
    LeverageValue,
    Price,
    Rows,
    Side,
    Signed,
    Size,
    SizeDecimals,
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
    szDecimals: Required[SizeDecimals]
    maxLeverage: Required[LeverageValue]
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

    prevDayPx: Soft[Price]
    dayNtlVlm: Soft[Amount]
    markPx: Soft[Price]
    funding: Soft[HourlyRate]
    openInterest: Soft[Amount]
    oraclePx: Soft[Price]
    dayBaseVlm: Soft[Amount]
    midPx: SoftOrNull[Price]
    premium: SoftOrNull[Signed]
    impactPxs: SoftOrNull[tuple[Price, Price]]


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
    limitPx: Required[Soft[Amount]]
    sz: Required[Soft[Amount]]
    oid: Required[int]
    timestamp: Required[int]
    triggerCondition: SoftOrNull[str]
    isTrigger: Soft[bool]
    triggerPx: Soft[Amount]
    isPositionTpsl: Soft[bool]
    reduceOnly: Soft[bool]
    orderType: SoftOrNull[str]
    origSz: Soft[Amount]
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
    value: LeverageValue
    rawUsd: NotRequired[Soft[Signed]]


class Position(TypedDict, total=False):
    """What a close or an equity rests on is only right as a whole: one malformed size makes the
    answer none."""

    coin: Required[str]
    szi: Required[Signed]
    leverage: Soft[_Leverage]
    maxLeverage: SoftOrNull[LeverageValue]
    liquidationPx: SoftOrNull[Amount]
    entryPx: SoftOrNull[Price]
    positionValue: Soft[Amount]
    unrealizedPnl: Soft[Signed]
    returnOnEquity: Soft[Signed]
    marginUsed: Soft[Amount]
    cumFunding: Annotated[object, _CUMULATIVE]


class _Summary(TypedDict, total=False):
    accountValue: Required[Signed]
    totalNtlPos: Soft[Amount]
    totalRawUsd: Soft[Signed]
    totalMarginUsed: Soft[Signed]


class _Held(TypedDict):
    position: Position
    type: NotRequired[SoftOrNull[str]]


class Clearinghouse(TypedDict):
    """An account on one dex."""

    assetPositions: list[_Held]
    marginSummary: _Summary
    withdrawable: Signed
    time: int
    crossMarginSummary: NotRequired[Soft[_Summary]]
    crossMaintenanceMarginUsed: NotRequired[Soft[Signed]]


class Fill(TypedDict, total=False):
    """Money rests on these, so a figure that cannot be read makes the answer none."""

    coin: Required[str]
    px: Required[Price]
    sz: Required[Size]
    side: Required[Side]
    time: Required[int]
    oid: Required[int]
    tid: Required[int]
    fee: Required[Signed]
    closedPnl: Required[Signed]
    builderFee: Amount | None
    cloid: SoftOrNull[str]
    startPosition: Soft[Signed]
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
    maxTradeSzs: Soft[Rows[Signed]]
    availableToTrade: Soft[Rows[Signed]]
    markPx: Soft[Price]


class _Balance(TypedDict):
    token: int
    total: Signed
    hold: Signed
    coin: NotRequired[SoftOrNull[str]]
    entryNtl: NotRequired[Soft[Signed]]


class Balances(TypedDict):
    """An account's spot balances."""

    balances: list[_Balance]
    evmEscrows: NotRequired[Annotated[object, _UNREAD_ROWS]]


class _Level(TypedDict):
    px: Price
    sz: Size
    n: int


class Book(TypedDict):
    """Bids and asks of a coin."""

    coin: str
    time: int
    levels: tuple[list[_Level], list[_Level]]
    spread: NotRequired[Soft[Signed]]


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
    limitPx: Soft[Amount]
    sz: Soft[Amount]
    origSz: Soft[Amount]
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
