"""What an operator does to a person's own limits of orders: the one way in which they go up."""

from __future__ import annotations

import asyncio
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.trading.caps import OrderLimits
from domain.trading.modes import Surface
from server.settings import Settings
from server.wiring import SystemClock
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tools.trading.orders.standing import first_limits


def _amount(ctx: click.Context, param: click.Parameter, told: str | None) -> Usdc | None:
    if told is None:
        return None
    try:
        amount = Decimal(told)
        if not amount.is_finite() or amount < 0:
            raise click.BadParameter("USDC from 0")
        return Usdc.parse(told)
    except (InvalidOperation, Refused):
        raise click.BadParameter("USDC as a plain decimal with at most 6 decimals") from None


@click.command("limits")
@click.argument("user_id")
@click.option("--surface", type=click.Choice(["door", "terminal"]), required=True)
@click.option("--per-order", callback=_amount, help="USDC an order.")
@click.option("--per-day", callback=_amount, help="USDC a UTC day.")
@click.option("--why", required=True, help="Kept in the log of limits.")
def limits(
    user_id: str, surface: Surface, per_order: Usdc | None, per_day: Usdc | None, why: str
) -> None:
    """Set the own limits of USER_ID, up or down; the operator's caps stand above them."""
    try:
        told = asyncio.run(set_limits(Settings(), user_id, surface, per_order, per_day, why))
    except Refused as refused:
        raise click.ClickException(refused.refusal.reason) from None
    click.echo(f"{told.per_order} an order, {told.per_day} a day")


async def set_limits(
    settings: Settings,
    user_id: str,
    surface: Surface,
    per_order: Usdc | None,
    per_day: Usdc | None,
    why: str,
) -> OrderLimits:
    """Set a person's limits, with a row in the log. Errors: `not_found`, `conflict`."""
    start, now = first_limits(settings.trading()), SystemClock().now()

    def work(uow: UnitOfWork) -> OrderLimits:
        if uow.identities.user(user_id, lock=True) is None:
            raise Refused(refusal("not_found", what="person"))
        uow.own_limits.begin(user_id, surface, start)
        was = uow.own_limits.get(user_id, surface, lock=True) or start
        to = OrderLimits(
            per_order=was.per_order if per_order is None else per_order,
            per_day=was.per_day if per_day is None else per_day,
        )
        if to == was:
            return was
        if not uow.own_limits.change(user_id, surface, was, to):
            raise Refused(refusal("conflict", why="The limits were changed at the same time."))
        uow.limit_log.add(f"{user_id}:{surface}", _changes(was, to), "operator", why, now)
        return to

    store = await open_store(settings.database_url)
    try:
        return await store.write(work)
    finally:
        await store.close()


def _changes(was: OrderLimits, to: OrderLimits) -> dict[str, Any]:
    pairs = {
        "per_order_usdc": (was.per_order, to.per_order),
        "per_day_usdc": (was.per_day, to.per_day),
    }
    return {n: {"from": str(a), "to": str(b)} for n, (a, b) in pairs.items() if a != b}
