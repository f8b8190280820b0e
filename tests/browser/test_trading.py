"""Trading in Debian's Chromium: a wallet is linked, a key is made and approved, an order is signed
and closed; and nothing that was altered is signed.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from eth_account import Account

from app.pages import books, order, orders, venue_account
from tests.app.desks import switched
from tests.browser.desk import LINK, MAKE, TAKE, TradingStage, a_trading_stage
from tests.browser.looks import all_of, looked_at
from tests.browser.stations import NOWHERE, opened, stations
from tests.browser.window import MARKS
from tests.tools.trading.conftest import BUILDER
from tests.tools.trading.orders import Trader, agent
from tests.tools.trading.signers import a_signer
from tools.model.operation import Caller
from venue import signing

pytestmark = [*MARKS]
FAMILIES = (*venue_account.PAGES, *orders.PAGES, *order.PAGES, *books.PAGES)
SAID = "the funding is low"
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


@pytest.fixture
async def trading(sqlite_url: str, chromium: Any) -> AsyncIterator[TradingStage]:
    async with a_trading_stage(sqlite_url, chromium) as stage:
        yield stage


async def proposed(trading: TradingStage, scout: Caller) -> None:
    """An agent's order, which waits for its owner."""
    await trading.site.desk.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20",
        mode_seen="live", why=SAID,
    )  # fmt: skip


async def test_from_the_link_to_a_closed_position(trading: TradingStage) -> None:
    site, wallet = trading.site, trading.wallet
    async with trading.window() as window:
        page = window.page
        await trading.ready(window)
        assert wallet.count("personal_sign") == 3  # the link, and twice the seal of the key
        await window.press("Approve at most 0.1%")
        await window.button("Revoke approval").wait_for()
        assert trading.account.builders[BUILDER.address.lower()] == 100
        await trading.to_the_signature(window)
        button = window.button("Sign and place LIVE order")
        await page.locator("[data-check=venue].ok").wait_for()
        assert await page.locator("ul.checks li.ok").count() == 5
        await button.click()
        await window.state("Filled")
        assert float(str(trading.account.position("BTC"))) > 0
        await switched(site, live_door=False, live_terminal=False)
        await window.goto("/app/orders")
        await window.press("Close LIVE position")
        await window.press("Sign and close the LIVE position")
        await window.state("Filled")
        assert float(str(trading.account.position("BTC"))) == 0
        # The key itself was never in a request, nor in anything that is kept in the open.
        kept = await page.evaluate(KEPT)
        assert set(kept[0]) == {"address", "salt", "iv", "box"}
        await window.goto("/app/own")
        await window.press("Remove key from this browser")
        await window.says("Forgotten here.")
        assert await page.evaluate(KEPT) == []
        await window.press("Revoke order key")
        await window.button(MAKE).wait_for()


async def test_an_agents_order_is_opened_signed_and_sent_straight_to_the_venue(
    trading: TradingStage,
) -> None:
    site, p = trading.site, trading.person
    async with trading.window() as window:
        page = window.page
        await trading.ready(window)
        scout = await agent(site.desk, Trader(site.desk, p, 0))
        await window.goto("/app/orders")
        await proposed(trading, scout)
        await window.says(SAID)
        # A press in the half second after the list changed by itself is void.
        await page.wait_for_timeout(600)
        await window.press("Look at today’s price")
        await page.get_by_text("This service cannot reach the venue?").click()
        await window.press("Sign, and send it LIVE from this browser")
        await window.state("Filled")
    assert len(trading.account.history) == 1


async def test_a_keeper_key_is_approved_and_revoked_by_the_wallet_and_stays_with_its_signer(
    trading: TradingStage, figures: dict[str, Any]
) -> None:
    wallet = trading.wallet
    async with a_signer(trading.site.desk), trading.window() as window:
        await trading.linked(window)
        key = (await window.page.locator("#keeper-key").inner_text()).strip()
        assert await looked_at(window, "trading keeper key", figures) == []
        other, wallet.account = wallet.account, Account.create().address
        await window.press("Approve keeper key")
        await window.says("Your wallet shows another account.")
        wallet.account = other
        await window.press("Approve keeper key")
        await window.button("Revoke keeper key").wait_for()
        (agent,) = trading.account.agents.values()
        assert agent.address.lower() == key.lower()
        assert agent.name.startswith("wsvc-k-")
        assert wallet.count("eth_signTypedData_v4") == 1
        await window.press("Revoke keeper key")
        await window.button("Approve keeper key").wait_for()
        assert not trading.account.agents
        assert (await window.page.locator("#keeper-key").inner_text()).strip() != key


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


async def test_altered_orders_cannot_be_signed_and_the_page_says_why(trading: TradingStage) -> None:
    site, wallet = trading.site, trading.wallet
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

    async with trading.window() as window:
        page = window.page
        await trading.ready(window)
        await page.route(f"{site.base}/app/orders", listen)
        await page.route(f"{site.desk.urls[0]}/info", another)
        await trading.to_the_signature(window)
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
    assert not trading.account.history


async def test_a_text_to_link_that_names_somebody_else_cannot_be_signed(
    trading: TradingStage,
) -> None:
    p, wallet = trading.person, trading.wallet

    async def alter(route: Any) -> None:
        answer = await route.fetch()
        text = await answer.text()
        whose = str(p.caller.address)
        body = text.replace(f"signed in with {whose}", "signed in with 0x" + "ee" * 20)
        assert body != text
        await route.fulfill(response=answer, body=body)

    async with trading.window() as window:
        page = window.page
        await page.route("**/app/own/challenge", alter)
        await window.goto("/app/own")
        await window.press(TAKE)
        await window.says("It lacks: signed in with")
        assert await window.button(LINK).is_disabled()
    assert wallet.count("personal_sign") == 0


async def test_a_wallet_that_signs_one_text_in_two_ways_gets_no_key(trading: TradingStage) -> None:
    site, p, wallet = trading.site, trading.person, trading.wallet
    await site.desk.link(p)
    wallet.fickle = True
    async with trading.window() as window:
        await window.goto("/app/own")
        await window.press(MAKE)
        await window.says("No key was made.")
        wallet.account = Account.create().address
        await window.press(MAKE)
        await window.says("Your wallet shows another account.")
    assert wallet.count("eth_signTypedData_v4") == 0


async def test_every_trading_page_is_fine_in_each_of_its_states(
    trading: TradingStage, figures: dict[str, Any]
) -> None:
    desk, p = trading.site.desk, trading.person
    values, wrong = dict(NOWHERE), list[str]()
    pages = [page for page in opened() if page in FAMILIES]
    assert len(pages) == 6
    async with trading.window() as window:

        async def every_page(state: str) -> None:
            found = [*stations(values, pages), f"/app/hall/{values['agent'][0]}"]
            wrong.extend(await all_of(window, found, f"trading {state}", figures))

        async def this_page(state: str) -> None:
            wrong.extend(await looked_at(window, f"trading {state}", figures))

        await every_page("unlinked")
        await window.goto("/app/own")
        await window.press(TAKE)
        await window.button(LINK).wait_for()
        await this_page("text to link")
        await trading.linked(window)
        await every_page("linked")
        await trading.keyed(window)
        scout = await agent(desk, Trader(desk, p, 0))
        values["agent"] = [str(scout.user_id)]
        await desk.ok("own_paper_book_open", p.caller, name="Trial", agent_id=scout.user_id)
        await proposed(trading, scout)
        await trading.to_the_signature(window)
        await window.page.locator("[data-check=venue].ok").wait_for()
        await this_page("to sign")
        await window.press("Sign and place LIVE order")
        await window.state("Filled")
        values["order"] = [row["order_id"] for row in await desk.rows("orders")]
        await every_page("live")
        await switched(trading.site, live_door=False)
        (book,) = (await desk.ok("own_paper_books", p.caller))["books"]
        values["book"] = [book["book"]]
        await desk.ok(
            "trade_order", p.caller, product="BTC", side="buy", type="market",
            notional_usdc="20", book=book["book"], mode_seen="paper",
        )  # fmt: skip
        await every_page("paper")
        await window.goto("/app/orders")
        await window.page.get_by_label("Find a product").fill("nope")
        await window.press("Find product")
        await window.says("No product has this in its name.")
        await this_page("not found")
        await window.goto("/app/orders?find=BTC")
        await window.page.get_by_role("radio", name="BTC", exact=True).check()
        await window.page.get_by_label("How much").fill("20")
        await window.press("Show price, fee and limits")
        await window.says("Before you place it")
        await this_page("looked at")
        await window.page.get_by_label("How much").fill("1")
        await window.press("Place PAPER order")
        await window.page.get_by_role("alert").wait_for()
        await this_page("refused")
    assert wrong == []
