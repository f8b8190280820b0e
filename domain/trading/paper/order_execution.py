"""Paper execution of an order on one snapshot: refused, filled, resting, or a part of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from domain.refusals import Refusal, refusal
from domain.trading.order_gate import VenueRejection, rejected
from domain.trading.orders import Tif
from domain.trading.paper.amounts import fee_micros, fee_tenths_bps
from domain.trading.paper.entries import Filled, Model
from domain.trading.paper.margin import RestingOrder, free, needed, reduced
from domain.trading.paper.matching import Take, Taken, crosses, facing, fill_at_limit, take_depth
from domain.trading.paper.replay import PaperAccount
from domain.trading.pricing import out_of_band
from domain.trading.venue_values import OrderBook, Perp


def marks_of(perps: Mapping[str, Perp]) -> Mapping[str, Decimal]:
    """The mark prices that are told."""
    return {coin: p.mark_px for coin, p in perps.items() if p.mark_px is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSnapshot:
    """What the market showed: the snapshot that fills, and every product with its figures."""

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
        """What it binds."""
        return RestingOrder(
            coin=self.coin,
            is_buy=self.is_buy,
            px=self.limit_px,
            left=Decimal(0) if self.reduce_only else self.size,
            leverage=self.leverage,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What an order met. `rests`: what is left waits; `took`: it would have traded on arrival."""

    fills: tuple[Filled, ...] = ()
    rests: bool = False
    took: bool = False
    refused: Refusal | None = None


def execute_on_arrival(
    account: PaperAccount,
    request: PaperOrder,
    market_snapshot: MarketSnapshot,
    model: Model,
    *,
    taken: Taken,
    waiting: Sequence[RestingOrder] = (),
) -> Execution:
    """An order that arrives: what it takes within its limit, and whether the rest of it waits.

    The venue would refuse it for the same reasons. Source: trading 7.
    """
    order = _fitting(account, request)
    if isinstance(order, Refusal):
        return Execution(refused=order)
    would = crosses(market_snapshot.snapshot, order.limit_px, is_buy=order.is_buy)
    refused = _refused(account, order, market_snapshot, waiting, would=would)
    if refused is not None:
        return Execution(refused=refused)
    takes = take_depth(
        facing(market_snapshot.snapshot, is_buy=order.is_buy),
        order.limit_px,
        order.size,
        is_buy=order.is_buy,
        share=model.depth_share,
        taken=taken,
        sz_decimals=market_snapshot.perp.sz_decimals,
    )
    fills = _fills(order, market_snapshot, takes, crossed=True)
    left = order.size - sum((t.size for t in takes), Decimal(0))
    return Execution(fills=fills, rests=left > 0 and order.tif != "ioc", took=would)


def execute_resting(
    account: PaperAccount,
    request: PaperOrder,
    market_snapshot: MarketSnapshot,
    model: Model,
    *,
    taken: Taken,
) -> Execution:
    """An order that waits: what trades through it fills at its limit.

    One that the account cannot bear any more, or that has nothing left to reduce, is refused.
    """
    order = _fitting(account, request)
    if isinstance(order, Refusal):
        return Execution(refused=order)
    takes = fill_at_limit(
        facing(market_snapshot.snapshot, is_buy=order.is_buy),
        order.limit_px,
        order.size,
        is_buy=order.is_buy,
        share=model.depth_share,
        taken=taken,
        sz_decimals=market_snapshot.perp.sz_decimals,
    )
    if not takes:
        return Execution(rests=True)
    filled_part = replace(order, size=sum((t.size for t in takes), Decimal(0)))
    refused = _short_of_margin(account, filled_part, market_snapshot, ())
    if refused is not None:
        return Execution(refused=refused)
    return Execution(
        fills=_fills(order, market_snapshot, takes, crossed=request.took),
        rests=filled_part.size < order.size,
    )


def _fitting(account: PaperAccount, request: PaperOrder) -> PaperOrder | Refusal:
    """The order, trimmed to what it may reduce."""
    if not request.reduce_only:
        return request
    size = reduced(account, request.coin, request.size, is_buy=request.is_buy)
    return (
        replace(request, size=size) if size else refusal("wallet_no_position", product=request.coin)
    )


def _refused(
    account: PaperAccount,
    request: PaperOrder,
    market_snapshot: MarketSnapshot,
    resting: Sequence[RestingOrder],
    *,
    would: bool,
) -> Refusal | None:
    if market_snapshot.perp.delisted:
        return _no("Trading is halted.", "halted")
    if out_of_band(request.limit_px, market_snapshot.perp):
        return _no(
            "Order price cannot be more than 80% away from the reference price", "price_band"
        )
    if request.tif == "alo" and would:
        return _no("Post only order would have immediately matched", "post_only")
    return _short_of_margin(account, request, market_snapshot, resting)


def _short_of_margin(
    account: PaperAccount,
    request: PaperOrder,
    market_snapshot: MarketSnapshot,
    resting: Sequence[RestingOrder],
) -> Refusal | None:
    need = needed(
        account, request.as_resting(), _tenths(request, market_snapshot.perp, crossed=True)
    )
    if not need:
        return None
    room = free(account, market_snapshot.marks, resting)
    if room is None:
        return refusal("wallet_venue_unavailable", why="it gives no mark price of what is held")
    return None if need <= room else _no("Insufficient margin to place order.", "margin")


def _no(words: str, kind: str) -> Refusal:
    return rejected(VenueRejection(words=words, kind=kind))


def _tenths(request: PaperOrder, perp: Perp, *, crossed: bool) -> Decimal:
    return fee_tenths_bps(perp, crossed=crossed) + request.builder_tenths_bps


def _fills(
    request: PaperOrder, market_snapshot: MarketSnapshot, takes: Sequence[Take], *, crossed: bool
) -> tuple[Filled, ...]:
    tenths, builder = (
        fee_tenths_bps(market_snapshot.perp, crossed=crossed),
        request.builder_tenths_bps,
    )
    return tuple(
        Filled(
            order_id=request.order_id,
            first=n == 0 and not request.has_fills,
            coin=request.coin,
            is_buy=request.is_buy,
            px=take.px,
            size=take.size,
            level=take.level,
            snapshot=market_snapshot.snapshot.hash,
            tenths_bps=tenths,
            builder_tenths_bps=builder,
            fee=fee_micros(take.px, take.size, tenths),
            builder_fee=fee_micros(take.px, take.size, Decimal(builder)),
            leverage=request.leverage,
            maintenance_x=2 * market_snapshot.perp.max_leverage,
        )
        for n, take in enumerate(takes)
    )


def whole_at_limit(request: PaperOrder, perp: Perp) -> Filled:
    """What an order would be if it filled whole at its limit, with the taker's fee: an estimate, on
    no snapshot.
    """
    tenths, px = fee_tenths_bps(perp, crossed=True), request.limit_px
    return Filled(
        order_id=request.order_id,
        first=True,
        coin=request.coin,
        is_buy=request.is_buy,
        px=px,
        size=request.size,
        level=px,
        snapshot="",
        tenths_bps=tenths,
        builder_tenths_bps=request.builder_tenths_bps,
        fee=fee_micros(px, request.size, tenths),
        builder_fee=fee_micros(px, request.size, Decimal(request.builder_tenths_bps)),
        leverage=request.leverage,
        maintenance_x=2 * perp.max_leverage,
    )
