"""Order outcomes: the venue's answer about an order, and whether it can be this order's.

Every figure that enters an order comes through here, whoever asked for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, NamedTuple, get_args

from domain.refusals import Refusal
from domain.trading.orders import Order, OrderFill, OrderTransition
from domain.trading.venue_values import OrderSeen, VenueFill

ZERO: Final = Decimal(0)
Part = Literal["filled", "price", "product", "side"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


class Doubt(NamedTuple):
    """Which part of the venue's word cannot be an order's, and why."""

    part: Part
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEnd:
    """What happened to an order, and what is known of it with that.

    `verified`: the order's own status or its fills say so, not only the answer to its bytes.
    `doubt`: why this cannot be believed.
    """

    happening: OrderTransition
    size: Decimal | None = None
    avg_px: Decimal | None = None
    oid: int | None = None
    venue_message: str | None = None
    refusal: Refusal | None = None
    fills: tuple[OrderFill, ...] = ()
    whole: bool = False
    verified: bool = True
    doubt: Doubt | None = None


def filled_size(fills: Iterable[OrderFill]) -> Decimal:
    """What fills come to."""
    return sum((f.size for f in fills), ZERO)


def contradiction(order: Order, end: OrderEnd) -> Doubt | None:
    """Why an end cannot be this order's: it filled more than was asked or less than before, at a
    worse price than its limit, or something else than it; None where it can be.
    """
    if end.doubt is not None:
        return end.doubt
    known, size = order.filled_size or ZERO, order.action.size
    for filled in (end.size, filled_size(end.fills) if end.fills else None):
        if filled is not None and not ZERO <= filled <= size:
            return Doubt("filled", f"{filled:f} of {size:f} is said to be filled")
    # Fills may be told one after another; the order's own figure only grows.
    if end.size is not None and end.size < known:
        return Doubt("filled", f"{end.size:f} is said to be filled after {known:f}")
    prices = [f.px for f in end.fills] + ([] if end.avg_px is None else [end.avg_px])
    worse = next((px for px in prices if beyond(order, px)), None)
    if worse is not None:
        limit = order.action.limit_px
        return Doubt("price", f"a price of {worse:f} is said beyond the limit of {limit:f}")
    return None


def beyond(order: Order, px: Decimal) -> bool:
    """True for a price that the order's limit does not allow."""
    limit = order.action.limit_px
    return px <= 0 or (px > limit if order.action.is_buy else px < limit)


def fills_of(order: Order, rows: Sequence[VenueFill], oid: int | None) -> OrderEnd:
    """An account's fills that are the order's, as an end that fills it."""
    own = [r for r in rows if r.oid == oid or r.cloid == order.action.cloid]
    other = next(
        (r for r in own if (r.coin, r.is_buy) != (order.product, order.action.is_buy)), None
    )
    end = OrderEnd(happening="fill", fills=tuple(_fill(row) for row in own))
    if other is not None:
        part: Part = "product" if other.coin != order.product else "side"
        side = "buy" if other.is_buy else "sell"
        return replace(end, doubt=Doubt(part, f"a fill is said to {side} {other.coin}"))
    return end


def _fill(row: VenueFill) -> OrderFill:
    return OrderFill(
        px=row.px,
        size=row.size,
        fee=row.fee,
        builder_fee=row.builder_fee,
        closed_pnl=row.closed_pnl,
        at=row.at,
        tid=row.tid,
    )


def filled_by_status(order: Order, seen: OrderSeen) -> Decimal | None:
    """How much of an order traded by its own status; None where that is not told.

    An order that was made larger or smaller at the venue is counted from its size there.
    """
    if seen.left is None:
        return None
    return (order.action.size if seen.size is None else seen.size) - seen.left


def refused_whole(order: Order, seen: OrderSeen) -> bool:
    """True for an order that was refused before anything of it traded; a word of refusal beside a
    figure of what traded is no refusal.
    """
    return seen.state == "refused" and filled_by_status(order, seen) in (None, ZERO)


def stood(order: Order) -> bool:
    """True for an order that its own status has named as open."""
    return order.status == "resting" and order.verified


def other_order(order: Order, seen: OrderSeen) -> Doubt | None:
    """Why a status is another order's, or says two things; None where it can be this one's."""
    if seen.coin != order.product:
        return Doubt("product", f"its product is said to be {seen.coin}")
    if seen.is_buy is not None and seen.is_buy is not order.action.is_buy:
        return Doubt("side", f"its side is said to be {'buy' if seen.is_buy else 'sell'}")
    filled = filled_by_status(order, seen)
    rests = order.action.tif != "ioc"
    if seen.state == "filled" and seen.left and (rests or not filled):
        return Doubt("filled", f"it is said to be filled with {seen.left:f} left")
    if seen.state == "refused" and rests and filled:
        return Doubt("filled", f"it is said to be refused with {filled:f} filled")
    return None
