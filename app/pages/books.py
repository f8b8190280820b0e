"""Paper books: how many were opened, what each came to, and one of them whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from app.components import refusal
from app.page_context import OperationRefused, PageRequest, PageRoute
from app.pages.order import agent_names, order_title
from app.replies import Json, Record
from app.words import money
from app.words.orders import STATUS
from app.words.untrusted_text import with_name

HERE: Final = "/app/books"
POINTS_SHOWN: Final = 60


async def show_books(visit: PageRequest, refused: OperationRefused | None = None) -> web.Response:
    """Every book, and how many were ever opened; what was refused stays in the form."""
    agents = await visit.run("owner_agents", limit=200)
    raw = await visit.run("own_paper_books")
    view = Record(
        raw,
        books=tuple(_book(b, agent_names(agents)) for b in raw["books"]),
        agents=agents["items"],
        problem=refusal.view(refused and refused.block),
        name=visit.field("name") or "",
        start=visit.field("start_usdc") or "",
        agent=visit.field("agent") or "",
    )
    return visit.show("books.html", view, refused=refused)


def _book(raw: Json, names: Mapping[str, str]) -> Record:
    """A paper book; every figure is an estimate. None: a mark price is missing."""
    net = money.less(raw["equity_usdc"], raw["start_usdc"])
    return Record(
        raw,
        agent=with_name(raw["agent_id"], names) if raw["agent_id"] else None,
        net=net,
        returned=money.share(net, raw["start_usdc"]),
        depth=money.share_percent(raw["model"]["depth_share"]),
    )


async def open_book(visit: PageRequest) -> web.Response:
    """Open one more; it is never edited, reset or closed."""
    name, start, agent = visit.field("name") or "", visit.field("start_usdc"), visit.field("agent")
    response = await visit.run_once(
        "own_paper_book_open", name=name, start_usdc=start, agent_id=agent
    )
    return visit.go(f"{HERE}/{response['book']}")


async def show_book(visit: PageRequest) -> web.Response:
    """One book with its positions, orders and worth."""
    book, cursor = visit.path_part("book"), visit.query("cursor")
    raw = await visit.run("own_paper_book", book=book, cursor=cursor)
    agents = await visit.run("owner_agents", limit=200)
    placed = tuple(map(_placed_order, raw["orders"]["items"]))
    points = raw["equity"][-POINTS_SHOWN:]
    return visit.show(
        "book.html", Record(_book(raw, agent_names(agents)), placed=placed, points=points)
    )


def _placed_order(row: Json) -> Record:
    price, pill = row["avg_px"] or row["limit_px"], STATUS[row["status"]][0]
    return Record(row, title=order_title(row), price=price, pill=pill)


PAGES: Final = (
    PageRoute("GET", HERE, show_books),
    PageRoute("POST", HERE, open_book, refused=show_books),
    PageRoute("GET", f"{HERE}/{{book}}", show_book),
)
