"""Order queries of agents and owners: one order, pending orders, history and caps."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, Literal

from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from domain.times import day_of, midnight
from domain.trading.limit_log import limits_change
from domain.trading.order_caps import OrderLimits
from domain.trading.order_gate import limit_raise
from storage.cursors import cursor_of, keys_of
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Cursor, Limit, Nothing, Page
from tools.model.operation import (
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.fields import NetworkName, TimestampText, own_write, signed_in
from tools.trading.orders.request_models import SingleOrderIn, StepIn
from tools.trading.orders.response_models import ModeName, OrderOut, order_out
from tools.trading.orders.routes import visible_order
from tools.trading.orders.trader_context import TraderContext, first_limits, trader_context


class PendingOut(ResponseModel):
    """Orders that wait for a decision, newest first; the list is whole."""

    orders: list[OrderOut]


class UnderWayOut(ResponseModel):
    """Orders that were sent and are not over, newest first, at most 200."""

    orders: list[OrderOut]


class HistoryIn(RequestModel):
    """Filters of orders, and the page."""

    limit: Limit = 50
    cursor: Cursor = None


class HistoryOut(Page[OrderOut]):
    """Live orders, whatever became of them, newest first."""


class LimitTold(ResponseModel):
    """A limit, and whose it is."""

    limit: Usdc
    source: Literal["operator", "own"]


class CountedAmount(ResponseModel):
    """A measured amount, with who measured it and how."""

    value: Usdc
    source: Literal["service"]
    basis: str


class DayTold(ResponseModel):
    """The day's limit and what is taken of it."""

    limit: Usdc
    source: Literal["operator", "own"]
    used: CountedAmount
    reserved: CountedAmount
    remaining: Usdc


class JustLimit(ResponseModel):
    """A limit."""

    limit: Usdc


class LimitsPair(ResponseModel):
    """A limit an order and a day."""

    per_order: Usdc
    per_day: Usdc


class PaperUse(ResponseModel):
    """The use of the same limits by paper orders, on counters of their own."""

    used: CountedAmount


class CapOut(ResponseModel):
    """The terminal's caps and what is used of them today."""

    mode: ModeName
    network: NetworkName
    day: str
    per_order: LimitTold
    per_day: DayTold
    per_close: JustLimit
    own: LimitsPair
    operator: LimitsPair
    paper: PaperUse
    resets_at: TimestampText


def get_order(uow: UnitOfWork, ctx: RequestContext[SingleOrderIn, None]) -> HandlerResult[OrderOut]:
    """One order."""
    order = visible_order(uow, ctx.caller, ctx.request.order_id)
    return HandlerResult(order_out(order, ctx.now))


def pending(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HandlerResult[PendingOut]:
    """An owner's own and those of his agents; an agent's own."""
    user = ctx.caller.user_id
    of_agent = ctx.caller.role == "agent"
    rows = uow.orders.pending(agent_id=user) if of_agent else uow.orders.pending(owner_id=user)
    waiting = [o for o in rows if o.shown_status(ctx.now) == o.status]
    return HandlerResult(PendingOut(orders=[order_out(o, ctx.now) for o in waiting]))


def under_way(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HandlerResult[UnderWayOut]:
    """Orders that rest at the venue or in a paper book, are on their way, or have an unknown
    outcome: an owner's own and those of his agents.
    """
    rows = uow.orders.under_way(signed_in(ctx.caller))
    return HandlerResult(UnderWayOut(orders=[order_out(o, ctx.now) for o in rows]))


def history(uow: UnitOfWork, ctx: RequestContext[HistoryIn, None]) -> HandlerResult[HistoryOut]:
    """An owner's own live orders and those of his agents, a page at a time."""
    limit, cursor = ctx.request.limit, ctx.request.cursor
    before = keys_of(cursor, (int, str)) if cursor else None
    rows = uow.orders.live_of(signed_in(ctx.caller), before, limit + 1)
    page, more = rows[:limit], None
    if len(rows) > limit:
        created, last = page[-1]
        more = cursor_of(created, last.order_id)
    items = [order_out(o, ctx.now) for _, o in page]
    return HandlerResult(HistoryOut(items=items, next_cursor=more))


def cap(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HandlerResult[CapOut]:
    """The terminal's caps."""
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, "terminal")
    return HandlerResult(caps_of(uow, trader, ctx.now))


def caps_of(uow: UnitOfWork, trader: TraderContext, now: datetime) -> CapOut:
    """The caps of a surface and what is used of them: of the two counters the one that leaves
    less.
    """
    live = uow.order_counters.uses(trader.counters("live", now))
    tight = min(live, key=lambda c: c.limit - live[c].total)
    _, own = live
    _, paper = uow.order_counters.uses(trader.counters("paper", now)).values()
    use, limits = live[tight], trader.limits
    own_order = trader.own.per_order < trader.operator.per_order
    return CapOut(
        mode=trader.mode,
        network=trader.network,
        day=day_of(now),
        per_order=LimitTold(limit=limits.per_order, source="own" if own_order else "operator"),
        per_day=DayTold(
            limit=tight.limit,
            source="own" if tight is own else "operator",
            used=_counted(use.used, "filled, at its limit price, of the UTC day"),
            reserved=_counted(use.reserved, "prepared or sent, and not yet done"),
            remaining=max(ZERO, tight.limit - use.total),
        ),
        per_close=JustLimit(limit=Usdc(trader.trading.cap_per_close_micros)),
        own=pair(trader.own),
        operator=pair(trader.operator),
        paper=PaperUse(used=_counted(paper.total, "paper orders of the UTC day on this surface")),
        resets_at=midnight(now),
    )


def _counted(value: Usdc, basis: str) -> CountedAmount:
    return CountedAmount(value=value, source="service", basis=basis)


def pair(limits: OrderLimits) -> LimitsPair:
    """Limits as they leave the service."""
    return LimitsPair(per_order=limits.per_order, per_day=limits.per_day)


def raise_cap(uow: UnitOfWork, ctx: RequestContext[StepIn, None]) -> HandlerResult[CapOut]:
    """One step up of the terminal's own limits, never above the operator's caps.

    Errors: `wallet_limit_raise` at the ceiling. The door never reads these.
    """
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, "terminal")
    own, step, most = trader.own, first_limits(trader.trading), trader.operator
    # Never down, where the operator's cap fell below what stands.
    after = OrderLimits(
        per_order=max(own.per_order, min(own.per_order + step.per_order, most.per_order)),
        per_day=max(own.per_day, min(own.per_day + step.per_day, most.per_day)),
    )
    if after == own:
        raise Refused(limit_raise("per_order_usdc", own))
    uow.own_limits.begin(trader.owner_id, "terminal", own)
    if not uow.own_limits.change(trader.owner_id, "terminal", own, after):
        raise Refused(refusal("conflict", why="The limits were changed at the same time."))
    uow.limit_log.add(limits_change(trader.owner_id, "terminal", own, after, ctx.now))
    return HandlerResult(caps_of(uow, replace(trader, own=after), ctx.now))


READS: Final = ("not_found", "not_configured", "secret_not_accepted")
_read: Final = partial(
    Operation,
    auth="owner_or_agent",
    request_model=Nothing,
    family="orders",
    refusals=READS,
)

OPERATIONS: Final = (
    _read(
        name="order_pending",
        title="List the orders that wait",
        summary="Orders that wait for a signature, or for the venue to say what became of them.",
        route=("GET", "/wallet/order/pending"),
        response_model=PendingOut,
        handler=pending,
        on_mcp=True,
    ),
    _read(
        name="order_under_way",
        title="List the orders that are under way",
        summary="Orders that rest, are on their way, or of which nobody knows what became.",
        auth="owner",
        route=("GET", "/wallet/order/under-way"),
        response_model=UnderWayOut,
        handler=under_way,
    ),
    _read(
        name="order_history",
        title="List your live orders",
        summary="Every live order, whatever became of it; a paper book lists its own.",
        auth="owner",
        route=("GET", "/wallet/order/history"),
        request_model=HistoryIn,
        response_model=HistoryOut,
        handler=history,
    ),
    _read(
        name="order_cap",
        title="Read the caps of orders",
        summary="How much may be ordered today, and what is used of it.",
        route=("GET", "/wallet/order/cap"),
        response_model=CapOut,
        handler=cap,
    ),
    _read(
        name="order_cap_raise",
        title="Step the terminal's limits up",
        summary="One step of the terminal's own limits, never above the operator's caps.",
        auth="owner",
        route=("POST", "/wallet/order/cap/raise"),
        request_model=StepIn,
        response_model=CapOut,
        handler=raise_cap,
        writes=True,
        idempotency=own_write("/wallet/order/cap/raise"),
        refusals=("wallet_limit_raise", "conflict", "secret_not_accepted"),
    ),
    # After the others: their paths fit its own.
    _read(
        name="order_get",
        title="Read an order",
        summary="One order, from its preparation to its end.",
        route=("GET", "/wallet/order/{order_id}"),
        request_model=SingleOrderIn,
        response_model=OrderOut,
        handler=get_order,
    ),
)
