"""An owner leaves a mandate with two open positions: everything is pressed, nothing is typed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from domain.money import Usdc
from tests.browser.conftest import Stage, a_stage
from tests.browser.looks import all_of
from tests.browser.wallet import SENDS
from tests.browser.window import MARKS, PHONE, Window
from tests.hard_exits import HardMarkets, hard_markets
from tests.world import Evm, a_world, working

pytestmark = [*MARKS]


async def follow(window: Window, name: str) -> None:
    """Press a link."""
    await window.page.get_by_role("link", name=name, exact=True).click()


@pytest.fixture
async def left(
    sqlite_url: str, evm: Evm, chromium: Any
) -> AsyncIterator[tuple[Stage, HardMarkets]]:
    async with a_world(sqlite_url, evm) as world:
        markets = await hard_markets(world)
        async with a_stage(world, chromium) as stage:
            yield stage, markets


@pytest.mark.parametrize("phone", [False, True])
async def test_a_mandate_with_two_open_positions_is_left_without_typing_anything(
    left: tuple[Stage, HardMarkets], phone: bool
) -> None:
    stage, markets = left
    m = await working(stage.world, allowed_targets=markets.targets())
    await markets.enter(m, "hard", "60")
    await markets.enter(m, "pool", "40")
    wallet = stage.wallet(m)
    size = {"viewport": PHONE, "is_mobile": True, "has_touch": True} if phone else {}
    async with stage.window(wallet, **size) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        await follow(window, "Withdraw all")
        await window.heading("Close and withdraw")
        assert await window.page.locator("input:not([type=hidden]), textarea").count() == 0
        assert await window.page.evaluate("document.documentElement.scrollWidth") <= await window.page.evaluate("innerWidth")  # fmt: skip
        await follow(window, "Stop for good")
        await window.press("Stop mandate for good")
        await window.heading("Close and withdraw")
        await follow(window, "Take 60.00 USDC out")
        await window.heading("Take 60.00 USDC out of Hard Market")
        await window.press("Take 60.00 USDC out")
        await window.heading("Close and withdraw")
    # The browser is closed, and another one goes on where the vault stands.
    async with stage.window(wallet, **size) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}/leave")
        assert not await window.page.get_by_text("Hard Market").count()
        await follow(window, "Take 40.00 USDC out")
        await window.heading("Take 40.00 USDC out of Aave v3")
        await window.press("Take 40.00 USDC out")
        await window.heading("Close and withdraw")
        await follow(window, "Withdraw all")
        await window.press("Withdraw all")
        await window.heading("Settled")
        await window.goto(f"/app/mandates/{m.id}/leave")
        await window.says("Everything was paid out.")
    assert wallet.count(*SENDS) == len(wallet.sent) == 4
    balances = await stage.world.chains.get(31337).usdc_balances([m.owner_wallet.address, m.vault])
    assert str(balances[m.owner_wallet.address]) == "10000.000000"
    assert str(balances[m.vault]) == "0.000000"


async def test_without_javascript_the_way_out_is_read_up_to_the_wallet(
    left: tuple[Stage, HardMarkets],
) -> None:
    stage, markets = left
    m = await working(stage.world, allowed_targets=markets.targets())
    await markets.enter(m, "hard", "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    async with stage.window(stage.wallet(m)) as signed_in:
        await signed_in.sign_in()
        kept = await signed_in.page.context.storage_state()
    async with stage.window(java_script_enabled=False, storage_state=kept) as window:
        await window.goto(f"/app/mandates/{m.id}/leave")
        await follow(window, "Take 60.00 USDC out")
        await window.heading("Take 60.00 USDC out of Hard Market")
        await window.page.locator("noscript .note").first.wait_for()


async def test_the_way_out_is_fine_in_every_look(
    left: tuple[Stage, HardMarkets], figures: dict[str, Any]
) -> None:
    stage, markets = left
    m = await working(stage.world, allowed_targets=markets.targets())
    for market in ("hard", "pool"):
        await markets.enter(m, market, "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    await markets.harden(keeps="20")
    lent = Usdc.parse("45")
    await markets.tell(markets.token, "lend(address,uint256)", stage.world.evm.market, lent)
    paths = ("leave", "unwind", "unwind?market=hard", "unwind?market=pool")
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        at = [f"/app/mandates/{m.id}/{path}" for path in paths]
        assert await all_of(window, at, "two positions", figures) == []


async def test_a_press_before_the_script_is_there_waits_and_is_not_lost(stage: Stage) -> None:
    m = await working(stage.world)
    wallet = stage.wallet(m)

    async def late(route: Any) -> None:
        await asyncio.sleep(1.5)
        await route.continue_()

    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.page.route(lambda url: "/js/send" in url, late)
        await window.page.goto(f"{window.base}/app/mandates/{m.id}/pause", wait_until="commit")
        await window.page.locator("[data-go]").click()
        await window.page.wait_for_url(f"**/app/mandates/{m.id}")
