"""Each step of an owner's, in each way in which it could be done twice: a second press, a second tab,
a reload and the back button. One test a step, so that its name says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.app.lives import created, paused, stopped
from tests.browser.conftest import Stage, a_stage
from tests.browser.desk import TradingStage, a_trading_stage
from tests.browser.wallet import SENDS
from tests.browser.window import MARKS, Window, a_tab
from tests.world import Evm, Mandated, World, a_world, drafted, signed, working

pytestmark = [*MARKS]
PRESSED = "(() => { const b = document.querySelector('[data-go]'); b.click(); b.click(); b.disabled = false; b.click(); })()"


@dataclass(frozen=True)
class Step:
    """How a mandate comes to the step, its button, how often the wallet sends, and what the page
    says when it is opened once more after it was done.
    """

    make: Callable[[World], Awaitable[Mandated]]
    press: str
    after: str
    sends: int = 1
    query: Callable[[Mandated], str] = lambda _: ""


def whole_exit(m: Mandated) -> str:
    """The exit of all that is in the market."""
    return "?market=test-market"


STEPS = {
    "create": Step(signed, "Create vault", "h1:has-text('Signed, not funded')"),
    "fund": Step(created, "Approve and deposit", "section:has-text('Deposit USDC'):not(:has([data-go]))", sends=2),
    "pause": Step(working, "Pause agent", "text=The agent is paused already."),
    "resume": Step(paused, "Resume agent", "h1:has-text('Resume')"),
    "stop": Step(working, "Stop mandate for good", "[role=alert]"),
    "withdraw": Step(working, "Withdraw all", "text=Everything was paid out already."),
    "unwind": Step(stopped, "Take 40.00 USDC out", "text=Nothing is left in this market.", query=whole_exit),
}  # fmt: skip


async def another(window: Window, path: str) -> Window:
    """A second tab on the same page, its button on."""
    tab = Window(await a_tab(window.page.context), window.base)
    await tab.goto(path)
    await tab.page.locator("[data-go]:enabled").wait_for()
    return tab


@pytest.mark.parametrize("name", STEPS)
async def test_a_step_is_sent_once_by_two_presses_two_tabs_a_reload_and_the_back_button(
    stage: Stage, name: str
) -> None:
    step = STEPS[name]
    m = await step.make(stage.world)
    await stage.world.mint(m.owner_wallet.address, "1000")
    wallet, path = stage.wallet(m), f"/app/mandates/{m.id}/{name}{step.query(m)}"
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(path)
        await window.page.locator("[data-go]:enabled").wait_for()
        other = await another(window, path)
        wallet.holds = asyncio.Event()
        await window.page.evaluate(PRESSED)
        await wallet.asked_to_send(1)
        await other.press(step.press)
        await other.says("Another tab of this browser is sending this. Nothing was sent from here.")
        left = window.page.url
        wallet.holds.set()
        await window.page.wait_for_url(lambda url: url != left)
        await window.page.locator("main h1").wait_for()
        async with other.page.expect_navigation():
            await other.press(step.press)
        await other.page.locator("main h1").wait_for()
        await window.page.reload()
        await window.page.go_back()
        await window.page.locator("main h1").wait_for()
        later = Window(await a_tab(window.page.context), window.base)
        await later.goto(path)
        await later.page.locator(step.after).first.wait_for()
        assert wallet.count(*SENDS) == len(wallet.sent) == step.sends


AGAIN = ["a second press", "two tabs", "a reload", "the back button"]


@pytest.mark.parametrize("how", AGAIN)
async def test_terms_are_signed_once(stage: Stage, how: str) -> None:
    m = await drafted(stage.world)
    wallet, path = stage.wallet(m), f"/app/mandates/{m.id}/review"
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(path)
        other = Window(await a_tab(window.page.context), window.base)
        await other.goto(path)
        button = window.button("Sign these terms")
        await (button.dblclick() if how == "a second press" else button.click())
        await window.heading("Create your vault")
        if how == "two tabs":
            await other.press("Sign these terms")
            await other.page.locator("h1").wait_for()
        if how in ("a reload", "the back button"):
            await (window.page.reload() if how == "a reload" else window.page.go_back())
            await window.goto(path)
            await window.page.locator("main h1").wait_for()
            assert not await window.button("Sign these terms").count()
            assert wallet.count("eth_signTypedData_v4") == 1
    assert (await m.read())["mandate"]["status"] == "signed"


# -- held actions of a vault that keeps approvals


@pytest.fixture
async def keeping(sqlite_url: str, evm: Evm, chromium: Any) -> AsyncIterator[Stage]:
    async with (
        a_world(sqlite_url, evm, approvals_on_chain=True) as world,
        a_stage(world, chromium) as found,
    ):
        yield found


async def held(stage: Stage) -> tuple[Mandated, str]:
    """A mandate with an action that waits, and the page of it."""
    m = await working(stage.world, approval_above_usdc="20")
    item = (await m.execute("30")).body["approval"]["approval_id"]  # type: ignore[index]
    return m, f"/app/mandates/{m.id}/approvals/{item}"


async def test_an_approval_that_a_vault_keeps_is_signed_once(keeping: Stage) -> None:
    m, path = await held(keeping)
    wallet = keeping.wallet(m)
    async with keeping.window(wallet) as window:
        await window.sign_in()
        tabs = [window, Window(await a_tab(window.page.context), window.base)]
        for tab in tabs:
            await tab.goto(path)
            await tab.press("Approve 30.00 USDC, once")
            await tab.page.locator("[data-check=digest].ok").wait_for()
        await window.button("Sign for 30.00 USDC, once").dblclick()
        await window.page.wait_for_url("**#record")
        assert wallet.count("eth_signTypedData_v4") == 1
        async with tabs[1].page.expect_navigation():  # the same answer once more changes nothing
            await tabs[1].press("Sign for 30.00 USDC, once")
        # To the answer of a form, which is not kept: the browser shows a page of its own.
        async with window.page.expect_event("framenavigated"):
            await window.page.evaluate("setTimeout(() => history.back())")
        await window.goto(path)
        await window.says("Approved")
        assert not await window.button("Sign for 30.00 USDC, once").count()
    told = await keeping.world.ok("mandate_approvals", m.owner, public_id=m.id)
    assert [a["status"] for a in told["items"]] == ["approved"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('data-says="vault"><span class="addr"', 'data-says="vault">0<span class="addr"'),
        ('data-says="target"><span class="addr"', 'data-says="target">0<span class="addr"'),
        ('data-says="data">0x', 'data-says="data">0x00'),
        ('before <time datetime="20', 'before <time datetime="19'),
        ('"actionHash": "0x', '"actionHash": "0x0'),
        ('"mandate": "0x', '"mandate": "0x0'),
        ('"digest": "0x', '"digest": "0x0'),
        ('data-chain="31337"', 'data-chain="8453"'),
        (">30.00</data> USDC, once</button>", ">3.00</data> USDC, once</button>"),
    ],
    ids=["vault", "target", "calldata", "until", "action", "mandate", "digest", "chain", "amount"],
)
async def test_an_approval_that_was_altered_cannot_be_signed(
    keeping: Stage, was: str, now: str
) -> None:
    m, path = await held(keeping)
    wallet = keeping.wallet(m)

    async def between(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        assert route.request.method == "GET" or was in text
        await route.fulfill(response=answer, body=text.replace(was, now))

    async with keeping.window(wallet) as window:
        await window.sign_in()
        await window.page.route("**/approvals/*", between)
        await window.goto(path)
        await window.press("Approve 30.00 USDC, once")
        await window.says("Do not sign. Tell the operator.")
        assert await window.page.locator("#sign").is_disabled()
    assert wallet.count("eth_signTypedData_v4") == 0


# -- orders at the venue


@pytest.fixture
async def trading(sqlite_url: str, chromium: Any) -> AsyncIterator[TradingStage]:
    async with a_trading_stage(sqlite_url, chromium) as stage:
        yield stage


SIGN = "Sign and place LIVE order"


async def test_an_order_is_placed_once_by_two_presses_two_tabs_a_reload_and_the_back_button(
    trading: TradingStage,
) -> None:
    async with trading.window() as window:
        await trading.ready(window)
        await trading.to_the_signature(window)
        await window.page.locator("[data-check=venue].ok").wait_for()
        order_id = (await trading.site.desk.rows("orders"))[0]["order_id"]
        other = Window(await a_tab(window.page.context), window.base)
        await other.goto(f"/app/orders/{order_id}")
        await other.press("Look at today’s price and sign")
        await other.page.locator("[data-check=venue].ok").wait_for()
        await window.button(SIGN).click()  # the other tab’s look has taken its place
        await window.page.get_by_role("alert").wait_for()
        assert not trading.account.history
        await other.button(SIGN).dblclick()
        await other.state("Filled")
        await other.page.reload()
        await other.state("Filled")
        await other.page.evaluate(
            "setTimeout(() => history.back())"
        )  # to the answer of a form, which is not kept
        await window.goto(f"/app/orders/{order_id}")
        await window.state("Filled")
        assert not await window.button(SIGN).count()
    assert len(trading.account.history) == 1


async def test_a_position_is_closed_once_from_two_tabs(trading: TradingStage) -> None:
    async with trading.window() as window:
        await trading.ready(window)
        await trading.to_the_signature(window)
        await window.press(SIGN)
        await window.state("Filled")
        tabs = [window, Window(await a_tab(window.page.context), window.base)]
        for tab in tabs:
            await tab.goto("/app/orders")
            await tab.press("Close LIVE position")
            await tab.page.locator("[data-check=venue].ok").wait_for()
        await window.button("Sign and close the LIVE position").dblclick()
        await window.state("Filled")
        await tabs[1].press("Sign and close the LIVE position")
        await tabs[1].page.get_by_role("alert").wait_for()
        await window.page.reload()
    assert float(str(trading.account.position("BTC"))) == 0
    assert len(trading.account.history) == 2
