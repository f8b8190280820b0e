"""The list of an owner's mandates."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app.answer import Visit
from app.page import Page
from app.views import mandates


async def listed(visit: Visit) -> web.Response:
    """What waits for the owner, and a card for each mandate."""
    rows = await visit.ask("mandate_list", cursor=visit.query("cursor"))
    approvals = await visit.ask.maybe("owner_approvals", status="pending")
    return visit.show("mandates.html", mandates.view(rows, approvals or {"items": []}, visit.now))


PAGES: Final = (Page(method="GET", path="/app/mandates", show=listed),)
