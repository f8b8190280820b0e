"""Orders and closes at the door: on paper at once, live in two steps of one route."""

from __future__ import annotations

from functools import partial
from typing import Final

from domain.money import Usdc
from domain.refusals import REFUSALS, Refusal, Refused, refusal
from domain.trading.modes import MARKET_NETWORK
from domain.trading.order_gate import RETRY_KINDS, FieldProblem, invalid_order
from domain.trading.orders import UNSENT, Order
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.model.operation import Caller, Deps, ExternalEffect, HandlerResult, Operation
from tools.trading.fields import LOOK_UNDER_WAY, own_write, venue_of
from tools.trading.orders.prepare import (
    OrderFacts,
    confirm_hash,
    gather_close,
    gather_order,
    new_order,
    reserved,
    store_order,
)
from tools.trading.orders.request_models import (
    STEP_TWO,
    CloseIn,
    DoorOrderIn,
    parse_close,
    parse_order,
    signed_of,
)
from tools.trading.orders.response_models import (
    DoorOrderOut,
    PreparedOut,
    order_json,
    prepared_out,
)
from tools.trading.orders.routes import CITING, WRITES, prepared, status_of
from tools.trading.orders.submit import MarketAhead, fill_at_once, market_ahead, send
from tools.trading.orders.trader_context import counted_at_door, counted_close


async def order(deps: Deps, caller: Caller, request: DoorOrderIn) -> HandlerResult[DoorOrderOut]:
    """Take an order, or the signature of one that was prepared here before. Errors: the 13."""
    if STEP_TWO & request.sent().keys():
        return await _second(deps, caller, request)
    facts = await gather_order(deps, caller, parse_order(request), "door")
    return await _first(deps, caller, request, facts)


async def close(deps: Deps, caller: Caller, request: CloseIn) -> HandlerResult[DoorOrderOut]:
    """Close a position, or take the signature of a close that was prepared before.

    A live close asks for no switch, no list and no cap, only for the position that the venue
    shows. Errors: the 13.
    """
    if STEP_TWO & request.sent().keys():
        return await _second(deps, caller, request)
    limit = deps.config.trading.close_slippage_bps
    facts = await gather_close(deps, caller, parse_close(request, limit))
    return await _first(deps, caller, request, facts)


async def _first(
    deps: Deps, caller: Caller, request: DoorOrderIn | CloseIn, facts: OrderFacts
) -> HandlerResult[DoorOrderOut]:
    """The bytes to be signed, or on paper the outcome at once."""
    accepted = deps.clock.now()
    ahead = await _market_ahead(deps, facts)

    def work(uow: UnitOfWork) -> PreparedOut | Order:
        ctx = request_context(uow, deps, caller, accepted, request=request)
        order, decided = new_order(uow, ctx, facts, "door", request.sent())
        if ahead is None:
            return store_order(uow, ctx, facts, reserved(uow, order, decided), decided)

        def count(ended: Order, used: Usdc | None) -> Order:
            return reserved(uow, ended, decided, used)

        return fill_at_once(uow, deps, order, ahead, count)

    made = await deps.store.write(work)
    return _answer(made, deps) if isinstance(made, Order) else prepared(_at_door(made), 201)


async def _market_ahead(deps: Deps, facts: OrderFacts) -> MarketAhead | None:
    """The market that an order on paper will fill on; None for one that is live, or that is refused
    already.
    """
    request = facts.request
    if isinstance(request, FieldProblem) or facts.mode == "live" or facts.market.quote is None:
        return None
    venue = venue_of(deps, MARKET_NETWORK)
    return await market_ahead(
        deps, venue, request.product, latency=facts.latency, reduces=request.reduce_only
    )


async def _second(
    deps: Deps, caller: Caller, request: DoorOrderIn | CloseIn
) -> HandlerResult[DoorOrderOut]:
    """The signature of a prepared order. What is told besides has to be what was asked before."""
    signed = signed_of(request)
    hashed = confirm_hash(signed.confirm_id)
    order = await deps.store.read(lambda uow: uow.orders.of_confirm(hashed))
    closing = isinstance(request, CloseIn)
    if order is None or order.owner_id != caller.user_id or order.closing is not closing:
        why = "the confirm_id is none of yours, or void"
        raise Refused(refusal("wallet_signature_invalid", why=why))
    for name, value in request.sent().items():
        if name not in STEP_TWO and value != order.asked.get(name):
            rule = "as it was when the order was prepared"
            raise Refused(invalid_order(FieldProblem(field=name, rule=rule)))
    if order.status in UNSENT:
        order = await send(deps, caller, order, signed)
    return _answer(order, deps)


def _answer(order: Order, deps: Deps) -> HandlerResult[DoorOrderOut]:
    """An order as the door answers it: what came to nothing is a refusal here.

    Errors: the refusal that the order ended with.
    """
    now, stored = deps.clock.now(), order.refusal
    if order.status != "rejected" or stored is None:
        return HandlerResult(_at_door(prepared_out(order, now)), status_of(order))
    kind, venue_kind = REFUSALS[stored["error"]], stored.get("venue_kind")
    by_venue = kind.code == "wallet_venue_rejected"
    raise Refused(
        Refusal(
            kind,
            stored["reason"],
            {"venue_kind": venue_kind} if venue_kind is not None else None,
            detail={"order": order_json(order, now)},
            retry_safe=venue_kind in RETRY_KINDS if by_venue else None,
        )
    )


def _at_door(shown: PreparedOut) -> DoorOrderOut:
    order = shown.order
    return DoorOrderOut(
        mode=order.mode, mode_seen=order.mode_seen, network=order.network, **dict(shown)
    )


_HERE: Final = tuple(c for c in REFUSALS if c.startswith("wallet_") and c != "wallet_limit_raise")
_door_operation: Final = partial(
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
OPERATIONS: Final = (
    _door_operation(
        name="trade_order",
        title="Order",
        summary="Order: on paper at once, live with your signature in a second step.",
        route=("POST", "/app/trade/order"),
        request_model=DoorOrderIn,
        effect=ExternalEffect(act=order, reconcile=(LOOK_UNDER_WAY,)),
        count_call=counted_at_door,
        idempotency=own_write("/app/trade/order"),
        refusals=(*_HERE, *CITING, *WRITES, "outcome_unknown"),
    ),
    _door_operation(
        name="trade_close",
        title="Close a position",
        summary="Close a position, all or a part; a live close works with every lock shut.",
        route=("POST", "/app/trade/close"),
        request_model=CloseIn,
        effect=ExternalEffect(act=close, reconcile=(LOOK_UNDER_WAY,)),
        count_call=counted_close,
        idempotency=own_write("/app/trade/close"),
        refusals=(*_HERE, *WRITES, "outcome_unknown"),
    ),
)
