"""The own account's page over a local venue: linking, the order key, the builder fee."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from devtools.devvenue import VenueFault
from domain.trading.venue_account import ZERO_ADDRESS, agent_name
from tests.app.desks import TradingSite, a_trading_site, form, live_at_the_door, said, sent_to
from tests.app.site import Browser, Page
from tests.tools.trading.conftest import BUILDER, Person, order_key, signed
from tests.tools.trading.signers import a_signer

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("no_backoff")]


@pytest.fixture
async def site(sqlite_url: str) -> AsyncIterator[TradingSite]:
    async with a_trading_site(sqlite_url) as opened:
        yield opened


async def asked(browser: Browser, p: Person) -> Page:
    """The page with the text to sign."""
    at = await browser.get("/app/own")
    sent = form(at, "choose") | {"address": p.wallet.address}
    return await browser.post("/app/own/challenge", sent)


async def linked(browser: Browser, p: Person) -> Page:
    page = await asked(browser, p)
    text = page.one("pre", id="message").text
    sent = form(page, "link") | {"signature": signed(p.wallet, text)}
    done = await browser.post("/app/own/link", sent)
    assert done.status == 303, done.said
    return await browser.get("/app/own")


async def handed_in(
    site: TradingSite, browser: Browser, p: Person, ident: str, agent: str, **more: Any
) -> Page:
    """Fill in the form of a key as the browser does."""
    kind = "keeper" if ident.startswith("keeper") else "order"
    told = site.desk.approval(p, agent, kind=kind, **more)
    at = await browser.get("/app/own")
    brought = ("agent_address", "agent_name", "signature_chain_id")
    sent = form(at, ident) | {name: told[name] for name in brought}
    sent |= {"nonce": str(told["nonce"]), "signature": json.dumps(told["signature"])}
    return await browser.post(sent_to(at, ident), sent)


async def test_a_wallet_is_linked_by_a_text_that_is_shown_whole_before(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    first = await browser.get("/app/own")
    assert "No wallet is linked" in first.said
    assert "Link the wallet that you trade with." in first.said
    page = await asked(browser, p)
    assert page.status == 201
    text = page.one("pre", id="message").text
    for part in (
        p.wallet.address,
        str(p.caller.address),
        "does not move funds",
        "urn:venue:testnet",
    ):
        assert part in text
    done = await linked(browser, p)
    assert "test network, no real money" in done.said
    assert "Approve an order key." in done.said


async def test_another_wallets_signature_links_nothing_and_the_text_is_used_up(
    site: TradingSite,
) -> None:
    p, thief = await site.desk.person(), await site.desk.person()
    browser = await site.signed_in(p)
    page = await asked(browser, p)
    text = page.one("pre", id="message").text
    sent = form(page, "link") | {"signature": signed(thief.wallet, text)}
    wrong = await browser.post("/app/own/link", sent)
    assert wrong.status >= 400
    assert "No wallet is linked" in wrong.said
    again = await browser.post("/app/own/link", sent | {"signature": signed(p.wallet, text)})
    assert again.status >= 400
    assert "No wallet is linked" in again.said


async def test_a_key_is_approved_verified_and_revoked(site: TradingSite) -> None:
    p = await site.desk.linked()
    browser = await site.signed_in(p)
    before = await browser.get("/app/own")
    for sentence in (
        "place and cancel orders of any size",
        "withdraw: your money cannot leave your account with it",
        "It is made in this browser and never leaves it.",
        "A service that is taken over could change this page and misuse a key while it is open",
    ):
        assert sentence in before.said
    done = await handed_in(site, browser, p, "enable", order_key(1))
    assert done.status == 303, done.said
    page = await browser.get("/app/own")
    assert said(page, "key").startswith("Order keyApproved")
    assert order_key(1)[2:6] in page.said
    name = site.desk.approval(p, ZERO_ADDRESS)["agent_name"].partition(" ")[0]
    gone = await handed_in(site, browser, p, "revoke", ZERO_ADDRESS, agent_name=name)
    assert gone.status == 303
    assert "Create and approve order key" in (await browser.get("/app/own")).said


async def test_a_keeper_key_is_approved_and_revoked_from_the_page(site: TradingSite) -> None:
    p = await site.desk.linked()
    browser = await site.signed_in(p)
    page = await browser.get("/app/own")
    assert "No key can be approved just now" in said(page, "keeper")
    assert not page.all("form", id="keeper-enable")
    async with a_signer(site.desk):
        page = await browser.get("/app/own")
        assert "that signer is the only fence around it" in said(page, "keeper")
        assert form(page, "keeper-enable")["kind"] == "keeper"
        key = "".join(page.one("dd", id="keeper-key").text.split())
        refused = await handed_in(site, browser, p, "keeper-enable", order_key(9))
        assert refused.status == 400  # not the signer's
        assert refused.all("div", role="alert")
        bent = form(refused, "keeper-enable") | {"kind": "other"}
        assert (await browser.post("/app/own/enable", bent)).status == 400
        assert await site.desk.rows("venue_agent_keys") == []
        unnamed = VenueFault(effect="malformed", kind="extraAgents", value=[])
        site.desk.test.faults.add(unnamed)
        done = await handed_in(site, browser, p, "keeper-enable", key)
        assert (done.status, done.headers["Location"]) == (303, "/app/own#keeper")
        page = await browser.get("/app/own")
        assert said(page, "keeper").startswith("Keeper keyNot confirmed by the venue")
        site.desk.test.faults.clear()
        site.desk.clock.at += timedelta(minutes=2)
        assert (await browser.submit("/app/own", "/app/own/verify")).status == 303
        page = await browser.get("/app/own")
        assert said(page, "keeper").startswith("Keeper keyApproved")
        assert said(page, "key").startswith("Order keyNone")
        assert not page.all("form", id="keeper-enable")
        name = agent_name(str(p.caller.user_id), "testnet", "keeper")
        done = await handed_in(site, browser, p, "keeper-revoke", ZERO_ADDRESS, agent_name=name)
        assert done.status == 303, done.said
        page = await browser.get("/app/own")
        assert said(page, "keeper").startswith("Keeper keyNone, and not required")
        assert "".join(page.one("dd", id="keeper-key").text.split()) != key


async def test_an_approval_of_another_name_nonce_or_signature_is_refused_beside_the_form(
    site: TradingSite,
) -> None:
    p = await site.desk.linked()
    browser = await site.signed_in(p)
    sent = form(await browser.get("/app/own"), "enable")
    for changes in (
        {},
        {"nonce": "1", "signature": "{", "signature_chain_id": "x", "agent_address": "0x1"},
        {"nonce": "-1", "signature": "[]"},
    ):
        page = await browser.post("/app/own/enable", sent | changes)
        assert page.status == 400, changes
        assert page.all("div", role="alert")
    other = await handed_in(
        site, browser, p, "enable", order_key(2), agent_name="mine valid_until 1"
    )
    assert other.status == 400


async def test_a_key_that_the_venue_does_not_name_yet_can_be_asked_for_again(
    site: TradingSite,
) -> None:
    p = await site.desk.linked()
    browser = await site.signed_in(p)
    site.desk.test.faults.add(
        VenueFault(effect="status", route="/info", kind="extraAgents", status=500)
    )
    await handed_in(site, browser, p, "enable", order_key(3))
    page = await browser.get("/app/own")
    assert "Not confirmed by the venue" in page.said
    site.desk.test.faults.clear()
    site.desk.clock.at += timedelta(minutes=2)
    again = await browser.submit("/app/own", "/app/own/verify")
    assert again.status == 303, again.said
    assert "Not confirmed" not in (await browser.get("/app/own")).said


async def test_the_builder_fee_is_said_with_an_example_and_only_the_venue_makes_it_approved(
    site: TradingSite,
) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await browser.get("/app/own")
    assert "on 1,000.00 USDC it costs 1.00" in page.said
    assert "Not approved, and not required" in page.said
    sent = form(page, "fee")
    assert sent["max_fee_rate"] == "0.1%"
    claimed = await browser.post("/app/own/builder-fee", sent)
    assert claimed.status == 303, claimed.said
    assert "Not approved, and not required" in (await browser.get("/app/own")).said
    account = site.desk.main.state.account(t.person.wallet.address)
    assert account is not None
    account.builders[BUILDER.address.lower()] = 100
    site.desk.clock.at += timedelta(minutes=2)
    page = await browser.get("/app/own")
    assert "Revoke approval" in page.said
    assert form(page, "fee")["max_fee_rate"] == "0%"


async def test_without_a_builder_there_is_no_word_of_a_fee(sqlite_url: str) -> None:
    async with a_trading_site(sqlite_url, builder_address=None) as site:
        p = await site.desk.linked()
        assert "Builder fee" not in (await (await site.signed_in(p)).get("/app/own")).said
