"""JSON types of the venue's answers, field by field; a field that goes on has the domain's name.

Unread fields are declared so that they are not counted as unknown; the relays pass them on.
"""

from __future__ import annotations

from typing import Annotated, Final, get_args

from pydantic import Field

from domain.trading.venue_values import UserRole
from venue.json_readers import (
    Amount,
    AmountText,
    Figure,
    HourlyRate,
    HourlyRateText,
    LeverageValue,
    Missing,
    Pair,
    Price,
    Rows,
    Signed,
    Size,
    SizeDecimals,
    Soft,
    SoftOrNull,
    Text,
    VenueJson,
    Whole,
    figures,
    word,
)
from venue.words import ORDER_STATUSES

_SIDES: Final = r"^[AB]$"

# -- markets


class _TierJson(VenueJson):
    lower_bound: Figure
    max_leverage: Whole


class _MarginTableJson(VenueJson):
    description: Text
    margin_tiers: list[_TierJson]


class AssetJson(VenueJson):
    """A row of a universe: one product."""

    name: Text
    sz_decimals: SizeDecimals
    max_leverage: LeverageValue
    margin_table_id: SoftOrNull[Whole] = None
    only_isolated: Soft[bool] = None
    margin_mode: SoftOrNull[Annotated[str, word(("strictIsolated", "noCross"))]] = None
    is_delisted: Soft[bool] = None
    growth_mode: SoftOrNull[Text] = None
    last_growth_mode_change_time: SoftOrNull[Text] = None


class MetaJson(VenueJson):
    """The listing of a dex; an asset's number is its place, so no row may be left out."""

    universe: list[AssetJson]
    margin_tables: Missing[Rows[Pair[Whole, _MarginTableJson]]] = None
    collateral_token: SoftOrNull[Whole] = None


class ContextJson(VenueJson):
    """The figures of one asset."""

    prev_day_px: Soft[Price] = None
    day_volume: Soft[Amount] = Field(default=None, alias="dayNtlVlm")
    mark_px: Soft[Price] = None
    funding: Soft[HourlyRate] = None
    open_interest: Soft[Amount] = None
    oracle_px: Soft[Price] = None
    day_base_vlm: Soft[Amount] = None
    mid_px: SoftOrNull[Price] = None
    premium: SoftOrNull[Signed] = None
    impact_pxs: SoftOrNull[Pair[Price, Price]] = None


class _SpotPairJson(VenueJson):
    tokens: list[Whole]
    name: Text
    index: Whole
    is_canonical: bool


class _EvmContractJson(VenueJson):
    address: Text
    extra_wei_decimals: Whole = Field(alias="evm_extra_wei_decimals")


class _TokenJson(VenueJson):
    name: Text
    sz_decimals: Whole
    wei_decimals: Whole
    index: Whole
    token_id: Text
    is_canonical: bool
    evm_contract: SoftOrNull[_EvmContractJson] = None
    full_name: SoftOrNull[Text] = None
    deployer_trading_fee_share: Soft[Figure] = None


class SpotMetaJson(VenueJson):
    """The spot listing."""

    universe: Rows[_SpotPairJson]
    tokens: Rows[_TokenJson]


class DexJson(VenueJson):
    """A builder's dex."""

    name: Text
    full_name: SoftOrNull[Text] = None
    deployer: SoftOrNull[Text] = None
    oracle_updater: SoftOrNull[Text] = None
    fee_recipient: SoftOrNull[Text] = None
    asset_to_streaming_oi_cap: Soft[Rows[Pair[Text, Figure]]] = None
    deployer_fee_scale: Soft[Figure] = None
    last_deployer_fee_scale_change_time: SoftOrNull[Text] = None
    asset_to_funding_multiplier: Soft[Rows[Pair[Text, Figure]]] = None
    asset_to_funding_interest_rate: Soft[Rows[Pair[Text, Figure]]] = None
    sub_deployers: Soft[Rows[Pair[Text, Rows[Text]]]] = None


class AnnotationJson(VenueJson):
    """A coin's display name."""

    category: SoftOrNull[Text] = None
    display_name: SoftOrNull[Text] = None
    keywords: Soft[Rows[Text]] = None


class LevelJson(VenueJson):
    """One price of a book."""

    px: Price
    size: Size = Field(alias="sz")
    orders: Whole = Field(alias="n")


class BookJson(VenueJson):
    """Bids and asks of a coin."""

    coin: Text
    time: Whole
    levels: Pair[list[LevelJson], list[LevelJson]]
    spread: Soft[Signed] = None


class ClockJson(VenueJson):
    """The venue's own time."""

    time: Whole
    special_statuses: object = None


class FundingJson(VenueJson):
    """The funding of one hour."""

    coin: Text
    funding_rate: HourlyRateText
    time: Whole
    premium: Soft[Figure] = None


# -- accounts


class LeverageJson(VenueJson):
    """A leverage setting."""

    type: Annotated[str, word(("cross", "isolated"))]
    value: LeverageValue
    raw_usd: Soft[Signed] = None


_FundingPaid = Annotated[VenueJson, figures("all_time", "since_open", "since_change")]


class PositionJson(VenueJson):
    """A position. Closes and equity need all of it: one malformed size invalidates the answer."""

    coin: Text
    size: Signed = Field(alias="szi")
    setting: Soft[LeverageJson] = Field(default=None, alias="leverage")
    max_leverage: SoftOrNull[LeverageValue] = None
    liquidation_px: SoftOrNull[Amount] = None
    entry_px: SoftOrNull[Price] = None
    value: Soft[Amount] = Field(default=None, alias="positionValue")
    unrealized: Soft[Signed] = Field(default=None, alias="unrealizedPnl")
    return_on_equity: Soft[Signed] = None
    margin_used: Soft[Amount] = None
    cum_funding: Soft[_FundingPaid] = None


class _AssetPositionJson(VenueJson):
    position: PositionJson
    type: SoftOrNull[Text] = None


class _SummaryJson(VenueJson):
    account_value: Signed
    total_ntl_pos: Soft[Amount] = None
    total_raw_usd: Soft[Signed] = None
    total_margin_used: Soft[Signed] = None


class ClearinghouseJson(VenueJson):
    """An account on one dex."""

    asset_positions: list[_AssetPositionJson]
    margin_summary: _SummaryJson
    withdrawable: Signed
    time: Whole
    cross_margin_summary: Soft[_SummaryJson] = None
    cross_maintenance_margin_used: Soft[Signed] = None


class _BalanceJson(VenueJson):
    token: Whole
    total: Signed
    hold: Signed
    coin: SoftOrNull[Text] = None
    entry_ntl: Soft[Signed] = None


class BalancesJson(VenueJson):
    """An account's spot balances."""

    balances: list[_BalanceJson]
    evm_escrows: Soft[Rows[VenueJson]] = None


class AgentJson(VenueJson):
    """A named agent."""

    name: Text
    address: Text
    valid_until: Whole | None = None


class _RoleDataJson(VenueJson):
    user: Missing[Text] = None
    master: Missing[Text] = None


class RoleJson(VenueJson):
    """The role of an address."""

    role: Annotated[str, word(get_args(UserRole))]
    data: Soft[_RoleDataJson] = None


class ActiveAssetJson(VenueJson):
    """An account's setting for one product."""

    leverage: LeverageJson
    user: SoftOrNull[Text] = None
    coin: SoftOrNull[Text] = None
    max_trade_szs: Soft[Rows[Signed]] = None
    available_to_trade: Soft[Rows[Signed]] = None
    mark_px: Soft[Price] = None


# -- orders


class _OrderJson(VenueJson):
    coin: Text
    side: Text
    limit_px: Soft[AmountText]
    sz: Soft[AmountText]
    oid: Whole
    timestamp: Whole
    trigger_condition: SoftOrNull[Text] = None
    is_trigger: Soft[bool] = None
    trigger_px: Soft[AmountText] = None
    is_position_tpsl: Soft[bool] = None
    reduce_only: Soft[bool] = None
    order_type: SoftOrNull[Text] = None
    orig_sz: Soft[AmountText] = None
    tif: SoftOrNull[Text] = None
    cloid: SoftOrNull[Text] = None
    children: Soft[Rows[VenueJson]] = None


class OrderUpdateJson(VenueJson):
    """An order and its status."""

    order: _OrderJson
    status: Annotated[str, word(ORDER_STATUSES)]
    status_timestamp: Whole


class OrderStatusJson(VenueJson):
    """The status of one order."""

    status: Annotated[str, word(("order", "unknownOid"))]
    order: Missing[OrderUpdateJson] = None


class OpenOrderJson(VenueJson):
    """An open order. A malformed one invalidates the answer: it may be one to cancel."""

    coin: Text
    oid: Whole
    cloid: Text | None = None
    side: SoftOrNull[Text] = None
    limit_px: Soft[Amount] = None
    sz: Soft[Amount] = None
    orig_sz: Soft[Amount] = None
    timestamp: SoftOrNull[Whole] = None
    reduce_only: Soft[bool] = None


class FillJson(VenueJson):
    """A fill. A malformed figure invalidates the answer: amounts of money are computed from it."""

    coin: Text
    px: Price
    size: Size = Field(alias="sz")
    side: Annotated[str, Field(pattern=_SIDES)]
    time: Whole
    oid: Whole
    tid: Whole
    fee: Signed
    closed_pnl: Signed
    builder_fee: Amount | None = None
    cloid: SoftOrNull[Text] = None
    start_position: Soft[Signed] = None
    dir: SoftOrNull[Text] = None
    hash: SoftOrNull[Text] = None
    crossed: Soft[bool] = None
    fee_token: SoftOrNull[Text] = None
    twap_id: SoftOrNull[Whole] = None
    liquidation: SoftOrNull[VenueJson] = None
