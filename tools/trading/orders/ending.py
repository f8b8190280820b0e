"""How what became of an order is written down: its fills, its part of the day, and its end.

Every change is one conditional statement on the state in which the order was read; who comes second
reads it again and leaves it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Final

from domain.money import ZERO, Usdc
from domain.refusals import Refusal
from domain.trading.orders import (
    DONE,
    Order,
    SeenAtVenue,
    Status,
    asks_again,
    becomes,
)
from domain.trading.outcome import PARTS, Doubt, End, Part, contradiction, filled_size
from domain.trading.precision import notional
from domain.trading.venue import NETWORKS, Network
from storage.unit_of_work import UnitOfWork
from tools.call.notices import order_unknown
from tools.trading.orders.filling import average, keep_fills
from tools.trading.orders.reserving import corrected, release

log = logging.getLogger("wallet.orders")
RESTING_S: Final = 30
UNKNOWN: Final = "wallet_outcome_unknown"
# How often this process heard the venue contradict an order, by network and part of its word: from
# 0 on, so that a rate sees the first.
CONTRADICTIONS: Final = Counter[tuple[Network, Part]](dict.fromkeys(product(NETWORKS, PARTS), 0))
Counting = Callable[[Order, Usdc | None], Order]
"""Takes an order's part of the day: what it used of it, None while that is not known."""


def end_order(
    uow: UnitOfWork, order: Order, end: End, now: datetime, *, first: Counting | None = None
) -> Order:
    """Write down what happened. Errors: `conflict` where it has changed since it was read.

    What cannot be this order's is not taken: it is unknown then, with all that it reserved.
    `first`: the order was decided about in this transaction, and is stored with what became of it;
    this counts it in its day.
    """
    why = contradiction(order, end)
    if why is not None:
        return doubted(uow, order, end, why, now)
    status = becomes(order.status, end.happening)
    seen, done = _seen(order, end, now), status in DONE
    # Before the counters: who appends to a ledger holds none of them yet, so that none waits in a
    # ring.
    keep_fills(uow, order, end.fills, now, seen)
    size = _size(order, end, done)
    whole = order.fills_whole or end.whole
    # A close counts against no day, and its fees are asked for all the same.
    settled = whole or size == 0
    after = replace(
        order,
        status=status,
        filled_size=size,
        avg_px=average(end.fills) or end.avg_px or order.avg_px,
        seen=seen,
        verified=end.verified if done or status == "resting" else order.verified,
        refusal=_refusal(order, end),
        fills_whole=whole,
        tries=0,
        done_at=now if done else order.done_at,
        next_check_at=None if done and settled else asks_next(status, 0, now),
        fills=order.fills if first is None else end.fills,
    )
    if first is not None:
        after = first(after, traded(after, after.notional) if done else None)
    elif done:
        after = release(uow, after, traded(after, after.counted))
    if status == "unknown" != order.status:
        order_unknown(uow, after, now)
    return uow.orders.save(after, order) if first is None else uow.orders.add(after)


def doubted(uow: UnitOfWork, order: Order, end: End, doubt: Doubt, now: datetime) -> Order:
    """Write down that the venue's word cannot be this order's: nothing of it is taken, nothing that
    is reserved is given back, and the operator reads why.
    """
    CONTRADICTIONS[order.network, doubt.part] += 1
    log.error("order %s at the venue: %s; it is not believed", order.order_id, doubt.why)
    known = order.status in DONE or order.status == "unknown"
    after = replace(
        order,
        status=order.status if known else becomes(order.status, "lose"),
        seen=_seen(order, end, now),
        tries=order.tries + 1,
        next_check_at=asks_again(order.tries, now),
    )
    if order.status not in DONE:
        reason = f"The venue contradicts the order: {doubt.why}."
        after = replace(after, refusal={"error": UNKNOWN, "reason": reason})
    if not known:
        order_unknown(uow, after, now)
    return uow.orders.save(after, order)


def filled_more(uow: UnitOfWork, order: Order, end: End, now: datetime, **changes: object) -> Order:
    """Take more fills of an order whose state stays as it is; what it used of its day grows with
    them.
    """
    why = contradiction(order, end)
    if why is not None:
        return doubted(uow, order, end, why, now)
    keep_fills(uow, order, end.fills, now, order.seen)
    size = max(filled_size(end.fills), order.filled_size or Decimal(0))
    after = replace(order, filled_size=size, avg_px=average(end.fills) or order.avg_px)
    if after.status in DONE:
        after = corrected(uow, after, notional(size, after.action.limit_px))
    return uow.orders.save(replace(after, **changes), order)  # type: ignore[arg-type]  # an order's fields


def traded(order: Order, most: Usdc) -> Usdc:
    """What an order that is done counts against its day: what it filled, at its limit price.

    That is never more than was reserved, whatever better price it got.
    """
    if order.filled_size is None:
        return ZERO if order.status != "executed" else most
    return min(most, notional(order.filled_size, order.action.limit_px))


def _size(order: Order, end: End, done: bool) -> Decimal | None:
    known = order.filled_size
    told = end.size if end.size is not None else filled_size(end.fills) if end.fills else None
    if told is None:
        return Decimal(0) if done and known is None else known
    return told if known is None else max(told, known)


def _seen(order: Order, end: End, now: datetime) -> SeenAtVenue | None:
    if end.word is None:
        return order.seen
    oid = end.oid if end.oid is not None else (order.seen.oid if order.seen else None)
    return SeenAtVenue(oid=oid, status=end.word, checked_at=now)


def asks_next(status: Status, tries: int, now: datetime) -> datetime:
    """When the venue is asked about an order next."""
    if status == "resting":
        return now + timedelta(seconds=RESTING_S)
    return asks_again(tries, now)


def _refusal(order: Order, end: End) -> dict[str, str] | None:
    """Why it came to nothing. What traded after all was refused by nobody."""
    if end.refusal is not None:
        return _told(end.refusal)
    came = end.happening in ("refuse", "lose", "void")
    return dict(order.refusal) if came and order.refusal is not None else None


def _told(refused: Refusal) -> dict[str, str]:
    told = {"error": refused.kind.code, "reason": refused.reason}
    kind = (refused.remaining or {}).get("venue_kind")
    return told | ({"venue_kind": str(kind)} if kind else {})


def expired(uow: UnitOfWork, order: Order, now: datetime) -> Order:
    """Write down that an order's time is up, and give its part of the day back."""
    status = becomes(order.status, "expire")
    after = replace(release(uow, order), status=status, done_at=now, next_check_at=None)
    return uow.orders.save(after, order)


def recorded(uow: UnitOfWork, order: Order, now: datetime) -> Order:
    """An order that somebody says the browser has sent."""
    after = replace(
        order,
        status=becomes(order.status, "record"),
        sent_at=now,
        next_check_at=asks_again(0, now),
        tries=0,
    )
    return uow.orders.save(after, order)
