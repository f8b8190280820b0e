"""Order limits of a person, set by an operator: the only way to raise them."""

from __future__ import annotations

from collections.abc import Mapping

from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.trading.limit_log import limits_change
from domain.trading.modes import TradingSurface
from domain.trading.order_caps import OrderLimits
from domain.trading.order_gate import FieldProblem, invalid_order
from domain.trading.order_input import LIMIT_RULE, amount_of
from server.cli.maintenance import write
from server.settings import Settings
from server.system import SystemClock
from storage.unit_of_work import UnitOfWork
from tools.trading.orders.trader_context import first_limits


async def set_limits(
    settings: Settings,
    user_id: str,
    transport: TradingSurface,
    limits: Mapping[str, str | None],
    reason: str,
) -> OrderLimits:
    """Set a person's limits, with a row in the log. Errors: `not_found`, `conflict`."""
    per_order, per_day = (_amount(n, limits[n]) for n in ("per_order_usdc", "per_day_usdc"))
    start, now = first_limits(settings.trading()), SystemClock().now()

    def work(uow: UnitOfWork) -> OrderLimits:
        if uow.identities.user(user_id, lock=True) is None:
            raise Refused(refusal("not_found", what="person"))
        uow.own_limits.begin(user_id, transport, start)
        was = uow.own_limits.get(user_id, transport, lock=True) or start
        to = OrderLimits(
            per_order=was.per_order if per_order is None else per_order,
            per_day=was.per_day if per_day is None else per_day,
        )
        if to == was:
            return was
        if not uow.own_limits.change(user_id, transport, was, to):
            raise Refused(refusal("conflict", why="The limits were changed at the same time."))
        uow.limit_log.add(
            limits_change(user_id, transport, was, to, now, by="operator", why=reason)
        )
        return to

    return await write(settings, work)


def _amount(name: str, text: str | None) -> Usdc | None:
    amount = amount_of(text)
    if amount is None and text is not None:
        raise Refused(invalid_order(FieldProblem(field=name, rule=LIMIT_RULE)))
    return amount
