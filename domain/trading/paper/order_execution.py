"""Paper execution of an order on one snapshot: refused, filled, resting, or a part of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from domain.refusals import Refusal, refusal
from domain.trading.order_gate import rejected
from domain.trading.orders import Tif
from domain.trading.paper.amounts import fee_micros, fee_tenths_bps
from domain.trading.paper.entries import Filled, Model
from domain.trading.paper.margin import RestingOrder, free, reducible_size, required_margin
from domain.trading.paper.matching import (
    ConsumedDepth,
    Take,
    crosses,
    facing,
    take_depth,
)
from domain.trading.paper.replay import PaperAccount
from domain.trading.pricing import out_of_band
from domain.trading.venue_values import OrderBook, Perp


def marks_of(perps: Mapping[str, Perp]) -> Mapping[str, Decimal]:
    """The mark prices that are told."""
    return {coin: p.mark_px for coin, p in perps.items() if p.mark_px is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSnapshot:
    """The market at one moment: the snapshot that fills, and every product with its figures."""

    snapshot: OrderBook
    perps: Mapping[str, Perp]

    @property
    def perp(self) -> Perp:
        """The product of the snapshot."""
        return self.perps[self.snapshot.coin]

    @property
    def marks(self) -> Mapping[str, Decimal]:
        """The mark prices that are told."""
        return marks_of(self.perps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperOrder:
    """A paper order, or what is left of it.

    `took`: it met the other side on arrival, so that its rest pays as a taker too. `has_fills`: a
    part of it is filled already.
    """

    order_id: str
    coin: str
    is_buy: bool
    limit_px: Decimal
    size: Decimal
    reduce_only: bool
    tif: Tif
    leverage: int
    builder_tenths_bps: int
    took: bool = False
    has_fills: bool = False

    def as_resting(self) -> RestingOrder:
        """The order as margin counts it."""
        return RestingOrder(
            coin=self.coin,
            is_buy=self.is_buy,
            px=self.limit_px,
            remaining=Decimal(0) if self.reduce_only else self.size,
            leverage=self.leverage,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The result on a snapshot. `rests`: the rest waits; `took`: it traded on arrival."""

    fills: tuple[Filled, ...] = ()
    rests: bool = False
    took: bool = False
    refused: Refusal | None = None


def execute_on_arrival(
    account: PaperAccount,
    request: PaperOrder,
    market: MarketSnapshot,
    model: Model,
    *,
    consumed: ConsumedDepth,
    resting: Sequence[RestingOrder] = (),
) -> Execution:
    """Execute an arriving order; refusals are those of the venue. Source: trading 7."""
    order = _trim_reduce_only(account, request)
    if isinstance(order, Refusal):
        return Execution(refused=order)
    would_cross = crosses(market.snapshot, order.limit_px, is_buy=order.is_buy)
    refused = _refused(account, order, market, resting, would_cross=would_cross)
    if refused is not None:
        return Execution(refused=refused)
    takes = _takes(order, market, model, consumed)
    rests = _size(takes) < order.size and order.tif != "ioc"
    return Execution(
        fills=_fills(order, market, takes, crossed=True), rests=rests, took=would_cross
    )


def execute_resting(
    account: PaperAccount,
    request: PaperOrder,
    market: MarketSnapshot,
    model: Model,
    *,
    consumed: ConsumedDepth,
) -> Execution:
    """Execute a resting order: depth through its limit fills it at its limit."""
    order = _trim_reduce_only(account, request)
    if isinstance(order, Refusal):
        return Execution(refused=order)
    takes = _takes(order, market, model, consumed, rests=True)
    if not takes:
        return Execution(rests=True)
    filled = _size(takes)
    refused = _short_of_margin(account, replace(order, size=filled), market, ())
    if refused is not None:
        return Execution(refused=refused)
    fills = _fills(order, market, takes, crossed=request.took)
    return Execution(fills=fills, rests=filled < order.size)


def _takes(
    order: PaperOrder,
    market: MarketSnapshot,
    model: Model,
    consumed: ConsumedDepth,
    *,
    rests: bool = False,
) -> tuple[Take, ...]:
    return take_depth(
        facing(market.snapshot, is_buy=order.is_buy),
        order.limit_px,
        order.size,
        is_buy=order.is_buy,
        share=model.depth_share,
        consumed=consumed,
        sz_decimals=market.perp.sz_decimals,
        rests=rests,
    )


def _size(takes: Sequence[Take]) -> Decimal:
    return sum((take.size for take in takes), Decimal(0))


def _trim_reduce_only(account: PaperAccount, request: PaperOrder) -> PaperOrder | Refusal:
    """The order, trimmed to what it may reduce."""
    if not request.reduce_only:
        return request
    size = reducible_size(account, request.coin, request.size, is_buy=request.is_buy)
    return (
        replace(request, size=size) if size else refusal("wallet_no_position", product=request.coin)
    )


def _refused(
    account: PaperAccount,
    request: PaperOrder,
    market: MarketSnapshot,
    resting: Sequence[RestingOrder],
    *,
    would_cross: bool,
) -> Refusal | None:
    if market.perp.delisted:
        return _rejection("Trading is halted.", "halted")
    if out_of_band(request.limit_px, market.perp):
        return _rejection(
            "Order price cannot be more than 80% away from the reference price", "price_band"
        )
    if request.tif == "alo" and would_cross:
        return _rejection("Post only order would have immediately matched", "post_only")
    return _short_of_margin(account, request, market, resting)


def _short_of_margin(
    account: PaperAccount,
    request: PaperOrder,
    market: MarketSnapshot,
    resting: Sequence[RestingOrder],
) -> Refusal | None:
    tenths = fee_tenths_bps(market.perp, crossed=True) + request.builder_tenths_bps
    need = required_margin(account, request.as_resting(), tenths)
    if not need:
        return None
    room = free(account, market.marks, resting)
    if room is None:
        return refusal("wallet_venue_unavailable", why="it gives no mark price of what is held")
    return None if need <= room else _rejection("Insufficient margin to place order.", "margin")


def _rejection(sentence: str, kind: str) -> Refusal:
    return rejected(sentence, kind)


def _fills(
    request: PaperOrder, market: MarketSnapshot, takes: Sequence[Take], *, crossed: bool
) -> tuple[Filled, ...]:
    fills = (_fill(request, market.perp, take, crossed=crossed) for take in takes)
    return tuple(
        replace(fill, first=n == 0 and not request.has_fills, snapshot=market.snapshot.hash)
        for n, fill in enumerate(fills)
    )


def full_at_limit(request: PaperOrder, perp: Perp) -> Filled:
    """The fill of a whole order at its limit, with the taker's fee: an estimate, on no snapshot."""
    take = Take(request.limit_px, request.size, request.limit_px)
    return _fill(request, perp, take, crossed=True)


def _fill(request: PaperOrder, perp: Perp, take: Take, *, crossed: bool) -> Filled:
    tenths, builder = fee_tenths_bps(perp, crossed=crossed), request.builder_tenths_bps
    return Filled(
        order_id=request.order_id,
        first=True,
        coin=request.coin,
        is_buy=request.is_buy,
        px=take.px,
        size=take.size,
        level=take.level,
        snapshot="",
        tenths_bps=tenths,
        builder_tenths_bps=builder,
        fee=fee_micros(take.px, take.size, tenths),
        builder_fee=fee_micros(take.px, take.size, Decimal(builder)),
        leverage=request.leverage,
        maintenance_x=2 * perp.max_leverage,
    )
