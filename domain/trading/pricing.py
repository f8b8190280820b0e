"""Order pricing: asset, price and size at the venue, or the rule that the order breaks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from domain.mandates.clauses import percent
from domain.money import BPS, Usdc
from domain.trading.indices import text
from domain.trading.order_gate import FieldProblem
from domain.trading.order_input import CloseRequest, OrderRequest
from domain.trading.orders import Side
from domain.trading.precision import (
    bounded_px,
    lots,
    nearest_px,
    notional,
    on_tick,
)
from domain.trading.venue_values import OrderBook, Perp, Position

LEAST: Final = Decimal(10)  # USDC; the venue takes no smaller order but a whole close
BAND: Final = Decimal("0.8")
BOOK_FRESH: Final = timedelta(seconds=3)
DELISTED: Final = FieldProblem(
    field="product", rule="it is delisted; the venue has settled its positions"
)
_TAKER_TENTHS: Final = Decimal(45)  # tenths of a basis point, first tier
_GROWTH: Final = Decimal("0.1")
_DEX_SCALE: Final = 2


@dataclass(frozen=True, slots=True)
class NoPrice:
    """The market gives no reliable price, for a reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The touch of a book at one time."""

    bid: Decimal
    ask: Decimal
    at: datetime

    def touch(self, side: Side) -> Decimal:
        """The best price that a taker of this side meets."""
        return self.ask if side == "buy" else self.bid


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """An order with its figures. Units: `notional` USDC, size x limit, rounded up."""

    size: Decimal
    limit_px: Decimal
    notional: Usdc
    quote: Quote


def quote_of(book: OrderBook | None, now: datetime) -> Quote | NoPrice:
    """The touch of a fresh, two-sided book that is not crossed."""
    if book is None:
        return NoPrice("it has no book of this product")
    if abs(now - book.at) > BOOK_FRESH:
        return NoPrice("its book is older than 3 seconds")
    if not book.bids or not book.asks:
        return NoPrice("its book has nobody on one side")
    bid, ask = book.bids[0].px, book.asks[0].px
    if bid >= ask:
        return NoPrice("its book is crossed")
    return Quote(bid=bid, ask=ask, at=book.at)


def tradable(perp: Perp | None, name: str) -> Perp | FieldProblem:
    """The product, if new orders of it can be placed at all; liquidity is checked by its book
    later.
    """
    if perp is None:
        return FieldProblem(field="product", rule=f"{name} is none of the products")
    if perp.delisted:
        return DELISTED
    return perp


def priced(
    request: OrderRequest, perp: Perp, quote: Quote, *, most_bps: int, at_cap: bool = False
) -> Priced | FieldProblem:
    """The order's price and size, protective and never moved from the request.

    Rules: tick, lot, least value, price band, slippage, the venue's cap on open interest.
    """
    if request.slippage_bps is not None and request.slippage_bps > most_bps:
        rule = f"at most {percent(most_bps)} off the best price"
        return FieldProblem(field="slippage_bps", rule=rule, nearest=str(most_bps))
    if at_cap and not request.reduce_only:
        return FieldProblem(field="product", rule="it takes no more open interest at the venue")
    limit_px = _limit(request, perp, quote)
    if isinstance(limit_px, FieldProblem):
        return limit_px
    size = _size(request, perp, quote)
    if isinstance(size, FieldProblem):
        return size
    if size * limit_px < LEAST and not request.reduce_only:
        name = "size" if request.size is not None else "notional_usdc"
        return FieldProblem(
            field=name, rule="an order is worth 10.00 USDC or more", nearest="10.000000"
        )
    return Priced(size=size, limit_px=limit_px, notional=notional(size, limit_px), quote=quote)


def _limit(request: OrderRequest, perp: Perp, quote: Quote) -> Decimal | FieldProblem:
    is_buy, decimals = request.side == "buy", perp.sz_decimals
    if request.limit_px is None:
        touch = quote.touch(request.side)
        return bounded_px(touch, request.slippage_bps or 0, decimals, is_buy=is_buy)
    if not on_tick(request.limit_px, decimals):
        near = nearest_px(request.limit_px, decimals)
        return FieldProblem(field="limit_px", rule="a price on the tick", nearest=format(near, "f"))
    if out_of_band(request.limit_px, perp):
        return FieldProblem(
            field="limit_px", rule="within 80% of the mark price", nearest=text(perp.mark_px)
        )
    return request.limit_px


def out_of_band(px: Decimal, perp: Perp) -> bool:
    """True for a price outside the band that the venue takes now."""
    return perp.mark_px is not None and abs(px - perp.mark_px) > BAND * perp.mark_px


def _size(request: OrderRequest, perp: Perp, quote: Quote) -> Decimal | FieldProblem:
    if request.size is None:
        amount = Decimal(request.notional_usdc.micros if request.notional_usdc else 0).scaleb(-6)
        size = lots(amount / quote.touch(request.side), perp.sz_decimals)
        if not size:
            minimum = Decimal(1).scaleb(-perp.sz_decimals) * quote.touch(request.side)
            rule = "it is less than one lot"
            return FieldProblem(
                field="notional_usdc", rule=rule, nearest=str(notional(minimum, Decimal(1)))
            )
        return size
    return _whole_lots(request.size, perp)


def _whole_lots(size: Decimal, perp: Perp) -> Decimal | FieldProblem:
    lot = Decimal(1).scaleb(-perp.sz_decimals)
    floored = lots(size, perp.sz_decimals)
    if floored == size:
        return floored
    rule = f"a multiple of {lot:f}"
    return FieldProblem(field="size", rule=rule, nearest=format(max(floored, lot), "f"))


def closing_size(
    close_request: CloseRequest, position: Position, perp: Perp, touch: Decimal
) -> Decimal | FieldProblem | None:
    """The size that a close takes off; None where the position has no such size.

    The whole position where all is asked for, or where what is left would be worth under 10 USDC
    and could never be closed; a part below 10 USDC is refused, since the venue would.
    """
    position_size = lots(abs(position.size), perp.sz_decimals)
    if not position_size:
        return None
    if close_request.size is not None:
        if close_request.size > position_size:
            return None
        size = _whole_lots(close_request.size, perp)
        if isinstance(size, FieldProblem):
            return size
    else:
        size = lots(position_size * close_request.fraction, perp.sz_decimals)
    if size >= position_size or (position_size - size) * touch < LEAST:
        return position_size
    if size * touch < LEAST:
        name = "size" if close_request.size is not None else "fraction"
        rule = "a part of a position is worth 10 USDC or more; the whole may be less"
        return FieldProblem(field=name, rule=rule, nearest=format(position_size, "f"))
    return size


def within_slippage(limit_px: Decimal, touch: Decimal, bps: int, *, is_buy: bool) -> bool:
    """True where a close's price is worse than the touch by at most its slippage."""
    worse = limit_px - touch if is_buy else touch - limit_px
    return worse * BPS <= touch * bps


def taker_tenths_bps(perp: Perp) -> Decimal:
    """The first tier's fee of a taker, in tenths of a basis point: a builder's dex takes as much
    again, growth mode leaves a tenth. Source: venue page 1.4.
    """
    rate = _TAKER_TENTHS * (_DEX_SCALE if perp.dex else 1)
    return rate * _GROWTH if perp.growth_mode else rate


def fee_est(amount: Usdc, tenths_bps: Decimal) -> Usdc:
    """A fee on a notional, to the nearest micro-USDC."""
    exact = Decimal(amount.micros) * tenths_bps / 100_000
    return Usdc(int(exact.quantize(Decimal(1), ROUND_HALF_UP)))
