"""Order end: stores an outcome: its fills, its part of the day's cap, and its final status.

Every change is one conditional statement on the state in which the order was read; who comes second
reads it again and leaves it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Final, Literal

from domain.money import ZERO, Usdc
from domain.refusals import Refusal, refusal
from domain.trading.orders import (
    DONE,
    UNSEEN_RECORD_HOLDS,
    UNSENT,
    VOID_AFTER,
    Order,
    OrderAction,
    SeenAtVenue,
    Status,
    next_poll_at,
    next_status,
    proof_due,
    unproved,
)
from domain.trading.outcome import PARTS, Doubt, DoubtfulPart, OrderEnd, contradiction, filled_size
from domain.trading.precision import notional
from domain.trading.venue_account import milliseconds
from domain.trading.venue_values import NETWORKS, Network, OrderSeen
from storage.unit_of_work import UnitOfWork
from tools.context.notice_outbox import order_unknown
from tools.model.operation import Deps
from tools.trading.orders.fills import average, store_fills
from tools.trading.orders.reservations import corrected, release, retaken

log = logging.getLogger("wallet.orders")
RESTING_S: Final = 30
UNKNOWN: Final = "wallet_outcome_unknown"
UNNAMED: Final = "other"  # the kind of a refusal whose words are not known
# How often this process heard the venue contradict an order, by network and part of its word: from
# 0 on, so that a rate sees the first.
CONTRADICTIONS: Final = Counter[tuple[Network, DoubtfulPart]](
    dict.fromkeys(product(NETWORKS, PARTS), 0)
)
CountOrder = Callable[[Order, Usdc | None], Order]
"""Takes an order's part of the day: what it used of it, None while that is not known."""


def end_order(
    uow: UnitOfWork, order: Order, end: OrderEnd, now: datetime, *, first: CountOrder | None = None
) -> Order:
    """Write down what happened. Errors: `conflict` where it has changed since it was read.

    What cannot be this order's is not taken: it is unknown then, with all that it reserved.
    `first`: the order was decided about in this transaction, and is stored with what became of it;
    this counts it in its day.
    """
    why = contradiction(order, end)
    if why is not None:
        return doubted(uow, order, end, why, now)
    status = next_status(order.status, end.transition)
    venue_state, done = _venue_state(order, end, now), status in DONE
    # Before the counters: who appends to a ledger holds none of them yet, so that none waits in a
    # ring.
    store_fills(uow, order, end.fills, now, venue_state)
    size = _size(order, end, done)
    whole = order.fills_whole or end.fills_complete
    # A close counts against no day, and its fees are asked for all the same.
    settled = whole or size == 0
    after = replace(
        order,
        status=status,
        filled_size=size,
        avg_px=average(end.fills) or end.avg_px or order.avg_px,
        seen=venue_state,
        verified=end.verified if done or status == "resting" else order.verified,
        refusal=_refusal(order, end),
        fills_whole=whole,
        tries=0,
        done_at=now if done else order.done_at,
        next_check_at=None if done and settled else asks_next(status, 0, now),
        fills=order.fills if first is None else end.fills,
    )
    if unproved(after):
        after = replace(after, next_check_at=proof_due(after, now))
    if first is not None:
        after = first(after, traded(after, after.notional) if done else None)
    elif done:
        after = release(uow, after, traded(after, after.counted))
    if status == "unknown" != order.status:
        order_unknown(uow, after, now)
    return uow.orders.save(after, order) if first is None else uow.orders.add(after)


def doubted(uow: UnitOfWork, order: Order, end: OrderEnd, doubt: Doubt, now: datetime) -> Order:
    """Write down that the venue's word cannot be this order's: nothing of it is taken, nothing that
    is reserved is given back, and the operator reads why.
    """
    count_contradiction(order, doubt)
    known = order.status in DONE or order.status == "unknown"
    after = replace(
        order,
        status=order.status if known else next_status(order.status, "lose"),
        seen=_venue_state(order, end, now),
        tries=order.tries + 1,
        next_check_at=next_poll_at(order.tries, now),
    )
    if order.status not in DONE:
        reason = f"The venue contradicts the order: {doubt.reason}."
        after = replace(after, refusal={"error": UNKNOWN, "reason": reason})
    if not known:
        order_unknown(uow, after, now)
    return uow.orders.save(after, order)


def count_contradiction(order: Order, doubt: Doubt) -> None:
    """Tell the operator that the venue contradicts an order: in its log, and in its metrics."""
    CONTRADICTIONS[order.network, doubt.part] += 1
    log.error("order %s at the venue: %s; it is not believed", order.order_id, doubt.reason)


def filled_more(
    uow: UnitOfWork,
    order: Order,
    end: OrderEnd,
    now: datetime,
    *,
    last: bool = False,
    **changes: object,
) -> Order:
    """Take more fills of an order whose state stays as it is; what it used of its day grows with
    them. `last`: they are all that will come, and what was claimed beyond them did not trade.
    """
    why = contradiction(order, end)
    if why is not None:
        return doubted(uow, order, end, why, now)
    store_fills(uow, order, end.fills, now, order.seen)
    size = filled_size(end.fills)
    if not last:
        size = max(size, order.filled_size or Decimal(0))
    after = replace(order, filled_size=size, avg_px=average(end.fills) or order.avg_px)
    if after.status in DONE:
        used = notional(size, after.action.limit_px)
        after = corrected(uow, after, used if last else max(used, after.counted))
    return uow.orders.save(replace(after, **changes), order)  # type: ignore[arg-type]  # an order's fields


def traded(order: Order, limit: Usdc) -> Usdc:
    """The notional that an order that is done counts against its day: what it filled, at its limit
    price. That is never more than was reserved, at any better price.
    """
    if order.filled_size is None:
        return ZERO if order.status != "executed" else limit
    return min(limit, notional(order.filled_size, order.action.limit_px))


def _size(order: Order, end: OrderEnd, done: bool) -> Decimal | None:
    known = order.filled_size
    filled = end.size if end.size is not None else filled_size(end.fills) if end.fills else None
    if filled is None:
        return Decimal(0) if done and known is None else known
    return filled if known is None else max(filled, known)


def _venue_state(order: Order, end: OrderEnd, now: datetime) -> SeenAtVenue | None:
    if end.venue_message is None:
        return order.seen
    oid = end.oid if end.oid is not None else (order.seen.oid if order.seen else None)
    return SeenAtVenue(oid=oid, status=end.venue_message, checked_at=now)


def asks_next(status: Status, tries: int, now: datetime) -> datetime:
    """The time at which the venue is asked about an order next."""
    if status == "resting":
        return now + timedelta(seconds=RESTING_S)
    return next_poll_at(tries, now)


def _refusal(order: Order, end: OrderEnd) -> dict[str, str] | None:
    """The refusal of an order that ended without a fill; an order that traded after all has
    none.
    """
    if end.refusal is not None:
        return _reason_of(end.refusal)
    came = end.transition in ("refuse", "lose", "void")
    return dict(order.refusal) if came and order.refusal is not None else None


def _reason_of(refused: Refusal) -> dict[str, str]:
    raw = {"error": refused.kind.code, "reason": refused.reason}
    kind = (refused.remaining or {}).get("venue_kind")
    return raw | ({"venue_kind": str(kind)} if kind else {})


def given_up(
    uow: UnitOfWork, order: Order, how: Literal["expire", "cancel"], now: datetime
) -> Order:
    """Write down that an order's time is up, or that it was taken back, and give its part of the
    day back but for what it traded.
    """
    freed = release(uow, order, traded(order, order.counted))
    after = replace(freed, status=next_status(order.status, how), done_at=now)
    return uow.orders.save(replace(after, next_check_at=proof_due(after, now)), order)


def revived(uow: UnitOfWork, order: Order) -> Order:
    """An order that was given up and that the venue has: it counts in its day again, whole."""
    status = next_status(order.status, "find")
    after = replace(retaken(uow, order), status=status, done_at=None, tries=0)
    return uow.orders.save(after, order)


def sought(uow: UnitOfWork, order: Order, now: datetime) -> Order:
    """An order that was given up and that the venue does not have either, or refused."""
    looked = replace(order, tries=order.tries + 1)
    due = proof_due(looked, now)
    after = replace(looked, next_check_at=due, verified=due is None)
    return uow.orders.save(after, order)


def record_sent(uow: UnitOfWork, order: Order, now: datetime) -> Order:
    """An order that a caller reports as sent by the browser."""
    after = replace(
        order,
        status=next_status(order.status, "record"),
        sent_at=now,
        next_check_at=next_poll_at(0, now),
        tries=0,
    )
    return uow.orders.save(after, order)


async def change_order(
    deps: Deps, read: Order, change: Callable[[UnitOfWork, Order], Order]
) -> Order:
    """Change an order in a transaction of its own; where another process was first, its word
    stands.
    """

    def work(uow: UnitOfWork) -> Order:
        order = uow.orders.get(read.order_id, lock=True)
        if order is None or order.version != read.version:
            return order or read
        return change(uow, order)

    return await deps.store.write(work)


# -- what the venue was heard to say


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The venue's state of one pricing of an order; `more`: fills of one that stands."""

    action: OrderAction
    seen: OrderSeen | None
    end: OrderEnd | None
    more: OrderEnd | None


def learn(uow: UnitOfWork, order: Order, news: News, now: datetime) -> Order:
    """Store the venue's state of an order."""
    end = news.end
    if end is not None and news.action != order.action:
        order = _priced_as(uow, order, news.action)
    if unproved(order):
        return _after_all(uow, order, end, now)
    if end is not None:
        if order.status == "awaiting_signature":
            # The browser sent it by itself and has not told us.
            order = record_sent(uow, order, now)
        return end_order(uow, order, end, now)
    if order.status in UNSENT:
        # Its bytes have ended too, so that nobody can send them any more.
        return order if now < order.expires_at else given_up(uow, order, "expire", now)
    return order if order.status in DONE else _not_over(uow, order, news, now)


def _not_over(uow: UnitOfWork, order: Order, news: News, now: datetime) -> Order:
    """The state of an order that was sent, and whose end the venue does not name."""
    at_venue = news.seen
    if at_venue is None:
        lost = _end_of_unknown(order, now)
        return _ask_later(uow, order, now) if lost is None else end_order(uow, order, lost, now)
    seen = SeenAtVenue(oid=at_venue.oid, status=at_venue.status, checked_at=now)
    if news.more is not None:
        later = asks_next(order.status, 0, now)
        return filled_more(uow, order, news.more, now, seen=seen, next_check_at=later, tries=0)
    stands = at_venue.state == "open"
    tries, verified = 0 if stands else order.tries + 1, order.verified or stands
    later = asks_next(order.status, tries, now)
    after = replace(order, seen=seen, verified=verified, tries=tries, next_check_at=later)
    return uow.orders.save(after, order)


def _priced_as(uow: UnitOfWork, order: Order, action: OrderAction) -> Order:
    """The order as an earlier pricing of it, which is the one that acted."""
    worth = notional(action.size, action.limit_px)
    others = tuple(one for one in (*order.former, order.action) if one != action)
    return retaken(uow, replace(order, action=action, former=others, notional=worth))


def _after_all(uow: UnitOfWork, order: Order, end: OrderEnd | None, now: datetime) -> Order:
    """The state of an order that had ended by a status alone."""
    if end is None or end.transition == "refuse":
        return sought(uow, order, now)
    why = contradiction(order, end)
    if why is not None:
        return doubted(uow, order, end, why, now)
    return end_order(uow, revived(uow, order), end, now)


def _end_of_unknown(order: Order, now: datetime) -> OrderEnd | None:
    """The end of an order that the venue does not know and never named."""
    if order.envelope is None or order.status not in ("executing", "unknown"):
        return None
    name = order.seen is not None and order.seen.oid is not None
    over = milliseconds(now - VOID_AFTER) > order.envelope.expires_after
    refused = order.refusal if order.refusal and order.refusal["error"] != UNKNOWN else None
    if refused is not None and not name:
        if over or refused.get("venue_kind") != UNNAMED:
            return OrderEnd(
                transition="refuse", venue_message="rejected", fills_complete=True, verified=over
            )
    elif over and not name:
        why = "it never arrived, and its bytes have ended"
        lost = refusal("wallet_venue_unavailable", why=why)
        return OrderEnd(transition="void", refusal=lost, fills_complete=True)
    return OrderEnd(transition="lose") if order.status == "executing" else None


def _ask_later(uow: UnitOfWork, order: Order, now: datetime) -> Order:
    after = replace(order, tries=order.tries + 1)
    holds = (order.sent_at or order.created_at) + UNSEEN_RECORD_HOLDS
    if order.status == "recorded" and now >= holds:
        after = replace(release(uow, after), next_check_at=None)
    else:
        after = replace(after, next_check_at=asks_next(after.status, after.tries, now))
    return uow.orders.save(after, order)
