"""Who has no wallet looks at the demo with the demo's own: signed in, signed and paid in by it."""

from __future__ import annotations

from typing import Any

from app import screens
from devtools.demo.wallet import DemoWallet
from devtools.devnet import Devnet
from http_shim.application import build
from http_shim.http_server import listen
from server.application import DEMO_ROUTE, web
from server.cli.deployment import Deployed
from tests.browser.conftest import Stage
from tests.browser.test_story import to_the_review
from tests.browser.window import MARKS
from tests.world import CHAIN_ID
from tools.catalogue import OPERATIONS

pytestmark = [*MARKS]


async def test_a_newcomer_goes_all_the_way_with_the_demo_wallet(stage: Stage) -> None:
    world = stage.world
    owner, own = await world.owner()
    await world.agent(owner)
    await world.mint(own.address, "1000")
    evm = world.evm
    net = Devnet(evm.chain, evm.url, Deployed(evm.usdc, evm.factory, evm.lens, evm.market), "")
    demo = DemoWallet(evm.key(2), {CHAIN_ID: net}, stage.base)
    await stage.stop()
    pages: list[Any] = screens.routes(world.deps, OPERATIONS, demo=True)
    pages.append(web.post(DEMO_ROUTE, demo.handle, name="screen.demo"))
    stage.runner = await listen(
        build(world.deps, OPERATIONS, screens=pages), "127.0.0.1", stage.port
    )
    async with stage.window() as window:
        await window.goto("/app")
        await window.page.get_by_role("link", name="Use the demo wallet").click()
        await window.says("This is the demo.")
        assert await window.axe() == []
        await window.press("Continue with the demo wallet")
        await window.button("Sign out").wait_for()
        await to_the_review(window)
        await window.press("Sign these terms")
        await window.press("Create vault")
        await window.press("Approve and deposit")
        await window.heading("Active")
    await demo.close()
