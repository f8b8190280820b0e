"""The way of an owner, from sign-in to withdrawal and statement: by mouse, by keyboard alone, on a
phone, and without JavaScript where the design says so.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.lives import at_work
from tests.browser.conftest import Stage
from tests.browser.wallet import NAME, SENDS, Says, Wallet
from tests.browser.window import MARKS, PHONE, Window
from tests.world import working

pytestmark = [*MARKS]
NOTE = "500 USDC for lending, 30 days"
REJECTED = Says(4001, "User rejected the request.")


async def a_person(stage: Stage) -> Wallet:
    """Somebody with 1,000 USDC and an agent."""
    owner, own = await stage.world.owner()
    await stage.world.agent(owner)
    await stage.world.mint(own.address, "1000")
    return Wallet(own, stage.world.evm.url)


async def to_the_review(window: Window) -> None:
    """From a sentence to terms that can be signed."""
    await window.goto("/app/start")
    await window.page.get_by_label("What is the money for?").fill(NOTE)
    await window.press("Show me the terms")
    await window.page.get_by_label("Never ask").check()
    await window.page.get_by_label("Who is to act").select_option(index=2)
    await window.press("Review and sign terms")
    await window.page.locator("#checks li.ok").nth(3).wait_for()


async def test_from_sign_in_to_withdrawal_and_statement(stage: Stage) -> None:
    wallet = await a_person(stage)
    async with stage.window(wallet) as window:
        wallet.fault = REJECTED
        await window.goto("/app/sign-in")
        await window.press(f"Continue with {NAME}")
        await window.says("You rejected it in your wallet")
        wallet.fault = None
        await window.sign_in()
        await to_the_review(window)
        wallet.fault = REJECTED
        await window.press("Sign these terms")
        await window.says("You rejected it in your wallet. Nothing was signed")
        wallet.fault = None
        await window.press("Sign these terms")
        await window.press("Create vault")
        await window.press("Approve and deposit")
        await window.heading("Active")
        base = window.path
        for link, press, after in (
            ("pause", "Pause agent", "Paused"),
            ("resume", "Resume agent", "Active"),
            ("pause", "Pause agent", "Paused"),
            ("resume", "Resume agent", "Active"),
            ("withdraw", "Withdraw all", "Settled"),
        ):
            await window.goto(f"{base}/{link}")
            await window.press(press)
            await window.heading(after)
        await window.goto(f"{base}/statement")
        await window.heading("Statement")
    assert wallet.count(*SENDS) == 8


async def test_the_whole_way_by_keyboard_alone(stage: Stage, figures: dict[str, Any]) -> None:
    wallet = await a_person(stage)
    async with stage.window(wallet) as window:
        page, keys = window.page, window.page.keyboard
        await window.goto("/app/sign-in")
        await window.button(f"Continue with {NAME}").wait_for()
        await window.enter(f"Continue with {NAME}")
        await window.button("Sign out").wait_for()
        await window.enter("New mandate")
        await window.heading("New mandate")
        await window.tab_to("What is the money for?")
        await keys.type(NOTE)
        await window.enter("Show me the terms")
        await page.get_by_label("Who is to act").wait_for()
        await window.tab_to("Ask me before")
        await keys.press("ArrowDown")
        await window.tab_to("Who is to act")
        await keys.press("ArrowDown")
        await keys.press("ArrowDown")
        await window.enter("Review and sign terms")
        await page.locator("#checks li.ok").nth(3).wait_for()
        figures["tabs to the signature"] = await window.tab_to("Sign these terms")
        await keys.press("Enter")
        await window.heading("Create your vault")
        await window.button("Create vault").wait_for()
        await window.enter("Create vault")
        await window.heading("Deposit USDC")
        await window.enter("Approve and deposit")
        await window.heading("Active")
        await window.enter("Withdraw all")
        await window.heading("Withdraw all")
        await window.enter("Withdraw all")
        await window.heading("Settled")
    assert wallet.count(*SENDS) == 4


async def test_a_held_action_is_answered_on_a_phone(stage: Stage) -> None:
    m = await at_work(stage.world)
    phone = {"viewport": PHONE, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
    async with stage.window(stage.wallet(m), **phone) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        assert await window.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        button = window.button("Approve 90.00 USDC, once")
        box = await button.bounding_box()
        assert box["height"] >= 44
        await button.tap()
        await window.page.wait_for_url("**#record")
        assert await window.button("Approve 90.00 USDC, once").count() == 0
    told = await stage.world.ok("mandate_approvals", m.owner, public_id=m.id)
    assert [a["status"] for a in told["items"]] == ["approved"]


@pytest.mark.parametrize(
    ("press", "becomes"), [("Approve 90.00 USDC, once", "approved"), ("Decline action", "declined")]
)
async def test_without_javascript_an_owner_reads_approves_and_declines(
    stage: Stage, press: str, becomes: str
) -> None:
    m = await at_work(stage.world)
    async with stage.window(stage.wallet(m)) as signed_in:
        await signed_in.sign_in()
        kept = await signed_in.page.context.storage_state()
    async with stage.window(java_script_enabled=False, storage_state=kept) as window:
        await window.goto(f"/app/mandates/{m.id}")
        assert await window.page.locator("#worth-wide").is_visible()
        assert await window.page.locator("#waiting > .ask").count() == 1
        await window.goto(f"/app/mandates/{m.id}/pause")
        await window.page.locator("noscript .note").first.wait_for()
        await window.goto(f"/app/mandates/{m.id}")
        await window.press(press)
        await window.page.wait_for_url("**#record")
        assert await window.page.locator("#waiting > .ask").count() == 0
    told = await stage.world.ok("mandate_approvals", m.owner, public_id=m.id)
    assert [a["status"] for a in told["items"]] == [becomes]


async def test_days_are_read_off_the_chart_by_keyboard(stage: Stage) -> None:
    m = await at_work(stage.world)
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        await window.page.locator("#worth-wide").focus()
        await window.page.keyboard.press("End")
        last = await window.page.locator("#readout").inner_text()
        await window.page.keyboard.press("Home")
        assert last.startswith("21 Nov") != (
            await window.page.locator("#readout").inner_text()
        ).startswith("21 Nov")


async def test_a_new_approval_appears_by_itself_and_a_lost_session_leads_back(stage: Stage) -> None:
    m = await working(stage.world, approval_above_usdc="60")
    async with stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        await window.goto(f"/app/mandates/{m.id}")
        assert await window.page.locator("#waiting > .ask").count() == 0
        assert (await m.execute("90", why="a larger step")).status == 202
        await window.page.locator("#waiting > .ask").wait_for()
        await window.page.locator("#said", has_text="An action needs").wait_for(state="attached")
        assert (await window.page.title()).startswith("(1) ")
        await window.page.context.clear_cookies()
        await window.page.wait_for_url("**/app/sign-in?next=**")
        await window.press(f"Continue with {NAME}")
        await window.heading("Active")


async def test_a_frame_of_another_site_stays_empty(stage: Stage) -> None:
    async with stage.window() as window:
        await window.page.goto("about:blank")
        await window.page.set_content(f"<iframe src='{stage.base}/app'></iframe>")
        await window.page.wait_for_load_state("networkidle")
        (_, inside) = window.page.frames
        assert "Mandates" not in await inside.content()
        window.wrong.clear()  # the browser says why it refused
