"""From the desktop to the phone: no wallet in this browser, a draft that is kept, and the phone that goes on with it."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from tests.browser.conftest import Stage
from tests.browser.window import MARKS, PHONE
from tests.world import drafted
from tools.model.qr_code import qr_svg

pytestmark = [*MARKS]
MOBILE = {"viewport": PHONE, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


async def test_a_draft_goes_on_on_the_phone_that_scanned_its_code(stage: Stage) -> None:
    m = await drafted(stage.world)
    draft = f"/app/start/{m.id}"
    async with stage.window(stage.wallet(m)) as desktop:
        await desktop.sign_in()
        await desktop.goto(draft)
        await desktop.page.get_by_role("link", name="Go on with this draft on a phone").click()
        await desktop.heading("Open this page on a phone")
        code = await desktop.page.locator("img.qr").get_attribute("src")
        address = (await desktop.page.locator("p.raw").inner_text()).strip()
        assert base64.b64decode(code.partition(",")[2]).decode() == qr_svg(address)
        # Drawn, and not only named.
        assert (
            await desktop.page.locator("img.qr").evaluate("(i) => i.complete && i.naturalWidth") > 0
        )
    assert address == stage.base + draft
    async with stage.window(stage.wallet(m), **MOBILE) as phone:
        await phone.goto(address.removeprefix(stage.base))
        await phone.press("Continue with")
        await phone.page.wait_for_url("**" + draft)
        await phone.heading("New mandate")
        assert await phone.page.locator("#budget_usdc").input_value() == "500"


@pytest.mark.parametrize("scripts", [True, False])
async def test_a_phone_without_a_wallet_is_given_wallets_that_open_this_page(
    stage: Stage, scripts: bool
) -> None:
    m = await drafted(stage.world)
    review = f"/app/mandates/{m.id}/review"
    async with stage.window(None, java_script_enabled=scripts, **MOBILE) as phone:
        await phone.goto(review)
        if not scripts:
            await phone.page.get_by_role("link", name="Your wallet is on a phone?").click()
        shown = phone.page.locator("main a:visible", has_text="Open in ")
        await shown.first.wait_for()
        links = [str(await link.get_attribute("href")) for link in await shown.all()]
        assert len(links) >= 5
        assert any(quote(stage.base + review, safe="") in link for link in links)
        width = await phone.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"]
