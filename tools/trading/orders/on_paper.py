"""Paper orders: marked once, filled on the market's own book in one transaction with their end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from domain.refusals import Refused
from domain.trading.gate import Fault, VenueSaid, rejected
from domain.trading.orders import Order, becomes, wants_less
from domain.trading.outcome import End
from domain.trading.paper.meeting import Sight
from storage.unit_of_work import UnitOfWork
from tools.call.asking import ask_of
from tools.call.operation import Caller, Deps
from tools.call.paper import PaperDesk, PaperOutcome
from tools.trading.fields import desk_of, venue_of
from tools.trading.orders.ending import end_order
from tools.trading.orders.policies import still_allowed
from tools.trading.orders.sending import again, caps_now, counted_today, ended
from tools.trading.orders.standing import passed, standing_of, surface_of

PAPER_TAKES: Final = timedelta(seconds=60)


async def send_paper(deps: Deps, caller: Caller, order: Order) -> Order:
    """Fill a paper order on the market's own book. Errors: the 13."""

    def mark(uow: UnitOfWork) -> Order | None:
        return _marked(uow, deps, caller, order)

    marked = await deps.store.write(mark)
    return await (again(deps, order) if marked is None else fill_paper(deps, marked))


async def fill_paper(deps: Deps, marked: Order) -> Order:
    """Fill a paper order that is marked as being executed. Errors: the 13."""
    desk, venue = desk_of(deps), venue_of(deps, marked.network)
    latency = await deps.store.read(lambda uow: desk.latency(uow, marked.owner_id, marked.book))
    try:
        sight = await desk.sight(venue, marked.product, latency=latency, reduces=wants_less(marked))
    except Refused as refused:
        await ended(
            deps,
            marked,
            End(happening="refuse", refusal=refused.refusal, whole=True),
        )
        raise
    now = deps.clock.now()

    def book(uow: UnitOfWork) -> Order:
        was = uow.orders.get(marked.order_id, lock=True)
        if was is None or was.version != marked.version:
            return was or marked
        return end_order(uow, was, met(uow, desk, was, sight, now), now)

    return await deps.store.write(book)


def met(uow: UnitOfWork, desk: PaperDesk, order: Order, sight: Sight, now: datetime) -> End:
    """What a paper order met on a snapshot, written into its book; how it ends by that."""
    return _end(desk.fill(uow, order, sight, now))


def begun_on_paper(order: Order, now: datetime) -> Order:
    """A paper order as it is being executed.

    Where this process ends before the fill, the tick gives the order up.
    """
    status = becomes(order.status, "execute")
    return replace(order, status=status, sent_at=now, next_check_at=now + PAPER_TAKES)


def _end(met: PaperOutcome) -> End:
    if met.refused is not None:
        return End(happening="refuse", refusal=met.refused, whole=True)
    if met.rests:
        return End(happening="rest", fills=met.fills, word=met.word)
    if met.fills:
        return End(happening="fill", fills=met.fills, whole=True, word="filled")
    nobody = VenueSaid(words="nobody stands within the limit", kind="no_liquidity")
    return End(happening="refuse", refusal=rejected(nobody), whole=True)


def _marked(uow: UnitOfWork, deps: Deps, caller: Caller, read: Order) -> Order | None:
    now = deps.clock.now()
    ask = ask_of(uow, deps, caller, now)
    order = uow.orders.get(read.order_id, lock=True)
    if order is None or order.status != "prepared":
        return None
    stand = standing_of(uow, ask.switches, ask.config.trading, caller, surface_of(order.source))
    late = Fault(field="order_id", rule="its time is up; prepare it again")
    passed(
        stand.attempt(
            mode_seen=order.mode_seen,
            prepared=None if order.closing else order.mode,
            closing=order.closing,
            names_book="book" in order.asked,
            product=order.product,
            fault=late if now >= order.expires_at else None,
            caps=() if order.closing else caps_now(uow, stand, order, now),
            position="open" if order.closing else "unasked",
        )
    )
    still_allowed(uow, ask, order, {})
    return uow.orders.save(begun_on_paper(counted_today(uow, stand, order, now), now), order)
