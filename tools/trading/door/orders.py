"""Orders and closes at the door: on paper at once, live in two steps of one route."""

from __future__ import annotations

from typing import Final

from domain.trading.form import wanted
from storage.unit_of_work import UnitOfWork
from tools.call.asking import ask_of
from tools.call.operation import Caller, Deps, Effect, Reply
from tools.trading.door.steps import HERE, begin, door_operation, finish, first, second
from tools.trading.fields import own_write
from tools.trading.orders.making import known, prepare
from tools.trading.orders.routes import CITING, WRITES
from tools.trading.orders.standing import (
    counted_at_door,
)
from tools.trading.orders.takes import STEP_TWO, DoorOrderIn


async def order(deps: Deps, caller: Caller, asked: DoorOrderIn) -> Reply:
    """Take an order, or the signature of one that was prepared here before. Errors: the 13."""
    sent = asked.sent()
    if STEP_TWO & sent.keys():
        return await second(deps, caller, sent, closing=False)
    facts = await known(deps, caller, wanted(sent, seen_required=True), "door")

    def make(uow: UnitOfWork) -> Reply:
        ask = ask_of(uow, deps, caller, deps.clock.now(), asked=asked)
        return prepare(uow, ask, facts, "door")

    made = await deps.store.write(make)
    return await first(deps, caller, made)


OPERATIONS: Final = (
    door_operation(
        name="trade_order",
        title="Order",
        summary="Order: on paper at once, live with your signature in a second step.",
        route=("POST", "/app/trade/order"),
        takes=DoorOrderIn,
        effect=Effect(begin=begin, act=order, finish=finish),
        counts=counted_at_door,
        idempotency=own_write("/app/trade/order"),
        refusals=(*HERE, *CITING, *WRITES, "outcome_unknown"),
    ),
)
