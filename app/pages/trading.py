"""Orders: the ticket, what waits, positions and closes, limits, and one order to its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.pages.venue_account import json_of, venue_url
from app.replies import Json, Record
from app.views import order, orders
from app.views import order_history as past_orders
from domain.times import timestamp

HERE: Final = "/app/orders"
A_PAGE: Final = 50
STEPS: Final[Mapping[str, str]] = {"order": "trade_order", "close": "trade_close"}


async def show_orders(visit: PageRequest) -> web.Response:
    """The orders page."""
    return visit.show("orders.html", await _orders_view(visit))


async def _orders_view(visit: PageRequest) -> Record:
    return orders.view(
        await visit.run("trade_me"),
        await visit.run("trade_positions"),
        await visit.run("order_pending"),
        await visit.run("order_under_way"),
        await visit.run("trade_products"),
        await visit.run("own_paper_books"),
        await visit.run("owner_agents", limit=200),
    )


async def _refused(
    visit: PageRequest, refused: OperationRefused, typed: Mapping[str, str] | None = None
) -> web.Response:
    """A refusal beside the form; where an order came of it after all, on to that order."""
    detail: Json = refused.block.get("detail") or {}  # type: ignore[assignment]  # a block's own
    if "order" in detail:
        return visit.go(f"{HERE}/{detail['order']['order_id']}")
    view = orders.refused(await _orders_view(visit), refused.block, typed)
    return visit.show("orders.html", view, status=refused.status)


def _order_request(visit: PageRequest) -> Json:
    """The ticket as the door takes it; what cannot be read is left for the door to refuse."""
    live, market = visit.field("mode_seen") == "live", visit.field("type") != "limit"
    is_by_size = visit.field("unit") == "size"
    return {
        "product": visit.field("product"),
        "side": visit.field("side"),
        "type": visit.field("type"),
        "size": visit.field("amount") if is_by_size else None,
        "notional_usdc": None if is_by_size else visit.field("amount"),
        "limit_px": None if market else visit.field("limit_px"),
        "tif": None if market else visit.field("tif"),
        "slippage_bps": _bps(visit.field("slippage_bps")) if market else None,
        "reduce_only": True if visit.field("reduce_only") else None,
        "book": None if live else visit.field("book"),
        "mode_seen": visit.field("mode_seen"),
        "why": visit.field("why"),
    }


def _bps(typed: str | None) -> int | str | None:
    is_number = typed is not None and typed.isascii() and typed.isdigit() and len(typed) < 6
    return int(typed) if typed is not None and is_number else typed


async def show_history(visit: PageRequest) -> web.Response:
    """Live orders that were, a page at a time."""
    cursor = visit.query("cursor")
    response = await visit.run("order_history", cursor=cursor, limit=A_PAGE)
    return visit.show(
        "past.html", past_orders.view(response, await _names(visit), first=not cursor)
    )


async def place_order(visit: PageRequest) -> web.Response:
    """The ticket: on paper at once, live with what is to be signed on this very answer."""
    try:
        response = await visit.run_once("trade_order", **_order_request(visit))
    except OperationRefused as refused:
        return await _refused(visit, refused, visit.form)
    return await _show_prepared(visit, response, "order")


async def close_order(visit: PageRequest) -> web.Response:
    """Close a position; a live one whatever is switched off."""
    try:
        response = await visit.run_once(
            "trade_close",
            product=visit.field("product"),
            mode_seen=visit.field("mode_seen"),
            book=visit.field("book"),
            fraction=visit.field("fraction"),
        )
    except OperationRefused as refused:
        return await _refused(visit, refused)
    return await _show_prepared(visit, response, "close")


async def reopen_order(visit: PageRequest) -> web.Response:
    """Price a waiting order anew, and show what is to be signed for it."""
    try:
        response = await visit.run("order_open", order_id=visit.path_part("order"))
    except OperationRefused as refused:
        return await _show_order(visit, refused)
    return await _show_prepared(visit, response, "execute")


async def _show_prepared(visit: PageRequest, raw: Json, step: str) -> web.Response:
    """The texts to sign; without any (paper, or a repeat of the form) the order as it stands."""
    row = raw["order"]
    if raw["to_sign"] is None:
        return visit.go(f"{HERE}/{row['order_id']}")
    return await _show_signing(visit, raw, kind="order", step=step, until=row["expires_at"])


async def _show_signing(
    visit: PageRequest, raw: Json, *, kind: str, step: str, until: str
) -> web.Response:
    row = raw["order"]
    venue = venue_url(visit, row["network"])
    view = order.view(row, await _names(visit))
    view = order.to_sign(view, raw, kind=kind, step=step, venue=venue, until=until)
    return visit.show("order.html", view, status=201, asks=(venue,))


async def show_order(visit: PageRequest) -> web.Response:
    """One order as it stands."""
    return await _show_order(visit)


async def _show_order(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    view = await _read(visit)
    if refused is None:
        return visit.show("order.html", view)
    return visit.show("order.html", order.refused(view, refused.block), status=refused.status)


async def _read(visit: PageRequest) -> Record:
    row = await visit.run("order_get", order_id=visit.path_part("order"))
    return order.view(row, await _names(visit))


async def _names(visit: PageRequest) -> Mapping[str, str]:
    """The owner's names of agents and paper books, by id."""
    agents = await visit.run("owner_agents", limit=200)
    books = await visit.run("own_paper_books")
    return {a["agent_id"]: a["name"] for a in agents["items"]} | {
        b["book"]: b["name"] for b in books["books"]
    }


async def sign_order(visit: PageRequest) -> web.Response:
    """Hand the signature in, once; an order that was sent is shown however that went."""
    step, order_id = visit.field("step") or "", visit.path_part("order")
    confirmation: Json = {
        "confirm_id": visit.field("confirm_id"),
        "signature": json_of(visit, "signature"),
    }
    try:
        if step in STEPS:
            await visit.run(STEPS[step], **confirmation)
        elif step == "cancel":
            await visit.run("order_cancel", order_id=order_id, **confirmation)
        else:
            await visit.run("order_execute", order_id=order_id, **confirmation)
    except OperationRefused as refused:
        if refused.code == "wallet_outcome_unknown":
            return visit.go(f"{HERE}/{order_id}")
        return await _show_order(visit, refused)
    return visit.go(f"{HERE}/{order_id}")


async def record_order(visit: PageRequest) -> web.Response:
    """Record an order that the browser sent by itself; the venue's own status decides."""
    try:
        await visit.run(
            "order_record",
            order_id=visit.path_part("order"),
            confirm_id=visit.field("confirm_id"),
            venue_response=json_of(visit, "venue_response"),
        )
    except OperationRefused as refused:
        return await _show_order(visit, refused)
    return visit.go(f"{HERE}/{visit.path_part('order')}")


async def cancel_order(visit: PageRequest) -> web.Response:
    """Take an order back; what rests at the venue asks for a signature first."""
    try:
        response = await visit.run("order_cancel", order_id=visit.path_part("order"))
    except OperationRefused as refused:
        return await _show_order(visit, refused)
    if response["to_sign"] is None:
        return visit.go(f"{HERE}/{visit.path_part('order')}")
    until = datetime.fromtimestamp(response["to_sign"]["expires_after"] / 1000, UTC)
    return await _show_signing(
        visit, response, kind="cancel", step="cancel", until=timestamp(until)
    )


async def lower_limits(visit: PageRequest) -> web.Response:
    """Lower the limits; they never go up here."""
    try:
        await visit.run(
            "trade_limits",
            per_order_usdc=visit.field("per_order_usdc"),
            per_day_usdc=visit.field("per_day_usdc"),
        )
    except OperationRefused as refused:
        return await _refused(visit, refused)
    return visit.go(f"{HERE}#limits")


PAGES: Final = (
    PageRoute(method="GET", path=HERE, show=show_orders),
    PageRoute(method="POST", path=HERE, show=place_order),
    PageRoute(method="POST", path=f"{HERE}/close", show=close_order),
    PageRoute(method="POST", path=f"{HERE}/limits", show=lower_limits),
    PageRoute(method="GET", path=f"{HERE}/history", show=show_history),
    PageRoute(method="GET", path=f"{HERE}/{{order}}", show=show_order),
    PageRoute(method="POST", path=f"{HERE}/{{order}}/open", show=reopen_order),
    PageRoute(method="POST", path=f"{HERE}/{{order}}/sign", show=sign_order),
    PageRoute(method="POST", path=f"{HERE}/{{order}}/record", show=record_order),
    PageRoute(method="POST", path=f"{HERE}/{{order}}/cancel", show=cancel_order),
)
