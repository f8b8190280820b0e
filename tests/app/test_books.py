"""Paper books on their pages, and in the Hall: the word on every figure, and how many there are."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tests.app.desks import TradingSite, a_trading_site, said
from tests.app.site import Page
from tests.tools.trading.orders import agent, trader
from tests.tools.trading.test_paper import paper

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("no_backoff")]


@pytest.fixture
async def site(sqlite_url: str) -> AsyncIterator[TradingSite]:
    async with a_trading_site(sqlite_url) as opened:
        yield opened


def all_say_paper(page: Page, *outside: str) -> None:
    """Every amount of the page stands behind the word."""
    assert page.all("data", class_="usdc")
    for dd in (*page.all("dd"), *page.all("td", class_="num")):
        if any(c.isdigit() for c in dd.text) and "src" not in dd.attributes.get("class", ""):
            assert re.search("Paper|paper USDC", dd.text) or dd.text.strip() in outside, dd.text


async def test_books_are_listed_and_shown_with_the_word_on_every_figure(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    assert "You have opened no paper book yet." in (await browser.get("/app/books")).said
    for name in ("First", "<i>Second</i>"):
        made = await browser.submit("/app/books", "/app/books", name=name, start_usdc="1000")
        assert made.status == 303, made.said
    at = made.headers["Location"]
    await paper(site.desk, p, notional_usdc="20", book=at.rpartition("/")[2])
    page = await browser.get("/app/books")
    assert [a.text for a in page.all("a", aria_current="page")] == ["Orders", "Paper books"]
    assert "Books opened2" in page.said.replace("Books opened 2", "Books opened2")
    assert "<i>Second</i>" not in page.source
    all_say_paper(page, "2")
    page = await browser.get(at)
    assert page.status == 200
    assert "Results since its first trade" in page.said
    assert "never more than 50% of what each price shows" in page.said
    assert "BTC long Paper" in page.said
    all_say_paper(page)
    other = await site.signed_in(await site.desk.person())
    assert (await other.get(at)).status == 404


async def test_a_book_that_is_refused_keeps_what_was_typed(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    page = await browser.submit("/app/books", "/app/books", name="Big", start_usdc="100001")
    assert page.status == 400
    assert page.one("input", id="start_usdc").attributes["value"] == "100001"
    await browser.submit("/app/books", "/app/books", name="Same")
    again = await browser.submit("/app/books", "/app/books", name="Same")
    assert again.status == 409
    assert "has this name" in again.said


async def test_the_hall_shows_paper_in_a_box_of_its_own(site: TradingSite) -> None:
    t = await trader(site.desk)
    scout = await agent(site.desk, t)
    agent_id = str(scout.user_id)
    browser = site.signed_out()
    assert 'id="paper"' not in (await browser.get(f"/app/hall/{agent_id}")).source
    told = await site.desk.ok("own_paper_book_open", t.caller, name="Mine", agent_id=agent_id)
    await site.desk.ok("own_paper_book_open", t.caller, name="Another")
    await paper(site.desk, t.person, notional_usdc="20", book=told["book"], mode_seen="paper")
    site.desk.clock.at += timedelta(minutes=1)
    box = said(await browser.get(f"/app/hall/{agent_id}"), "paper")
    assert "not ranked" in box
    assert "opened 2 paper books in all" in box
    assert "Mine" not in box
    assert box.count("Paper") >= 4
