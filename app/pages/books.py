"""Paper books."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from app.operations import OperationRefused
from app.page import PageRoute
from app.page_context import PageRequest
from app.replies import Record
from app.views import books
from app.views.components import refusal

HERE: Final = "/app/books"


async def show_books(visit: PageRequest) -> web.Response:
    """Every book, and how many were ever opened."""
    return visit.show("books.html", await _books_view(visit))


async def _books_view(visit: PageRequest) -> Record:
    agents = await visit.run("owner_agents", limit=200)
    return books.view(await visit.run("own_paper_books"), agents)


async def open_book(visit: PageRequest) -> web.Response:
    """Open one more; it is never edited, reset or closed."""
    name, start = visit.field("name") or "", visit.field("start_usdc")
    try:
        response = await visit.run_once(
            "own_paper_book_open", name=name, start_usdc=start, agent_id=visit.field("agent")
        )
    except OperationRefused as refused:
        problem = refusal.view(refused.block, None)
        view = Record(await _books_view(visit), problem=problem, name=name, start=start or "")
        return visit.show("books.html", view, status=refused.status)
    return visit.go(f"{HERE}/{response['book']}")


async def show_book(visit: PageRequest) -> web.Response:
    """One book with its positions, orders and worth."""
    response = await visit.run(
        "own_paper_book", book=visit.path_part("book"), cursor=visit.query("cursor")
    )
    agents = await visit.run("owner_agents", limit=200)
    return visit.show("book.html", books.book_view(response, agents))


PAGES: Final = (
    PageRoute(method="GET", path=HERE, show=show_books),
    PageRoute(method="POST", path=HERE, show=open_book),
    PageRoute(method="GET", path=f"{HERE}/{{book}}", show=show_book),
)
