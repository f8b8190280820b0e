"""Public pages without a session: the Hall, the markets, ways in, and guarantees."""

from __future__ import annotations

import json
from typing import Final

from aiohttp import web

from app import page_context
from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Json
from app.views import deposit, descriptor, documents, hall, markets
from domain.refusals import Refused, refusal


async def all_agents(visit: PageRequest) -> web.Response:
    """The Hall, sorted by one fact."""
    sort, accepting = visit.query("sort") or "days_live", visit.query("accepting") == "1"
    page = await visit.ask(
        "hall_list", sort=sort, accepting=accepting, cursor=visit.query("cursor")
    )
    return visit.show("hall.html", hall.view(page, sort, accepting=accepting))


async def one_agent(visit: PageRequest) -> web.Response:
    """One agent's record."""
    response = await visit.ask("hall_agent", agent_id=visit.path_part("agent"))
    return visit.show("hall_agent.html", hall.one(response))


async def all_markets(visit: PageRequest) -> web.Response:
    """The markets."""
    return visit.show(
        "markets.html", markets.view(await visit.ask("markets_list"), visit.chain_names())
    )


async def ways_in(visit: PageRequest) -> web.Response:
    """Ways to bring USDC in, as estimates."""
    amount, owner = visit.query("amount"), visit.caller.address
    assets = await visit.ask("deposit_assets")
    routes: Json | None = None
    block: Json | None = None
    status = 200
    try:
        routes = await visit.ask("deposit_routes", amount=amount, recipient=owner)
    except OperationRefused as refused:
        block, status = refused.block, refused.status
    view = deposit.view(routes, assets, owner, amount or "", block, visit.chain_names())
    return visit.show("deposit.html", view, status=status)


async def document(visit: PageRequest) -> web.Response:
    """A page of help."""
    name = visit.request.match_info.get("page", "holds")
    if name not in documents.TITLES:
        raise Refused(refusal("not_found", what="page"))
    return visit.show("document.html", documents.view(name))


async def described(visit: PageRequest) -> web.Response:
    """The terms for devices that show words (ERC-7730), for this service's own factories."""
    chains = visit.deps.chains
    factories = ((i, chains.get(i).factory) for i in chains.ids())
    raw = descriptor.descriptor((i, factory) for i, factory in factories if factory is not None)
    return page_context.text(json.dumps(raw, indent=1, ensure_ascii=False), "application/json")


PAGES: Final = (
    PageRoute(method="GET", path="/app/hall", show=all_agents, owner=False),
    PageRoute(method="GET", path="/app/hall/{agent}", show=one_agent, owner=False),
    PageRoute(method="GET", path="/app/markets", show=all_markets, owner=False),
    PageRoute(method="GET", path="/app/deposit", show=ways_in, owner=False),
    PageRoute(method="GET", path="/app/erc7730.json", show=described, owner=False),
    PageRoute(method="GET", path="/app/docs", show=document, owner=False),
    PageRoute(method="GET", path="/app/docs/{page}", show=document, owner=False),
)
