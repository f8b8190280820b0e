"""Notices: what asks for a look now, and webhooks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aiohttp import web

from app.answer import Visit
from app.ask import NotDone
from app.page import Page
from app.replies import Json
from app.views import notices
from domain.refusals import Refused, refusal

HERE: Final = "/app/notices"


async def shown(visit: Visit) -> web.Response:
    """What is open now, how this browser tells of it, and the webhooks."""
    return visit.show("notices.html", await _view(visit))


async def _view(visit: Visit) -> notices.Notices:
    waiting = await visit.ask("order_pending")
    under_way = await visit.ask("order_under_way")
    return notices.view(
        await visit.ask("owner_approvals", status="pending", limit=200),
        await visit.ask("mandate_list"),
        [*waiting["orders"], *under_way["orders"]],
        await visit.ask("owner_webhooks"),
        sends=visit.deps.webhooks is not None,
    )


async def create(visit: Visit) -> web.Response:
    """Make a webhook; its secret is on this answer and nowhere else."""
    url, events = visit.field("url") or "", [str(e) for e in visit.form.getall("events", [])]
    try:
        told = await visit.ask_once("owner_webhook_create", url=url, events=events)
    except NotDone as refused:
        view = notices.refused(await _view(visit), refused.block, url, events)
        return visit.show("notices.html", view, status=refused.status)
    return visit.show("notices.html", replace(await _view(visit), new=notices.secret(told)))


async def one(visit: Visit) -> web.Response:
    """One webhook with its deliveries."""
    return visit.show("notice.html", await _one(visit))


async def _one(visit: Visit) -> notices.OneHook:
    webhook_id = visit.named("hook")
    hook = await _row(visit, webhook_id)
    page = await visit.ask(
        "owner_webhook_deliveries", webhook_id=webhook_id, cursor=visit.query("cursor")
    )
    return notices.one(hook, page)


async def _row(visit: Visit, webhook_id: str) -> Json:
    """The webhook in the list of the owner's own; there are few. Errors: `not_found`."""
    for row in (await visit.ask("owner_webhooks"))["items"]:
        if row["webhook_id"] == webhook_id:
            return dict(row)
    raise Refused(refusal("not_found", what="webhook"))


async def rotate(visit: Visit) -> web.Response:
    """The next secret, on this answer and nowhere else; the one before signs too for a day."""
    told = await visit.ask_once("owner_webhook_rotate", webhook_id=visit.named("hook"))
    return visit.show("notice.html", replace(await _one(visit), new=notices.secret(told)))


async def remove(visit: Visit) -> web.Response:
    """Remove a webhook with what waits for it."""
    await visit.ask("owner_webhook_remove", webhook_id=visit.named("hook"))
    return visit.go(HERE)


PAGES: Final = (
    Page(method="GET", path=HERE, show=shown),
    Page(method="POST", path=HERE, show=create),
    Page(method="GET", path=f"{HERE}/{{hook}}", show=one),
    Page(method="POST", path=f"{HERE}/{{hook}}/rotate", show=rotate),
    Page(method="POST", path=f"{HERE}/{{hook}}/remove", show=remove),
)
