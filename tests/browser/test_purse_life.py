"""A purse's whole life in the browser: from a sentence to a bill of a real seller, and back to the last digit."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.browser.conftest import Stage, a_stage
from tests.browser.looks import all_of, looked_at
from tests.browser.test_leaving import follow
from tests.browser.wallet import SENDS, Wallet
from tests.browser.window import MARKS, PHONE
from tests.clients.selling import selling
from tests.purses import Purse
from tests.tools.keeper.test_transfers_chain import ticks
from tests.tools.paying import PAYEE, balance, hub_of
from tests.world import CHAIN_ID, HUB_GAS, Evm, Mandated, a_world, running_evm

pytestmark = [*MARKS, pytest.mark.evm]
SENTENCE = (
    "Budget 500 USDC for 30 days, 50 per trade, 150 a day. "
    f"May pay for APIs up to 0.50 each, 5 a day, only to {PAYEE}."
)


@pytest.fixture(scope="module")
def chain() -> Iterator[Evm]:
    """A chain whose time goes on to today's: the facilitator has a clock of its own."""
    with running_evm() as running:
        yield running


@pytest.fixture
async def paying_stage(sqlite_url: str, chain: Evm, chromium: Any) -> AsyncIterator[Stage]:
    async with a_world(sqlite_url, chain, purses=True, keeper=False) as world:
        world.clock.forward(seconds=(datetime.now(UTC) - world.clock.now()).total_seconds())
        async with a_stage(world, chromium) as stage:
            yield stage


async def bought(m: Mandated, url: str, most: str) -> Any:
    """What a seller answers to the agent that pays its 402."""
    async with ClientSession() as http:
        async with http.get(url) as asked:
            assert asked.status == 402
            required = json.loads(base64.b64decode(asked.headers["PAYMENT-REQUIRED"]))
        wanted = {"payment_required": required, "max_amount": most, "why": "the forecast"}
        made = await m.as_agent("mandate_pay", **wanted)
        assert made.status == 200, made.body
        typed: Any = made.body["typed_data"]
        signed = await m.as_agent(
            "mandate_pay", **wanted, signature=m.agent_wallet.sign_typed(typed)
        )
        assert signed.status == 200, signed.body
        header = {"PAYMENT-SIGNATURE": str(signed.body["header"])}
        async with http.get(url, headers=header) as told:
            assert told.status == 200, await told.text()
            return await told.json()


async def test_from_a_sentence_to_a_paid_bill_and_everything_back_to_the_last_digit(
    paying_stage: Stage, chain: Evm, figures: dict[str, Any]
) -> None:
    stage, world = paying_stage, paying_stage.world
    owner, own = await world.owner()
    agent, agents = await world.agent(owner)
    await world.mint(own.address, "1000")
    wallet = Wallet(own, chain.url, gas=HUB_GAS)
    async with stage.window(wallet) as window:
        page = window.page
        await window.sign_in()
        await window.goto("/app/start")
        await page.get_by_label("What is the money for?").fill(SENTENCE)
        await window.press("Show me the terms")
        await page.get_by_label("At most a payment").wait_for()
        assert await page.get_by_label("At most a payment").input_value() == "0.50"
        assert await page.get_by_label("At most a day").input_value() == "5"
        assert (
            PAYEE[2:] in (await page.get_by_label("Only to these addresses").input_value()).lower()
        )
        assert await page.locator("#pay_float").get_attribute("aria-invalid") == "true"
        assert await looked_at(window, "a sentence with payments", figures) == []
        await window.press("At most at risk at once: 5.00 USDC")
        await page.get_by_label("Never ask").check()
        await page.get_by_label("Who is to act").select_option(index=2)
        await window.press("Review and sign terms")
        await page.locator("#checks li.ok").nth(3).wait_for()
        await window.press("Sign these terms")
        # The contract of the purse is made by the first of two transactions.
        await window.press("Create vault")
        await window.press("Approve and deposit")
        await window.heading("Active")
        public_id = window.path.rpartition("/")[2]
    assert wallet.count(*SENDS) == 4
    m = Mandated(world, public_id, owner, own, agent, agents)
    assert (await m.as_agent("mandate_accept")).status == 200
    m.vault = (await m.read())["mandate"]["vault_address"]
    (known,) = await world.store.read(lambda uow: uow.chainlog.purses_of(m.id))
    kept = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert kept is not None
    assert kept.purse is not None
    purse = Purse(m, await hub_of(m), world.chains.address(known.address), kept.purse)
    await purse.fund("1.62")
    with selling(chain, PAYEE, chain.key(6)) as shop:
        assert await bought(m, f"{shop}/report", "0.25") == {"report": "rain until noon"}
    assert (await purse.balance(), str(balance(world, PAYEE))) == ("1.370000", "0.250000")

    # The agent is gone with its key: all that follows is the owner's.
    base = f"/app/mandates/{m.id}"
    phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
    async with stage.window(wallet, **phone) as window:
        await window.sign_in()
        await window.goto(f"{base}/leave")
        await window.says("Until the agent is stopped, only the agent itself can put it back.")
        await follow(window, "Stop for good")
        await window.press("Stop mandate for good")
        await window.heading("Close and withdraw")
        wide = await window.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"]
    # The browser is closed, and another one goes on where the vault and the purse stand.
    async with stage.window(wallet) as window:
        await window.sign_in()
        paths = [f"{base}/{at}" for at in ("leave", "drain", "withdraw")]
        assert await all_of(window, paths, "a purse on the way out", figures) == []
        await window.goto(f"{base}/leave")
        await follow(window, "Bring 1.37 USDC back from the purse")
        await window.heading("Bring 1.37 USDC back from the purse")
        await window.press("Bring 1.37 USDC back from the purse")
        await window.heading("Close and withdraw")
        await follow(window, "Withdraw all")
        await window.press("Withdraw all")
        await window.heading("Settled")
    assert str(balance(world, own.address)) == "999.750000"
    # A refund of the seller comes when all is over.
    await world.mint(purse.address, "0.25")
    await ticks(world).round()
    async with stage.window(wallet) as window:
        await window.sign_in()
        await window.goto(f"{base}/leave")
        assert (
            await all_of(window, [f"{base}/leave", f"{base}/sweep"], "a late refund", figures) == []
        )
        await window.goto(f"{base}/leave")
        await follow(window, "Bring 0.25 USDC back from the purse")
        await window.press("Bring 0.25 USDC back from the purse")
        await window.says("Everything was paid out. Nothing is left to do.")
    balances = await world.chains.get(CHAIN_ID).usdc_balances([own.address, m.vault, purse.address])
    assert [str(b) for b in balances.values()] == ["1000.000000", "0.000000", "0.000000"]
