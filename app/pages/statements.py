"""Weekly statements."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Record
from app.views import statement


async def show_statement(visit: PageRequest) -> web.Response:
    """One mandate's week; the last full one where none is named."""
    public_id = visit.path_part("id")
    response = await visit.run(
        "owner_statement",
        public_id=public_id,
        week=visit.query("week"),
        cursor=visit.query("cursor"),
    )
    head = await visit.run("mandate_get", public_id=public_id, parts="mandate")
    view = statement.view(response, head, visit.now)
    return visit.show("statement.html", view, chain_id=head["mandate"]["chain_id"])


async def show_all(visit: PageRequest) -> web.Response:
    """The week across all mandates."""
    response = await visit.run(
        "owner_statement_all", week=visit.query("week"), cursor=visit.query("cursor")
    )
    return visit.show(
        "statements.html", Record(response, week=statement.week(response["period"], visit.now))
    )


PAGES: Final = (
    PageRoute(method="GET", path="/app/mandates/{id}/statement", show=show_statement),
    PageRoute(method="GET", path="/app/statement", show=show_all),
)
