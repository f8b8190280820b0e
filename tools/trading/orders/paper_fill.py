"""Paper fills: an order is marked once, and filled in the transaction that ends it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from domain.refusals import Refused
from domain.trading.order_gate import FieldProblem, VenueRejection, rejected
from domain.trading.orders import Order, is_reduce_only, next_status
from domain.trading.outcome import OrderEnd
from domain.trading.paper.order_execution import MarketSnapshot
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.model.fields import Nothing
from tools.model.operation import Caller, Deps
from tools.model.paper_port import PaperExchange, PaperExecution
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.order_end import end_order
from tools.trading.orders.policy_checks import still_allowed
from tools.trading.orders.submit import caps_now, counted_today, ended, reload
from tools.trading.orders.trader_context import require_allowed, surface_of, trader_context

PAPER_TAKES: Final = timedelta(seconds=60)


async def send_paper(deps: Deps, caller: Caller, order: Order) -> Order:
    """Fill a paper order on the market's own book. Errors: the 13."""

    def mark(uow: UnitOfWork) -> Order | None:
        return _marked(uow, deps, caller, order)

    marked = await deps.store.write(mark)
    return await (reload(deps, order) if marked is None else fill_paper(deps, marked))


async def fill_paper(deps: Deps, marked: Order) -> Order:
    """Fill a paper order that is marked as being executed. Errors: the 13."""
    exchange, venue = desk_of(deps), venue_of(deps, marked.network)
    latency = await deps.store.read(lambda uow: exchange.latency(uow, marked.owner_id, marked.book))
    try:
        market_snapshot = await exchange.snapshot(
            venue, marked.product, latency=latency, reduces=is_reduce_only(marked)
        )
    except Refused as refused:
        await ended(
            deps,
            marked,
            OrderEnd(transition="refuse", refusal=refused.refusal, fills_complete=True),
        )
        raise
    now = deps.clock.now()

    def book(uow: UnitOfWork) -> Order:
        was = uow.orders.get(marked.order_id, lock=True)
        if was is None or was.version != marked.version:
            return was or marked
        return end_order(uow, was, apply_execution(uow, exchange, was, market_snapshot, now), now)

    return await deps.store.write(book)


def apply_execution(
    uow: UnitOfWork,
    exchange: PaperExchange,
    order: Order,
    market_snapshot: MarketSnapshot,
    now: datetime,
) -> OrderEnd:
    """Write the execution of a paper order into its book; return the order's state after it."""
    return _end(exchange.fill(uow, order, market_snapshot, now))


def begun_on_paper(order: Order, now: datetime) -> Order:
    """A paper order as it is being executed.

    Where this process ends before the fill, the tick gives the order up.
    """
    status = next_status(order.status, "execute")
    return replace(order, status=status, sent_at=now, next_check_at=now + PAPER_TAKES)


def _end(execution: PaperExecution) -> OrderEnd:
    if execution.refused is not None:
        return OrderEnd(transition="refuse", refusal=execution.refused, fills_complete=True)
    if execution.rests:
        return OrderEnd(transition="rest", fills=execution.fills, venue_message=execution.word)
    if execution.fills:
        return OrderEnd(
            transition="fill", fills=execution.fills, fills_complete=True, venue_message="filled"
        )
    rejection = VenueRejection(sentence="nobody stands within the limit", kind="no_liquidity")
    return OrderEnd(transition="refuse", refusal=rejected(rejection), fills_complete=True)


def _marked(uow: UnitOfWork, deps: Deps, caller: Caller, read: Order) -> Order | None:
    now = deps.clock.now()
    ctx = request_context(uow, deps, caller, now, request=Nothing())
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.status != "prepared":
        return None
    trader = trader_context(uow, ctx.switches, ctx.config.trading, caller, surface_of(order.source))
    late = FieldProblem(field="order_id", rule="its time is up; prepare it again")
    require_allowed(
        trader.attempt(
            mode_seen=order.mode_seen,
            prepared=None if order.closing else order.mode,
            closing=order.closing,
            names_book="book" in order.asked,
            product=order.product,
            fault=late if now >= order.expires_at else None,
            caps=() if order.closing else caps_now(uow, trader, order, now),
            position="open" if order.closing else "unasked",
        )
    )
    still_allowed(uow, ctx, order, {})
    return uow.orders.save(begun_on_paper(counted_today(uow, trader, order, now), now), order)
