"""Notices: what asks for a look now, and webhooks."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json, Record
from app.views import notices
from domain.refusals import Refused, refusal

HERE: Final = "/app/notices"


async def show_notices(visit: PageRequest) -> web.Response:
    """The notices page: open notices, this browser's settings for them, and the webhooks."""
    return visit.show("notices.html", await _view(visit))


async def _view(visit: PageRequest) -> Record:
    pending = await visit.run("order_pending")
    under_way = await visit.run("order_under_way")
    return notices.view(
        await visit.run("owner_approvals", status="pending", limit=200),
        await visit.run("mandate_list"),
        [*pending["orders"], *under_way["orders"]],
        await visit.run("owner_webhooks"),
        sends=visit.deps.webhooks is not None,
    )


async def create(visit: PageRequest) -> web.Response:
    """Make a webhook; its secret is on this answer and nowhere else."""
    url, events = visit.field("url") or "", [str(e) for e in visit.form.getall("events", [])]
    try:
        response = await visit.run_once("owner_webhook_create", url=url, events=events)
    except OperationRefused as refused:
        view = notices.refused(await _view(visit), refused.block, url, events)
        return visit.show("notices.html", view, status=refused.status)
    return visit.show("notices.html", Record(await _view(visit), new=response))


async def show_webhook(visit: PageRequest) -> web.Response:
    """One webhook with its deliveries."""
    return visit.show("notice.html", await _webhook_view(visit))


async def _webhook_view(visit: PageRequest) -> Record:
    webhook_id = visit.path_part("hook")
    webhook = await _row(visit, webhook_id)
    page = await visit.run(
        "owner_webhook_deliveries", webhook_id=webhook_id, cursor=visit.query("cursor")
    )
    return notices.webhook_view(webhook, page)


async def _row(visit: PageRequest, webhook_id: str) -> Json:
    """The webhook in the list of the owner's own; there are few. Errors: `not_found`."""
    for row in (await visit.run("owner_webhooks"))["items"]:
        if row["webhook_id"] == webhook_id:
            return Record(row)
    raise Refused(refusal("not_found", what="webhook"))


async def rotate(visit: PageRequest) -> web.Response:
    """The next secret, on this answer and nowhere else; the one before signs too for a day."""
    response = await visit.run_once("owner_webhook_rotate", webhook_id=visit.path_part("hook"))
    return visit.show("notice.html", Record(await _webhook_view(visit), new=response))


async def remove(visit: PageRequest) -> web.Response:
    """Remove a webhook with what waits for it."""
    await visit.run("owner_webhook_remove", webhook_id=visit.path_part("hook"))
    return visit.go(HERE)


PAGES: Final = (
    PageRoute(method="GET", path=HERE, show=show_notices),
    PageRoute(method="POST", path=HERE, show=create),
    PageRoute(method="GET", path=f"{HERE}/{{hook}}", show=show_webhook),
    PageRoute(method="POST", path=f"{HERE}/{{hook}}/rotate", show=rotate),
    PageRoute(method="POST", path=f"{HERE}/{{hook}}/remove", show=remove),
)
