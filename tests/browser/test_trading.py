"""Trading in Debian's Chromium: a wallet is linked, a key is made and approved, an order is signed
and closed; and nothing that was altered is signed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from app import gate
from tests.app.desks import TradingSite, a_trading_site, switched
from tests.browser.test_story import CHROMIUM, WALLET, playwright
from tests.tools.trading.conftest import BUILDER, Person
from tests.tools.trading.orders import Trader, agent, allow
from tests.world import START, Clock
from venue import signing

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Debian's chromium is not installed"),
]


class Ticking(Clock):
    """The time that the browser has, and what a test moves it on by."""

    def now(self) -> datetime:
        return datetime.now(UTC) + (self.at - START)


class VenueWallet:
    """A wallet that trades: it answers every question, and notes it."""

    def __init__(self, own: LocalAccount):
        self.own, self.account, self.fickle = own, own.address, False
        self.asked: list[tuple[str, str]] = []

    async def answer(self, _: Any, asked: str) -> dict[str, Any]:
        told = json.loads(asked)
        method, params = told["method"], told["params"]
        self.asked.append((method, asked))
        match method:
            case "eth_requestAccounts":
                return {"result": [self.account]}
            case "eth_chainId":
                return {"result": "0xa4b1"}
            case "personal_sign":
                text = bytes.fromhex(params[0][2:]).decode()
                if self.fickle:
                    text += str(len(self.asked))
                made = self.own.sign_message(encode_defunct(text=text))
            case "eth_signTypedData_v4":
                made = self.own.sign_typed_data(full_message=json.loads(params[1]))
            case _:
                raise AssertionError(method)
        return {"result": "0x" + made.signature.hex().removeprefix("0x")}

    def count(self, method: str) -> int:
        return sum(name == method for name, _ in self.asked)


@asynccontextmanager
async def a_page(site: TradingSite, p: Person, wallet: VenueWallet) -> AsyncIterator[Any]:
    """A page of Chromium that is signed in; nothing may go wrong on it."""
    wrong: list[str] = []
    browser_of_site = await site.signed_in(p)
    token = browser_of_site.cookies[gate.LOCAL_COOKIE]
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        context = await browser.new_context()
        await context.add_cookies([{"name": gate.LOCAL_COOKIE, "value": token, "url": site.base}])
        page = await context.new_page()
        page.set_default_timeout(15_000)
        await page.expose_binding("askWallet", wallet.answer)
        await page.add_init_script(WALLET)
        page.on("pageerror", lambda e: wrong.append(str(e)))
        page.on("console", lambda m: wrong.append(m.text) if "Content Security" in m.text else None)
        try:
            yield page
        finally:
            await browser.close()
    assert wrong == []


@pytest.fixture
async def site(sqlite_url: str) -> AsyncIterator[TradingSite]:
    # Long enough for a slow machine; a page takes no order that lasts for more than 10 minutes.
    async with a_trading_site(sqlite_url, clock=Ticking(), confirm_ttl_s=500) as opened:
        config = replace(opened.desk.deps.config, base_url=opened.base)
        object.__setattr__(opened.deps, "config", config)
        yield opened


async def ready(site: TradingSite, page: Any, p: Person) -> None:
    """Link and approve as a person does."""
    base = site.base
    await page.goto(f"{base}/app/own")
    await page.get_by_role("button", name="Take it from my wallet").click()
    await page.get_by_role("button", name="Sign the text and link").click()
    await page.get_by_role("button", name="Make an order key and approve it").click()
    await page.get_by_text("This browser holds it, sealed.").wait_for()
    await allow(site.desk, p.wallet.address)
    account = site.desk.main.state.account(p.wallet.address)
    if account is not None:
        account.leverage["BTC"] = (True, 3)


async def begun(site: TradingSite) -> tuple[Person, VenueWallet]:
    await switched(site, live_door=True, live_terminal=True, venue_mainnet=True)
    p = await site.desk.person()
    return p, VenueWallet(p.wallet)


async def to_the_signature(site: TradingSite, page: Any, amount: str = "20") -> None:
    await page.goto(f"{site.base}/app/orders")
    await page.get_by_label("Product").fill("BTC")
    await page.get_by_label("How much").fill(amount)
    await page.get_by_role("button", name="Prepare LIVE order").click()
    await page.locator("h1", has_text="Buy").wait_for()


async def test_from_the_link_to_a_closed_position(site: TradingSite) -> None:
    p, wallet = await begun(site)
    async with a_page(site, p, wallet) as page:
        await ready(site, page, p)
        assert wallet.count("personal_sign") == 3  # the link, and twice the seal of the key
        await page.get_by_role("button", name="Approve at most 0.1%").click()
        await page.get_by_role("button", name="Take the approval back").wait_for()
        assert site.desk.main.account(p.wallet.address).builders[BUILDER.address.lower()] == 100
        await to_the_signature(site, page)
        button = page.get_by_role("button", name="Sign and place LIVE order")
        await page.locator("[data-check=venue].ok").wait_for()
        assert await page.locator("ul.checks li.ok").count() == 5
        await button.click()
        await page.get_by_text("Done").first.wait_for()
        assert float(str(site.desk.main.account(p.wallet.address).position("BTC"))) > 0
        await switched(site, live_door=False, live_terminal=False)
        await page.goto(f"{site.base}/app/orders")
        await page.get_by_role("button", name="Close LIVE position").click()
        await page.get_by_role("button", name="Sign and close the LIVE position").click()
        await page.get_by_text("Done").first.wait_for()
        assert float(str(site.desk.main.account(p.wallet.address).position("BTC"))) == 0
        # The key itself was never in a request, nor in anything that is kept in the open.
        kept = await page.evaluate(KEPT)
        assert set(kept[0]) == {"address", "salt", "iv", "box"}
        await page.goto(f"{site.base}/app/own")
        await page.get_by_role("button", name="Forget it in this browser").click()
        await page.get_by_text("Forgotten here.").wait_for()
        assert await page.evaluate(KEPT) == []
        await page.get_by_role("button", name="Revoke it at the venue").click()
        await page.get_by_role("button", name="Make an order key and approve it").wait_for()


WITHOUT = """() => new Promise((yes, no) => {
  const gone = indexedDB.deleteDatabase("order-keys");
  gone.onsuccess = () => yes(true);
  gone.onerror = no;
})"""
KEPT = """() => new Promise((yes, no) => {
  const asked = indexedDB.open("order-keys", 1);
  asked.onerror = no;
  asked.onsuccess = () => {
    const all = asked.result.transaction("keys").objectStore("keys").getAll();
    all.onsuccess = () => { asked.result.close(); yes(all.result); };
  };
})"""


async def test_an_agents_order_is_opened_signed_and_sent_straight_to_the_venue(
    site: TradingSite,
) -> None:
    p, wallet = await begun(site)
    async with a_page(site, p, wallet) as page:
        await ready(site, page, p)
        scout = await agent(site.desk, Trader(site.desk, p, 0))
        await page.goto(f"{site.base}/app/orders")
        await site.desk.ok(
            "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20",
            mode_seen="live", why="the funding is low",
        )  # fmt: skip
        await page.get_by_text("the funding is low").wait_for()
        await page.get_by_role("button", name="Look at today’s price").click()
        await page.get_by_text("This service cannot reach the venue?").click()
        await page.get_by_role("button", name="Sign, and send it LIVE from this browser").click()
        await page.get_by_text("Done").first.wait_for()
    assert len(site.desk.main.account(p.wallet.address).history) == 1


# What is altered on the way to the browser, in the words of the page or in its data.
TAMPERED = {
    "price on the page": ('data-says="price">6', 'data-says="price">7'),
    "price in the data": ('\\"p\\":\\"6', '\\"p\\":\\"7'),
    "size on the page": ('data-says="size">0.000', 'data-says="size">0.001'),
    "product on the page": ('data-says="asset">0', 'data-says="asset">1'),
    "cloid in the data": ('\\"c\\":\\"0x', '\\"c\\":\\"0xf'),
    "side on the page": ('data-says="side">buy', 'data-says="side">sell'),
    "side in the data": ('\\"b\\":true', '\\"b\\":false'),
    "reduce-only on the page": ('data-says="reduce">no', 'data-says="reduce">yes'),
    "network on the page": ('data-says="network">mainnet', 'data-says="network">testnet'),
    "the fingerprint": ('"action_hash": "0x', '"action_hash": "0x0'),
    "the key": ('"signer_must_be": ["0x', '"signer_must_be": ["0x0'),
    "the value": ('data-says="value">', 'data-says="value">1'),
}


def for_a_vault(text: str) -> str:
    """The page of somebody who would have the order signed for a vault."""
    told = json.loads(text.partition('id="to-sign">')[2].partition("</script>")[0])
    hashed = signing.action_hash(
        json.loads(told["action"]), told["nonce"], expires_after=told["expires_after"],
        vault="0x" + "12" * 20,
    )  # fmt: skip
    return text.replace(told["action_hash"], "0x" + hashed.hex())


async def altered(page: Any, url: str, text: str, headers: dict[str, str]) -> None:
    """Open a page as it would have come with this text."""

    async def answer(route: Any) -> None:
        await route.fulfill(body=text, headers=headers)

    await page.route(url, answer)
    await page.goto(url)
    await page.locator("[data-check=bytes].ok, [data-check=bytes].no").wait_for()


async def all_off(page: Any, words: str) -> None:
    await page.get_by_text(words).first.wait_for()
    for button in await page.locator("[data-go]").all():
        assert await button.is_disabled()


async def test_altered_orders_cannot_be_signed_and_the_page_says_why(site: TradingSite) -> None:
    p, wallet = await begun(site)
    seen: list[tuple[str, dict[str, str]]] = []

    async def listen(route: Any) -> None:
        answer = await route.fetch()
        if route.request.method == "POST":
            seen.append((await answer.text(), dict(answer.headers)))
        await route.fulfill(response=answer)

    async def another(route: Any) -> None:
        await route.fulfill(
            json={"universe": [{"name": "ETH"}, {"name": "BTC"}]},
            headers={"Access-Control-Allow-Origin": "*"},
        )

    async with a_page(site, p, wallet) as page:
        await ready(site, page, p)
        await page.route(f"{site.base}/app/orders", listen)
        await page.route(f"{site.desk.urls[0]}/info", another)
        await to_the_signature(site, page)
        await all_off(page, "The venue itself gives this product another number")
        asked, (text, headers) = len(wallet.asked), seen[0]
        texts = {n: text.replace(was, now) for n, (was, now) in TAMPERED.items()}
        texts["a vault"] = for_a_vault(text)
        assert [n for n, bent in texts.items() if bent == text] == []
        for n, bent in enumerate(texts.values()):
            await altered(page, f"{site.base}/app/altered/{n}", bent, headers)
            await all_off(page, "Do not sign. Tell the operator.")
        await page.evaluate(WITHOUT)
        await altered(page, f"{site.base}/app/altered/not", text, headers)
        await all_off(page, "does not hold the order key")
        assert len(wallet.asked) == asked
    assert not site.desk.main.account(p.wallet.address).history


async def test_a_text_to_link_that_names_somebody_else_cannot_be_signed(site: TradingSite) -> None:
    p, wallet = await begun(site)

    async def alter(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        whose = str(p.caller.address)
        body = text.replace(f"signed in with {whose}", "signed in with 0x" + "ee" * 20)
        assert body != text
        await route.fulfill(response=answer, body=body)

    async with a_page(site, p, wallet) as page:
        await page.route("**/app/own/challenge", alter)
        await page.goto(f"{site.base}/app/own")
        await page.get_by_role("button", name="Take it from my wallet").click()
        await page.get_by_text("It lacks: signed in with").wait_for()
        assert await page.get_by_role("button", name="Sign the text and link").is_disabled()
    assert wallet.count("personal_sign") == 0


async def test_a_wallet_that_signs_one_text_in_two_ways_gets_no_key(site: TradingSite) -> None:
    p, wallet = await begun(site)
    await site.desk.link(p)
    wallet.fickle = True
    async with a_page(site, p, wallet) as page:
        await page.goto(f"{site.base}/app/own")
        await page.get_by_role("button", name="Make an order key and approve it").click()
        await page.get_by_text("No key was made.").wait_for()
        wallet.account = Account.create().address
        await page.get_by_role("button", name="Make an order key and approve it").click()
        await page.get_by_text("Your wallet shows another account.").wait_for()
    assert wallet.count("eth_signTypedData_v4") == 0
