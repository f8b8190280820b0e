"""The trading pages as they are seen: read by axe wide and on a phone, light and dark, and without
a bar to the side at 320 pixels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests import npm
from tests.app.desks import TradingSite, switched
from tests.browser.test_story import CHROMIUM
from tests.browser.test_trading import a_page, begun, ready, site, to_the_signature
from tests.tools.trading.orders import Trader, agent

__all__ = ["site"]
AXE: Final = npm.MODULES / "axe-core" / "axe.min.js"
SHOTS: Final = Path(__file__).parents[2] / "build" / "screens"
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Debian's chromium is not installed"),
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed in tests/node"),
]


async def axe(page: Any, kind: str, values: tuple[str, ...]) -> list[str]:
    """What axe finds; through the inspector, so that the page's policy stays on."""
    cdp = await page.context.new_cdp_session(page)
    only = json.dumps({"type": kind, "values": values})
    ask = (
        f"axe.run(document, {{runOnly: {only}, resultTypes: ['violations']}}).then((r) =>"
        " JSON.stringify(r.violations.map((v) => v.id + ': ' + v.nodes.map((n) =>"
        " n.html.slice(0, 160)).slice(0, 3).join(' | '))))"
    )
    await cdp.send("Runtime.evaluate", {"expression": AXE.read_text()})
    told = await cdp.send(
        "Runtime.evaluate", {"expression": ask, "awaitPromise": True, "returnByValue": True}
    )
    await cdp.detach()
    return list(json.loads(told["result"]["value"]))


async def looked_at(page: Any, name: str) -> list[str]:
    """What is wrong with the page that is open."""
    found: list[str] = []
    SHOTS.mkdir(parents=True, exist_ok=True)
    for theme, size, kind, values in (
        ("light", WIDE, "tag", RULES),
        ("dark", PHONE, "tag", RULES),
        ("dark", WIDE, "rule", ("color-contrast",)),
    ):
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        await page.set_viewport_size(size)
        found += [f"{name} {theme} {size['width']}: {v}" for v in await axe(page, kind, values)]
        shot = SHOTS / f"trading-{name}-{theme}-{size['width']}.png"
        await page.screenshot(path=str(shot), full_page=size == WIDE)
    await page.set_viewport_size({"width": 320, "height": 700})
    across = await page.evaluate("document.documentElement.scrollWidth")
    found += [f"{name}: {across} pixels wide at 320"] if across > 320 else []
    await page.set_viewport_size(WIDE)
    return found


async def test_every_trading_page_is_fine_to_look_at(site: TradingSite) -> None:
    p, wallet = await begun(site)
    wrong: list[str] = []
    async with a_page(site, p, wallet) as page:

        async def look(name: str, path: str | None = None) -> None:
            if path is not None:
                await page.goto(site.base + path)
            wrong.extend(await looked_at(page, name))

        await look("own-unlinked", "/app/own")
        await look("books-none", "/app/books")
        await page.goto(f"{site.base}/app/own")
        await page.get_by_role("button", name="Take it from my wallet").click()
        await page.get_by_role("button", name="Sign the text and link").wait_for()
        await look("own-text")
        await ready(site, page, p)
        await look("own")
        scout = await agent(site.desk, Trader(site.desk, p, 0))
        await site.desk.ok("own_paper_book_open", p.caller, name="Trial", agent_id=scout.user_id)
        await site.desk.ok(
            "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20",
            mode_seen="live", why="the funding is low",
        )  # fmt: skip
        await to_the_signature(site, page)
        await page.locator("[data-check=venue].ok").wait_for()
        await look("sign")
        await page.get_by_role("button", name="Sign and place LIVE order").click()
        await page.get_by_text("Done").first.wait_for()
        await look("order")
        await look("orders-live", "/app/orders")
        await switched(site, live_door=False)
        book = (await site.desk.ok("own_paper_books", p.caller))["books"][0]["book"]
        await site.desk.ok(
            "trade_order", p.caller, product="BTC", side="buy", type="market",
            notional_usdc="20", book=book, mode_seen="paper",
        )  # fmt: skip
        await look("orders-paper", "/app/orders")
        await look("books", "/app/books")
        await look("book", f"/app/books/{book}")
        await look("hall", f"/app/hall/{scout.user_id}")
        await page.goto(f"{site.base}/app/orders")
        await page.get_by_label("Product").fill("nope")
        await page.get_by_label("How much").fill("1")
        await page.get_by_role("button", name="Place PAPER order").click()
        await page.get_by_role("alert").wait_for()
        await look("refused")
    assert wrong == []
