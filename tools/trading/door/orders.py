"""Orders and closes at the door: on paper at once, live in two steps of one route."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from domain.money import Usdc
from domain.trading.form import Wanted, wanted
from domain.trading.gate import Fault
from domain.trading.orders import Order
from storage.unit_of_work import UnitOfWork
from tools.call.asking import ask_of
from tools.call.operation import Caller, Deps, Effect, Reply
from tools.call.switches import switches
from tools.trading.door.steps import HERE, Seen, ahead, at_once, door_operation, first, second
from tools.trading.fields import LOOK_UNDER_WAY, own_write
from tools.trading.orders.making import (
    Known,
    Made,
    find_out,
    make,
    reserved,
    stored,
)
from tools.trading.orders.routes import CITING, WRITES
from tools.trading.orders.standing import Standing, counted_at_door, standing_of
from tools.trading.orders.sweeping import holds_late, swept
from tools.trading.orders.takes import STEP_TWO, DoorOrderIn


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What an order begins with, in one read.

    `latency` is how long after its acceptance it meets the market on paper; `late`: orders of the
    same person hold a part of the day though their time is up.
    """

    stand: Standing
    latency: timedelta
    late: bool


async def order(deps: Deps, caller: Caller, asked: DoorOrderIn) -> Reply:
    """Take an order, or the signature of one that was prepared here before. Errors: the 13."""
    sent = asked.sent()
    if STEP_TWO & sent.keys():
        return await second(deps, caller, sent, closing=False)
    want = wanted(sent, seen_required=True)
    begun = await deps.store.read(lambda uow: _begun(uow, deps, caller, want))
    if begun.late:
        await swept(deps, begun.stand.owner_id, deps.clock.now())
    facts = await find_out(deps, want, begun.stand)
    accepted = deps.clock.now()
    seen = await _seen(deps, begun, facts)

    def work(uow: UnitOfWork) -> Reply | Order:
        ask = ask_of(uow, deps, caller, accepted, asked=asked)
        made = make(uow, ask, facts, "door", at_once=seen is not None)
        if seen is not None:
            counted = partial(_counted, uow, made)
            return at_once(uow, deps, made.order, seen, counted)
        return stored(uow, ask, facts, made.stand, made.order, made.decided)

    return first(deps, await deps.store.write(work))


def _counted(uow: UnitOfWork, made: Made, order: Order, used: Usdc | None) -> Order:
    return reserved(uow, replace(made, order=order), used)


def _begun(uow: UnitOfWork, deps: Deps, caller: Caller, want: Wanted | Fault) -> Begun:
    stand = standing_of(uow, switches(uow, deps.defaults), deps.config.trading, caller, "door")
    if isinstance(want, Fault):
        return Begun(stand=stand, latency=timedelta(0), late=False)
    desk, owner_id = deps.paper, stand.owner_id
    return Begun(
        stand=stand,
        latency=timedelta(0) if desk is None else desk.latency(uow, owner_id, want.book),
        late=holds_late(uow, owner_id, deps.clock.now()),
    )


async def _seen(deps: Deps, begun: Begun, facts: Known) -> Seen | None:
    """What an order on paper will be filled on; None for one that is live, or that is refused for
    what is known already.
    """
    want = facts.wanted
    refused = facts.market.fault is not None or facts.market.silent is not None
    if isinstance(want, Fault) or facts.mode == "live" or refused:
        return None
    return await ahead(deps, want.product, latency=begun.latency, reduces=want.reduce_only)


OPERATIONS: Final = (
    door_operation(
        name="trade_order",
        title="Order",
        summary="Order: on paper at once, live with your signature in a second step.",
        route=("POST", "/app/trade/order"),
        takes=DoorOrderIn,
        effect=Effect(act=order, reconcile=(LOOK_UNDER_WAY,)),
        counts=counted_at_door,
        idempotency=own_write("/app/trade/order"),
        refusals=(*HERE, *CITING, *WRITES, "outcome_unknown"),
    ),
)
