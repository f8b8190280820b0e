"""Nothing is sent twice: what was sent is followed, and an answer of the wallet that the page did not
live to hear is no reason to ask again.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tests.app.lives import created
from tests.browser.conftest import Stage
from tests.browser.wallet import NAME, SENDS, Says, Wallet
from tests.browser.window import MARKS, Window, a_tab
from tests.world import Mandated, working

pytestmark = [*MARKS]
PAUSE = "Pause agent"


async def at_the_button(stage: Stage, m: Mandated, window: Window) -> None:
    await window.sign_in()
    await window.goto(f"/app/mandates/{m.id}/pause")
    await window.button(PAUSE).wait_for()


async def test_a_reload_and_the_back_button_after_sending_follow_what_was_sent(
    stage: Stage,
) -> None:
    m = await working(stage.world)
    wallet = stage.wallet(m)
    wallet.drops = True  # named by the wallet, and never seen by the chain
    async with stage.window(wallet) as window:
        await at_the_button(stage, m, window)
        await window.press(PAUSE)
        await window.says("Do not send it again.")
        await window.page.go_back()
        await window.page.wait_for_url("**/tx/0x*")
        for _ in range(2):
            await window.goto(f"/app/mandates/{m.id}/pause")
            await window.page.wait_for_url("**/tx/0x*")
        await window.page.reload()
        await window.says("Sent")
        assert wallet.count(*SENDS) == 1
        await window.page.get_by_role("link", name="start over").click()
        wallet.drops = False
        await window.press(PAUSE)
        await window.heading("Paused")
    assert wallet.count(*SENDS) == 2


async def test_a_page_that_is_left_while_the_wallet_asks_does_not_ask_again_by_itself(
    stage: Stage,
) -> None:
    m = await working(stage.world)
    wallet = stage.wallet(m)
    wallet.answers_late = asyncio.Event()  # sent, and the page is gone before it hears of it
    async with stage.window(wallet) as window:
        await at_the_button(stage, m, window)
        wallet.drops = True
        await window.press(PAUSE)
        await wallet.asked_to_send(1)
        await window.page.reload()
        await window.says("the page was left before the wallet answered")
        assert await window.button(PAUSE).is_disabled()
        await window.page.reload()
        await window.says("the page was left before the wallet answered")
        wallet.answers_late.set()
        wallet.drops = False
        await window.page.get_by_role("link", name="start over").click()
        await window.page.wait_for_url(lambda url: "again" not in url)
        await window.press(PAUSE)
        await window.heading("Paused")
    assert wallet.count(*SENDS) == 2


async def test_a_reload_between_approval_and_deposit_approves_once(stage: Stage) -> None:
    m = await created(stage.world)
    await stage.world.mint(m.owner_wallet.address, "1000")
    wallet = stage.wallet(m)
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}/fund?amount=120.5")
        hidden = asyncio.Event()

        async def unmined(method: str, params: list[Any]) -> Any:
            if method == "eth_getTransactionReceipt" and not hidden.is_set():
                return None
            return await Wallet.passed_on(wallet, method, params)

        wallet.passed_on = unmined  # type: ignore[method-assign]
        await window.press("Approve and deposit")
        await window.says("The first is on its way.")
        await window.page.reload()
        hidden.set()
        await window.button("Deposit").wait_for()
        await window.says("You have approved this amount already")
        await window.page.locator("[data-go]:enabled").click()
        await window.heading("Active")
    assert wallet.count(*SENDS) == 2


async def test_what_a_wallet_may_have_sent_is_not_sent_again_by_one_press(stage: Stage) -> None:
    m = await working(stage.world)
    wallet = stage.wallet(m)
    async with stage.window(wallet) as window:
        await at_the_button(stage, m, window)
        for fault, says in (
            (Says(-32603, "Internal error"), "Look there before you try again"),
            (Says(4900, "Disconnected"), "Your wallet has lost its connection"),
            (Says(-32002, "busy"), "It may be this very one."),
        ):
            wallet.fault = fault
            await window.press(PAUSE)
            await window.says(says)
            assert await window.button(PAUSE).is_disabled()
            await window.page.get_by_role("link", name="start over").click()
            await window.page.locator("[data-go]:enabled").wait_for()
        for fault, says in (
            (Says(4001, "no"), "You rejected it in your wallet"),
            (Says(-32000, "insufficient funds for gas"), "there is not enough for this"),
        ):
            wallet.fault = fault
            await window.press(PAUSE)
            await window.says(says)
            await window.page.locator("[data-go]:enabled").wait_for()
        wallet.fault = None
        await window.press(PAUSE)
        await window.heading("Paused")
    assert len(wallet.sent) == 1


async def test_a_refusal_of_the_wallet_leaves_the_focus_where_it_was(stage: Stage) -> None:
    m = await working(stage.world)
    wallet = stage.wallet(m)
    async with stage.window(wallet) as window:
        await window.sign_in()
        for path, name in (
            (f"/app/mandates/{m.id}/pause", PAUSE),
            ("/app/sign-in", f"Continue with {NAME}"),
        ):
            await window.goto(path)
            wallet.fault = Says(4001, "no")
            await window.page.locator("button:enabled", has_text=name).wait_for()
            await window.enter(name)
            await window.says("You rejected it in your wallet")
            await window.page.locator("button:focus", has_text=name).wait_for()
    assert (wallet.count(*SENDS), wallet.sent) == (1, [])


async def test_an_answer_to_a_held_action_is_given_once(stage: Stage) -> None:
    m = await working(stage.world, approval_above_usdc="60")
    assert (await m.execute("90", why="a larger step")).status == 202
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        other = Window(await a_tab(window.page.context), window.base)
        await other.goto(f"/app/mandates/{m.id}")
        await window.button("Approve 90.00 USDC, once").dblclick()
        await window.page.wait_for_url("**#record")
        await other.press("Decline action")
        await other.says("It changed meanwhile. This is how it stands now.")
        await window.page.reload()
        await window.page.go_back()
    told = await stage.world.ok("mandate_approvals", m.owner, public_id=m.id)
    assert [a["status"] for a in told["items"]] == ["approved"]


async def test_a_press_that_was_meant_for_a_window_in_front_answers_nothing(stage: Stage) -> None:
    m = await working(stage.world, approval_above_usdc="60")
    assert (await m.execute("90")).status == 202
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        # The window that covered it closes between the two halves of a double press.
        assert await window.page.evaluate(
            "(() => { let left; dispatchEvent(new FocusEvent('focus'));"
            " addEventListener('submit', (e) => { left = !e.defaultPrevented; }, { once: true });"
            " document.querySelector('[value=approve]').click(); return left; })()"
        ) is False  # fmt: skip
        # Half a second later it is a press like any other.
        await window.page.evaluate(
            "(() => { const at = { value: performance.now() - 501 };"
            " dispatchEvent(Object.defineProperty(new FocusEvent('focus'), 'timeStamp', at)); })()"
        )
        await window.press("Approve 90.00 USDC, once")
        await window.page.wait_for_url("**#record")
    told = await stage.world.ok("mandate_approvals", m.owner, public_id=m.id)
    assert [a["status"] for a in told["items"]] == ["approved"]


async def test_a_press_as_another_action_takes_the_place_of_one_answers_nothing(
    stage: Stage,
) -> None:
    m = await working(stage.world, approval_above_usdc="60")
    for amount in ("90", "80"):
        assert (await m.execute(amount)).status == 202
    first = (await stage.world.ok("mandate_approvals", m.owner, public_id=m.id))["items"]
    oldest = min(first, key=lambda a: str(a["requested_at"]))
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        gone = "document.querySelectorAll('#waiting > .ask').length === 1"
        # The press comes in the very moment in which the list has changed under the finger.
        pressed = asyncio.create_task(
            window.page.evaluate(
                "new Promise((done) => new MutationObserver((_, seen) => {"
                f" if (!({gone})) return; seen.disconnect(); setTimeout(() => {{"
                " addEventListener('submit', (e) => done(e.defaultPrevented), { once: true });"
                " document.querySelector('#waiting [value=approve]').click(); }); })"
                ".observe(document.body, { childList: true, subtree: true }))"
            )
        )
        await asyncio.sleep(0.5)
        await stage.world.ok(
            "owner_approval_decide", m.owner, public_id=m.id,
            approval_id=oldest["approval_id"], decision="decline",
        )  # fmt: skip
        assert await pressed is True
    told = await stage.world.ok("mandate_approvals", m.owner, public_id=m.id)
    assert sorted(a["status"] for a in told["items"]) == ["declined", "pending"]
