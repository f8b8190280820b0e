"""Order queries of agents and owners: one order, pending orders, history and caps."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from domain.times import day_of, midnight, timestamp
from domain.trading.limit_log import LimitChange
from domain.trading.order_caps import DayUse, OrderLimits
from storage.cursors import cursor_of, keys_of
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Cursor, Limit, Nothing, Page
from tools.model.operation import (
    Operation,
    OperationResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.fields import NetworkName, TimestampText, own_write, signed_in
from tools.trading.orders.request_models import SingleOrderIn, StepIn
from tools.trading.orders.response_models import ModeName, OrderOut, order_json
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


def get_order(uow: UnitOfWork, ctx: RequestContext[SingleOrderIn, None]) -> OperationResult:
    """One order."""
    return OperationResult(
        200, order_json(visible_order(uow, ctx.caller, ctx.request.order_id), ctx.now)
    )


def pending(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> OperationResult:
    """An owner's own and those of his agents; an agent's own."""
    agent = ctx.caller.role == "agent"
    rows = (
        uow.orders.pending(agent_id=ctx.caller.user_id)
        if agent
        else uow.orders.pending(owner_id=ctx.caller.user_id)
    )
    orders = [o for o in rows if o.shown_status(ctx.now) == o.status]
    return OperationResult(200, {"orders": [order_json(o, ctx.now) for o in orders]})


def under_way(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> OperationResult:
    """Orders that rest at the venue or in a paper book, are on their way, or have an unknown
    outcome: an owner's own and those of his agents.
    """
    rows = uow.orders.under_way(signed_in(ctx.caller))
    return OperationResult(200, {"orders": [order_json(o, ctx.now) for o in rows]})


def history(uow: UnitOfWork, ctx: RequestContext[HistoryIn, None]) -> OperationResult:
    """An owner's own live orders and those of his agents, a page at a time."""
    limit, cursor = ctx.request.limit, ctx.request.cursor
    before = keys_of(cursor, (int, str)) if cursor else None
    rows = uow.orders.live_of(signed_in(ctx.caller), before, limit + 1)
    page, more = rows[:limit], None
    if len(rows) > limit:
        created, last = page[-1]
        more = cursor_of(created, last.order_id)
    return OperationResult(
        200, {"items": [order_json(o, ctx.now) for _, o in page], "next_cursor": more}
    )


def cap(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> OperationResult:
    """The terminal's caps."""
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, "terminal")
    return OperationResult(200, caps_of(uow, trader, ctx.now))


def caps_of(uow: UnitOfWork, trader: TraderContext, now: datetime) -> dict[str, object]:
    """The caps of a surface and what is used of them: of the two counters the one that leaves
    less.
    """
    live = uow.order_counters.uses(trader.counters("live", now))
    tight = min(live, key=lambda c: c.limit - live[c].total)
    _, own = live
    paper = list(uow.order_counters.uses(trader.counters("paper", now)).values())[1]
    use, limits = live[tight], trader.limits
    who = "own" if tight is own else "operator"
    return {
        "mode": trader.mode,
        "network": trader.network,
        "day": day_of(now),
        "per_order": {
            "limit": limits.per_order,
            "source": "own" if trader.own.per_order < trader.operator.per_order else "operator",
        },
        "per_day": {
            "limit": tight.limit,
            "source": who,
            "used": _counted(use.used, "filled, at its limit price, of the UTC day"),
            "reserved": _counted(use.reserved, "prepared or sent, and not yet done"),
            "remaining": max(ZERO, tight.limit - use.total),
        },
        "per_close": {"limit": Usdc(trader.trading.cap_per_close_micros)},
        "own": _pair(trader.own),
        "operator": _pair(trader.operator),
        "paper": {"used": _counted(_taken(paper), "paper orders of the UTC day on this surface")},
        "resets_at": timestamp(midnight(now)),
    }


def _taken(use: DayUse) -> Usdc:
    return use.total


def _counted(value: Usdc, basis: str) -> dict[str, object]:
    return {"value": value, "source": "service", "basis": basis}


def _pair(limits: OrderLimits) -> dict[str, Usdc]:
    return {"per_order": limits.per_order, "per_day": limits.per_day}


def raise_cap(uow: UnitOfWork, ctx: RequestContext[StepIn, None]) -> OperationResult:
    """One step up of the terminal's own limits, never above the operator's caps.

    Errors: `wallet_limit_raise` at the ceiling. The door never reads these.
    """
    trader = trader_context(uow, ctx.switches, ctx.config.trading, ctx.caller, "terminal")
    step, limits = first_limits(trader.trading), trader.operator
    after = OrderLimits(
        per_order=_step(trader.own.per_order, step.per_order, limits.per_order),
        per_day=_step(trader.own.per_day, step.per_day, limits.per_day),
    )
    if after == trader.own:
        raw = {"per_order_usdc": str(trader.own.per_order), "per_day_usdc": str(trader.own.per_day)}
        field, limit = "per_order_usdc", str(trader.own.per_order)
        raise Refused(refusal("wallet_limit_raise", remaining=raw, field=field, limit=limit))
    uow.own_limits.begin(trader.owner_id, "terminal", trader.own)
    if not uow.own_limits.change(trader.owner_id, "terminal", trader.own, after):
        raise Refused(refusal("conflict", why="The limits were changed at the same time."))
    log_limits(uow, trader, after, trader.owner_id, None, ctx.now)
    return OperationResult(200, caps_of(uow, replace(trader, own=after), ctx.now))


def _step(own: Usdc, step: Usdc, limit: Usdc) -> Usdc:
    """One step up, and never down where the operator's cap fell below what stands."""
    return max(own, min(own + step, limit))


def log_limits(
    uow: UnitOfWork,
    trader: TraderContext,
    after: OrderLimits,
    by: str,
    reason: str | None,
    now: datetime,
) -> None:
    """Write a change of own limits into the log."""
    was = trader.own
    pairs = (("per_order_usdc", was.per_order, after.per_order),
             ("per_day_usdc", was.per_day, after.per_day))  # fmt: skip
    changes = {name: {"from": str(a), "to": str(b)} for name, a, b in pairs if a != b}
    uow.limit_log.add(
        LimitChange(
            what="limits",
            subject=f"{trader.owner_id}:{trader.transport}",
            changes=changes,
            changed_at=now,
            changed_by=by,
            why=reason,
        )
    )


READS: Final = ("not_found", "not_configured", "secret_not_accepted")

OPERATIONS: Final = (
    Operation(
        name="order_pending",
        title="List the orders that wait",
        summary="Orders that wait for a signature, or for the venue to say what became of them.",
        auth="owner_or_agent",
        route=("GET", "/wallet/order/pending"),
        request_model=Nothing,
        response_model=PendingOut,
        handler=pending,
        on_mcp=True,
        family="orders",
        refusals=READS,
    ),
    Operation(
        name="order_under_way",
        title="List the orders that are under way",
        summary="Orders that rest, are on their way, or of which nobody knows what became.",
        auth="owner",
        route=("GET", "/wallet/order/under-way"),
        request_model=Nothing,
        response_model=UnderWayOut,
        handler=under_way,
        family="orders",
        refusals=READS,
    ),
    Operation(
        name="order_history",
        title="List your live orders",
        summary="Every live order, whatever became of it; a paper book lists its own.",
        auth="owner",
        route=("GET", "/wallet/order/history"),
        request_model=HistoryIn,
        response_model=HistoryOut,
        handler=history,
        family="orders",
        refusals=READS,
    ),
    Operation(
        name="order_cap",
        title="Read the caps of orders",
        summary="How much may be ordered today, and what is used of it.",
        auth="owner_or_agent",
        route=("GET", "/wallet/order/cap"),
        request_model=Nothing,
        response_model=CapOut,
        handler=cap,
        family="orders",
        refusals=READS,
    ),
    Operation(
        name="order_cap_raise",
        title="Step the terminal's limits up",
        summary="One step of the terminal's own limits, never above the operator's caps.",
        auth="owner",
        route=("POST", "/wallet/order/cap/raise"),
        request_model=StepIn,
        response_model=CapOut,
        handler=raise_cap,
        writes=True,
        family="orders",
        idempotency=own_write("/wallet/order/cap/raise"),
        refusals=("wallet_limit_raise", "conflict", "secret_not_accepted"),
    ),
    # After the others: their paths fit its own.
    Operation(
        name="order_get",
        title="Read an order",
        summary="One order, from its preparation to its end.",
        auth="owner_or_agent",
        route=("GET", "/wallet/order/{order_id}"),
        request_model=SingleOrderIn,
        response_model=OrderOut,
        handler=get_order,
        family="orders",
        refusals=READS,
    ),
)
