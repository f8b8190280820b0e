"""Order status sync: applies a venue answer to an order, once, from a request or the poller."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from domain.ports import Venue
from domain.refusals import Refused
from domain.trading.indices import dex_of
from domain.trading.modes import Mode
from domain.trading.order_gate import rejected
from domain.trading.orders import (
    DONE,
    FORGOTTEN_AFTER,
    UNSENT,
    VOID_AFTER,
    Order,
    OrderAction,
    next_poll_at,
    unproved,
)
from domain.trading.outcome import (
    Doubt,
    OrderEnd,
    contradiction,
    filled_by_status,
    filled_size,
    fills_of,
    identity_doubt,
    refused_unfilled,
    was_open,
)
from domain.trading.venue_account import at_milliseconds, milliseconds
from domain.trading.venue_values import OrderSeen, Placed, Priority
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Deps
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.order_end import (
    UNNAMED,
    News,
    change_order,
    count_contradiction,
    expired,
    filled_more,
    learn,
)
from tools.trading.orders.venue_errors import kind_of, refusal_for

log = logging.getLogger("wallet.orders")

A_ROUND: Final = 20
# The browser may post its bytes in the last moment; the venue is asked before they are given up.
GRACE: Final = timedelta(seconds=60)
_BEFORE: Final = timedelta(seconds=60)  # the venue's clock may be behind ours
_LESS: Final = "its fills come to less than its status says"


def end_of(placed: Placed) -> OrderEnd:
    """The end of a sent order by the venue's answer; its words are final only where they are known.
    Nothing of it is verified: that is for the order's own status, or its fills.
    """
    end = OrderEnd(transition="lose", oid=placed.oid, verified=False)
    if placed.outcome == "filled":
        size, px = placed.size, placed.avg_px
        return replace(end, transition="fill", size=size, avg_px=px, venue_message="filled")
    if placed.outcome == "resting":
        return replace(end, transition="rest", venue_message="open")
    if placed.outcome == "refused":
        end = replace(end, refusal=refusal_for(placed), venue_message="rejected")
        return end if placed.kind in (None, UNNAMED) else replace(end, transition="refuse")
    return end


async def confirm_end(venue: Venue, order: Order, placed: Placed, priority: Priority) -> OrderEnd:
    """The state of an order by the answer and by the order's own status together: unknown where the
    status denies the answer, nor is the rest of a fill known while the status is silent.
    """
    end = end_of(placed)
    if end.transition not in ("refuse", "fill") or contradiction(order, end) is not None:
        return end
    denied = replace(end, transition="lose", size=None, avg_px=None)
    try:
        venue_state = await venue.order_status(
            order.wallet or "", order.action.cloid, priority=priority
        )
    except Refused:
        return end if end.transition == "fill" and end.size == order.action.size else denied
    if end.transition == "refuse":
        says_so = venue_state is None or refused_unfilled(order, venue_state)
        return replace(end, verified=venue_state is not None) if says_so else denied
    if (
        venue_state is None
        or venue_state.state != "filled"
        or identity_doubt(order, venue_state) is not None
    ):
        return denied
    return (
        replace(end, verified=True) if filled_by_status(order, venue_state) == end.size else denied
    )


async def sync_status(
    deps: Deps, order: Order, priority: Priority | None = None, *, forgotten: bool = False
) -> Order:
    """Ask the venue about an order once, and write down what it says.

    `priority`: who asks, where that is not the order's own lane; `forgotten`: the venue has said
    already that it does not know the order. Errors: `venue_unavailable`; then the order is as it
    was.
    """
    venue = venue_of(deps, order.network)
    priority = priority or _lane(order)
    action, venue_state = await venue_state_of(venue, order, priority)
    end = more = None
    if venue_state is not None:
        end = await _end_seen(venue, replace(order, action=action), venue_state, priority)
        more = await _filled_more(venue, order, venue_state, priority) if end is None else None
    if end is None and _is_forgotten(order, venue_state, forgotten):
        end = await _forgotten(venue, order, venue_state, priority)
    news = News(action=action, seen=venue_state, end=end, more=more)
    now = deps.clock.now()
    return await change_order(deps, order, lambda uow, was: learn(uow, was, news, now))


async def venue_state_of(
    venue: Venue, order: Order, priority: Priority
) -> tuple[OrderAction, OrderSeen | None]:
    """The pricing of an order that the venue has, and its state; the last one and None where it has
    none. Errors: `venue_unavailable`.
    """
    for action in (order.action, *reversed(order.former)):
        venue_state = await venue.order_status(order.wallet or "", action.cloid, priority=priority)
        if venue_state is not None:
            return action, venue_state
    return order.action, None


def _lane(order: Order) -> Priority:
    return "close" if order.closing else "house"


# -- what the venue's word comes to


async def _end_seen(
    venue: Venue, order: Order, venue_state: OrderSeen, priority: Priority
) -> OrderEnd | None:
    """The end of an order by the venue's word; None where that is no news, or not known."""
    doubt = identity_doubt(order, venue_state)
    if doubt is not None:
        return OrderEnd(
            transition="lose", oid=venue_state.oid, venue_message=venue_state.status, doubt=doubt
        )
    if venue_state.state == "unknown":
        return None
    if venue_state.state == "open":
        if order.status == "resting":
            return None
        return OrderEnd(transition="rest", oid=venue_state.oid, venue_message=venue_state.status)
    if refused_unfilled(order, venue_state):
        if was_open(order):
            return None  # what stood in the book was not refused
        why = rejected(venue_state.status, kind_of(venue_state.status))
        # One word: what its answer did not refuse too is looked for until its bytes have ended.
        end = OrderEnd(
            transition="refuse", size=Decimal(0), refusal=why, fills_complete=True, verified=False
        )
        return replace(end, oid=venue_state.oid, venue_message=venue_state.status)
    return await _end_traded(venue, order, venue_state, priority)


async def _end_traded(
    venue: Venue, order: Order, venue_state: OrderSeen, priority: Priority
) -> OrderEnd | None:
    """The end of an order that trades no more, with its fills; None while the size that traded is
    not known.
    """
    filled = filled_by_status(order, venue_state)
    as_asked = venue_state.size in (None, order.action.size)
    # A status that understates what traded would give a reservation back: fills are asked for too.
    end = await _fills(venue, order, venue_state.oid, priority)
    if end is None and (not filled or not as_asked):
        return None
    end = end or OrderEnd(transition="fill")
    traded = filled_size(end.fills)
    size = traded if filled is None else max(filled, traded)
    if filled is not None and filled < (order.filled_size or 0):
        size = filled  # it contradicts what is known, which `end_order` refuses
    # Fills may be told later than the order's end; the others are asked for again.
    return replace(
        end,
        transition="fill" if venue_state.state == "filled" else "cancel",
        size=size,
        oid=venue_state.oid,
        venue_message=venue_state.status,
        fills_complete=traded >= size,
    )


async def _filled_more(
    venue: Venue, order: Order, venue_state: OrderSeen, priority: Priority
) -> OrderEnd | None:
    """The fills of an order that rests, where there are more than are known."""
    filled = filled_by_status(order, venue_state)
    if venue_state.state != "open" or filled is None or filled <= (order.filled_size or Decimal(0)):
        return None
    end = await _fills(venue, order, venue_state.oid, priority)
    more = end is not None and filled_size(end.fills) > (order.filled_size or Decimal(0))
    return end if more else None


async def _fills(
    venue: Venue, order: Order, oid: int | None, priority: Priority
) -> OrderEnd | None:
    """The order's fills, None where the venue does not tell them now."""
    since = order.created_at
    if order.envelope is not None:
        # No bytes act before they are made, whoever sends them; who says so may come much later.
        since = max(since, at_milliseconds(order.envelope.nonce))
    since -= _BEFORE
    # Many rows may come: they are the house's to read, and take nothing of a person's share.
    priority = "house" if priority == "order" else priority
    try:
        return fills_of(order, await venue.fills(order.wallet or "", since, priority=priority), oid)
    except Refused:
        return None


def _is_forgotten(order: Order, venue_state: OrderSeen | None, forgotten: bool) -> bool:
    """True for an order that the venue named before, and by now has not known, or called by a word
    that says nothing, for several looks in a row.
    """
    name = order.seen is not None and order.seen.oid is not None
    if order.status != "resting" and not (order.status == "unknown" and name):
        return False
    silent = venue_state is None or venue_state.state == "unknown"
    if not silent and not (
        was_open(order) and venue_state is not None and venue_state.state == "refused"
    ):
        return False
    return forgotten or order.tries >= FORGOTTEN_AFTER


async def _forgotten(
    venue: Venue, order: Order, venue_state: OrderSeen | None, priority: Priority
) -> OrderEnd | None:
    """The end of an order that the venue knows no more and does not name as open: what its fills
    say. Errors: `venue_unavailable`.
    """
    standing = await venue.open_orders(order.wallet or "", dex_of(order.product), priority=priority)
    oid = order.seen.oid if order.seen is not None else None
    if any(o.cloid == order.action.cloid or o.oid == oid for o in standing):
        return None
    end = await _fills(venue, order, oid, priority)
    if end is None or contradiction(order, end) is not None:
        end = OrderEnd(transition="cancel")
    word = "unknownOid" if venue_state is None else venue_state.status
    size = max(filled_size(end.fills), order.filled_size or Decimal(0))
    return replace(
        end,
        transition="cancel",
        size=size,
        venue_message=word,
        fills_complete=True,
        verified=False,
    )


# -- the fees of what is done


async def sync_fees(deps: Deps, order: Order, priority: Priority = "house") -> Order:
    """Read the fills of an order that is done and whose fees are not known yet."""
    if order.seen is None or order.seen.oid is None:
        return order
    # Nothing waits for the fees of an order that is done: they take nothing of the reserve.
    venue = venue_of(deps, order.network)
    end = await _fills(venue, order, order.seen.oid, priority)
    now = deps.clock.now()
    news = end or OrderEnd(transition="fill")
    whole = _explained(order, news)
    over = end is not None and not whole and _told_by_now(order, now)
    agrees: bool | None = True
    if over and order.verified and contradiction(order, news) is None:
        agrees = await _agrees(venue, order, news, priority)
        over = agrees is not None

    def change(uow: UnitOfWork, was: Order) -> Order:
        if agrees is False:
            count_contradiction(was, Doubt("filled", _LESS))
        return filled_more(
            uow,
            was,
            news,
            now,
            last=over and agrees is True,
            fills_whole=whole or over,
            verified=(was.verified or whole) and agrees is not False,
            next_check_at=None if whole or over else next_poll_at(was.tries, now),
            tries=was.tries + 1,
        )

    return await change_order(deps, order, change)


def _explained(order: Order, end: OrderEnd) -> bool:
    """True where fills come to all that an order is said to have filled."""
    known = order.filled_size
    return bool(end.fills) and (known is None or filled_size(end.fills) >= known)


async def _agrees(venue: Venue, order: Order, end: OrderEnd, priority: Priority) -> bool | None:
    """True where the order's own status says by now that its fills are all that traded; None where
    it is silent.
    """
    try:
        venue_state = await venue.order_status(
            order.wallet or "", order.action.cloid, priority=priority
        )
    except Refused:
        return None
    if (
        venue_state is None
        or venue_state.state in ("open", "unknown")
        or identity_doubt(order, venue_state) is not None
    ):
        return False
    return filled_by_status(order, venue_state) == filled_size(end.fills)


def _told_by_now(order: Order, now: datetime) -> bool:
    """True where fills that are not told by now are taken to be none: nothing of the order can
    trade any more, and it was asked about again and again.
    """
    ended = order.envelope is None or milliseconds(now - VOID_AFTER) > order.envelope.expires_after
    return ended and order.tries >= FORGOTTEN_AFTER


# -- the tick


async def sync_due_orders(deps: Deps, *modes: Mode) -> int:
    """One round over the orders about which the venue is due to be asked, and over those whose time
    is up; how many there were. `modes`: only orders of these.
    """
    now = deps.clock.now()
    due: Sequence[Order] = await deps.store.read(
        lambda uow: [
            o for mode in modes or ("live", "paper") for o in uow.orders.to_ask(now, mode, A_ROUND)
        ]
    )
    past = await deps.store.read(lambda uow: uow.orders.past(now, A_ROUND))
    for order in due:
        try:
            if order.mode == "paper":
                await desk_of(deps).settle(venue_of(deps, order.network), order)
            elif order.status in DONE and not unproved(order):
                await sync_fees(deps, order)
            else:
                await sync_status(deps, order)
        except Refused as refused:
            log.info("order %s: %s", order.order_id, refused.refusal.reason)
            await _postponed(deps, order)
    for order in past:
        await deps.store.write(partial(expire_of, read=order, now=now))
    return len(due) + len(past)


async def _postponed(deps: Deps, order: Order) -> None:
    now = deps.clock.now()

    def later(uow: UnitOfWork, was: Order) -> Order:
        tries = was.tries + 1
        return uow.orders.save(
            replace(was, tries=tries, next_check_at=next_poll_at(tries, now)), was
        )

    await change_order(deps, order, later)


async def expire_overdue(deps: Deps, owner_id: str, now: datetime) -> None:
    """End a person's orders whose time is up, in a transaction of its own: it locks counters, and
    making an order locks agent, mandate and book before those.
    """

    def sweep(uow: UnitOfWork) -> None:
        """All their rows come before the first counter."""
        past = uow.orders.past(now, A_ROUND, owner_id=owner_id)
        past = sorted(past, key=lambda order: order.order_id)
        for order in past:
            uow.orders.get(order.order_id, lock=True)
        for order in past:
            expire_of(uow, order, now)

    await deps.store.write(sweep)


def expire_of(uow: UnitOfWork, read: Order, now: datetime) -> None:
    """Write down that an order's time is up, and give its part of the day back.

    One whose bytes were given out stands for another minute, in which the venue is asked.
    """
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.version != read.version or order.status not in UNSENT:
        return
    if order.status == "awaiting_signature" and now < order.expires_at + GRACE:
        return
    expired(uow, order, now)
