"""Public pages without a session: the Hall, the markets, ways in, and guarantees."""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web

from app import page_context
from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json, Record
from app.views import deposit, descriptor, documents, markets
from domain.refusals import Refused, refusal


async def show_hall(visit: PageRequest) -> web.Response:
    """The Hall, sorted by one fact."""
    sort, accepting = visit.query("sort") or "days_live", visit.query("accepting") == "1"
    page = await visit.run(
        "hall_list", sort=sort, accepting=accepting, cursor=visit.query("cursor")
    )
    return visit.show("hall.html", Record(page, sort=sort, accepting=accepting))


async def show_agent(visit: PageRequest) -> web.Response:
    """One agent's record."""
    response = await visit.run("hall_agent", agent_id=visit.path_part("agent"))
    return visit.show("hall_agent.html", response)


async def show_markets(visit: PageRequest) -> web.Response:
    """The markets."""
    return visit.show(
        "markets.html", markets.view(await visit.run("markets_list"), visit.chain_names())
    )


async def show_deposit(visit: PageRequest) -> web.Response:
    """Ways to bring USDC in, as estimates."""
    amount, owner = visit.query("amount"), visit.caller.address
    assets = await visit.run("deposit_assets")
    routes: Json | None = None
    block: Json | None = None
    status = 200
    try:
        routes = await visit.run("deposit_routes", amount=amount, recipient=owner)
    except OperationRefused as refused:
        block, status = refused.block, refused.status
    view = deposit.view(routes, assets, owner, amount or "", block, visit.chain_names())
    return visit.show("deposit.html", view, status=status)


async def show_document(visit: PageRequest) -> web.Response:
    """A page of help."""
    name = visit.request.match_info.get("page", "holds")
    if name not in documents.TITLES:
        raise Refused(refusal("not_found", what="page"))
    return visit.show("document.html", documents.view(name))


async def show_descriptor(visit: PageRequest) -> web.Response:
    """The terms for devices that show words (ERC-7730), for this service's own factories."""
    chains = visit.deps.chains
    factories = ((i, chains.get(i).factory) for i in chains.ids())
    raw = descriptor.descriptor((i, factory) for i, factory in factories if factory is not None)
    return page_context.text(json.dumps(raw, indent=1, ensure_ascii=False), "application/json")


PAGES: Final = (
    PageRoute(method="GET", path="/app/hall", show=show_hall, owner=False),
    PageRoute(method="GET", path="/app/hall/{agent}", show=show_agent, owner=False),
    PageRoute(method="GET", path="/app/markets", show=show_markets, owner=False),
    PageRoute(method="GET", path="/app/deposit", show=show_deposit, owner=False),
    PageRoute(method="GET", path="/app/erc7730.json", show=show_descriptor, owner=False),
    PageRoute(method="GET", path="/app/docs", show=show_document, owner=False),
    PageRoute(method="GET", path="/app/docs/{page}", show=show_document, owner=False),
)
