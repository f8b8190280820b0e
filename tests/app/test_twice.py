"""A form that is sent twice (a second click, a reload of its answer, two tabs) acts once."""

from __future__ import annotations

import pytest

from tests.app.desks import a_trading_site
from tests.app.site import Browser, Page, Site
from tests.app.test_pages import fine
from tests.app.test_starting import form

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_backoff")]
NOTE = "500 USDC for lending, at most 50 per trade, 30 days"


def hidden(page: Page) -> dict[str, str]:
    """What a page's forms carry for themselves."""
    return {e.attributes["name"]: e.attributes["value"] for e in page.all("input", type="hidden")}


async def twice(browser: Browser, at: str, path: str, **typed: str) -> list[Page]:
    """Open a page and send its form twice."""
    form = hidden(await browser.get(at)) | typed
    return [await browser.post(path, form) for _ in range(2)]


async def test_an_agent_and_its_second_key_are_made_once_and_each_key_shown_once(
    site: Site,
) -> None:
    owner, _, browser = await site.somebody()
    first, again = await twice(browser, "/app/agents", "/app/agents", name="Scout")
    (agent,) = (await site.world.ok("owner_agents", owner))["items"]
    key = first.one("p", class_="raw").text
    assert key.startswith("ak_")
    fine(again)
    assert key not in again.source
    assert "This form was sent twice" in again.said
    assert f"/app/agents/{agent['agent_id']}#keys" in again.links()
    more = hidden(await browser.get("/app/agents"))  # the page made anew: another agent is meant
    assert (await browser.post("/app/agents", more | {"name": "Scout 2"})).status == 200
    assert len((await site.world.ok("owner_agents", owner))["items"]) == 2
    at = f"/app/agents/{agent['agent_id']}"
    first, again = await twice(browser, at, f"{at}/keys")
    assert first.all("p", class_="raw")
    assert (again.status, "This form was sent twice" in again.said) == (200, True)
    rows = {a["agent_id"]: a for a in (await site.world.ok("owner_agents", owner))["items"]}
    assert len(rows[agent["agent_id"]]["keys"]) == 2


async def test_a_sentence_becomes_one_draft(site: Site) -> None:
    owner, _, browser = await site.somebody()
    page = await browser.submit("/app/start", "/app/start", note=NOTE)
    sent = form(page, ask="never", then="stay")
    first, again = [await browser.post("/app/start", sent) for _ in range(2)]
    assert (first.status, again.status) == (303, 303)
    assert first.headers["Location"] == again.headers["Location"]
    assert len((await site.world.ok("mandate_list", owner))["items"]) == 1


@pytest.mark.slow
async def test_a_paper_book_is_opened_once(sqlite_url: str) -> None:
    async with a_trading_site(sqlite_url) as site:
        p = await site.desk.person()
        browser = await site.signed_in(p)
        typed = {"name": "Try", "start_usdc": "1000"}
        first, again = await twice(browser, "/app/books", "/app/books", **typed)
        assert first.headers["Location"] == again.headers["Location"]
        assert (await browser.get("/app/books")).said.count("Try") == 1
