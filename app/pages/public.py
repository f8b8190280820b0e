"""Public pages without a session: the Hall, the markets, ways in, and guarantees."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from app import page_context
from app.components import refusal as refusals
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.replies import Json, Record
from app.words.descriptor import descriptor
from app.words.status import MARKETS
from app.words.text import _, word
from domain.refusals import Refused, refusal

KINDS: Final[Mapping[str, str]] = {
    "erc4626": _("a lending or savings vault"),
    "venue": _("a trading venue"),
    "x402": _("paid information"),
}
HOLDERS: Final[Mapping[str, str]] = {
    "contract": _("Vault contract"),
    "venue": _("Venue"),
    "guard": _("This service"),
}
TITLES: Final[Mapping[str, str]] = {
    "holds": _("What holds, and what does not"),
    "start": _("How a mandate goes"),
    "wallets": _("Wallets and signatures"),
    "agents": _("What an agent is told"),
    "words": _("Words"),
}
NO_ROUTES: Final = Record(items=(), destination=Record(chain=0, address=None), link=None)


async def show_hall(visit: PageRequest) -> web.Response:
    """The Hall, sorted by one fact."""
    sort, cursor = visit.query("sort") or "days_live", visit.query("cursor")
    accepting = visit.query("accepting") == "1"
    page = await visit.run("hall_list", sort=sort, accepting=accepting, cursor=cursor)
    return visit.show("hall.html", Record(page, sort=sort, accepting=accepting))


async def show_agent(visit: PageRequest) -> web.Response:
    """One agent's record."""
    response = await visit.run("hall_agent", agent_id=visit.path_part("agent"))
    return visit.show("hall_agent.html", response)


async def show_markets(visit: PageRequest) -> web.Response:
    """The markets that an owner can allow, and the party that enforces the limit there."""
    page = await visit.run("markets_list")
    return visit.show("markets.html", tuple(_market(visit, row) for row in page["items"]))


def _market(visit: PageRequest, row: Json) -> Record:
    """A market with its contract, and the symbols or hosts that it is about."""
    target = row["target"]
    return Record(
        row,
        pill=MARKETS[row["status"]],
        kind=word(row["kind"], KINDS),
        by=word(row["enforced_by"], HOLDERS),
        chain="" if row["chain_id"] is None else visit.chain_name(row["chain_id"]),
        address=target.get("address"),
        listed_names=", ".join(target.get("symbols") or target.get("hosts") or ()),
    )


async def show_deposit(visit: PageRequest) -> web.Response:
    """Ways to bring USDC in, as estimates, never quotes; `qr` is an image of the link that asks a
    wallet for a transfer to the owner.
    """
    amount, owner = visit.query("amount"), visit.caller.address
    assets = await visit.run("deposit_assets")
    ways, problem, status = NO_ROUTES, None, 200
    try:
        ways = await visit.run("deposit_routes", amount=amount, recipient=owner)
    except OperationRefused as refused:
        problem, status = refusals.view(refused.block), refused.status
    to, svg = ways["destination"]["chain"], ways.get("qr_svg")
    # A development chain is in no list of real networks, and no page tells of it.
    is_listed = any(a["chain_id"] == to for a in assets["items"])
    view = Record(
        amount=amount or "",
        routes=tuple(_route(visit, row, has_pages=is_listed) for row in ways["items"]),
        assets=tuple(Record(a, site=_site(a["source"])) for a in assets["items"] if is_listed),
        as_of=assets["as_of"],
        chain=visit.chain_name(to) if to else "",
        to=owner,
        link=ways["link"],
        qr="data:image/svg+xml;base64," + b64encode(svg.encode()).decode() if svg else None,
        problem=problem,
    )
    return visit.show("deposit.html", view, status=status)


def _route(visit: PageRequest, row: Json, *, has_pages: bool) -> Record:
    chain, takes = row["from"]["chain"], row["time_s"]
    if chain == "same":
        chain = _("the same network")
    elif chain == "exchange":
        chain = _("an exchange")
    elif isinstance(chain, int):
        chain = visit.chain_name(chain)
    return Record(
        row,
        start=chain,
        takes="" if takes is None else _span(takes["low"], takes["high"]),
        sources=tuple((url, _site(url)) for url in row["sources"] if has_pages),
    )


def _span(low: int, high: int) -> str:
    if high < 120:
        return _("{low} to {high} seconds").format(low=low, high=high)
    return _("{low} to {high} minutes").format(low=max(1, low // 60), high=-(-high // 60))


def _site(url: str) -> str:
    return urlsplit(url).netloc or url


async def show_document(visit: PageRequest) -> web.Response:
    """A page of help, among its neighbours."""
    name = visit.request.match_info.get("page", "holds")
    if name not in TITLES:
        raise Refused(refusal("not_found", what="page"))
    view = Record(name=name, title=TITLES[name], pages=tuple(TITLES.items()))
    return visit.show("document.html", view)


async def show_descriptor(visit: PageRequest) -> web.Response:
    """The terms for devices that show words (ERC-7730), for this service's own factories."""
    chains = visit.deps.chains
    factories = ((i, chains.get(i).factory) for i in chains.ids())
    raw = descriptor((i, factory) for i, factory in factories if factory is not None)
    return page_context.text(json.dumps(raw, indent=1, ensure_ascii=False), "application/json")


PAGES: Final = (
    PageRoute("GET", "/app/hall", show_hall, owner=False),
    PageRoute("GET", "/app/hall/{agent}", show_agent, owner=False),
    PageRoute("GET", "/app/markets", show_markets, owner=False),
    PageRoute("GET", "/app/deposit", show_deposit, owner=False),
    PageRoute("GET", "/app/erc7730.json", show_descriptor, owner=False),
    PageRoute("GET", "/app/docs", show_document, owner=False),
    PageRoute("GET", "/app/docs/{page}", show_document, owner=False),
)
