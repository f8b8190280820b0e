"""A page of this site on a phone: a code to scan, and wallets that open it in their browser."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from app import session_guard
from app.page_context import PageRequest, PageRoute
from app.replies import Record
from app.words.wallet_apps import openings
from tools.model.qr_code import qr_svg

START: Final = "/app/start"
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_PATH: Final = re.compile(r"/app(/[A-Za-z0-9_-]{1,64}){0,4}")
# An app waits for its answer in the browser that it opened.
_STAYS: Final = ("/app/connect", "/app/sign-in", "/app/session", "/app/phone")


def carried(next_page: str) -> str:
    """The path of the page to open elsewhere. Nothing else of an address goes into a code that
    others can see: no amount, no cursor, no text.
    """
    path = urlsplit(session_guard.next_of(next_page)).path
    stays = not _PATH.fullmatch(path) or path.startswith(_STAYS)
    return session_guard.HOME if stays else path


def address_of(visit: PageRequest, next_page: str) -> str:
    """The whole address of a page to open elsewhere."""
    return visit.deps.config.base_url.rstrip("/") + carried(next_page)


async def show_phone(visit: PageRequest) -> web.Response:
    """The code and the wallets for one page of this site."""
    next_page = visit.query("next") or session_guard.HOME
    address = address_of(visit, next_page)
    code = b64encode(qr_svg(address).encode()).decode()
    view = Record(
        address=address,
        back=carried(next_page),
        qr=f"data:image/svg+xml;base64,{code}",
        wallets=tuple(openings(address)),
        unkept=carried(next_page) == START,
        local=urlsplit(address).hostname in LOOPBACK,
    )
    return visit.show("phone.html", view)


PAGES: Final = (PageRoute("GET", "/app/phone", show_phone, owner=False),)
