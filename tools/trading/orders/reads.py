"""What an agent and its owner read of orders: one, those that wait, and the caps."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from domain.money import ZERO, Usdc
from domain.refusals import Refused, refusal
from domain.times import day_of, midnight, timestamp
from domain.trading.caps import DayUse, OrderLimits
from domain.trading.limits import LimitChange
from storage.paging import cursor_of, keys_of
from storage.unit_of_work import UnitOfWork
from tools.call.fields import Cursor, Limit, Nothing, Page
from tools.call.operation import Ask, Gives, Operation, Reply, Takes
from tools.trading.fields import Moment, NetworkName, own_write, signed_in
from tools.trading.orders.routes import seen_order
from tools.trading.orders.shapes import ModeName, OrderOut, shown
from tools.trading.orders.standing import (
    Standing,
    first_limits,
    standing_of,
)
from tools.trading.orders.takes import OneOrder, StepIn


class PendingOut(Gives):
    """Orders that wait for somebody, newest first; the list is whole."""

    orders: list[OrderOut]


class UnderWayOut(Gives):
    """Orders that were sent and are not over, newest first, at most 200."""

    orders: list[OrderOut]


class HistoryIn(Takes):
    """Which of them."""

    limit: Limit = 50
    cursor: Cursor = None


class HistoryOut(Page[OrderOut]):
    """Live orders, whatever became of them, newest first."""


class LimitTold(Gives):
    """A limit, and whose it is."""

    limit: Usdc
    source: Literal["operator", "own"]


class CountedAmount(Gives):
    """What was measured, by whom, and how."""

    value: Usdc
    source: Literal["service"]
    basis: str


class DayTold(Gives):
    """The day's limit and what is taken of it."""

    limit: Usdc
    source: Literal["operator", "own"]
    used: CountedAmount
    reserved: CountedAmount
    remaining: Usdc


class JustLimit(Gives):
    """A limit."""

    limit: Usdc


class LimitsPair(Gives):
    """A limit an order and a day."""

    per_order: Usdc
    per_day: Usdc


class PaperUse(Gives):
    """What paper orders took of the same limits, on counters of their own."""

    used: CountedAmount


class CapOut(Gives):
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
    resets_at: Moment


def get_order(uow: UnitOfWork, ask: Ask[OneOrder, None]) -> Reply:
    """One order."""
    return Reply(200, shown(seen_order(uow, ask.caller, ask.asked.order_id), ask.now))


def pending(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """An owner's own and those of his agents; an agent's own."""
    agent = ask.caller.role == "agent"
    rows = (
        uow.orders.pending(agent_id=ask.caller.user_id)
        if agent
        else uow.orders.pending(owner_id=ask.caller.user_id)
    )
    waiting = [o for o in rows if o.shown_status(ask.now) == o.status]
    return Reply(200, {"orders": [shown(o, ask.now) for o in waiting]})


def under_way(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """What rests at the venue or in a paper book, is on its way, or of which nobody knows: an
    owner's own and those of his agents.
    """
    rows = uow.orders.under_way(signed_in(ask.caller))
    return Reply(200, {"orders": [shown(o, ask.now) for o in rows]})


def history(uow: UnitOfWork, ask: Ask[HistoryIn, None]) -> Reply:
    """An owner's own live orders and those of his agents, a page at a time."""
    limit, cursor = ask.asked.limit, ask.asked.cursor
    before = keys_of(cursor, (int, str)) if cursor else None
    found = uow.orders.live_of(signed_in(ask.caller), before, limit + 1)
    page, more = found[:limit], None
    if len(found) > limit:
        created, last = page[-1]
        more = cursor_of(created, last.order_id)
    return Reply(200, {"items": [shown(o, ask.now) for _, o in page], "next_cursor": more})


def cap(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """The terminal's caps."""
    stand = standing_of(uow, ask.switches, ask.config.trading, ask.caller, "terminal")
    return Reply(200, caps_of(uow, stand, ask.now))


def caps_of(uow: UnitOfWork, stand: Standing, now: datetime) -> dict[str, object]:
    """The caps of a surface and what is used of them: of the two counters the one that leaves
    less.
    """
    live = uow.order_counters.uses(stand.counters("live", now))
    tight = min(live, key=lambda c: c.limit - live[c].taken)
    _, own = live
    paper = list(uow.order_counters.uses(stand.counters("paper", now)).values())[1]
    use, limits = live[tight], stand.limits
    who = "own" if tight is own else "operator"
    return {
        "mode": stand.mode,
        "network": stand.network,
        "day": day_of(now),
        "per_order": {
            "limit": limits.per_order,
            "source": "own" if stand.own.per_order < stand.operator.per_order else "operator",
        },
        "per_day": {
            "limit": tight.limit,
            "source": who,
            "used": _counted(use.used, "filled, at its limit price, of the UTC day"),
            "reserved": _counted(use.reserved, "prepared or sent, and not yet done"),
            "remaining": max(ZERO, tight.limit - use.taken),
        },
        "per_close": {"limit": Usdc(stand.trading.cap_per_close_micros)},
        "own": _pair(stand.own),
        "operator": _pair(stand.operator),
        "paper": {"used": _counted(_taken(paper), "paper orders of the UTC day on this surface")},
        "resets_at": timestamp(midnight(now)),
    }


def _taken(use: DayUse) -> Usdc:
    return use.taken


def _counted(value: Usdc, basis: str) -> dict[str, object]:
    return {"value": value, "source": "service", "basis": basis}


def _pair(limits: OrderLimits) -> dict[str, Usdc]:
    return {"per_order": limits.per_order, "per_day": limits.per_day}


def raise_cap(uow: UnitOfWork, ask: Ask[StepIn, None]) -> Reply:
    """One step up of the terminal's own limits, never above the operator's caps.

    Errors: `wallet_limit_raise` at the ceiling. The door never reads these.
    """
    stand = standing_of(uow, ask.switches, ask.config.trading, ask.caller, "terminal")
    step, most = first_limits(stand.trading), stand.operator
    after = OrderLimits(
        per_order=_step(stand.own.per_order, step.per_order, most.per_order),
        per_day=_step(stand.own.per_day, step.per_day, most.per_day),
    )
    if after == stand.own:
        told = {"per_order_usdc": str(stand.own.per_order), "per_day_usdc": str(stand.own.per_day)}
        field, limit = "per_order_usdc", str(stand.own.per_order)
        raise Refused(refusal("wallet_limit_raise", remaining=told, field=field, limit=limit))
    uow.own_limits.begin(stand.owner_id, "terminal", stand.own)
    if not uow.own_limits.change(stand.owner_id, "terminal", stand.own, after):
        raise Refused(refusal("conflict", why="The limits were changed at the same time."))
    log_limits(uow, stand, after, stand.owner_id, None, ask.now)
    return Reply(200, caps_of(uow, replace(stand, own=after), ask.now))


def _step(own: Usdc, step: Usdc, most: Usdc) -> Usdc:
    """One step up, and never down where the operator's cap fell below what stands."""
    return max(own, min(own + step, most))


def log_limits(
    uow: UnitOfWork,
    stand: Standing,
    after: OrderLimits,
    by: str,
    reason: str | None,
    now: datetime,
) -> None:
    """Write a change of own limits into the log."""
    was = stand.own
    pairs = (("per_order_usdc", was.per_order, after.per_order),
             ("per_day_usdc", was.per_day, after.per_day))  # fmt: skip
    changes = {name: {"from": str(a), "to": str(b)} for name, a, b in pairs if a != b}
    uow.limit_log.add(
        LimitChange(
            what="limits",
            subject=f"{stand.owner_id}:{stand.surface}",
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
        takes=Nothing,
        gives=PendingOut,
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
        takes=Nothing,
        gives=UnderWayOut,
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
        takes=HistoryIn,
        gives=HistoryOut,
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
        takes=Nothing,
        gives=CapOut,
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
        takes=StepIn,
        gives=CapOut,
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
        takes=OneOrder,
        gives=OrderOut,
        handler=get_order,
        family="orders",
        refusals=READS,
    ),
)
