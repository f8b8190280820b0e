"""What every answer of the screens carries, word for word."""

from __future__ import annotations

import gzip

import pytest
from aiohttp import ClientSession

from app import assets
from tests.app.site import Page, Site

pytestmark = pytest.mark.anyio

LITERALLY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), hid=(), serial=()",
    "Cache-Control": "no-store",
    "Vary": "Cookie",
}


def held(page: Page) -> dict[str, str]:
    return {name: page.headers.get(name, "absent") for name in LITERALLY}


async def test_pages_refusals_redirects_text_and_304_carry_the_headers_of_the_screens(
    site: Site,
) -> None:
    browser = site.browser()
    front = await browser.get("/app", Accept_Encoding="gzip, br")
    for page in (
        front,
        await browser.get("/app/front.txt"),
        await browser.get("/app/sign-in"),
        await browser.get("/app/no-such-page"),
        await browser.get("/app/mandates"),
        await browser.get("/app", If_None_Match=front.headers["ETag"]),
        await browser.post("/app/session", {}, Sec_Fetch_Site="cross-site"),
    ):
        assert held(page) == LITERALLY, page.status
        assert "Content-Encoding" not in page.headers  # beside a token, never


async def test_static_files_of_this_build_last_a_year_and_others_are_not_here(site: Site) -> None:
    browser, lasts = site.browser(), "public, max-age=31536000, immutable"
    for name in assets.FILES:
        found = await browser.get(assets.url(name))
        assert (found.status, found.headers["Cache-Control"]) == (200, lasts)
        assert found.headers["Content-Type"].split(";")[0] == assets.TYPES[name.rpartition(".")[2]]
        assert found.headers["Content-Security-Policy"] == "default-src 'none'"
    other = await browser.get("/app/static/000000000000/css/base.css")
    assert (other.status, other.headers["Cache-Control"]) == (404, "no-store")


async def test_static_files_are_packed_for_who_takes_gzip_and_say_the_same(site: Site) -> None:
    url = assets.url("vendor/eth.js")
    for taken, packed in (("gzip, br", True), ("br", False), ("gzip;q=0", False), ("", False)):
        async with (
            ClientSession(auto_decompress=False) as http,
            http.get(site.base + url, headers={"Accept-Encoding": taken}) as told,
        ):
            body = await told.read()
        assert told.headers.get("Content-Encoding") == ("gzip" if packed else None), taken
        assert told.headers["Vary"] == "Accept-Encoding"
        assert (gzip.decompress(body) if packed else body) == assets.FILES["vendor/eth.js"]
    assert len(assets.PACKED["vendor/eth.js"]) < len(assets.FILES["vendor/eth.js"]) / 2


async def test_a_page_that_shows_nothing_new_answers_304_and_one_that_does_answers_200(
    site: Site,
) -> None:
    browser = site.browser()
    first = await browser.get("/app/sign-in")
    again = await browser.get("/app/sign-in", If_None_Match=first.headers["ETag"])
    assert (again.status, again.source) == (304, "")
    browser.cookies["theme"] = "dark"
    other = await browser.get("/app/sign-in", If_None_Match=first.headers["ETag"])
    assert (other.status, other.one("html").attributes["data-theme"]) == (200, "dark")
