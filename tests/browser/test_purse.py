"""The purse of a mandate as its owner sees it: what was paid, a payment that asks, open payments made void."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.app.test_purse import bought, held
from tests.browser.conftest import Stage, a_stage
from tests.browser.looks import all_of
from tests.browser.wallet import SENDS
from tests.browser.window import MARKS, PHONE
from tests.purses import Purse, opened
from tests.tools.keeper.test_transfers_chain import ticks
from tests.tools.paying import paid as signed_bill
from tests.tools.paying import settled
from tests.world import CHAIN_ID, Evm, a_world

pytestmark = [*MARKS]


@pytest.fixture(params=[False, True], ids=["by the service", "by the purse"])
async def paying(
    request: pytest.FixtureRequest, sqlite_url: str, evm: Evm, chromium: Any
) -> AsyncIterator[Stage]:
    """A service whose purses ask for the owner's signature, or do not."""
    async with (
        a_world(sqlite_url, evm, purses=True, approvals_on_chain=request.param) as world,
        a_stage(world, chromium) as stage,
    ):
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
