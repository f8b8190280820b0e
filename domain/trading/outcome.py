"""Order outcomes: the venue's answer about an order, and whether it can be this order's.

Every venue figure passes these checks before it enters an order.
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
DoubtfulPart = Literal["filled", "price", "product", "side"]
PARTS: Final[tuple[DoubtfulPart, ...]] = get_args(DoubtfulPart)


class Doubt(NamedTuple):
    """The part of a venue answer that contradicts the order, and the reason."""

    part: DoubtfulPart
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEnd:
    """A transition of an order, and the figures known with it.

    `verified`: the order's own status or its fills say so, not only the answer to its bytes.
    `doubt`: why this cannot be believed.
    """

    transition: OrderTransition
    size: Decimal | None = None
    avg_px: Decimal | None = None
    oid: int | None = None
    venue_message: str | None = None
    refusal: Refusal | None = None
    fills: tuple[OrderFill, ...] = ()
    fills_complete: bool = False
    verified: bool = True
    doubt: Doubt | None = None

    @classmethod
    def refused(cls, refusal: Refusal) -> OrderEnd:
        """An end without a fill."""
        return cls(transition="refuse", refusal=refusal, fills_complete=True)


def filled_size(fills: Iterable[OrderFill]) -> Decimal:
    """Total size of fills, in the coin."""
    return sum((f.size for f in fills), ZERO)


def contradiction(order: Order, end: OrderEnd) -> Doubt | None:
    """The contradiction between an end and its order: more filled than ordered, less than before, a
    price worse than the limit, or another product; None where they agree.
    """
    if end.doubt is not None:
        return end.doubt
    filled_before, size = order.filled_size or ZERO, order.action.size
    for filled in (end.size, filled_size(end.fills) if end.fills else None):
        if filled is not None and not ZERO <= filled <= size:
            return Doubt("filled", f"{filled:f} of {size:f} is said to be filled")
    # Fills may arrive one after another; the order's own filled size only grows.
    if end.size is not None and end.size < filled_before:
        return Doubt("filled", f"{end.size:f} is said to be filled after {filled_before:f}")
    prices = [f.px for f in end.fills] + ([] if end.avg_px is None else [end.avg_px])
    offending_px = next((px for px in prices if is_beyond_limit(order, px)), None)
    if offending_px is not None:
        limit = order.action.limit_px
        return Doubt("price", f"a price of {offending_px:f} is said beyond the limit of {limit:f}")
    return None


def is_beyond_limit(order: Order, px: Decimal) -> bool:
    """True for a price that the order's limit does not allow."""
    limit = order.action.limit_px
    return px <= 0 or (px > limit if order.action.is_buy else px < limit)


def fills_of(order: Order, rows: Sequence[VenueFill], oid: int | None) -> OrderEnd:
    """An account's fills that are the order's, as an end that fills it."""
    own = [r for r in rows if r.oid == oid or r.cloid == order.action.cloid]
    mismatch = next(
        (r for r in own if (r.coin, r.is_buy) != (order.product, order.action.is_buy)), None
    )
    end = OrderEnd(transition="fill", fills=tuple(_fill(row) for row in own))
    if mismatch is not None:
        part: DoubtfulPart = "product" if mismatch.coin != order.product else "side"
        side = "buy" if mismatch.is_buy else "sell"
        return replace(end, doubt=Doubt(part, f"a fill is said to {side} {mismatch.coin}"))
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


def filled_by_status(order: Order, status: OrderSeen) -> Decimal | None:
    """The filled size by the order's own status, in the coin; None where the status lacks it.

    An order that was made larger or smaller at the venue is counted from its size there.
    """
    if status.left is None:
        return None
    return (order.action.size if status.size is None else status.size) - status.left


def refused_unfilled(order: Order, status: OrderSeen) -> bool:
    """True for an order that was refused before any of it traded; a refusal with a filled size is
    not believed.
    """
    return status.state == "refused" and filled_by_status(order, status) in (None, ZERO)


def was_open(order: Order) -> bool:
    """True for an order that its own status has named as open."""
    return order.status == "resting" and order.verified


def identity_doubt(order: Order, status: OrderSeen) -> Doubt | None:
    """The contradiction between a status and its order, or within the status; None where they
    agree.
    """
    if status.coin != order.product:
        return Doubt("product", f"its product is said to be {status.coin}")
    if status.is_buy is not None and status.is_buy is not order.action.is_buy:
        return Doubt("side", f"its side is said to be {'buy' if status.is_buy else 'sell'}")
    filled = filled_by_status(order, status)
    rests = order.action.tif != "ioc"
    if status.state == "filled" and status.left and (rests or not filled):
        return Doubt("filled", f"it is said to be filled with {status.left:f} left")
    if status.state == "refused" and rests and filled:
        return Doubt("filled", f"it is said to be refused with {filled:f} filled")
    return None
