"""The language of a page: what its reader chose, else what the browser asks for first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from app.words.text import ENGLISH, LANGUAGES

COOKIE: Final = "language"
COOKIE_S: Final = 31_536_000
ACCEPTED_MOST: Final = 20  # ranges of a header that are read


def language_of(request: web.Request) -> str:
    """One of `LANGUAGES`, by the cookie, else by Accept-Language (RFC 9110 12.5.4)."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    accepted = sorted(_ranges(request.headers.get("Accept-Language", "")), reverse=True)
    return next((code for _, _, code in accepted if code in LANGUAGES), ENGLISH)


def _ranges(header: str) -> Iterator[tuple[float, int, str]]:
    """(weight, minus its place, language) of each range that is asked for at all."""
    for place, item in enumerate(header.lower().split(",")[:ACCEPTED_MOST]):
        tag, _, weight = item.replace(" ", "").partition(";q=")
        try:
            q = float(weight or "1")
        except ValueError:
            continue
        if 0 < q <= 1:
            yield q, -place, tag.partition("-")[0]


def keep_language(response: web.Response, language: str) -> None:
    """Remember the reader's choice in a cookie of the screens, for a year."""
    response.set_cookie(COOKIE, language, path="/app", max_age=COOKIE_S, samesite="Lax")


def came_from(request: web.Request) -> str:
    """The path and query of the page on which a form stood; "" where the browser does not say."""
    page = urlsplit(request.headers.get("Referer", ""))
    return f"{page.path}?{page.query}" if page.query else page.path
