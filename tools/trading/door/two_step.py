"""Shared by orders and closes at the door: two steps of one route, and one answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final, Literal

from pydantic import Field

from domain.refusals import REFUSALS, Refusal, Refused, refusal
from domain.trading.modes import MARKET_NETWORK
from domain.trading.order_gate import FieldProblem, invalid_order
from domain.trading.orders import UNSENT, Order
from domain.trading.outcome import OrderEnd
from domain.trading.paper.order_execution import MarketSnapshot
from storage.unit_of_work import UnitOfWork
from tools.model.operation import Caller, Deps, Operation, OperationResult, ResponseModel
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.order_end import CountOrder, end_order
from tools.trading.orders.paper_fill import apply_execution, begun_on_paper
from tools.trading.orders.request_models import STEP_TWO
from tools.trading.orders.response_models import (
    OrderChecks,
    OrderOut,
    OrderStep,
    ToSignOut,
    order_json,
    steps,
)
from tools.trading.orders.routes import require_text, signed_of
from tools.trading.orders.signing_request import confirm_hash
from tools.trading.orders.submit import send_live


class DoorOrderOut(ResponseModel):
    """An order at the door; the first step of a live one carries what is to be signed."""

    order: OrderOut
    mode: Literal["paper", "live"]
    mode_seen: Literal["paper", "live"] | None
    network: Literal["mainnet", "testnet"]
    confirm_id: str | None = None
    to_sign: ToSignOut | None = None
    checks: OrderChecks | None = None
    next: list[OrderStep] = Field(default_factory=list)


ALL_13: Final = tuple(code for code in REFUSALS if code.startswith("wallet_"))
HERE: Final = tuple(c for c in ALL_13 if c != "wallet_limit_raise")


MarketAhead = MarketSnapshot | Refused


async def ahead(deps: Deps, product: str, *, latency: timedelta, reduces: bool) -> MarketAhead:
    """Prices that a paper order accepted now will be filled at, or why it will not be.

    It is waited for with no transaction open, so that the order is decided about, stored and filled
    in one: a process that ends meanwhile leaves nothing behind.
    """
    venue = venue_of(deps, MARKET_NETWORK)
    try:
        return await desk_of(deps).snapshot(venue, product, latency=latency, reduces=reduces)
    except Refused as refused:
        return refused


def at_once(
    uow: UnitOfWork,
    deps: Deps,
    order: Order,
    market_state: MarketAhead,
    counted: CountOrder = lambda order, used: order,
) -> Order:
    """Store a paper order with what became of it; where nothing was seen it is rejected.

    `counted` takes its part of the day, after the book and the snapshot: whoever looks at orders
    that wait locks those first, and the day's counters last.
    """
    now = deps.clock.now()
    order = begun_on_paper(order, now)
    if isinstance(market_state, Refused):
        end = OrderEnd(transition="refuse", refusal=market_state.refusal, fills_complete=True)
    else:
        end = apply_execution(uow, desk_of(deps), order, market_state, now)
    return end_order(uow, order, end, now, first=counted)


def first(deps: Deps, created: OperationResult | Order) -> OperationResult:
    """The first answer: what is to be signed, or on paper what became of it at once."""
    if isinstance(created, Order):
        return _answer(created, deps)
    stored_body = None if created.stored_body is None else _with_mode(created.stored_body)
    return OperationResult(201, _with_mode(created.body), stored_body=stored_body)


def _with_mode(body: Mapping[str, object]) -> dict[str, object]:
    order = body["order"]
    if not isinstance(order, dict):
        raise TypeError("a prepared order is told as one")
    return {**body, **{n: order[n] for n in ("mode", "mode_seen", "network")}}


async def second(
    deps: Deps, caller: Caller, sent: Mapping[str, object], *, closing: bool
) -> OperationResult:
    """The signature of a prepared order. What is told besides has to be what was asked before."""
    signed = signed_of(sent)
    hashed = confirm_hash(require_text(sent, "confirm_id"))
    order = await deps.store.read(lambda uow: uow.orders.of_confirm(hashed))
    if order is None or order.owner_id != caller.user_id or order.closing is not closing:
        why = "the confirm_id is none of yours, or void"
        raise Refused(refusal("wallet_signature_invalid", why=why))
    for name in sent.keys() - STEP_TWO:
        if sent[name] != order.asked.get(name):
            rule = "as it was when the order was prepared"
            raise Refused(invalid_order(FieldProblem(field=name, rule=rule)))
    if order.status not in UNSENT:
        return _answer(order, deps)
    return _answer(await send_live(deps, caller, order, signed), deps)


def _answer(order: Order, deps: Deps) -> OperationResult:
    """An order as the door answers it: what came to nothing is a refusal here.

    Errors: the refusal that the order ended with.
    """
    now = deps.clock.now()
    if order.status == "rejected" and order.refusal is not None:
        raise Refused(_stored_refusal(order, order_json(order, now)))
    waits = order.status in ("unknown", "executing")
    body = _with_mode({"order": order_json(order, now), "next": steps(order)})
    empty = {"confirm_id": None, "to_sign": None, "checks": None}
    return OperationResult(202 if waits else 200, body | empty)


def _stored_refusal(order: Order, order_body: dict[str, object]) -> Refusal:
    """The refusal that an order ended with, as it was."""
    stored = order.refusal or {}
    kind = REFUSALS[stored["error"]]
    remaining = {"venue_kind": stored["venue_kind"]} if "venue_kind" in stored else None
    safe = stored.get("venue_kind") in ("no_liquidity", "price_band")
    return Refusal(
        kind,
        stored["reason"],
        remaining,
        None,
        {"order": order_body},
        (),
        safe if kind.code == "wallet_venue_rejected" else None,
    )


door_operation: Final = partial(
    Operation,
    auth="owner",
    response_model=DoorOrderOut,
    writes=True,
    sessions_only=True,
    open_world=True,
    family="trade door",
    statuses={
        200: "How it stands",
        201: "To be signed",
        202: "Sent; nobody knows yet what became of it",
    },
)
