"""Order status sync: applies a venue answer to an order, once, from a request or the poller."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from domain.ports import Venue
from domain.refusals import Refusal, Refused, refusal
from domain.trading.indices import dex_of
from domain.trading.modes import Mode
from domain.trading.order_gate import Step, not_ready, rejected
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
    filled_more,
    given_up,
    learn,
)

log = logging.getLogger("wallet.orders")

A_ROUND: Final = 20
# The browser may post its bytes in the last moment; the venue is asked before they are given up.
GRACE: Final = timedelta(seconds=60)
_BEFORE: Final = timedelta(seconds=60)  # the venue's clock may be behind ours
_LESS: Final = "its fills come to less than its status says"


_STEPS: Final[dict[str, Step]] = {"builder": "builder_fee", "signer": "enable", "unfunded": "fund"}


def refusal_for(placed: Placed) -> Refusal:
    """The refusal for what the venue refused. Some of its words say what the account lacks."""
    kind, words = placed.kind or "other", placed.words or "it gave no words"
    if kind in _STEPS:
        return not_ready(_STEPS[kind], {"venue": words})
    if kind == "reduce_only":
        return refusal("wallet_no_position", detail={"venue": words}, product="that product")
    if kind in ("nonce", "expired"):
        why = "the venue does not take its nonce or its time any more"
        return refusal("wallet_signature_invalid", detail={"venue": words}, why=why)
    return rejected(words, kind)


def kind_of(status: str) -> str:
    """Our class of a status that is a refusal."""
    known = {
        "iocCancelRejected": "no_liquidity",
        "marketOrderNoLiquidityRejected": "no_liquidity",
        "perpMarginRejected": "margin",
        "oracleRejected": "price_band",
        "badAloPxRejected": "post_only",
        "minTradeNtlRejected": "min_notional",
        "tickRejected": "tick",
    }
    return known.get(status, "oi_cap" if "OpenInterest" in status else "other")


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
        seen = await VenueLook(venue, order, priority).status()
    except Refused:
        return end if end.transition == "fill" and end.size == order.action.size else denied
    if end.transition == "refuse":
        says_so = seen is None or refused_unfilled(order, seen)
        return replace(end, verified=seen is not None) if says_so else denied
    if seen is None or seen.state != "filled" or identity_doubt(order, seen) is not None:
        return denied
    return replace(end, verified=True) if filled_by_status(order, seen) == end.size else denied


async def sync_status(
    deps: Deps, order: Order, priority: Priority | None = None, *, forgotten: bool = False
) -> Order:
    """Ask the venue about an order once, and write down what it says.

    `priority`: who asks, where that is not the order's own lane; `forgotten`: the venue has said
    already that it does not know the order. Errors: `venue_unavailable`; then the order is as it
    was.
    """
    priority = priority or ("close" if order.closing else "house")
    look = VenueLook(venue_of(deps, order.network), order, priority)
    action, seen = await look.pricing()
    end = more = None
    if seen is not None:
        end = await replace(look, order=replace(order, action=action)).end(seen)
        more = await look.filled_more(seen) if end is None else None
    if end is None and _is_forgotten(order, seen, forgotten):
        end = await look.end_forgotten(seen)
    news, now = News(action=action, seen=seen, end=end, more=more), deps.clock.now()
    return await change_order(deps, order, lambda uow, was: learn(uow, was, news, now))


def _is_forgotten(order: Order, seen: OrderSeen | None, forgotten: bool) -> bool:
    """True for an order that the venue named before, and by now has not known, or called by a word
    that says nothing, for several looks in a row.
    """
    if order.status != "resting" and not (order.status == "unknown" and _has_oid(order)):
        return False
    silent = seen is None or seen.state == "unknown"
    if not silent and not (was_open(order) and seen is not None and seen.state == "refused"):
        return False
    return forgotten or order.tries >= FORGOTTEN_AFTER


def _has_oid(order: Order) -> bool:
    return order.seen is not None and order.seen.oid is not None


# -- what the venue's word comes to


@dataclass(frozen=True, slots=True)
class VenueLook:
    """A look at an order by the venue's own words."""

    venue: Venue
    order: Order
    priority: Priority

    async def status(self, action: OrderAction | None = None) -> OrderSeen | None:
        """The status of the order, or of another pricing of it. Errors: `venue_unavailable`."""
        cloid = (action or self.order.action).cloid
        wallet = self.order.wallet or ""
        return await self.venue.order_status(wallet, cloid, priority=self.priority)

    async def pricing(self) -> tuple[OrderAction, OrderSeen | None]:
        """The pricing of the order that the venue has, and its state; the last one and None where
        it has none. Errors: `venue_unavailable`.
        """
        for action in (self.order.action, *reversed(self.order.former)):
            seen = await self.status(action)
            if seen is not None:
                return action, seen
        return self.order.action, None

    async def end(self, seen: OrderSeen) -> OrderEnd | None:
        """The end of the order by its status; None where that is no news, or not known."""
        order = self.order
        said = OrderEnd(transition="lose", oid=seen.oid, venue_message=seen.status)
        doubt = identity_doubt(order, seen)
        if doubt is not None:
            return replace(said, doubt=doubt)
        if seen.state == "unknown" or (seen.state == "open" and order.status == "resting"):
            return None
        if seen.state == "open":
            return replace(said, transition="rest")
        if not refused_unfilled(order, seen):
            return await self._end_traded(seen, said)
        if was_open(order):
            return None  # what stood in the book was not refused
        # One word: what its answer did not refuse too is looked for until its bytes have ended.
        return replace(
            said,
            transition="refuse",
            size=Decimal(0),
            refusal=rejected(seen.status, kind_of(seen.status)),
            fills_complete=True,
            verified=False,
        )

    async def _end_traded(self, seen: OrderSeen, said: OrderEnd) -> OrderEnd | None:
        """The end of an order that trades no more, with its fills; None while the size that traded
        is not known.
        """
        filled = filled_by_status(self.order, seen)
        as_asked = seen.size in (None, self.order.action.size)
        # A status that understates what traded would give a reservation back: fills are asked too.
        known = await self.fills(seen.oid)
        if known is None and (not filled or not as_asked):
            return None
        end = known or OrderEnd(transition="fill")
        traded = filled_size(end.fills)
        size = traded if filled is None else max(filled, traded)
        if filled is not None and filled < (self.order.filled_size or 0):
            size = filled  # it contradicts what is known, which `end_order` refuses
        # Fills may be told later than the order's end; the others are asked for again.
        return replace(
            said,
            transition="fill" if seen.state == "filled" else "cancel",
            size=size,
            fills=end.fills,
            fills_complete=traded >= size,
            doubt=end.doubt,
        )

    async def filled_more(self, seen: OrderSeen) -> OrderEnd | None:
        """The fills of an order that rests, where there are more than are known."""
        known, filled = self.order.filled_size or Decimal(0), filled_by_status(self.order, seen)
        if seen.state != "open" or filled is None or filled <= known:
            return None
        end = await self.fills(seen.oid)
        return end if end is not None and filled_size(end.fills) > known else None

    async def fills(self, oid: int | None) -> OrderEnd | None:
        """The order's fills, None where the venue does not tell them now."""
        order, since = self.order, self.order.created_at
        if order.envelope is not None:
            # No bytes act before they are made; who says that they were sent may come much later.
            since = max(since, at_milliseconds(order.envelope.nonce))
        # Many rows may come: they are the house's to read, and take nothing of a person's share.
        priority: Priority = "house" if self.priority == "order" else self.priority
        try:
            rows = await self.venue.fills(order.wallet or "", since - _BEFORE, priority=priority)
        except Refused:
            return None
        return fills_of(order, rows, oid)

    async def end_forgotten(self, seen: OrderSeen | None) -> OrderEnd | None:
        """The end of an order that the venue knows no more and does not name as open: what its
        fills say. Errors: `venue_unavailable`.
        """
        order, oid = self.order, self.order.seen.oid if self.order.seen is not None else None
        standing = await self.venue.open_orders(
            order.wallet or "", dex_of(order.product), priority=self.priority
        )
        if any(o.cloid == order.action.cloid or o.oid == oid for o in standing):
            return None
        end = await self.fills(oid)
        if end is None or contradiction(order, end) is not None:
            end = OrderEnd(transition="cancel")
        return replace(
            end,
            transition="cancel",
            size=max(filled_size(end.fills), order.filled_size or Decimal(0)),
            venue_message="unknownOid" if seen is None else seen.status,
            fills_complete=True,
            verified=False,
        )

    async def agrees(self, end: OrderEnd) -> bool | None:
        """True where the order's own status says by now that its fills are all that traded; None
        where it is silent.
        """
        try:
            seen = await self.status()
        except Refused:
            return None
        if seen is None or seen.state in ("open", "unknown"):
            return False
        if identity_doubt(self.order, seen) is not None:
            return False
        return filled_by_status(self.order, seen) == filled_size(end.fills)


# -- the fees of what is done


async def sync_fees(deps: Deps, order: Order, priority: Priority = "house") -> Order:
    """Read the fills of an order that is done and whose fees are not known yet."""
    if order.seen is None or order.seen.oid is None:
        return order
    # Nothing waits for the fees of an order that is done: they take nothing of the reserve.
    look = VenueLook(venue_of(deps, order.network), order, priority)
    end, now = await look.fills(order.seen.oid), deps.clock.now()
    news, known = end or OrderEnd(transition="fill"), order.filled_size
    whole = bool(news.fills) and (known is None or filled_size(news.fills) >= known)
    over = end is not None and not whole and _told_by_now(order, now)
    agrees: bool | None = True
    if over and order.verified and contradiction(order, news) is None:
        agrees = await look.agrees(news)
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
    given_up(uow, order, "expire", now)
