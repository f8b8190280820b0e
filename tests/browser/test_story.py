"""The way of an owner, from sign-in to withdrawal, in Debian's Chromium with a wallet of the
test's own: it announces itself as EIP-6963 says, the test signs, the development chain takes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chain.local_wallet import LocalWallet
from domain.facts import Call
from tests.app.site import Site, a_site
from tests.world import CHAIN_ID, PLENTY, Evm, a_world, config_of

CHROMIUM = Path("/usr/bin/chromium")
playwright = pytest.importorskip(
    "playwright.async_api", reason="Playwright is not installed: locks/browser.txt"
)
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Debian's chromium is not installed"),
]
WALLET = """
const provider = { request: async ({ method, params }) => {
  const told = await window.askWallet(JSON.stringify({ method, params: params ?? [] }));
  if (told.code) throw Object.assign(new Error(told.message), { code: told.code });
  return told.result;
} };
const detail = Object.freeze({ info: { uuid: "t", name: "Test wallet", rdns: "example.test", icon: "data:," }, provider });
const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
addEventListener("eip6963:requestProvider", announce);
announce();
"""


class Wallet:
    """What the browser's wallet answers; `rejects` makes it say no."""

    def __init__(self, own: LocalWallet):
        self.own, self.rejects, self.chain_id = own, False, CHAIN_ID
        self.account, self.asked = own.address, list[str]()

    async def answer(self, _: Any, asked: str) -> dict[str, Any]:
        told = json.loads(asked)
        method, params = told["method"], told["params"]
        self.asked.append(method)
        if self.rejects and method in ("eth_sendTransaction", "eth_signTypedData_v4"):
            return {"code": 4001, "message": "no"}
        return {"result": await self._result(method, params)}

    async def _result(self, method: str, params: list[Any]) -> Any:
        match method:
            case "eth_requestAccounts":
                return [self.account]
            case "eth_chainId":
                return hex(self.chain_id)
            case "wallet_switchEthereumChain":
                return None
            case "personal_sign":
                return self.own.sign_text(bytes.fromhex(params[0][2:]).decode())
            case "eth_signTypedData_v4":
                return self.own.sign_typed(json.loads(params[1]))
            case "eth_sendTransaction":
                call = Call(CHAIN_ID, params[0]["to"], params[0]["data"])
                receipt = await self.own.send(call, gas=PLENTY)
                return "0x" + bytes(receipt["transactionHash"]).hex()
            case "eth_getTransactionReceipt":
                return {"status": "0x1"}
        raise AssertionError(method)


@asynccontextmanager
async def a_page(wallet: Wallet) -> AsyncIterator[Any]:
    """A page of Chromium in which that wallet announces itself; nothing may go wrong on it."""
    wrong: list[str] = []
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page()
        await page.expose_binding("askWallet", wallet.answer)
        await page.add_init_script(WALLET)
        page.on("pageerror", lambda e: wrong.append(str(e)))
        page.on("console", lambda m: wrong.append(m.text) if "Content Security" in m.text else None)
        try:
            yield page
        finally:
            await browser.close()
    assert wrong == []


async def sign_in(page: Any, base: str) -> None:
    await page.goto(f"{base}/app/sign-in")
    await page.get_by_role("button", name="Continue with Test wallet").click()
    await page.get_by_role("link", name="New mandate").wait_for()


@pytest.fixture
async def browsed(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    """A service that knows the address at which it is reached."""
    from dataclasses import replace

    async with a_world(sqlite_url, evm) as world, a_site(world) as site:
        config = replace(config_of(evm), base_url=site.base)
        object.__setattr__(world.deps, "config", config)
        yield site


async def test_from_sign_in_to_withdrawal(browsed: Site) -> None:
    site = browsed
    owner, own = await site.world.owner()
    await site.world.agent(owner)
    await site.world.mint(own.address, "1000")
    wallet = Wallet(own)
    async with a_page(wallet) as page:
        await sign_in(page, site.base)
        await page.goto(f"{site.base}/app/start")
        await page.get_by_label("What is the money for?").fill("500 USDC for lending, 30 days")
        await page.get_by_role("button", name="Show me the terms").click()
        await page.get_by_label("Who is to act").select_option(index=2)
        await page.get_by_role("button", name="Keep, then review and sign").click()
        button = page.get_by_role("button", name="Sign these terms")
        await page.locator("#checks li.ok").nth(3).wait_for()
        wallet.rejects = True
        await button.click()
        await page.get_by_text("You rejected it in your wallet").wait_for()
        wallet.rejects = False
        await button.click()
        await page.get_by_role("button", name="Create the vault").click()
        await page.get_by_role("button", name="Approve and deposit").click()
        await page.locator("h1", has_text="Working").wait_for()
        base = page.url
        for link, press, after in (
            ("pause", "Pause with my wallet", "Paused"),
            ("resume", "Resume with my wallet", "Working"),
            ("withdraw", "Withdraw with my wallet", "Settled"),
        ):
            await page.goto(f"{base.partition('#')[0]}/{link}")
            await page.get_by_role("button", name=press).click()
            await page.locator("h1", has_text=after).wait_for()
    assert wallet.asked.count("eth_sendTransaction") == 6


TAMPERED = {
    "a value": ("#terms", '"perTxCap": "50000000"', '"perTxCap": "50000001"'),
    "a sentence": ("", "more than 50.00 USDC", "more than 51.00 USDC"),
    "a line of the table": ("", ">50000000<", ">50000001<"),
    "the network": ("", 'data-chain="31337"', 'data-chain="8453"'),
    "the owner": ("", 'data-owner="0x', 'data-owner="0x0'),
}


@pytest.mark.parametrize("what", TAMPERED)
async def test_tampered_terms_cannot_be_signed(browsed: Site, what: str) -> None:
    site = browsed
    _, before, after = TAMPERED[what]
    owner, own = await site.world.owner()
    agent, _ = await site.world.agent(owner)
    told = await site.world.ok(
        "owner_mandate_create", owner, budget_usdc="500", per_tx_cap_usdc="50",
        agent_id=agent.user_id, chain_id=CHAIN_ID,
    )  # fmt: skip
    wallet = Wallet(own)

    async def alter(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        assert before in text, what
        await route.fulfill(response=answer, body=text.replace(before, after))

    async with a_page(wallet) as page:
        await sign_in(page, site.base)
        await page.route("**/review", alter)
        await page.goto(f"{site.base}/app/mandates/{told['public_id']}/review")
        await page.get_by_text("Do not sign. Tell the operator.").wait_for()
        assert await page.get_by_role("button", name="Sign these terms").is_disabled()
        assert await page.locator("#checks li.no").count() >= 1
    assert "eth_signTypedData_v4" not in wallet.asked
