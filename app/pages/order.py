"""One order to its end: its terms, its status, and the data to sign for it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from aiohttp import web

from app.components import refusal
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages.venue_account import json_of, venue_url
from app.replies import Json, Record, pick
from app.words.orders import MOVING, SIDES, STATUS, TIFS
from app.words.refusals import in_words
from app.words.text import _
from app.words.untrusted_text import with_name
from domain.times import timestamp

HERE: Final = "/app/orders"
STEPS: Final[Mapping[str, str]] = {"order": "trade_order", "close": "trade_close"}
UNSIGNED: Final = ("awaiting_owner", "awaiting_signature")
CANCELS: Final = frozenset({"prepared", "resting", *UNSIGNED})


def order_title(order: Json) -> str:
    """An order in a few words; product and figures are the venue's."""
    return f"{SIDES[order['side']]} {order['size']} {order['product']}"


def maker(order: Json, names: Mapping[str, str]) -> Record | None:
    """The agent that prepared an order; None for one of the owner's own."""
    by = order["prepared_by"]
    return with_name(by["id"], names) if by["kind"] == "agent" else None


def agent_names(agents: Json) -> dict[str, str]:
    """The names of agents by id; `agents` of owner_agents."""
    return {a["agent_id"]: a["name"] for a in agents["items"]}


async def names_of(visit: PageRequest) -> Mapping[str, str]:
    """The owner's names of agents and paper books, by id."""
    agents = await visit.run("owner_agents", limit=200)
    books = await visit.run("own_paper_books")
    return agent_names(agents) | {b["book"]: b["name"] for b in books["books"]}


def view(order: Json, names: Mapping[str, str]) -> Record:
    """`order` as it leaves the service; `names` of the owner's agents and paper books by id."""
    status, ended = order["status"], order["refusal"]
    pill, message = STATUS[status]
    if status == "executed" and order["partial"]:
        message = _("A part was traded; the rest was dropped.")
    return Record(
        order,
        title=order_title(order),
        pill=pill,
        message=message,
        refused="" if ended is None else in_words(ended["error"], ended["reason"]),
        # Without the time of the last look: it moves on each, and the page does not show it.
        venue=order["venue"] and pick(order["venue"], "status"),
        moving=status in MOVING,
        tif_words=TIFS[order["tif"]],
        book_name=names.get(order["book"] or "", ""),
        agent=maker(order, names),
        opens=status in UNSIGNED,
        cancels=status in CANCELS,
        checks=None,
        signing=None,
        problem=None,
    )


async def show_order(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    """One order as it stands."""
    row = await visit.run("order_get", order_id=visit.path_part("order"))
    shown = view(row, await names_of(visit))
    problem = refusal.view(refused and refused.block)
    return visit.show("order.html", Record(shown, problem=problem), refused=refused)


async def reopen_order(visit: PageRequest) -> web.Response:
    """Price a waiting order anew, and show what is to be signed for it."""
    try:
        response = await visit.run("order_open", order_id=visit.path_part("order"))
    except OperationRefused as refused:
        return await show_order(visit, refused)
    return await show_prepared(visit, response, "execute")


async def show_prepared(visit: PageRequest, raw: Json, step: str) -> web.Response:
    """The texts to sign; without any (paper, or a repeat of the form) the order as it stands."""
    row = raw["order"]
    if raw["to_sign"] is None:
        return visit.go(f"{HERE}/{row['order_id']}")
    return await _show_signing(visit, raw, kind="order", step=step, until=row["expires_at"])


async def _show_signing(
    visit: PageRequest, raw: Json, *, kind: str, step: str, until: str
) -> web.Response:
    """The order with what is to be signed for it; `until` is when that is over.

    `block` is read by the page's script, which takes nothing of it on trust; `step` is how the
    signature is handed in.
    """
    row, request = raw["order"], raw["to_sign"]
    venue, signers = venue_url(visit, row["network"]), (*request["signer_must_be"], None, None)
    signing = Record(
        kind=kind,
        step=step,
        confirm_id=raw["confirm_id"],
        wallet=signers[0],
        key=signers[1],
        expires_at=until,
        venue=venue,
        block=request,
    )
    shown = Record(view(row, await names_of(visit)), signing=signing, checks=raw["checks"])
    return visit.show("order.html", shown, status=201, asks=(venue,))


async def sign_order(visit: PageRequest) -> web.Response:
    """Hand the signature in, once; an order that was sent is shown however that went."""
    step, order_id = visit.field("step") or "", visit.path_part("order")
    operation = STEPS.get(step) or ("order_cancel" if step == "cancel" else "order_execute")
    try:
        await visit.run(
            operation,
            order_id=None if step in STEPS else order_id,
            confirm_id=visit.field("confirm_id"),
            signature=json_of(visit, "signature"),
        )
    except OperationRefused as refused:
        if refused.code != "wallet_outcome_unknown":
            return await show_order(visit, refused)
    return visit.go(f"{HERE}/{order_id}")


async def record_order(visit: PageRequest) -> web.Response:
    """Record an order that the browser sent by itself; the venue's own status decides."""
    await visit.run(
        "order_record",
        order_id=visit.path_part("order"),
        confirm_id=visit.field("confirm_id"),
        venue_response=json_of(visit, "venue_response"),
    )
    return visit.go(f"{HERE}/{visit.path_part('order')}")


async def cancel_order(visit: PageRequest) -> web.Response:
    """Take an order back; what rests at the venue asks for a signature first."""
    try:
        response = await visit.run("order_cancel", order_id=visit.path_part("order"))
    except OperationRefused as refused:
        return await show_order(visit, refused)
    if response["to_sign"] is None:
        return visit.go(f"{HERE}/{visit.path_part('order')}")
    until = timestamp(datetime.fromtimestamp(response["to_sign"]["expires_after"] / 1000, UTC))
    return await _show_signing(visit, response, kind="cancel", step="cancel", until=until)


PAGES: Final = (
    PageRoute("GET", f"{HERE}/{{order}}", show_order),
    PageRoute("POST", f"{HERE}/{{order}}/open", reopen_order),
    PageRoute("POST", f"{HERE}/{{order}}/sign", sign_order),
    PageRoute("POST", f"{HERE}/{{order}}/record", record_order, refused=show_order),
    PageRoute("POST", f"{HERE}/{{order}}/cancel", cancel_order),
)
