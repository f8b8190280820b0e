"""Policy checks of orders by agent and mandate, after the 13 refusals (trading 00.5)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from domain.mandates.mandate import Mandate
from domain.money import ZERO, Usdc
from domain.refusals import Refusal, Refused, refusal
from domain.rules.order_rules import mandate_refuses, policy_refuses
from domain.rules.rule import OrderCheck
from domain.times import day_of
from domain.trading.modes import Mode
from domain.trading.order_input import OrderRequest
from domain.trading.orders import Order
from storage.unit_of_work import UnitOfWork
from tools.context.access import agent_mandate, visible_mandate
from tools.context.snapshot_loader import GatheredFacts, load_snapshot
from tools.model.operation import AnyContext
from tools.trading.orders.trader_context import TraderContext

Marks = Mapping[str, Mapping[str, Decimal]]


def policy_allows(
    uow: UnitOfWork,
    ctx: AnyContext,
    trader: TraderContext,
    request: OrderRequest,
    mode: Mode,
    amount: Usdc,
    was: Order | None,
    marks: Marks,
) -> None:
    """Refuse what the owner's policy for the agent, or the cited mandate, does not allow.

    Agent and mandate are locked, so that parallel orders see each other. `was` is the same order
    as it was priced before, `marks` the venue's prices of what the mandate holds there.
    """
    if trader.agent_id is not None and mode == "live":
        uow.identities.agent(trader.agent_id, lock=True)
        policy = uow.policies.get(trader.agent_id)
        open_now = uow.orders.open_of_agent(trader.agent_id) - (was.counted if was else ZERO)
        _raise(policy_refuses(policy, request.product, amount, open_now))
    if request.mandate_id is None:
        return
    find = agent_mandate if ctx.caller.role == "agent" else visible_mandate
    mandate = find(uow, ctx.caller, request.mandate_id, lock=True)
    check = OrderCheck(
        product=request.product,
        mode=mode,
        amount=amount,
        reduce_only=request.reduce_only,
        own=_counted_today(was, ctx.now),
    )
    _mandate_allows(uow, ctx, mandate, check, marks)


def still_allowed(uow: UnitOfWork, ctx: AnyContext, order: Order, marks: Marks) -> None:
    """The mandate's word once more, when the bytes are given out or leave; the order's own part of
    the day is not counted twice.
    """
    if order.mandate_id is None or order.closing:
        return
    mandate = uow.mandates.get(order.mandate_id, lock=True)
    if mandate is None:
        raise Refused(refusal("not_found", what="mandate"))
    check = OrderCheck(
        product=order.product,
        mode=order.mode,
        amount=order.notional,
        reduce_only=order.action.reduce_only,
        own=_counted_today(order, ctx.now),
    )
    _mandate_allows(uow, ctx, mandate, check, marks)


def _mandate_allows(
    uow: UnitOfWork, ctx: AnyContext, mandate: Mandate, check: OrderCheck, marks: Marks
) -> None:
    snapshot = load_snapshot(uow, ctx, mandate, GatheredFacts(marks=marks), events=0)
    _raise(mandate_refuses(snapshot, check))


def _counted_today(order: Order | None, now: datetime) -> Usdc:
    """The notional that an order counts of this UTC day already; 0 for an order of another day."""
    return order.counted if order is not None and order.counted_day == day_of(now) else ZERO


def _raise(refused: Refusal | None) -> None:
    if refused is not None:
        raise Refused(refused)
