"""The purse of a mandate as its owner sees it: what was paid, a payment that asks, open payments made void."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.app.test_purse import bought, held
from tests.browser.conftest import Stage, a_stage
from tests.browser.looks import all_of
from tests.browser.wallet import SENDS, Says
from tests.browser.window import MARKS, PHONE
from tests.purses import Purse, opened
from tests.tools.keeper.test_transfers_chain import ticks
from tests.tools.paying import paid as signed_bill
from tests.tools.paying import settled
from tests.world import CHAIN_ID, Evm, a_world

pytestmark = [*MARKS]
REJECTED = Says(4001, "User rejected the request.")


@asynccontextmanager
async def a_paying_stage(url: str, evm: Evm, chromium: Any, *, signs: bool) -> AsyncIterator[Stage]:
    """A service whose purses ask for the owner's signature above the amount, or do not."""
    async with (
        a_world(url, evm, purses=True, approvals_on_chain=signs) as world,
        a_stage(world, chromium) as stage,
    ):
        yield stage


@pytest.fixture(params=[False, True], ids=["by the service", "by the purse"])
async def paying(
    request: pytest.FixtureRequest, sqlite_url: str, evm: Evm, chromium: Any
) -> AsyncIterator[Stage]:
    async with a_paying_stage(sqlite_url, evm, chromium, signs=request.param) as stage:
        yield stage


@pytest.fixture
async def keeping(sqlite_url: str, evm: Evm, chromium: Any) -> AsyncIterator[Stage]:
    async with a_paying_stage(sqlite_url, evm, chromium, signs=True) as stage:
        yield stage


@pytest.fixture
async def trusting(sqlite_url: str, evm: Evm, chromium: Any) -> AsyncIterator[Stage]:
    async with a_paying_stage(sqlite_url, evm, chromium, signs=False) as stage:
        yield stage


async def filled(stage: Stage) -> Purse:
    """A purse that paid before, with a payment that is open and one that asks."""
    purse = await opened(stage.world, approval_above_usdc="20")
    for _ in range(2):  # where the vault keeps approvals, each fund is an action below the amount
        await purse.fund("20")
    await bought(purse, "1.5")
    await signed_bill(purse.m, "2")
    await ticks(stage.world).round()
    return purse


async def test_a_payment_is_held_looked_at_approved_and_paid(paying: Stage) -> None:
    purse = await filled(paying)
    item, asked = await held(purse, "26")
    wallet = paying.wallet(purse.m)
    signs = paying.world.chains.get(CHAIN_ID).factory != paying.world.evm.factory
    async with paying.window(wallet, viewport=PHONE, is_mobile=True) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{purse.m.id}")
        await window.says("Payment needs your approval: 26.00 USDC")
        await window.page.get_by_role("link", name="Details").click()
        await window.heading("Payment needs your approval: 26.00 USDC")
        await window.press("Approve 26.00 USDC, once")
        if await window.page.locator("#sign").count():
            await window.page.locator("[data-check=digest].ok").wait_for()
            await window.press("Sign for 26.00 USDC, once")
        await window.page.wait_for_url("**#record")
        made: Any = await purse.m.as_agent("mandate_pay", **asked)
        signature = purse.m.agent_wallet.sign_typed(made.body["typed_data"])
        told: Any = await purse.m.as_agent("mandate_pay", **asked, signature=signature)
        assert await settled(paying.world, told.body["payment_payload"])
        await ticks(paying.world).round()
        await window.goto(f"/app/mandates/{purse.m.id}/approvals/{item}")
        await window.says("Done")
        await window.goto(f"/app/mandates/{purse.m.id}")
        part = window.page.locator("#purse")
        assert "12.50 USDC" in await part.inner_text()
        assert await part.get_by_text("data.example").count() >= 2
    assert wallet.count("eth_signTypedData_v4") == (1 if signs else 0)


async def test_an_approval_of_another_payment_than_the_page_shows_cannot_be_signed(
    keeping: Stage,
) -> None:
    purse = await filled(keeping)
    item, _ = await held(purse, "26")
    wallet, path = keeping.wallet(purse.m), f"/app/mandates/{purse.m.id}/approvals/{item}"
    async with keeping.window(wallet) as window:
        await window.sign_in()
        for was, now in ALTERED.values():
            await window.page.unroute_all()
            await window.page.route("**/approvals/*", altering(was, now))
            await window.goto(path)
            await window.press("Approve 26.00 USDC, once")
            await window.says("Do not sign. Tell the operator.")
            assert await window.page.locator("#sign").is_disabled()
    assert "eth_signTypedData_v4" not in wallet.asked


ALTERED = {
    "the purse": ('data-says="vault"><span class="addr"', 'data-says="vault">0<span class="addr"'),
    "the payee": ('data-says="target"><span class="addr"', 'data-says="target">0<span class="addr"'),
    "the bill": ('data-says="data" data-bill>0x00', 'data-says="data" data-bill>0x01'),
    "a call for a bill": ('data-says="data" data-bill>', 'data-says="data">'),
    "the amount on the button": (">26.00</data> USDC, once</button>", ">2.00</data> USDC, once</button>"),
    "the amount in the heading": (">26.00</data> USDC</h1>", ">2.00</data> USDC</h1>"),
    "the price": (">26.00</data> USDC</b>", ">2.00</data> USDC</b>"),
}  # fmt: skip


def altering(was: str, now: str) -> Any:
    """Change a page on its way."""

    async def between(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        assert route.request.method == "GET" or was in text
        await route.fulfill(response=answer, body=text.replace(was, now))

    return between


async def test_open_payments_are_made_void_in_the_browser(trusting: Stage) -> None:
    purse = await filled(trusting)
    wallet, base = trusting.wallet(purse.m), f"/app/mandates/{purse.m.id}"
    payment = await signed_bill(purse.m, "3")
    async with trusting.window(wallet, viewport=PHONE, is_mobile=True) as window:
        await window.sign_in()
        await window.goto(base)
        await window.page.get_by_role("link", name="Make open payments void").click()
        await window.heading("Make open payments void")
        wallet.fault = REJECTED
        await window.press("Make open payments void")
        await window.says("You rejected it in your wallet")
        wallet.fault = None
        await window.press("Make open payments void")
        await window.page.wait_for_url(f"**{base}")
        await window.says("Open payments made void")
        assert not await window.page.get_by_text("can only be paid until then").count()
        width = "document.documentElement.scrollWidth <= innerWidth"
        assert await window.page.evaluate(width)
    assert wallet.count(*SENDS) == 2  # of which the first was turned down
    assert not await settled(trusting.world, payment["payment_payload"])


async def test_a_purse_is_fine_in_every_look(trusting: Stage, figures: dict[str, Any]) -> None:
    purse = await filled(trusting)
    await purse.pay("0.25")
    await ticks(trusting.world).round()
    item, _ = await held(purse, "26")
    base = f"/app/mandates/{purse.m.id}"
    paths = ["", f"/approvals/{item}", "/void", "/statement", "/rows"]
    async with trusting.window(trusting.wallet(purse.m)) as window:
        await window.sign_in()
        assert await all_of(window, [base + path for path in paths], "purse", figures) == []
        await window.goto(base)
        part, told = window.page.locator("#purse"), window.page.locator("#purse .record li > div")
        wide = [(await told.nth(n).bounding_box())["width"] for n in range(await told.count())]
        assert min(wide) > (await part.bounding_box())["width"] / 2
