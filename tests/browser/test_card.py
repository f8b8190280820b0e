"""The card of a held call in a host of MCP Apps: the official bridge around a frame without an origin or a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from domain.money import Usdc
from server.mcp_api.held_calls import card_contents
from tests import npm
from tests.browser.conftest import Stage
from tests.browser.window import MARKS
from tests.world import working

pytestmark = list(MARKS)
URL = "https://wallet.example/app/mandates/m_abcdefgh23/approvals/ap_1"
HELD: dict[str, Any] = {
    "status": "pending_approval",
    "approval": {
        "approval_id": "ap_1", "status": "pending", "approve_amount_usdc": "20.000000", "why": "<img src=x onerror=alert(1)> more",
        "target": {"market": None, "address": "0x1111111111111111111111111111111111111111", "selector": "0x6e553f65"},
    },
    "approval_url": URL,
    "asked_by": {"agent_id": "u_1", "agent_name": "<b>Scout</b>"},
    "expires_at": "2026-11-21T12:00:00.000Z",
    "remaining": {"value": "80.000000"},
}  # fmt: skip
HOST = '<!doctype html><body><iframe id="frame" sandbox="allow-scripts" style="width:420px;height:600px"></iframe>'
# The directives of a policy that each list of the resource's metadata widens.
WIDENED = {
    "connectDomains": ("connect-src",), "frameDomains": ("frame-src",), "baseUriDomains": ("base-uri",),
    "resourceDomains": ("script-src", "style-src", "img-src", "font-src", "media-src"),
}  # fmt: skip


def policy(csp: Mapping[str, Sequence[str]]) -> str:
    """The policy that a host makes of a resource's own: inline code, and what is listed."""
    inline = {"script-src": ["'unsafe-inline'"], "style-src": ["'unsafe-inline'"]}
    sources = {d: [*inline.get(d, ()), *csp[n]] for n, all_ in WIDENED.items() for d in all_}
    parts = (f"{d} {' '.join(of) or chr(39) + 'none' + chr(39)}" for d, of in sources.items())
    return "; ".join(("default-src 'none'", *parts))


class Shown:
    """The card in a host: the official bridge of MCP Apps, and a frame without an origin."""

    def __init__(self, page: Any, sent: list[str]):
        self.page, self.frame, self.sent = page, page.frame_locator("#frame"), sent

    async def heard(self) -> Any:
        return await self.page.evaluate("heard")

    async def facts(self) -> dict[str, str]:
        """What the card says, by its labels."""
        rows = "all => all.map((dt) => [dt.innerText, dt.nextElementSibling.innerText])"
        return dict(await self.frame.locator("dl dt").evaluate_all(rows))


@asynccontextmanager
async def shown(browser: Any, held: Any) -> AsyncIterator[Shown]:
    page, sent = await browser.new_page(), list[str]()
    page.on("request", lambda request: sent.append(request.url))
    await page.set_content(HOST)
    await page.add_script_tag(content=npm.bundled("apps_host.mjs"))
    contents = card_contents()
    ui: Any = (contents.meta or {})["ui"]
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy(ui["csp"])}"><meta charset'
    html = contents.text.replace("<meta charset", head, 1)
    result = {"content": []} | ({} if held is None else {"structuredContent": held})
    await page.evaluate("([html, result]) => show(html, result)", [html, result])
    try:
        yield Shown(page, sent)
    finally:
        await page.close()


async def test_the_card_shows_the_facts_and_opens_the_page_of_the_owner(chromium: Any) -> None:
    async with shown(chromium, HELD) as card:
        await card.frame.get_by_role("heading", name="An action waits for the owner").wait_for()
        text = await card.frame.locator("main").inner_text()
        for fact in (
            "20.000000 USDC",
            "not on the markets list",
            "0x1111",
            "<b>Scout</b> (u_1)",
            "80.000000 USDC",
            "21 Nov 2026 12:00:00",
        ):
            assert fact in text, fact
        assert "<img src=x onerror=alert(1)> more" in text
        await card.frame.get_by_role("button").click()
        await card.page.wait_for_function("heard.opened.length === 1")
        heard = await card.heard()
        assert heard["opened"] == [URL]
        # The bridge holds every message of the card to the protocol's schemas.
        assert (heard["errors"], heard["ready"]) == ([], 1)
        assert all(size["width"] > 0 and size["height"] > 0 for size in heard["sizes"])
        assert heard["sizes"]
        assert await card.page.evaluate("leave()") == {}
        assert [url for url in card.sent if not url.startswith("about:")] == []


@pytest.mark.parametrize(
    "held",
    [
        {"chain_id": 1, "data": "0x"},
        None,
        HELD | {"approval_url": "javascript:alert(1)"},
        HELD | {"approval": HELD["approval"] | {"status": "approved"}},
    ],
)
async def test_the_card_offers_nothing_where_nothing_waits(chromium: Any, held: Any) -> None:
    async with shown(chromium, held) as card:
        await card.page.wait_for_function("heard.sizes.length >= 2")
        assert await card.frame.get_by_role("button").count() == 0
        assert await card.frame.locator("main").inner_text() == "Nothing waits for the owner."


async def test_the_card_and_the_page_of_the_owner_tell_the_same(stage: Stage) -> None:
    terms = {"approval_above_usdc": "20", "daily_cap_usdc": "110", "per_tx_cap_usdc": "100"}
    m = await working(stage.world, **terms)
    held: Any = (await m.execute("30", why="it <b>pays</b> more")).body
    async with shown(stage.browser, held) as card:
        await card.frame.get_by_role("button").click()
        await card.page.wait_for_function("heard.opened.length === 1")
        facts, (url,) = await card.facts(), (await card.heard())["opened"]
        why = await card.frame.locator("#why").inner_text()
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(url.removeprefix(stage.base))
        page = window.page.locator("main")
        assert facts["Amount"] == f"{await value(page.locator('h1 data'))} USDC"
        target = page.locator("[data-says=target] [data-copy]")
        assert facts["Contract"] == await target.get_attribute("data-copy")
        until = await page.locator("[data-says=until] time").get_attribute("datetime")
        assert parsedate_to_datetime(facts["Answer before"]) == datetime.fromisoformat(until)
        assert why in await page.locator("blockquote").inner_text()
        agent = await page.locator("blockquote cite").inner_text()
        assert all(part in agent for part in facts["Asked by"].strip(")").split(" ("))
        today, action = (page.locator(".meter").nth(n).locator("data") for n in (0, 1))
        used, day_cap, amount, cap = [
            Usdc.parse(await value(d.nth(n))) for d in (today, action) for n in (0, 1)
        ]
        left = Usdc.parse(facts["Possible in one action"].removesuffix(" USDC"))
        assert left == min(cap, day_cap - used)
        after = Usdc.parse(await value(page.locator(".note b data")))
        assert after == min(cap, day_cap - used - amount)
        assert after < left


async def value(data: Any) -> str:
    """The exact value of an amount that a page shows."""
    return str(await data.get_attribute("value"))
