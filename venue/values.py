"""Domain values of the venue's answers. Errors: ValueError for an answer that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final, get_args

from domain.trading import venue_values as v
from venue import json_types as types
from venue.json_readers import FEE_ROUNDING, FEE_SHARE, TIME_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MARGIN: Final[Mapping[str | None, v.MarginMode]] = {
    "strictIsolated": "strict_isolated",
    "noCross": "no_cross",
    None: "cross",
}
_ROLES: Final[Mapping[str, v.UserRole]] = {role: role for role in get_args(v.UserRole)}
_ABSTRACTIONS: Final[Mapping[str, v.Abstraction]] = {mode: mode for mode in get_args(v.Abstraction)}
_SIDES: Final[Mapping[str, bool]] = {"B": True, "A": False}
_FIRST_OF_DEX: Final = 100_000
_A_DEX: Final = 10_000


def moment(ms: int) -> datetime:
    """The time so many milliseconds after 1970 began. Errors: ValueError beyond the calendar."""
    if not TIME_MS.minimum <= ms <= TIME_MS.maximum:
        raise ValueError("beyond the calendar")
    return _EPOCH + timedelta(milliseconds=ms)


def clock(answer: types.ClockJson) -> datetime:
    """The venue's own time."""
    return moment(answer.time)


def asset_id(dex_index: int, place: int) -> int:
    """An asset's number: its place in the first dex, else 100000 + 10000 a dex + place."""
    return place if dex_index == 0 else _FIRST_OF_DEX + dex_index * _A_DEX + place


def perps(
    dex: str,
    dex_index: int,
    plausible: Callable[[tuple[v.Perp, ...]], tuple[v.Perp, ...]],
    answer: tuple[types.MetaJson, Sequence[types.ContextJson]],
) -> tuple[v.Perp, ...]:
    """A dex's `plausible` perpetuals, in the order of their ids."""
    meta, contexts = answer
    missing = [types.ContextJson() for _ in meta.universe[len(contexts) :]]
    listed = tuple(
        context.to(
            v.Perp,
            coin=asset.name,
            dex=dex,
            asset_id=asset_id(dex_index, n),
            sz_decimals=asset.sz_decimals,
            max_leverage=asset.max_leverage,
            margin_mode=_margin_mode(asset),
            growth_mode=asset.growth_mode == "enabled",
            collateral_token=meta.collateral_token,
            delisted=bool(asset.is_delisted),
            has_book=context.mid_px is not None and context.impact_pxs is not None,
        )
        for n, (asset, context) in enumerate(
            zip(meta.universe, [*contexts, *missing], strict=False)
        )
    )
    return plausible(listed)


def _margin_mode(asset: types.AssetJson) -> v.MarginMode:
    # A mode that is not known is taken for the strictest, so that nothing counts on cross margin.
    mode = _MARGIN.get(asset.margin_mode, "strict_isolated")
    return "strict_isolated" if mode == "cross" and asset.only_isolated else mode


def book(coin: str, answer: types.BookJson | None) -> v.OrderBook | None:
    """The order book of a coin; None where the venue has none."""
    if answer is None:
        return None
    if answer.coin != coin:
        raise ValueError("it is another coin's")
    at = moment(answer.time)
    bids, asks = (tuple(level.to(v.Level) for level in side) for side in answer.levels)
    return v.OrderBook(coin, at, bids, asks, v.book_hash(coin, at, bids, asks))


def funding(answer: Sequence[types.FundingJson]) -> tuple[v.FundingRate, ...]:
    """The published funding of a coin."""
    return tuple(
        v.FundingRate(row.coin, moment(row.time), Decimal(row.funding_rate)) for row in answer
    )


def agents(answer: Sequence[types.AgentJson]) -> tuple[v.ApprovedAgent, ...]:
    """Named agents; the unnamed one is left out."""
    return tuple(v.ApprovedAgent(a.name, a.address.lower(), _end(a.valid_until)) for a in answer)


def _end(ms: int | None) -> datetime | None:
    try:
        return None if ms is None else moment(ms)
    except ValueError:
        return None


def account(dex: str, answer: types.ClearinghouseJson) -> v.DexAccount:
    """An account on one dex."""
    positions = tuple(_position(row.position) for row in answer.asset_positions)
    worth, free = answer.margin_summary.account_value, answer.withdrawable
    return v.DexAccount(dex, moment(answer.time), worth, free, positions)


def _position(position: types.PositionJson) -> v.Position:
    setting = position.setting
    leverage, cross = (None, False) if setting is None else (setting.value, setting.type == "cross")
    return position.to(v.Position, leverage=leverage, cross=cross)


def balances(answer: types.BalancesJson) -> tuple[v.SpotBalance, ...]:
    """Spot balances."""
    return tuple(b.to(v.SpotBalance) for b in answer.balances)


def order_state(status: str) -> v.SeenAs:
    """The state of an order status; the ending of the word says it for new ones too."""
    if status in ("open", "triggered"):
        return "open"
    if status == "filled":
        return "filled"
    if status in ("canceled", "scheduledCancel", "internalCancel") or status.endswith("Canceled"):
        return "cancelled"
    return "refused" if status == "rejected" or status.endswith("Rejected") else "unknown"


def order_status(cloid: str, answer: types.OrderStatusJson) -> v.OrderSeen | None:
    """The status of an order; None where the venue does not know it."""
    update = answer.order
    theirs = None if update is None else update.order.cloid
    if theirs is not None and theirs.lower() != cloid.lower():
        raise ValueError("it is another order's")
    if answer.status != "order" or update is None:
        return None
    order = update.order
    return v.OrderSeen(
        oid=order.oid,
        coin=order.coin,
        is_buy=_SIDES.get(order.side),
        status=update.status,
        state=order_state(update.status),
        size=None if order.orig_sz is None else Decimal(order.orig_sz),
        left=None if order.sz is None else Decimal(order.sz),
    )


def open_orders(answer: Sequence[types.OpenOrderJson]) -> tuple[v.OpenOrder, ...]:
    """Open orders."""
    return tuple(row.to(v.OpenOrder) for row in answer)


def fills(answer: Sequence[types.FillJson]) -> tuple[v.VenueFill, ...]:
    """Fills whose fee is in USDC, oldest first."""
    parsed = [_fill(row) for row in answer if row.fee_token in (None, "USDC")]
    return tuple(sorted(parsed, key=lambda f: (f.at, f.tid)))


def _fill(row: types.FillJson) -> v.VenueFill:
    builder_fee = row.builder_fee or Decimal(0)
    if max(abs(row.fee), builder_fee) > row.px * row.size * FEE_SHARE + FEE_ROUNDING:
        raise ValueError("a fee is beyond its share")
    at, is_buy = moment(row.time), _SIDES[row.side]
    return row.to(v.VenueFill, at=at, is_buy=is_buy, builder_fee=builder_fee)


def leverage(answer: types.ActiveAssetJson) -> v.Leverage:
    """An account's leverage setting for a product."""
    return v.Leverage(answer.leverage.value, answer.leverage.type == "cross")


def role(answer: types.RoleJson) -> v.UserRole:
    """The role of an address; `unknown` for an unknown word."""
    return _ROLES.get(answer.role, "unknown")


def abstraction(mode: str) -> v.Abstraction:
    """An account's margin mode; `unknown` for an unknown word."""
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
