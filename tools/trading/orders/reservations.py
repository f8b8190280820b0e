"""Reservations of an order in the day's cap: taken, released, or turned into the traded amount.

Who holds a counter waits for nothing but the next counter: orders, the paper book and its snapshot,
and the mandate's ledger are locked before, in this order, so that no two wait in a ring.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from domain.money import ZERO, Usdc
from domain.refusals import Refused
from domain.times import day_of
from domain.trading.order_caps import day_checks
from domain.trading.orders import Order
from storage.unit_of_work import UnitOfWork
from tools.trading.orders.trader_context import TraderContext, scopes


def reserve(
    uow: UnitOfWork, trader: TraderContext, order: Order, now: datetime, used: Usdc | None = None
) -> Order:
    """Take an order's part of the day; of one that is done what it `used`, if all of it would have
    fitted. Errors: `wallet_over_cap`, decided by the statement that takes it.
    """
    _mandate_first(uow, order)
    for counter in trader.counters(order.mode, now):
        if not uow.order_counters.reserve(counter, order.notional, used):
            uses = uow.order_counters.uses([counter])
            (check,) = day_checks(uses, order.notional, now)
            raise Refused(check.refused())
    counted = order.notional if used is None else used
    return replace(order, counted=counted, counted_day=day_of(now))


def release(uow: UnitOfWork, order: Order, used: Usdc = ZERO) -> Order:
    """Give an order's part of the day back, but for what was traded."""
    return _recounted(uow, order, used, given_back=order.counted, used=used)


def corrected(uow: UnitOfWork, order: Order, used: Usdc) -> Order:
    """Count what an order that is done traded in place of what was counted for it."""
    if used == order.counted or order.counted_day is None:
        return order
    return _recounted(uow, order, used, used=used - order.counted)


def retaken(uow: UnitOfWork, order: Order) -> Order:
    """Reserve what an order is worth in place of what was counted for it, whatever the limit says:
    the venue has it.
    """
    return _recounted(uow, order, order.notional, given_back=order.counted - order.notional)


def _recounted(
    uow: UnitOfWork, order: Order, counted: Usdc, *, given_back: Usdc = ZERO, used: Usdc = ZERO
) -> Order:
    if order.counted_day is not None:
        _mandate_first(uow, order)
        for scope in scopes(order):
            uow.order_counters.settle(scope, order.counted_day, given_back, used)
    return replace(order, counted=counted)


def _mandate_first(uow: UnitOfWork, order: Order) -> None:
    """An order that counts more of its mandate's day than before moves the mandate's turn."""
    if order.mode == "live" and order.mandate_id is not None:
        uow.mandates.get(order.mandate_id, lock=True)
