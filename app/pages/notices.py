"""Notices: open items for the owner, and the webhooks that report them elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from aiohttp import web

from app.components import asks
from app.components import refusal as refusals
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record, pick
from app.words import notices
from app.words.status import DELIVERIES
from app.words.untrusted_text import agent_of
from domain.refusals import Refused, refusal

HERE: Final = "/app/notices"


async def show_notices(
    visit: PageRequest, refused: OperationRefused | None = None, new: Record | None = None
) -> web.Response:
    """The notices page: open notices, this browser's settings for them, and the webhooks. After a
    refusal what was typed stays; `new`: a secret, which is shown once.
    """
    orders = [await visit.run(name) for name in ("order_pending", "order_under_way")]
    approvals = await visit.run("owner_approvals", status="pending", limit=200)
    mandates = await visit.run("mandate_list")
    hooks = await visit.run("owner_webhooks")
    settings = await visit.run("owner_notice_settings")
    view = Record(
        now=(
            *_unreached(settings["channels"]),
            *_asks(approvals["items"]),
            *_orders(row for page in orders for row in page["orders"]),
            *_mandates(mandates["items"]),
        ),
        more=approvals["next_cursor"] is not None or mandates["next_cursor"] is not None,
        sends=visit.deps.webhooks is not None,
        is_told=_is_told(settings["channels"]),
        hooks=tuple(map(_webhook, hooks["items"])),
        kinds=_kinds(visit.form.getall("events", []) if refused else ()),
        url=(visit.field("url") or "") if refused else "",
        new=new,
        problem=refusals.view(refused and refused.block),
    )
    return visit.show("notices.html", view, refused=refused)


def _open(id: str, announcement: str, href: str, agent: Record | None = None) -> Record:
    """An item for the owner; `announcement` is the service's own sentence about it."""
    return Record(id=id, announcement=announcement, href=href, agent=agent)


def _unreached(channels: Json) -> Iterator[Record]:
    """The channels by which nothing arrives."""
    failing = {
        "push": any(b["failing"] for b in channels["push"]["browsers"]),
        "email": channels["email"]["failing"],
        "webhook": channels["webhook"]["failing"] > 0,
    }
    for channel, sentence in notices.UNREACHED.items():
        if failing[channel]:
            yield _open(f"unreached-{channel}", sentence, "/app/notices/settings")


def _is_told(channels: Json) -> bool:
    """False where the owner could be told while no page is open, and is told nowhere: nothing was
    chosen yet, or the push service of the only browser knows it no more.
    """
    push, email, webhook = (channels[name] for name in ("push", "email", "webhook"))
    is_told = bool(push["browsers"]) or email["address"] is not None or webhook["count"] > 0
    return is_told or not any(c["available"] for c in (push, email, webhook))


def _asks(items: Iterable[Json]) -> Iterator[Record]:
    for item in items:
        pays = item["target"].get("resource") is not None
        sentence = notices.payment_notice if pays else notices.approval_notice
        announcement = sentence(item["approve_amount_usdc"])
        yield _open(item["approval_id"], announcement, asks.page_of(item), agent_of(item))


def _mandates(rows: Iterable[Json]) -> Iterator[Record]:
    for row in rows:
        announcement, public_id = notices.mandate_notice(row), row["public_id"]
        # What is over is told where it ends, and asks for nothing afterwards.
        if announcement and row["progress"]["status"] != "settled":
            agent = agent_of(row["mandate"])
            yield _open(public_id, announcement, f"/app/mandates/{public_id}", agent)


def _orders(rows: Iterable[Json]) -> Iterator[Record]:
    for row in rows:
        if announcement := notices.order_notice(row):
            yield _open(row["order_id"], announcement, f"/app/orders/{row['order_id']}")


def _webhook(raw: Json) -> Record:
    """A webhook without its secret; `kinds` is empty where it is told everything."""
    kinds = tuple(notices.KINDS[k] for k in raw["events"])
    return Record(pick(raw, "webhook_id", "url", "failing", "created_at"), kinds=kinds)


def _kinds(chosen: Iterable[str]) -> tuple[Record, ...]:
    """The boxes of the form."""
    names = set(chosen)
    return tuple(Record(name=n, text=t, chosen=n in names) for n, t in notices.KINDS.items())


async def create(visit: PageRequest) -> web.Response:
    """Make a webhook; its secret is on this answer and nowhere else."""
    url, events = visit.field("url") or "", [str(e) for e in visit.form.getall("events", [])]
    try:
        made = await visit.run_once("owner_webhook_create", url=url, events=events)
    except OperationRefused as refused:
        return await show_notices(visit, refused)
    return await show_notices(visit, new=made)


async def show_webhook(visit: PageRequest, new: Record | None = None) -> web.Response:
    """One webhook with its deliveries; `new`: its secret, which is shown once."""
    webhook_id, cursor = visit.path_part("hook"), visit.query("cursor")
    hooks = await visit.run("owner_webhooks")
    hook = next((h for h in hooks["items"] if h["webhook_id"] == webhook_id), None)
    if hook is None:
        raise Refused(refusal("not_found", what="webhook"))
    page = await visit.run("owner_webhook_deliveries", webhook_id=webhook_id, cursor=cursor)
    deliveries = tuple(map(_delivery, page["items"]))
    view = Record(hook=hook, deliveries=deliveries, older=page["next_cursor"], new=new)
    return visit.show("notice.html", view)


def _delivery(raw: Json) -> Record:
    """One notice and its delivery."""
    return Record(
        raw,
        pill=DELIVERIES[raw["status"]],
        text=notices.KINDS[raw["event"]],
        fault=(raw["fault"] or "").replace("_", " "),
        body=json.dumps(json.loads(raw["body"]), indent=1, ensure_ascii=False),
    )


async def rotate(visit: PageRequest) -> web.Response:
    """The next secret, on this answer and nowhere else; the one before signs too for a day."""
    webhook_id = visit.path_part("hook")
    new = await visit.run_once("owner_webhook_rotate", webhook_id=webhook_id)
    return await show_webhook(visit, new)


async def remove(visit: PageRequest) -> web.Response:
    """Remove a webhook with what waits for it."""
    await visit.run("owner_webhook_remove", webhook_id=visit.path_part("hook"))
    return visit.go(HERE)


PAGES: Final = (
    PageRoute("GET", HERE, show_notices),
    PageRoute("POST", HERE, create),
    PageRoute("GET", f"{HERE}/{{hook}}", show_webhook),
    PageRoute("POST", f"{HERE}/{{hook}}/rotate", rotate),
    PageRoute("POST", f"{HERE}/{{hook}}/remove", remove),
)
