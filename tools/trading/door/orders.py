"""Orders and closes at the door: on paper at once, live in two steps of one route."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from domain.money import Usdc
from domain.trading.order_gate import FieldProblem
from domain.trading.order_input import OrderRequest, parse_order
from domain.trading.orders import Order
from storage.unit_of_work import UnitOfWork
from tools.dispatch.request_context import request_context
from tools.model.operation import Caller, Deps, ExternalEffect, OperationResult
from tools.model.switches import switches
from tools.trading.door.two_step import (
    HERE,
    MarketAhead,
    ahead,
    at_once,
    door_operation,
    first,
    second,
)
from tools.trading.fields import LOOK_UNDER_WAY, own_write
from tools.trading.orders.create import (
    NewOrder,
    OrderInputs,
    decide_and_reserve,
    gather_inputs,
    reserved,
    store_order,
)
from tools.trading.orders.expiry import expire_overdue, has_overdue
from tools.trading.orders.request_models import STEP_TWO, DoorOrderIn
from tools.trading.orders.routes import CITING, WRITES
from tools.trading.orders.trader_context import TraderContext, counted_at_door, trader_context


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOrderStart:
    """The rows that an order begins with, in one read. `latency` is the time after its acceptance
    at which it meets the market on paper; `late`: orders of the same person hold a part of the day
    though their time is up.
    """

    trader: TraderContext
    latency: timedelta
    late: bool


async def order(deps: Deps, caller: Caller, request: DoorOrderIn) -> OperationResult:
    """Take an order, or the signature of one that was prepared here before. Errors: the 13."""
    sent = request.sent()
    if STEP_TWO & sent.keys():
        return await second(deps, caller, sent, closing=False)
    order_request = parse_order(sent, mode_required=True)
    started = await deps.store.read(lambda uow: _start_order(uow, deps, caller, order_request))
    if started.late:
        await expire_overdue(deps, started.trader.owner_id, deps.clock.now())
    facts = await gather_inputs(deps, order_request, started.trader)
    accepted = deps.clock.now()
    market_state = await _market_ahead(deps, started, facts)

    def work(uow: UnitOfWork) -> OperationResult | Order:
        ctx = request_context(uow, deps, caller, accepted, request=request)
        created = decide_and_reserve(uow, ctx, facts, "door", at_once=market_state is not None)
        if market_state is not None:
            counted = partial(_counted, uow, created)
            return at_once(uow, deps, created.order, market_state, counted)
        return store_order(uow, ctx, facts, created.trader, created.order, created.decided)

    return first(deps, await deps.store.write(work))


def _counted(uow: UnitOfWork, created: NewOrder, order: Order, used: Usdc | None) -> Order:
    return reserved(uow, replace(created, order=order), used)


def _start_order(
    uow: UnitOfWork, deps: Deps, caller: Caller, request: OrderRequest | FieldProblem
) -> DoorOrderStart:
    trader = trader_context(uow, switches(uow, deps.defaults), deps.config.trading, caller, "door")
    if isinstance(request, FieldProblem):
        return DoorOrderStart(trader=trader, latency=timedelta(0), late=False)
    exchange, owner_id = deps.paper, trader.owner_id
    return DoorOrderStart(
        trader=trader,
        latency=timedelta(0) if exchange is None else exchange.latency(uow, owner_id, request.book),
        late=has_overdue(uow, owner_id, deps.clock.now()),
    )


async def _market_ahead(
    deps: Deps, started: DoorOrderStart, facts: OrderInputs
) -> MarketAhead | None:
    """The market that an order on paper will fill on; None for one that is live, or that is refused
    already.
    """
    request = facts.request
    refused = facts.market.fault is not None or facts.market.silent is not None
    if isinstance(request, FieldProblem) or facts.mode == "live" or refused:
        return None
    return await ahead(deps, request.product, latency=started.latency, reduces=request.reduce_only)


OPERATIONS: Final = (
    door_operation(
        name="trade_order",
        title="Order",
        summary="Order: on paper at once, live with your signature in a second step.",
        route=("POST", "/app/trade/order"),
        request_model=DoorOrderIn,
        effect=ExternalEffect(act=order, reconcile=(LOOK_UNDER_WAY,)),
        count_call=counted_at_door,
        idempotency=own_write("/app/trade/order"),
        refusals=(*HERE, *CITING, *WRITES, "outcome_unknown"),
    ),
)
