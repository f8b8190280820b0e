"""Notices of the browser: only after the owner asked, of what the page finds, also in the background."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.browser.conftest import Stage
from tests.browser.window import MARKS, Window
from tests.waiting import STUCK_S
from tests.world import working

pytestmark = [*MARKS]
START, STOP = "Show notices in this browser", "Show no more of them"
# The browser's own, which it goes on to show, and a note of each.
NOTED = """
window.shown = []; window.wasAsked = 0;
window.Notification = class extends Notification {
  constructor(title, options) { super(title, options); window.shown.push([options.tag, options.body]); }
  static requestPermission() { window.wasAsked++; return super.requestPermission(); }
};
"""
HIDDEN = "Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })"
LOOK = "document.dispatchEvent(new Event('visibilitychange'))"


async def noted(window: Window, *, allowed: bool = True) -> None:
    await window.page.context.add_init_script(NOTED)
    if allowed:
        await window.page.context.grant_permissions(["notifications"], origin=window.base)
    await window.sign_in()


async def shown(window: Window) -> list[list[str]]:
    return list(await window.page.evaluate("window.shown"))


async def waiting(window: Window, words: str) -> None:
    """The page looks again, until it says something."""
    said = window.page.get_by_text(words)
    with anyio.fail_after(STUCK_S):
        while not await said.count():
            await window.page.evaluate(LOOK)
            await anyio.sleep(0.05)


SAYS = {
    "/app/notices": "An action needs your approval: 30.00 USDC.",
    "/app/mandates/{id}": "Needs your approval: 30.00 USDC",
}


@pytest.mark.parametrize("page", SAYS)
async def test_a_browser_shows_notices_once_its_owner_asked(stage: Stage, page: str) -> None:
    m = await working(stage.world, approval_above_usdc="10", per_tx_cap_usdc="60")
    async with stage.window(stage.wallet(m)) as window:
        await noted(window)
        await window.goto("/app/notices")
        await window.says("This browser shows no notices.")
        assert await window.page.evaluate("window.wasAsked") == 0
        assert (await m.execute("20")).status == 202
        await waiting(window, "An action needs your approval: 20.00 USDC.")
        assert await shown(window) == []
        await window.press(START)
        await window.says("This browser shows notices.")
        assert await shown(window) == [["notices", "This browser shows notices."]]
        await window.goto(page.format(id=m.id))
        told = (await m.execute("30")).body["approval"]
        await waiting(window, SAYS[page])
        ((tag, body),) = await shown(window)
        assert body == "An action needs your approval: 30.00 USDC."
        assert tag == told["approval_id"]  # type: ignore[index]  # on every page the same
        await window.goto("/app/notices")
        await window.press(STOP)
        await window.says("This browser shows no notices.")
        assert (await m.execute("40")).status == 202
        await waiting(window, "An action needs your approval: 40.00 USDC.")
        assert await shown(window) == []


async def test_a_browser_that_shows_none_says_so(stage: Stage) -> None:
    m = await working(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await noted(window, allowed=False)
        await window.goto("/app/notices")
        await window.press(START)
        await window.says("This browser shows none from this page")
        assert await window.page.evaluate("window.wasAsked") == 1


@pytest.mark.parametrize("asked", [False, True], ids=["not asked", "asked"])
async def test_a_tab_in_the_background_looks_only_where_it_was_asked_to(
    stage: Stage, *, asked: bool
) -> None:
    m = await working(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await noted(window)
        await window.page.clock.install()
        await window.goto("/app/notices")
        if asked:
            await window.press(START)
            await window.says("This browser shows notices.")
        looked: list[Any] = []
        window.page.on("request", lambda r: looked.append(r.url.removeprefix(window.base)))
        await window.page.evaluate(HIDDEN)
        await window.page.clock.run_for(15_500)
        assert looked.count("/app/notices") == asked


async def test_another_owner_in_the_same_browser_did_not_ask(stage: Stage) -> None:
    first, second = await working(stage.world), await working(stage.world)
    wallet = stage.wallet(first)
    async with stage.window(wallet) as window:
        await noted(window)
        await window.goto("/app/notices")
        await window.press(START)
        await window.says("This browser shows notices.")
        wallet.own, wallet.account = second.owner_wallet, second.owner_wallet.address
        await window.press("Sign out")
        await window.sign_in()
        await window.goto("/app/notices")
        await window.says("This browser shows no notices.")
