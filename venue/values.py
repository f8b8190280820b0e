"""Parsers of the venue's answers into domain values: one function per answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final, get_args

from domain.trading.venue_values import (
    Abstraction,
    ApprovedAgent,
    DexAccount,
    Level,
    Leverage,
    MarginMode,
    OpenOrder,
    OrderBook,
    OrderSeen,
    Perp,
    Position,
    SeenAs,
    SpotBalance,
    UserRole,
    VenueFill,
    book_hash,
)
from venue import json_types as types
from venue.json_readers import FEE_ROUNDING, FEE_SHARE, TIME_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN: Final[Mapping[str, MarginMode]] = {
    "strictIsolated": "strict_isolated",
    "noCross": "no_cross",
}
_ROLES: Final[Mapping[str, UserRole]] = {role: role for role in get_args(UserRole)}
_ABSTRACTIONS: Final[Mapping[str, Abstraction]] = {mode: mode for mode in get_args(Abstraction)}
_SIDES: Final[Mapping[str, bool]] = {"B": True, "A": False}
_FIRST_OF_DEX: Final = 100_000
_A_DEX: Final = 10_000


def moment(ms: int) -> datetime | None:
    """Convert milliseconds since 1970 to a time; None beyond the calendar."""
    return _EPOCH + timedelta(milliseconds=ms) if TIME_MS.minimum <= ms <= TIME_MS.maximum else None


def asset_id(dex_index: int, place: int) -> int:
    """The number by which orders name an asset: its place in the first dex, else 100000 + 10000 per
    dex + place.
    """
    return place if dex_index == 0 else _FIRST_OF_DEX + dex_index * _A_DEX + place


def _margin_mode(asset: types.AssetJson) -> MarginMode:
    mode = asset.margin_mode
    if mode is not None and mode in _MARGIN:
        return _MARGIN[mode]
    # A mode that is not known is taken for the strictest, so that nothing counts on cross margin.
    return "strict_isolated" if mode is not None or asset.only_isolated else "cross"


def perps(
    dex: str, dex_index: int, meta: types.MetaJson, contexts: Sequence[types.ContextJson]
) -> tuple[Perp, ...]:
    """A dex's perpetuals with their figures, in the order of their ids; contexts beyond the
    universe are ignored.
    """
    missing = [types.ContextJson() for _ in meta.universe[len(contexts) :]]
    return tuple(
        _perp(dex, asset_id(dex_index, n), asset, meta.collateral_token, context)
        for n, (asset, context) in enumerate(
            zip(meta.universe, [*contexts, *missing], strict=False)
        )
    )


def _perp(
    dex: str, number: int, asset: types.AssetJson, token: int | None, context: types.ContextJson
) -> Perp:
    return Perp(
        coin=asset.name,
        dex=dex,
        asset_id=number,
        sz_decimals=asset.sz_decimals,
        max_leverage=asset.max_leverage,
        margin_mode=_margin_mode(asset),
        growth_mode=asset.growth_mode == "enabled",
        collateral_token=token,
        delisted=bool(asset.is_delisted),
        has_book=context.mid_px is not None and context.impact_pxs is not None,
        mark_px=context.mark_px,
        oracle_px=context.oracle_px,
        mid_px=context.mid_px,
        prev_day_px=context.prev_day_px,
        funding=context.funding,
        open_interest=context.open_interest,
        day_volume=context.day_ntl_vlm,
    )


def book(answer: types.BookJson) -> OrderBook | None:
    """Parse an order book; None where its time is invalid."""
    at = moment(answer.time)
    if at is None:
        return None
    bids, asks = (tuple(Level(v.px, v.sz, v.n) for v in side) for side in answer.levels)
    return OrderBook(answer.coin, at, bids, asks, book_hash(answer.coin, at, bids, asks))


def agents(answer: Sequence[types.AgentJson]) -> tuple[ApprovedAgent, ...]:
    """Parse named agents; the unnamed one is left out."""
    return tuple(
        ApprovedAgent(
            a.name, a.address.lower(), None if a.valid_until is None else moment(a.valid_until)
        )
        for a in answer
    )


def _position(position: types.PositionJson) -> Position:
    setting = position.leverage
    return Position(
        coin=position.coin,
        size=position.size,
        entry_px=position.entry_px,
        value=position.position_value,
        unrealized=position.unrealized_pnl,
        liquidation_px=position.liquidation_px,
        leverage=None if setting is None else setting.value,
        cross=setting is not None and setting.type == "cross",
    )


def account(dex: str, answer: types.ClearinghouseJson) -> DexAccount | None:
    """Parse an account on one dex; None where its time is invalid."""
    at = moment(answer.time)
    if at is None:
        return None
    positions = tuple(_position(row.position) for row in answer.asset_positions)
    return DexAccount(dex, at, answer.margin_summary.account_value, answer.withdrawable, positions)


def balances(answer: types.BalancesJson) -> tuple[SpotBalance, ...]:
    """Parse spot balances."""
    return tuple(SpotBalance(b.token, b.total, b.hold) for b in answer.balances)


def order_state(status: str) -> SeenAs:
    """Map an order status to its state; an unknown status is neither an end nor a fill.

    The ending of the venue's status words gives their meaning, for new ones too.
    """
    if status in ("open", "triggered"):
        return "open"
    if status == "filled":
        return "filled"
    if status in ("canceled", "scheduledCancel", "internalCancel") or status.endswith("Canceled"):
        return "cancelled"
    return "refused" if status == "rejected" or status.endswith("Rejected") else "unknown"


def order_status(answer: types.OrderStatusJson) -> OrderSeen | None:
    """Parse the status of an order; None where the venue does not know it."""
    update = answer.order
    if answer.status != "order" or update is None:
        return None
    order = update.order
    return OrderSeen(
        oid=order.oid,
        coin=order.coin,
        is_buy=_SIDES.get(order.side),
        status=update.status,
        state=order_state(update.status),
        size=None if order.orig_sz is None else Decimal(order.orig_sz),
        left=None if order.sz is None else Decimal(order.sz),
    )


def open_orders(answer: Sequence[types.OpenOrderJson]) -> tuple[OpenOrder, ...]:
    """Parse open orders."""
    return tuple(OpenOrder(coin=row.coin, oid=row.oid, cloid=row.cloid) for row in answer)


def fills(answer: Sequence[types.FillJson]) -> tuple[VenueFill, ...] | None:
    """Parse fills whose fee is in USDC, oldest first; None where one has an invalid time or an
    implausible fee.
    """
    rows = [_fill(row) for row in answer if row.fee_token in (None, "USDC")]
    parsed = [fill for fill in rows if fill is not None]
    return tuple(sorted(parsed, key=lambda f: (f.at, f.tid))) if len(parsed) == len(rows) else None


def _fill(row: types.FillJson) -> VenueFill | None:
    at, builder_fee = moment(row.time), row.builder_fee or Decimal(0)
    if at is None or max(abs(row.fee), builder_fee) > row.px * row.sz * FEE_SHARE + FEE_ROUNDING:
        return None
    return VenueFill(
        coin=row.coin,
        px=row.px,
        size=row.sz,
        is_buy=_SIDES[row.side],
        at=at,
        oid=row.oid,
        tid=row.tid,
        fee=row.fee,
        builder_fee=builder_fee,
        closed_pnl=row.closed_pnl,
        cloid=row.cloid,
    )


def leverage(answer: types.ActiveAssetJson) -> Leverage:
    """Parse an account's leverage setting for a product."""
    return Leverage(answer.leverage.value, answer.leverage.type == "cross")


def role(answer: types.RoleJson) -> UserRole:
    """Parse the role of an address; `unknown` for an unknown word."""
    return _ROLES.get(answer.role, "unknown")


def abstraction(mode: str) -> Abstraction:
    """Parse an account's margin mode; `unknown` for an unknown word."""
    return _ABSTRACTIONS.get(mode, "unknown")


def dexes(answer: Sequence[types.DexJson | None]) -> dict[str, int]:
    """Builder dexes by name with their index; the first is "" and 0."""
    return {"": 0} | {d.name: n for n, d in enumerate(answer) if n and d is not None}


def names(answer: Sequence[tuple[str, types.AnnotationJson]]) -> dict[str, str]:
    """Display names by coin."""
    return {coin: a.display_name for coin, a in answer if a.display_name}


def tokens(answer: types.SpotMetaJson) -> dict[int, str]:
    """Token names by index."""
    return {token.index: token.name for token in answer.tokens}
