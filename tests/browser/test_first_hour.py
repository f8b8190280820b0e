"""The owner's first hour: from an empty wallet to a funded mandate whose agent has accepted it, on a
desktop and on a phone, counted.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Stage
from tests.browser.wallet import NAME, Wallet
from tests.browser.window import MARKS, PHONE, WIDE, Window
from tests.world import CHAIN_ID, World
from tools.context.credentials import resolve
from tools.model.operation import Caller

pytestmark = [*MARKS]
MOST_PAGES, MOST_PRESSES = 9, 14


class Counted:
    """Counts the pages that open and the presses of a person; a choice in a form is one."""

    def __init__(self, window: Window):
        self.window, self.pages, self.presses = window, list[str](), 0
        window.page.on("response", self._note)

    def _note(self, answer: Any) -> None:
        if answer.request.is_navigation_request() and answer.status == 200:
            self.pages.append(str(answer.url).removeprefix(self.window.base).partition("?")[0])

    async def press(self, element: Any) -> None:
        self.presses += 1
        await element.click()


async def caller_of(world: World, key: str) -> Caller:
    """The agent's program, which was given the key."""
    now = world.clock.now()
    caller = await world.store.read(lambda uow: resolve(uow, "agent_key", key, now)[0])
    assert caller is not None
    return caller


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_from_an_empty_wallet_to_a_funded_mandate_with_an_agent_that_accepted(
    stage: Stage, size: dict[str, int], figures: dict[str, Any]
) -> None:
    world = stage.world
    _, own = await world.owner()
    agents_own = world.wallet()
    async with stage.window(Wallet(own, world.evm.url), viewport=size) as window:
        page, counted = window.page, Counted(window)
        await window.goto("/app")
        await counted.press(page.get_by_role("link", name="Sign in with your wallet"))
        await counted.press(window.button(f"Continue with {NAME}"))
        await page.get_by_label("Name").fill("Scout")
        await counted.press(window.button("Register"))
        agent = await caller_of(world, await page.locator("p.raw").first.inner_text())
        where = {"agent_id": agent.user_id, "chain_id": CHAIN_ID, "address": agents_own.address}
        await world.ok("agent_deposit_address", agent, **where)
        await page.get_by_label("What is the money for?").fill(
            "300 USDC for lending, at most 50 per trade, stop at a loss of 20%"
        )
        await counted.press(window.button("Show me the terms"))
        await counted.press(page.get_by_label("Never ask"))
        await counted.press(window.button("Review and sign terms"))
        await page.locator("#checks li.ok").nth(3).wait_for()
        public_id = window.path.split("/")[3]
        await world.ok("mandate_accept", agent, public_id=public_id)
        await counted.press(window.button("Sign these terms"))
        await window.button("Create vault").wait_for()
        await world.mint(own.address, "300")  # what the owner had sent from elsewhere has come
        await counted.press(window.button("Create vault"))
        await counted.press(window.button("Approve and deposit"))
        await page.wait_for_url(f"**/app/mandates/{public_id}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    told = await world.ok("mandate_get", agent, public_id=public_id)
    assert (told["mandate"]["status"], told["progress"]["cash"]) == ("working", "300.000000")
    assert told["mandate"]["accepted_at"] is not None
    figures[f"first hour at {size['width']}: pages"] = len(counted.pages)
    figures[f"first hour at {size['width']}: presses"] = counted.presses
    assert len(counted.pages) <= MOST_PAGES, counted.pages
    assert counted.presses <= MOST_PRESSES
