"""What becomes of a paper order on one snapshot: refused, filled, waiting, or a part of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from domain.refusals import Refusal, refusal
from domain.trading.gate import VenueSaid, rejected
from domain.trading.orders import Tif
from domain.trading.paper.amounts import fee_micros, fee_tenths_bps
from domain.trading.paper.entries import Filled, Model
from domain.trading.paper.filling import Take, Taken, crosses, facing, waited, walked
from domain.trading.paper.margin import Waiting, free, needed, reduced
from domain.trading.paper.replay import Account
from domain.trading.pricing import out_of_band
from domain.trading.venue import Book, Perp


def marks_of(perps: Mapping[str, Perp]) -> Mapping[str, Decimal]:
    """The mark prices that are told."""
    return {coin: p.mark_px for coin, p in perps.items() if p.mark_px is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the market showed: the snapshot that fills, and every product with its figures."""

    snapshot: Book
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
class Asked:
    """A paper order, or what is left of it.

    `took`: it met the other side on arrival, so that its rest pays as a taker too. `begun`: a part
    of it is filled already.
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
    begun: bool = False

    def waiting(self) -> Waiting:
        """What it binds."""
        return Waiting(
            coin=self.coin,
            is_buy=self.is_buy,
            px=self.limit_px,
            left=Decimal(0) if self.reduce_only else self.size,
            leverage=self.leverage,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """What an order met. `rests`: what is left waits; `took`: it would have traded on arrival."""

    fills: tuple[Filled, ...] = ()
    rests: bool = False
    took: bool = False
    refused: Refusal | None = None


def arrived(
    account: Account,
    asked: Asked,
    sight: Sight,
    model: Model,
    *,
    taken: Taken,
    waiting: Sequence[Waiting] = (),
) -> Met:
    """An order that arrives: what it takes within its limit, and whether the rest of it waits.

    The venue would refuse it for the same reasons. Source: trading 7.
    """
    found = _fitting(account, asked)
    if isinstance(found, Refusal):
        return Met(refused=found)
    would = crosses(sight.snapshot, found.limit_px, is_buy=found.is_buy)
    refused = _refused(account, found, sight, waiting, would=would)
    if refused is not None:
        return Met(refused=refused)
    takes = walked(
        facing(sight.snapshot, is_buy=found.is_buy),
        found.limit_px,
        found.size,
        is_buy=found.is_buy,
        share=model.depth_share,
        taken=taken,
        sz_decimals=sight.perp.sz_decimals,
    )
    fills = _fills(found, sight, takes, crossed=True)
    left = found.size - sum((t.size for t in takes), Decimal(0))
    return Met(fills=fills, rests=left > 0 and found.tif != "ioc", took=would)


def came_through(
    account: Account, asked: Asked, sight: Sight, model: Model, *, taken: Taken
) -> Met:
    """An order that waits: what trades through it fills at its limit.

    One that the account cannot bear any more, or that has nothing left to reduce, is refused.
    """
    found = _fitting(account, asked)
    if isinstance(found, Refusal):
        return Met(refused=found)
    takes = waited(
        facing(sight.snapshot, is_buy=found.is_buy),
        found.limit_px,
        found.size,
        is_buy=found.is_buy,
        share=model.depth_share,
        taken=taken,
        sz_decimals=sight.perp.sz_decimals,
    )
    if not takes:
        return Met(rests=True)
    met = replace(found, size=sum((t.size for t in takes), Decimal(0)))
    refused = _short_of_margin(account, met, sight, ())
    if refused is not None:
        return Met(refused=refused)
    return Met(fills=_fills(found, sight, takes, crossed=asked.took), rests=met.size < found.size)


def _fitting(account: Account, asked: Asked) -> Asked | Refusal:
    """The order, trimmed to what it may reduce."""
    if not asked.reduce_only:
        return asked
    size = reduced(account, asked.coin, asked.size, is_buy=asked.is_buy)
    return replace(asked, size=size) if size else refusal("wallet_no_position", product=asked.coin)


def _refused(
    account: Account, asked: Asked, sight: Sight, waiting: Sequence[Waiting], *, would: bool
) -> Refusal | None:
    if sight.perp.delisted:
        return _no("Trading is halted.", "halted")
    if out_of_band(asked.limit_px, sight.perp):
        return _no(
            "Order price cannot be more than 80% away from the reference price", "price_band"
        )
    if asked.tif == "alo" and would:
        return _no("Post only order would have immediately matched", "post_only")
    return _short_of_margin(account, asked, sight, waiting)


def _short_of_margin(
    account: Account, asked: Asked, sight: Sight, waiting: Sequence[Waiting]
) -> Refusal | None:
    need = needed(account, asked.waiting(), _tenths(asked, sight.perp, crossed=True))
    if not need:
        return None
    room = free(account, sight.marks, waiting)
    if room is None:
        return refusal("wallet_venue_unavailable", why="it gives no mark price of what is held")
    return None if need <= room else _no("Insufficient margin to place order.", "margin")


def _no(words: str, kind: str) -> Refusal:
    return rejected(VenueSaid(words=words, kind=kind))


def _tenths(asked: Asked, perp: Perp, *, crossed: bool) -> Decimal:
    return fee_tenths_bps(perp, crossed=crossed) + asked.builder_tenths_bps


def _fills(
    asked: Asked, sight: Sight, takes: Sequence[Take], *, crossed: bool
) -> tuple[Filled, ...]:
    tenths, builder = fee_tenths_bps(sight.perp, crossed=crossed), asked.builder_tenths_bps
    return tuple(
        Filled(
            order_id=asked.order_id,
            first=n == 0 and not asked.begun,
            coin=asked.coin,
            is_buy=asked.is_buy,
            px=take.px,
            size=take.size,
            level=take.level,
            snapshot=sight.snapshot.hash,
            tenths_bps=tenths,
            builder_tenths_bps=builder,
            fee=fee_micros(take.px, take.size, tenths),
            builder_fee=fee_micros(take.px, take.size, Decimal(builder)),
            leverage=asked.leverage,
            maintenance_x=2 * sight.perp.max_leverage,
        )
        for n, take in enumerate(takes)
    )


def whole_at_limit(asked: Asked, perp: Perp) -> Filled:
    """What an order would be if it filled whole at its limit, with the taker's fee: an estimate, on
    no snapshot.
    """
    tenths, px = fee_tenths_bps(perp, crossed=True), asked.limit_px
    return Filled(
        order_id=asked.order_id,
        first=True,
        coin=asked.coin,
        is_buy=asked.is_buy,
        px=px,
        size=asked.size,
        level=px,
        snapshot="",
        tenths_bps=tenths,
        builder_tenths_bps=asked.builder_tenths_bps,
        fee=fee_micros(px, asked.size, tenths),
        builder_fee=fee_micros(px, asked.size, Decimal(asked.builder_tenths_bps)),
        leverage=asked.leverage,
        maintenance_x=2 * perp.max_leverage,
    )
