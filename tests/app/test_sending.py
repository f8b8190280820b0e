"""What the wallet is asked to send, page by page, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from chain.contracts import abi_codec
from domain.chain_facts import Call
from domain.money import Usdc
from tests.app.lives import LIVES, created
from tests.app.site import Browser, Page, Site, a_site
from tests.app.test_pages import fine
from tests.world import CHAIN_ID, HUB_GAS, PLENTY, Evm, Mandated, a_world, signed, working

pytestmark = pytest.mark.anyio


def calls(page: Page) -> list[dict[str, Any]]:
    return list(json.loads(page.one("script", id="calls").text))


async def send(m: Mandated, browser: Browser, page: Page, base: str) -> Page:
    """Send what a page prepared, and hand the hash in as its script does."""
    tx = ""
    for call in calls(page):
        ok, tx = await m.world.mined(m.owner_wallet, call, gas=PLENTY)
        assert ok
    what = page.one("input", name="for").attributes["value"]
    form = {"csrf": page.token(), "for": what, "tx_hash": tx}
    gone = await browser.post(f"{base}/sent", form)
    assert (gone.status, gone.headers["Location"]) == (303, f"{base}/tx/{tx}?for={what}")
    return await browser.get(gone.headers["Location"])


async def test_a_vault_is_made_funded_paused_resumed_and_left(site: Site) -> None:
    m, browser, base = await site.of(signed(site.world))
    await site.world.mint(m.owner_wallet.address, "1000")
    page = await browser.get(f"{base}/create")
    fine(page)
    assert "Tried out just now: it works" in page.said
    assert (await send(m, browser, page, base)).headers["Location"] == f"{base}/fund"
    page = await browser.get(f"{base}/fund")
    fine(page)
    assert [c["step"] for c in calls(page)] == ["approve", "deposit"]
    assert "Approve and deposit 500.00 USDC" in page.said
    assert (await send(m, browser, page, base)).headers["Location"] == base
    for kind, after in (("pause", "Paused"), ("resume", "Active"), ("withdraw", "Settled")):
        page = await browser.get(f"{base}/{kind}")
        fine(page)
        assert "Tried out just now: it works" in page.said
        assert (await send(m, browser, page, base)).headers["Location"] == base
        assert after in (await browser.get(base)).one("h1").text
    assert (await browser.get(f"{base}/create")).headers["Location"] == base


async def test_an_amount_is_refused_or_approved_and_an_approval_that_stands_leaves_the_deposit(
    site: Site,
) -> None:
    m, browser, base = await site.of(created(site.world))
    await site.world.mint(m.owner_wallet.address, "1000")
    page = await browser.get(f"{base}/fund?amount=120.5")
    assert "Approve and deposit 120.50 USDC" in page.said
    assert page.one("input", name="amount").attributes["value"] == "120.50"
    for amount, says in (("501", "over"), ("0", "above 0"), ("x<b>", "")):
        refused = await browser.get(f"{base}/fund?amount={amount}")
        fine(refused)
        assert says in refused.one("div", role="alert").text
        assert not refused.all("script", id="calls"), amount
        assert "The agent has to fix this" not in refused.said
    ok, _ = await m.world.mined(m.owner_wallet, calls(page)[0], gas=PLENTY)
    assert ok
    page = await browser.get(f"{base}/fund?amount=120.5")
    fine(page)
    assert [c["step"] for c in calls(page)] == ["deposit"]
    assert "You have approved this amount already" in page.said


async def test_a_transaction_that_is_not_seen_is_not_to_be_sent_again(site: Site) -> None:
    _, browser, base = await site.of(signed(site.world))
    page = await browser.get(f"{base}/tx/0x{'12' * 32}?for=create")
    fine(page)
    assert "Do not send it again." in page.said
    assert f"{base}/create?again=1" in page.links()
    for odd in ("nothing", "0x12", "0x" + "zz" * 32, ""):
        assert (await browser.submit(base, f"{base}/sent", tx_hash=odd)).status == 400, odd
    for of_no_page in ("", "?for=zzz"):
        page = await browser.get(f"{base}/tx/0x{'cd' * 32}{of_no_page}")
        fine(page)
        assert "None" not in page.links()


async def test_a_transaction_that_failed_says_so_and_leads_back_to_start_over(site: Site) -> None:
    m, browser, base = await site.of(working(site.world))
    (call,) = calls(await browser.get(f"{base}/stop"))
    assert (await m.world.mined(m.owner_wallet, call, gas=PLENTY))[0]
    ok, tx = await m.world.mined(m.owner_wallet, call, gas=PLENTY)
    assert not ok
    page = await browser.get(f"{base}/tx/{tx}?for=stop")
    fine(page)
    assert "Failed" in page.said
    assert "It cost gas, and moved nothing" in page.said
    again = f"{base}/unwind?again=1"
    assert again in (await browser.get(f"{base}/tx/{tx}?for=unwind")).links()
    asked = await browser.get(again, Sec_Fetch_Site="same-origin")
    fine(asked)
    assert "No position is open." in asked.said


async def test_a_transaction_of_something_else_changes_nothing(site: Site) -> None:
    m, browser, base = await site.of(working(site.world))
    (call,) = calls(await browser.get(f"{base}/pause"))
    ok, tx = await m.world.mined(m.owner_wallet, call, gas=PLENTY)
    assert ok
    page = await browser.get(f"{base}/tx/{tx}?for=withdraw")
    fine(page)
    assert "it is not the one that this page expected" in page.said
    other = await working(site.world)
    call = (await other.as_owner("owner_pause_call")).body["call"]
    ok, tx = await other.world.mined(other.owner_wallet, call, gas=PLENTY)
    assert ok
    page = await browser.get(f"{base}/tx/{tx}?for=pause")
    fine(page)
    assert "it did nothing with this vault" in page.said
    assert f"{base}/pause?again=1" in page.links()


async def test_positions_are_closed_and_the_rest_is_withdrawn(site: Site) -> None:
    m, browser, base = await site.of(LIVES["stopped"](site.world))
    page = await browser.get(f"{base}/leave")
    fine(page)
    assert "Open positions hold the money for now" in page.said
    assert "Take 40.00 USDC out of Test Market" in page.said
    assert not [i for i in page.all("input") if i.attributes.get("type") != "hidden"]
    exit_page = f"{base}/unwind?market=test-market"
    assert exit_page in page.links()
    again = await browser.get(f"{base}/unwind?again=1", Sec_Fetch_Site="same-origin")
    assert f"{exit_page}&again=1" in again.links()
    odd = await browser.get(f"{base}/unwind?market=nowhere")
    fine(odd)
    assert odd.one("div", role="alert")
    assert not odd.all("script", id="calls")
    page = await browser.get(exit_page)
    fine(page)
    assert "Take 40.00 USDC out of Test Market" in page.one("h1").text
    assert page.one("p", data_says="exit").text.startswith("0xba087652")
    assert (await send(m, browser, page, base)).headers["Location"] == f"{base}/leave"
    page = await browser.get(f"{base}/leave")
    fine(page)
    assert f"{base}/withdraw" in page.links()
    assert not [link for link in page.links() if "/unwind" in link]
    gone = await browser.get(exit_page)
    assert "Nothing is left in this market." in gone.one("div", role="alert").text
    page = await browser.get(f"{base}/withdraw")
    assert (await send(m, browser, page, base)).headers["Location"] == base
    assert "Settled" in (await browser.get(base)).one("h1").text
    page = await browser.get(f"{base}/leave")
    fine(page)
    assert "Everything was paid out." in page.said


async def test_no_link_of_a_stranger_makes_a_page_forget_what_was_sent(site: Site) -> None:
    _, browser, base = await site.of(working(site.world))
    asked = f"{base}/fund?amount=1&again=1"
    for elsewhere in ("cross-site", "same-site", "none"):
        led = await browser.get(asked, Sec_Fetch_Site=elsewhere)
        assert (led.status, led.headers["Location"]) == (303, f"{base}/fund?amount=1")
    assert (await browser.get(asked, Sec_Fetch_Site="same-origin")).status == 200
    way_in = await browser.get(f"/app/sign-in?next={quote(asked, safe='')}")
    assert way_in.one("input", name="next").attributes["value"] == f"{base}/fund?amount=1"
    browser.cookies = {}  # a Strict cookie stays at home, and the page that opens itself again is ours
    led = await browser.get(asked, Sec_Fetch_Site="cross-site")
    assert (led.status, led.headers["Location"]) == (303, f"{base}/fund?amount=1")


async def test_a_record_that_refuses_exits_is_named_and_renewed_from_its_page(site: Site) -> None:
    m, browser, base = await site.of(LIVES["stopped"](site.world))
    assert "Record value" not in (await browser.get(base)).said
    lose = abi_codec.calldata("TestMarket", "lose", (Usdc.parse("10"),))
    await site.world.wallets[0].send(Call(CHAIN_ID, site.world.evm.market, lose))
    site.world.clock.forward(seconds=10)  # a vault that was just read is not read again
    page = await browser.get(base)
    fine(page)
    assert "Your vault has 40.00 USDC recorded for its open positions" in page.said
    assert "their value now is 30.00 USDC" in page.said
    assert f"{base}/record-value" in page.links()
    page = await browser.get(f"{base}/record-value")
    fine(page)
    assert "Tried out just now: it works" in page.said
    assert "Recording stops nothing, sells nothing and moves no money." in page.said
    assert [(c["to"], len(c["data"])) for c in calls(page)] == [(m.vault, 10)]
    assert (await send(m, browser, page, base)).headers["Location"] == base
    site.world.evm.chain.mine()
    site.world.clock.forward(seconds=10)
    assert "Record value" not in (await browser.get(base)).said
    await site.world.mint(site.world.evm.market, "5")
    site.world.clock.forward(seconds=10)
    page = await browser.get(base)
    fine(page)
    assert "so that exits are judged by what was gained too" in page.said
    assert f"{base}/record-value" in page.links()


@pytest.mark.parametrize("kind", ["fund", "unwind", "record-value"])
async def test_what_a_contract_wallet_sent_is_seen_by_what_it_did_to_the_vault(
    site: Site, kind: str
) -> None:
    m = await LIVES["created" if kind == "fund" else "stopped"](site.world)
    await site.world.mint(m.owner_wallet.address, "1000")
    browser, base = await site.signed_in(m.owner_wallet), f"/app/mandates/{m.id}"
    query = {"fund": "?amount=10", "unwind": "?market=test-market"}.get(kind, "")
    page = await browser.get(f"{base}/{kind}{query}")
    what = page.one("input", name="for").attributes["value"]
    # The wallet names a hash of its own, which no node knows.
    at = f"{base}/tx/0x{'12' * 32}?for={what}"
    waits = await browser.get(at)
    fine(waits)
    assert "Do not send it again." in waits.said
    assert f"{base}/{kind}?again=1" in waits.links()
    for call in calls(page):
        ok, tx = await m.world.mined(m.owner_wallet, call, gas=PLENTY)
        assert ok
    assert (await browser.get(at)).status == 200  # the vault's log is not read yet
    kinds = {"fund": "deposit", "unwind": "unwind", "record-value": "record"}
    done = await m.as_owner("owner_vault_tx", tx_hash=tx, kind=kinds[kind])
    assert done.status == 200, done.body
    gone = await browser.get(at)
    after = f"{base}/leave" if kind == "unwind" else base
    assert (gone.status, gone.headers.get("Location")) == (303, after)
    assert (await browser.get(at.partition(".")[0])).status == 200  # of no page of ours
    later = await browser.get(f"{base}/{kind}{query}")
    if later.all("input", name="for"):  # the same step once more waits for one of its own
        what = later.one("input", name="for").attributes["value"]
        assert (await browser.get(f"{base}/tx/0x{'34' * 32}?for={what}")).status == 200


async def test_the_hub_of_a_purse_with_limits_is_made_before_the_vault(
    sqlite_url: str, evm: Evm
) -> None:
    targets = [{"kind": "vault"}, {"kind": "x402", "purse": {"per_payment_usdc": "1"}}]
    async with a_world(sqlite_url, evm, purses=True) as world, a_site(world) as site:
        m, browser, base = await site.of(signed(world, allowed_targets=targets))
        assert world.facts is not None
        page = await browser.get(f"{base}/create")
        fine(page)
        assert [c["to"] for c in calls(page)] == [world.facts.purse_deployer, world.facts.factory]
        first, second = calls(page)
        for call, gas in ((first, HUB_GAS), (second, PLENTY)):
            ok, tx = await world.mined(m.owner_wallet, call, gas=gas)
            assert ok
        form = {"csrf": page.token(), "for": "create", "tx_hash": tx}
        gone = await browser.post(f"{base}/sent", form)
        landed = await browser.get(gone.headers["Location"])
        assert landed.headers["Location"] == f"{base}/fund"
