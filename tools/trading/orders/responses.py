"""Response bodies for prepared orders."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from domain.money import ZERO
from domain.ports import Venue
from domain.times import timestamp
from domain.trading.order_caps import Counter, DayUse
from domain.trading.orders import Order
from domain.trading.pricing import Priced, fee_est, taker_tenths_bps
from domain.trading.venue_values import Perp
from tools.model.operation import OperationResult
from tools.trading.orders.response_models import opens, order_json, steps, to_sign
from tools.trading.orders.trader_context import TraderContext


def cap_body(order: Order, counters: Mapping[Counter, DayUse]) -> dict[str, object] | None:
    """The day's counter that leaves the least, with this order in it."""
    if not counters:
        return None
    own = order.counted if order.counted_day else ZERO
    tight = min(counters, key=lambda c: c.limit - counters[c].total)
    use = counters[tight]
    return {
        "limit": tight.limit,
        "used": use.used,
        "reserved": use.reserved + own,
        "remaining": max(ZERO, tight.limit - use.total - own),
    }


def checks_body(
    order: Order,
    figures: Priced,
    perp: Perp | None,
    cap: dict[str, object] | None,
    liquidation: Decimal | None = None,
) -> dict[str, object]:
    """The checked values, as they are shown. `liquidation` is shown of paper: the end of a live
    account rests on all its positions, and the venue shows it.
    """
    prepaid_cost = order.action.builder
    rate = taker_tenths_bps(perp) if perp else None
    return {
        "cap": cap,
        "price": {
            "bid": format(figures.quote.bid, "f"),
            "ask": format(figures.quote.ask, "f"),
            "mark": format(perp.mark_px, "f") if perp and perp.mark_px is not None else None,
            "as_of": timestamp(figures.quote.at),
        },
        "fee_est": fee_est(order.notional, rate) if rate is not None else ZERO,
        "builder_fee_est": fee_est(order.notional, Decimal(prepaid_cost.fee_tenths_bps))
        if prepaid_cost
        else ZERO,
        "liquidation_px_est": None if liquidation is None else format(liquidation, "f"),
    }


def order_body(
    order: Order,
    now: datetime,
    venue: Venue | None,
    trader: TraderContext,
    confirm: str | None,
    checks: dict[str, object] | None,
    status: int = 201,
) -> OperationResult:
    """A prepared order; what is shown once is left out of what a repeat gets."""
    signing = None
    if confirm is not None and venue is not None and order.envelope is not None:
        written = venue.to_sign(order.action, order.envelope)
        key = trader.key.agent if trader.key is not None else None
        signing = to_sign(venue, order, written, order.envelope, key)
    body = {
        "order": order_json(order, now),
        "confirm_id": confirm,
        "to_sign": signing,
        "checks": checks,
        "next": steps(order),
    }
    stored_body = None
    if confirm is not None:
        stored_body = body | {"confirm_id": None, "to_sign": None, "next": opens(order)}
    return OperationResult(status, body, stored_body=stored_body)
