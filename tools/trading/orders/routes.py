"""The terminal's orders: prepare, open, execute, record, cancel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from domain.refusals import Refused, refusal
from domain.rules.order_rules import ORDER_CODES
from domain.trading.order_gate import FieldProblem, invalid_order
from domain.trading.order_input import parse_order
from domain.trading.orders import DONE, UNSENT, Order
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    Operation,
    OperationResult,
    RequestContext,
)
from tools.trading.fields import LOOK_AT_WAITING, own_write
from tools.trading.orders.create import OrderInputs, gather_for_caller, prepare
from tools.trading.orders.order_end import record_sent
from tools.trading.orders.paper_fill import send_paper
from tools.trading.orders.request_models import ExecuteIn, OrderIn, RecordOrderIn
from tools.trading.orders.response_models import OrderOut, PreparedOut, order_json
from tools.trading.orders.status_sync import sync_status
from tools.trading.orders.submit import SignedConfirmation, confirm_id_matches, reload, send_live
from tools.trading.orders.trader_context import counted

CLAIM_AT_MOST: Final = 8_192

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


def require_text(request: Mapping[str, object], name: str) -> str:
    """A text that the route cannot do without. Errors: `wallet_invalid_order`."""
    raw = request.get(name)
    if not isinstance(raw, str) or not 0 < len(raw) <= 64:
        raise Refused(invalid_order(FieldProblem(field=name, rule="the text that was given out")))
    return raw


def signed_of(request: Mapping[str, object]) -> SignedConfirmation:
    """The signature and confirm id in the owner's request. Errors: `wallet_invalid_order`."""
    signature = request.get("signature")
    if not isinstance(signature, dict) or set(signature) != {"r", "s", "v"}:
        rule = "an object with r, s and v"
        raise Refused(invalid_order(FieldProblem(field="signature", rule=rule)))
    return SignedConfirmation(confirm_id=require_text(request, "confirm_id"), signature=signature)


# -- prepare


async def gather_order(deps: Deps, caller: Caller, request: OrderIn) -> OrderInputs:
    """Read the venue before the order is decided."""
    return await gather_for_caller(
        deps, caller, parse_order(request.sent(), mode_required=False), "terminal"
    )


def prepare_order(uow: UnitOfWork, ctx: RequestContext[OrderIn, OrderInputs]) -> OperationResult:
    """Decide, reserve and store."""
    return prepare(uow, ctx, ctx.facts, "terminal")


# -- execute


@dataclass(frozen=True, slots=True)
class ExecutionStart:
    """An order that is to be executed, as it stood."""

    order: Order
    signed: SignedConfirmation | None


def begin_execute(uow: UnitOfWork, ctx: RequestContext[ExecuteIn, None]) -> ExecutionStart:
    """Find the order; one that was sent before is only shown."""
    request = ctx.request.sent()
    order = visible_order(uow, ctx.caller, require_text(request, "order_id"))
    if order.status not in UNSENT or order.mode == "paper":
        return ExecutionStart(order, None)
    if ctx.caller.role == "agent":
        raise Refused(refusal("forbidden", why="a live order is signed by its owner"))
    return ExecutionStart(order, signed_of(request))


async def execute(deps: Deps, caller: Caller, started: ExecutionStart) -> Order:
    """Send the order once; one that was sent before is shown as it stands. Errors: the 13;
    `wallet_outcome_unknown` to the caller that sent it.
    """
    order = started.order
    if order.status not in UNSENT:
        return order
    if order.mode == "paper":
        return await send_paper(deps, caller, order)
    if started.signed is None:
        raise TypeError("a live order is sent with a signature")
    return await send_live(deps, caller, order, started.signed)


def finish(
    uow: UnitOfWork, ctx: RequestContext[Any, None], started: Any, result: Order
) -> OperationResult:
    """The order as it stands; 202 while its outcome is unknown."""
    order = uow.orders.get(result.order_id) or result
    waits = order.status in ("unknown", "executing")
    return OperationResult(202 if waits else 200, order_json(order, ctx.now))


# -- record


@dataclass(frozen=True, slots=True)
class SentOrder:
    """An order that a caller reports as sent, and whether that is news."""

    order: Order
    news: bool


def begin_record(uow: UnitOfWork, ctx: RequestContext[RecordOrderIn, None]) -> SentOrder:
    """Keep what is claimed; the truth is asked of the venue.

    An owner names the confirm id; an agent's word is only a reason to look.
    """
    request = ctx.request.sent()
    order = visible_order(uow, ctx.caller, require_text(request, "order_id"), lock=True)
    if ctx.caller.role == "agent":
        return SentOrder(order, news=False)
    if order.status != "awaiting_signature":
        return SentOrder(order, news=False)
    if not confirm_id_matches(order, require_text(request, "confirm_id")):
        why = "the confirm_id is not this order's"
        raise Refused(refusal("wallet_signature_invalid", why=why))
    claim = _claim(request)
    order = record_sent(uow, order, ctx.now)
    updated = replace(order, claimed=claim) if claim else order
    return SentOrder(uow.orders.save(updated, order) if claim else order, news=True)


def _claim(request: Mapping[str, object]) -> dict[str, object]:
    """The venue's answer as a caller reports it; it moves no figure."""
    raw = request.get("venue_response")
    if raw is not None and not isinstance(raw, dict):
        raise Refused(invalid_order(FieldProblem(field="venue_response", rule="an object")))
    if raw is not None and len(json.dumps(raw)) > CLAIM_AT_MOST:
        raise Refused(invalid_order(FieldProblem(field="venue_response", rule="at most 8 kB")))
    oid = request.get("oid")
    if oid is not None and (type(oid) is not int or not 0 < oid < 2**63):
        raise Refused(invalid_order(FieldProblem(field="oid", rule="the venue's whole number")))
    return {n: v for n, v in (("venue_response", raw), ("oid", oid)) if v is not None}


async def reconcile(deps: Deps, caller: Caller, started: SentOrder) -> Order:
    """Ask the venue; where it says nothing the order stays as it was."""
    order = started.order
    if order.mode == "paper" or order.status in DONE or order.envelope is None:
        return order
    try:
        return await sync_status(deps, order)
    except Refused:
        return await reload(deps, order)


OPERATIONS: Final = (
    Operation(
        name="order_prepare",
        title="Prepare an order",
        summary="Prepare an order: paper, or live for its owner to sign. Nothing is sent yet.",
        auth="owner_or_agent",
        route=("POST", "/wallet/order"),
        request_model=OrderIn,
        response_model=PreparedOut,
        handler=prepare_order,
        gather=gather_order,
        count_call=counted,
        writes=True,
        on_mcp=True,
        open_world=True,
        family="orders",
        statuses={201: "Prepared"},
        idempotency=own_write("/wallet/order"),
        refusals=(*ORDER_REFUSALS, *CITING, *WRITES),
    ),
    Operation(
        name="order_execute",
        title="Execute a prepared order",
        summary="Execute a prepared order once: paper at once, live with its owner's signature.",
        auth="owner_or_agent",
        route=("POST", "/wallet/order/execute"),
        request_model=ExecuteIn,
        response_model=OrderOut,
        effect=ExternalEffect(
            begin=begin_execute, act=execute, finish=finish, reconcile=(LOOK_AT_WAITING,)
        ),
        count_call=counted,
        writes=True,
        idempotent=True,
        on_mcp=True,
        open_world=True,
        family="orders",
        statuses={200: "How it stands", 202: "Sent; nobody knows yet what became of it"},
        idempotency=own_write("/wallet/order/execute"),
        refusals=(*ORDER_REFUSALS, *CITING, *WRITES, "outcome_unknown"),
    ),
    Operation(
        name="order_record",
        title="Record an order that the browser sent",
        summary="Tell that the browser sent the order itself; the venue is asked what is true.",
        auth="owner_or_agent",
        route=("POST", "/wallet/order/record"),
        request_model=RecordOrderIn,
        response_model=OrderOut,
        effect=ExternalEffect(
            begin=begin_record, act=reconcile, finish=finish, reconcile=(LOOK_AT_WAITING,)
        ),
        writes=True,
        idempotent=True,
        open_world=True,
        family="orders",
        statuses={200: "How it stands", 202: "Sent; nobody knows yet what became of it"},
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
