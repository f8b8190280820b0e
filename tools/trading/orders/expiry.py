"""Order expiry: ends overdue orders and reservations before the next order is made."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps
from tools.trading.orders.status_sync import expire_of

SWEPT: Final = 20


def has_overdue(uow: UnitOfWork, owner_id: str, now: datetime) -> bool:
    """Whether orders of a person hold a part of the day though their time is up."""
    return bool(uow.orders.past(now, 1, owner_id=owner_id))


async def expire_overdue(deps: Deps, owner_id: str, now: datetime) -> None:
    """End a person's orders whose time is up, in a transaction of its own: it locks counters, and
    making an order locks agent, mandate and book before those.
    """
    await deps.store.write(lambda uow: _sweep(uow, owner_id, now))


def _sweep(uow: UnitOfWork, owner_id: str, now: datetime) -> None:
    """All their rows come before the first counter."""
    past = sorted(uow.orders.past(now, SWEPT, owner_id=owner_id), key=lambda o: o.order_id)
    for order in past:
        uow.orders.get(order.order_id, lock=True)
    for order in past:
        expire_of(uow, order, now)
