"""Fills of orders: stored with the order, and in the ledger of the mandate that it cites. A row of
the ledger is written in the transaction that writes its fill, so that each fill is one row,
whichever read brought it first.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from domain.ledger.events.event import NewEvent
from domain.ledger.events.event_kinds import LedgerKind, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import EventPayload, VenueFilled
from domain.ledger.state.venue_book import worth_of
from domain.money import Usdc
from domain.trading.orders import Order, OrderFill, SeenAtVenue
from domain.trading.outcome import filled_size
from domain.trading.venue_values import VENUE
from storage.unit_of_work import UnitOfWork


def store_fills(
    uow: UnitOfWork,
    order: Order,
    fills: Sequence[OrderFill],
    now: datetime,
    venue_state: SeenAtVenue | None,
) -> None:
    """Write an order's fills down; what is there already stays as it is. `venue_state` is what the
    venue said of the order with them.

    Source: trading 00.8.
    """
    for n, fill in uow.orders.add_fills(order.order_id, fills):
        if order.mode == "live" and order.mandate_id is not None:
            uow.ledger.append(
                order.mandate_id,
                row_of(order, fill, n, now, venue_state),
                event_id=row_id(order, n),
                now=now,
            )


def row_of(
    order: Order, fill: OrderFill, n: int, now: datetime, venue_state: SeenAtVenue | None
) -> NewEvent:
    """The keeper's row of the `n`-th fill of an order; its amount is size x price."""
    bought = order.side == "buy"
    body = VenueFilled(
        venue=VENUE,
        network=order.network,
        order_id=order.order_id,
        product=order.product,
        is_buy=bought,
        px=fill.px,
        size=fill.size,
        fee=fill.fee,
        builder_fee=fill.builder_fee,
        first=n == 1,
        reduce_only=order.action.reduce_only,
        tid=fill.tid,
        oid=venue_state.oid if venue_state is not None else None,
        at=fill.at,
    )
    return NewEvent(
        kind=LedgerKind.BUY if bought else LedgerKind.SELL,
        reported_by=Reporter.KEEPER,
        occurred_at=now,
        amount_usdc=Usdc(worth_of(fill.size, fill.px, round_up=bought)),
        payload=written(body),
        parsed=EventPayload(body=body),
    )


def row_id(order: Order, n: int) -> str:
    """The row's id, from the order's own, which is random: one fill has one id in any process."""
    digest = hashlib.sha256(f"{order.order_id}:{n}".encode()).digest()
    return "ev_" + base64.b32encode(digest[:10]).decode().lower()[:10]


def average(fills: Sequence[OrderFill]) -> Decimal | None:
    """The average price of fills, to eight decimals; None without any."""
    size = filled_size(fills)
    if not size:
        return None
    prepaid_cost = sum((f.size * f.px for f in fills), Decimal(0))
    return (prepaid_cost / size).quantize(Decimal("0.00000001")).normalize() + Decimal(0)
