"""Whatever an address or a form says, no page fails."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Final
from urllib.parse import quote

import pytest

from app.page_context import PageRoute
from app.screens import PAGES
from tests.app.lives import LIVES
from tests.app.site import Site
from tests.browser.stations import PART, stations, values_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
QUERY: Final = re.compile(r'query\("(\w+)"')
FIELD: Final = re.compile(r'(?:field|form\.get|getall)\(\s*"(\w+)"')
ODD: Final = (
    "-1",
    "999999999999999999999",
    "nan",
    "٣",
    "9999-W52",
    "0001-W01",
    "9999-12-31",
    "0001-01-01",
    '{"a":',
    "0x" + "00" * 20,
    "\u202e<script>alert(1)</script>%s%(x)s{0}{x}",
    "a\x00b",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    "x" * 5_000,
)

# A draft has fewer pages; what they are asked is the same.
IN_LIVES = ["working", pytest.param("draft", marks=pytest.mark.play)]


def names_in(page: PageRoute, form: re.Pattern[str]) -> list[str]:
    """The names that the module of a page reads."""
    source = inspect.getsource(sys.modules[page.show.__module__])
    return sorted(set(form.findall(source)))


@pytest.mark.parametrize("life", IN_LIVES)
async def test_no_page_fails_whatever_its_address_says(site: Site, life: str) -> None:
    m, browser, _ = await site.of(LIVES[life](site.world))
    values, failed = await values_of(m), []
    for page in (p for p in PAGES if p.method == "GET"):
        (path,) = {p.partition("?")[0] for p in stations(values, [page])[:1]}
        for name in names_in(page, QUERY):
            for odd in ODD:
                shown = await browser.get(f"{path}?{name}={quote(odd)}")
                if shown.status >= 500 or "<script>alert" in shown.source:
                    failed.append((path, name, odd[:40], shown.status))
    assert failed == []


@pytest.mark.parametrize("life", IN_LIVES)
async def test_no_form_fails_whatever_it_holds(site: Site, life: str) -> None:
    m, browser, _ = await site.of(LIVES[life](site.world))
    failed = list[tuple[str, str, int]]()
    token = (await browser.get("/app/notices/settings")).token()
    values = dict(await values_of(m)) | {n: ["x_aaaaaaaaaa"] for n in ("key", "grant", "browser")}
    for page in (p for p in PAGES if p.method == "POST" and not p.path.endswith("sign-out")):
        path = PART.sub(lambda told: values[told[1]][0], page.path)
        for odd in ODD:
            fields = dict.fromkeys(names_in(page, FIELD), odd) | {"csrf": token}
            shown = await browser.post(path, fields)
            schema = re.search(r"\b(String|Value|List|Input) should ", shown.said)
            if shown.status >= 500 or "<script>alert" in shown.source or schema:
                failed.append((path, odd[:40], shown.status))
    assert failed == []
