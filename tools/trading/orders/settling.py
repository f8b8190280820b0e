"""What became of an order: one way from every answer to its end, for a route and for the tick.

Every change is one conditional statement on the state in which the order was read; who comes second
reads it again and leaves it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from domain.money import ZERO, Usdc
from domain.ports import Venue
from domain.refusals import Refusal, Refused, refusal
from domain.trading.gate import VenueSaid, rejected
from domain.trading.orders import (
    DONE,
    UNSEEN_RECORD_HOLDS,
    UNSENT,
    VOID_AFTER,
    Happening,
    Order,
    OrderFill,
    SeenAtVenue,
    Status,
    asks_again,
    becomes,
)
from domain.trading.own import milliseconds
from domain.trading.precision import notional
from domain.trading.venue import Lane, OrderSeen, Placed, VenueFill
from storage.unit_of_work import UnitOfWork
from tools.call.notices import order_unknown
from tools.call.operation import Deps
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.filling import average, filled_size, keep_fills
from tools.trading.orders.reserving import release
from tools.trading.orders.wording import in_our_words, kind_of

log = logging.getLogger("wallet.orders")

A_ROUND: Final = 20
FILLS_TRIES: Final = 100
RESTING_S: Final = 30
# The browser may post its bytes in the last moment; the venue is asked before they are given up.
GRACE: Final = timedelta(seconds=60)
_BEFORE: Final = timedelta(seconds=60)  # the venue's clock may be behind ours


Counting = Callable[[Order, Usdc | None], Order]
"""Takes an order's part of the day: what it used of it, None while that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What happened to an order, and what is known of it with that."""

    happening: Happening
    size: Decimal | None = None
    avg_px: Decimal | None = None
    oid: int | None = None
    word: str | None = None
    refusal: Refusal | None = None
    fills: tuple[OrderFill, ...] = ()
    whole: bool = False
    verified: bool = True


def end_order(
    uow: UnitOfWork, order: Order, end: End, now: datetime, *, first: Counting | None = None
) -> Order:
    """Write down what happened. Errors: `conflict` where it has changed since it was read.

    `first`: the order was decided about in this transaction, and is stored with what became of it;
    this counts it in its day.
    """
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
        verified=order.verified or (end.verified and (done or status == "resting")),
        refusal=_told(end.refusal) if end.refusal is not None else order.refusal,
        fills_whole=whole,
        tries=0,
        done_at=now if done else order.done_at,
        next_check_at=None if done and settled else _next(status, 0, now),
        fills=order.fills if first is None else end.fills,
    )
    if first is not None:
        after = first(after, traded(after, after.notional) if done else None)
    elif done:
        after = release(uow, after, traded(after, after.counted))
    if status == "unknown" != order.status:
        order_unknown(uow, after, now)
    return uow.orders.save(after, order) if first is None else uow.orders.add(after)


def traded(order: Order, most: Usdc) -> Usdc:
    """What an order that is done counts against its day: what it filled, at its limit price.

    That is never more than was reserved, whatever better price it got.
    """
    if order.filled_size is None:
        return ZERO if order.status != "executed" else most
    return min(most, notional(order.filled_size, order.action.limit_px))


def _size(order: Order, end: End, done: bool) -> Decimal | None:
    if end.size is not None:
        return end.size
    if end.fills:
        return filled_size(end.fills)
    return Decimal(0) if done and order.filled_size is None else order.filled_size


def _seen(order: Order, end: End, now: datetime) -> SeenAtVenue | None:
    if end.word is None:
        return order.seen
    oid = end.oid if end.oid is not None else (order.seen.oid if order.seen else None)
    return SeenAtVenue(oid=oid, status=end.word, checked_at=now)


def _next(status: Status, tries: int, now: datetime) -> datetime:
    if status == "resting":
        return now + timedelta(seconds=RESTING_S)
    return asks_again(tries, now)


def _told(refused: Refusal) -> dict[str, str]:
    told = {"error": refused.kind.code, "reason": refused.reason}
    kind = (refused.remaining or {}).get("venue_kind")
    return told | ({"venue_kind": str(kind)} if kind else {})


def end_of(placed: Placed) -> End:
    """What the venue's answer to a sent order says."""
    if placed.outcome == "filled":
        return End(
            happening="fill", size=placed.size, avg_px=placed.avg_px, oid=placed.oid, word="filled"
        )
    if placed.outcome == "resting":
        return End(happening="rest", oid=placed.oid, word="open")
    if placed.outcome == "refused":
        return End(happening="refuse", refusal=in_our_words(placed), word="rejected")
    return End(happening="lose", verified=False)


async def look(deps: Deps, order: Order, lane: Lane | None = None) -> Order:
    """Ask the venue about an order once, and write down what it says.

    `lane`: who asks, where that is not the order's own lane. Errors: `venue_unavailable`; then the
    order is as it was.
    """
    venue = venue_of(deps, order.network)
    wallet = order.wallet or ""
    lane = lane or _lane(order)
    seen = await venue.order_seen(wallet, order.action.cloid, lane=lane)
    end = None if seen is None else await _end_seen(venue, order, seen, lane)
    more = () if end is not None or seen is None else await _filled_more(venue, order, seen, lane)
    now = deps.clock.now()
    return await deps.store.write(lambda uow: _learned(uow, order, seen, end, now, more))


async def _filled_more(
    venue: Venue, order: Order, seen: OrderSeen, lane: Lane
) -> tuple[OrderFill, ...]:
    """The fills of an order that rests, where there are more than are known."""
    known = order.filled_size or Decimal(0)
    if seen.seen_as != "open" or seen.left is None or order.action.size - seen.left <= known:
        return ()
    found = await _fills(venue, order, seen.oid, lane)
    return found if filled_size(found) > known else ()


def _lane(order: Order) -> Lane:
    return "close" if order.closing else "house"


async def _end_seen(venue: Venue, order: Order, seen: OrderSeen, lane: Lane) -> End | None:
    """What the venue's word for an order comes to; None where that is no news, or not known."""
    if seen.seen_as == "unknown":
        return None
    if seen.seen_as == "open":
        if order.status == "resting":
            return None
        return End(happening="rest", oid=seen.oid, word=seen.status)
    filled = None if seen.left is None else order.action.size - seen.left
    happening: Happening = "fill" if seen.seen_as == "filled" else "cancel"
    refused = None
    if seen.seen_as == "refused":
        happening = "refuse"
        refused = rejected(VenueSaid(words=seen.status, kind=kind_of(seen.status)))
        filled = Decimal(0)
    fills = () if filled == 0 else await _fills(venue, order, seen.oid, lane)
    # Fills may be told later than the order's end; the others are asked for again.
    whole = filled == 0 or (bool(fills) and (filled is None or filled_size(fills) >= filled))
    return End(
        happening=happening,
        size=filled,
        oid=seen.oid,
        word=seen.status,
        refusal=refused,
        fills=fills,
        whole=whole,
    )


async def _fills(venue: Venue, order: Order, oid: int, lane: Lane) -> tuple[OrderFill, ...]:
    """The order's fills, none where the venue does not tell them now."""
    since = (order.sent_at or order.created_at) - _BEFORE
    try:
        rows = await venue.fills(order.wallet or "", since, lane=lane)
    except Refused:
        return ()
    return tuple(_fill(row) for row in rows if row.oid == oid)


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


def _learned(
    uow: UnitOfWork,
    read: Order,
    seen: OrderSeen | None,
    end: End | None,
    now: datetime,
    more: tuple[OrderFill, ...] = (),
) -> Order:
    """Write down what the venue said, if nobody else has done so meanwhile."""
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.version != read.version:
        return order or read
    if end is not None and order.status == "awaiting_signature":
        # The browser sent it by itself and has not told us.
        order = recorded(uow, order, now)
    if end is not None:
        return end_order(uow, order, end, now)
    if order.status in DONE:
        return order
    if order.status in UNSENT:
        # Its bytes have ended too, so that nobody can send them any more.
        return order if now < order.expires_at else _expired(uow, order, now)
    if seen is None and order.envelope is not None and order.status in ("executing", "unknown"):
        over = milliseconds(now - VOID_AFTER) > order.envelope.expires_after
        if over:
            why = "it never arrived, and its bytes have ended"
            lost = refusal("wallet_venue_unavailable", why=why)
            return end_order(uow, order, End(happening="void", refusal=lost, whole=True), now)
        if order.status == "executing":
            return end_order(uow, order, End(happening="lose", verified=False), now)
    return _ask_later(uow, order, seen, now, more)


def _ask_later(
    uow: UnitOfWork,
    order: Order,
    seen: OrderSeen | None,
    now: datetime,
    more: tuple[OrderFill, ...],
) -> Order:
    after = replace(order, tries=order.tries + 1)
    if more:
        keep_fills(uow, order, more, now, order.seen)
        after = replace(after, filled_size=filled_size(more), avg_px=average(more))
    if seen is not None:
        word = SeenAtVenue(oid=seen.oid, status=seen.status, checked_at=now)
        after = replace(after, seen=word)
    unseen = order.status == "recorded" and seen is None
    if unseen and now >= (order.sent_at or order.created_at) + UNSEEN_RECORD_HOLDS:
        after = replace(release(uow, after), next_check_at=None)
    else:
        after = replace(after, next_check_at=_next(after.status, after.tries, now))
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


async def fees_of(deps: Deps, order: Order) -> Order:
    """Read the fills of an order that is done and whose fees nobody has said yet."""
    if order.seen is None or order.seen.oid is None:
        return order
    # Nothing waits for the fees of an order that is done: they take nothing of the reserve.
    fills = await _fills(venue_of(deps, order.network), order, order.seen.oid, "house")
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> Order:
        was = uow.orders.get(order.order_id, lock=True)
        if was is None or was.version != order.version:
            return was or order
        told = filled_size(fills)
        whole = bool(fills) and (was.filled_size is None or told >= was.filled_size)
        keep_fills(uow, was, fills, now, was.seen)
        later = None if whole or was.tries >= FILLS_TRIES else asks_again(was.tries, now)
        size = told if whole else was.filled_size
        after = replace(
            was,
            fills_whole=whole,
            next_check_at=later,
            tries=was.tries + 1,
            filled_size=size,
            avg_px=average(fills) if whole else was.avg_px,
        )
        return uow.orders.save(after, was)

    return await deps.store.write(work)


async def settle_due(deps: Deps) -> int:
    """One round over the orders about which the venue is due to be asked, and over those whose time
    is up; how many there were.
    """
    now = deps.clock.now()
    due, past = await deps.store.read(
        lambda uow: (uow.orders.to_ask(now, A_ROUND), uow.orders.past(now, A_ROUND))
    )
    for order in due:
        try:
            if order.mode == "paper":
                await desk_of(deps).settle(venue_of(deps, order.network), order)
            elif order.status in DONE:
                await fees_of(deps, order)
            else:
                await look(deps, order)
        except Refused as refused:
            log.info("order %s: %s", order.order_id, refused.refusal.reason)
            await _postponed(deps, order)
    for order in past:
        await deps.store.write(partial(_expire, order, now))
    return len(due) + len(past)


def _expire(order: Order, now: datetime, uow: UnitOfWork) -> None:
    expire_of(uow, order, now)


async def _postponed(deps: Deps, order: Order) -> None:
    now = deps.clock.now()

    def work(uow: UnitOfWork) -> None:
        was = uow.orders.get(order.order_id, lock=True)
        if was is not None and was.version == order.version:
            later = replace(was, tries=was.tries + 1, next_check_at=asks_again(was.tries + 1, now))
            uow.orders.save(later, was)

    await deps.store.write(work)


def expire_of(uow: UnitOfWork, read: Order, now: datetime) -> None:
    """Write down that an order's time is up, and give its part of the day back.

    One whose bytes were given out stands for another minute, in which the venue is asked.
    """
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.version != read.version or order.status not in UNSENT:
        return
    if order.status == "awaiting_signature" and now < order.expires_at + GRACE:
        return
    _expired(uow, order, now)


def _expired(uow: UnitOfWork, order: Order, now: datetime) -> Order:
    status = becomes(order.status, "expire")
    after = replace(release(uow, order), status=status, done_at=now, next_check_at=None)
    return uow.orders.save(after, order)
