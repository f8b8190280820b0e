"""The terminal's orders: prepare, open, execute, record, cancel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from domain.refusals import Refused, refusal
from domain.rules.order_rules import ORDER_CODES
from domain.trading.orders import DONE, UNSENT, Order
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
)
from tools.trading.fields import LOOK_AT_WAITING, own_write
from tools.trading.orders.order_end import record_sent
from tools.trading.orders.prepare import (
    OrderFacts,
    gather_order,
    new_order,
    reserved,
    store_order,
)
from tools.trading.orders.request_models import (
    ExecuteIn,
    OrderIn,
    RecordOrderIn,
    SignedConfirmation,
    parse_order,
    refuse_first,
    signed_of,
)
from tools.trading.orders.response_models import (
    OrderOut,
    PreparedOut,
    PreparedT,
    order_out,
    shown_once,
)
from tools.trading.orders.status_sync import sync_status
from tools.trading.orders.submit import confirm_id_matches, reload, send
from tools.trading.orders.trader_context import counted

# The 13 in their order, as every route of orders can answer with them; a close and the limits are
# the door's alone.
ORDER_REFUSALS: Final = (
    "wallet_rate_limited",
    "wallet_invalid_order",
    "wallet_live_off",
    "wallet_not_allowlisted",
    "wallet_mode_changed",
    "wallet_not_ready",
    "wallet_over_cap",
    "wallet_no_position",
    "wallet_signature_invalid",
    "wallet_venue_unavailable",
    "wallet_outcome_unknown",
)
CITING: Final = ("not_found", *ORDER_CODES)
WRITES: Final = (
    "conflict",
    "not_configured",
    "venue_unavailable",
    "secret_not_accepted",
    "idempotency_key_reused",
    "idempotency_in_flight",
)


def visible_order(uow: UnitOfWork, caller: Caller, order_id: str, *, lock: bool = False) -> Order:
    """An order that the caller may see: the owner's, or one that the calling agent prepared.

    Errors: `not_found`, the same for another's and for none.
    """
    order = uow.orders.get(order_id, lock=lock)
    if order is None or order.owner_id != caller.owner_id:
        raise not_found("order")
    if caller.role == "agent" and order.agent_id != caller.user_id:
        raise not_found("order")
    return order


# -- prepare


async def gather_prepare(deps: Deps, caller: Caller, request: OrderIn) -> OrderFacts:
    """Read the venue before the order is decided."""
    return await gather_order(deps, caller, parse_order(request), "terminal")


def prepare(
    uow: UnitOfWork, ctx: RequestContext[OrderIn, OrderFacts]
) -> HandlerResult[PreparedOut]:
    """Decide, reserve and store."""
    order, decided = new_order(uow, ctx, ctx.facts, "terminal", ctx.request.sent())
    order = reserved(uow, order, decided)
    return prepared(store_order(uow, ctx, ctx.facts, order, decided), 201)


def prepared(shown: PreparedT, status: int) -> HandlerResult[PreparedT]:
    """A prepared order; what is shown once is left out of what a repeat gets."""
    return HandlerResult(shown, status, None if shown.confirm_id is None else shown_once(shown))


# -- execute


@dataclass(frozen=True, slots=True)
class ExecutionStart:
    """An order that is to be executed, as it stood."""

    order: Order
    signed: SignedConfirmation | None = None


def begin_execute(uow: UnitOfWork, ctx: RequestContext[ExecuteIn, None]) -> ExecutionStart:
    """Find the order; one that was sent before is only shown."""
    request = ctx.request
    refuse_first(request.wrong("order_id", required=True))
    order = visible_order(uow, ctx.caller, request.order_id)
    if order.status not in UNSENT or order.mode == "paper":
        return ExecutionStart(order)
    if ctx.caller.role == "agent":
        raise Refused(refusal("forbidden", why="a live order is signed by its owner"))
    return ExecutionStart(order, signed_of(request))


async def execute(deps: Deps, caller: Caller, started: ExecutionStart) -> Order:
    """Send the order once; one that was sent before is shown as it stands. Errors: the 13;
    `wallet_outcome_unknown` to the caller that sent it.
    """
    if started.order.status not in UNSENT:
        return started.order
    return await send(deps, caller, started.order, started.signed)


def finish(
    uow: UnitOfWork, ctx: RequestContext[RequestModel, None], started: object, result: Order
) -> HandlerResult[OrderOut]:
    """The order as it stands; 202 while its outcome is unknown."""
    order = uow.orders.get(result.order_id) or result
    return HandlerResult(order_out(order, ctx.now), status_of(order))


def status_of(order: Order) -> int:
    """202 while nobody knows what became of an order."""
    return 202 if order.status in ("unknown", "executing") else 200


# -- record


def begin_record(uow: UnitOfWork, ctx: RequestContext[RecordOrderIn, None]) -> Order:
    """Keep what is claimed; the truth is asked of the venue.

    An owner names the confirm id; an agent's word is only a reason to look.
    """
    request = ctx.request
    refuse_first(request.wrong("order_id", required=True))
    order = visible_order(uow, ctx.caller, request.order_id, lock=True)
    if ctx.caller.role == "agent" or order.status != "awaiting_signature":
        return order
    refuse_first(request.wrong("confirm_id", required=True))
    if not confirm_id_matches(order, request.confirm_id or ""):
        why = "the confirm_id is not this order's"
        raise Refused(refusal("wallet_signature_invalid", why=why))
    claim = request.claim()
    order = record_sent(uow, order, ctx.now)
    return uow.orders.save(replace(order, claimed=claim), order) if claim else order


async def reconcile(deps: Deps, caller: Caller, order: Order) -> Order:
    """Ask the venue; where it says nothing the order stays as it was."""
    if order.mode == "paper" or order.status in DONE or order.envelope is None:
        return order
    try:
        return await sync_status(deps, order)
    except Refused:
        return await reload(deps, order)


order_operation: Final = partial(
    Operation,
    auth="owner_or_agent",
    writes=True,
    open_world=True,
    family="orders",
)
_STANDS: Final = {200: "How it stands", 202: "Sent; nobody knows yet what became of it"}

OPERATIONS: Final = (
    order_operation(
        name="order_prepare",
        title="Prepare an order",
        summary="Prepare an order: paper, or live for its owner to sign. Nothing is sent yet.",
        route=("POST", "/wallet/order"),
        request_model=OrderIn,
        response_model=PreparedOut,
        handler=prepare,
        gather=gather_prepare,
        count_call=counted,
        on_mcp=True,
        statuses={201: "Prepared"},
        idempotency=own_write("/wallet/order"),
        refusals=(*ORDER_REFUSALS, *CITING, *WRITES),
    ),
    order_operation(
        name="order_execute",
        title="Execute a prepared order",
        summary="Execute a prepared order once: paper at once, live with its owner's signature.",
        route=("POST", "/wallet/order/execute"),
        request_model=ExecuteIn,
        response_model=OrderOut,
        effect=ExternalEffect(
            begin=begin_execute, act=execute, finish=finish, reconcile=(LOOK_AT_WAITING,)
        ),
        count_call=counted,
        idempotent=True,
        on_mcp=True,
        statuses=_STANDS,
        idempotency=own_write("/wallet/order/execute"),
        refusals=(*ORDER_REFUSALS, *CITING, *WRITES, "outcome_unknown"),
    ),
    order_operation(
        name="order_record",
        title="Record an order that the browser sent",
        summary="Tell that the browser sent the order itself; the venue is asked what is true.",
        route=("POST", "/wallet/order/record"),
        request_model=RecordOrderIn,
        response_model=OrderOut,
        effect=ExternalEffect(
            begin=begin_record, act=reconcile, finish=finish, reconcile=(LOOK_AT_WAITING,)
        ),
        idempotent=True,
        statuses=_STANDS,
        idempotency=own_write("/wallet/order/record"),
        refusals=(
            "wallet_invalid_order",
            "wallet_signature_invalid",
            "not_found",
            *WRITES,
            "outcome_unknown",
        ),
    ),
)
