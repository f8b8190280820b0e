"""The trading pages over a local venue: every mode, switch, refusal and state that they can show."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from app.page_context import PageFrame
from app.pages import orders
from app.templates import render
from app.words.refusals import SENTENCES, WHO
from devtools.devvenue import VenueFault
from domain.refusals import REFUSALS
from tests.app.desks import (
    TradingSite,
    a_trading_site,
    block,
    form,
    live_at_the_door,
    said,
    switched,
)
from tests.app.site import Browser, Page
from tests.tools.trading.conftest import PATIENCE_S
from tests.tools.trading.orders import Trader, agent, allow, trader

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("no_backoff")]
TICKET = {"product": "BTC", "side": "buy", "type": "market", "amount": "20", "unit": "usdc"}


@pytest.fixture
async def site(sqlite_url: str) -> AsyncIterator[TradingSite]:
    async with a_trading_site(sqlite_url) as opened:
        yield opened


async def press(browser: Browser, mode: str, **changes: str) -> Page:
    """Fill the ticket and press the button of a mode."""
    at = await browser.get("/app/orders")
    keys = [e.attributes["value"] for e in at.all("input", name="key")]
    ticket = next(k for k in keys if k.count("-") == 0)
    sent = {"csrf": at.token(), "key": ticket, **TICKET, "mode_seen": mode} | changes
    return await browser.post("/app/orders", sent)


async def follow(browser: Browser, page: Page) -> Page:
    assert page.status == 303, page.said
    return await browser.get(page.headers["Location"])


async def prepared(browser: Browser, **changes: str) -> Page:
    page = await press(browser, "live", **changes)
    assert page.status == 201, page.said
    return page


async def hand_in(t: Trader, browser: Browser, page: Page, **changes: Any) -> Page:
    """Sign as the page's script does, and send its form."""
    sent = form(page, "signed") | {"signature": json.dumps(t.sign(block(page)))} | changes
    to = next(e for e in page.all("form") if e.attributes.get("id") == "signed")
    return await browser.post(to.attributes["action"], sent)


def path_of(page: Page) -> str:
    """The address of the order that a page asks to sign."""
    return page.one("form", id="signed").attributes["action"].removesuffix("/sign")


# -- modes


async def test_with_live_off_the_page_says_paper_and_its_button_too(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    page = await browser.get("/app/orders")
    assert page.status == 200
    assert [b.text for b in page.all("button", name="mode_seen")] == ["Place PAPER order"]
    assert "Orders of yours are on paper" in page.said
    assert [a.text for a in page.all("a", aria_current="page")] == ["Orders", "Orders"]
    assert "The operator has to switch them on" in said(page, "locks")


async def test_a_paper_order_is_placed_at_once_and_says_paper_on_each_figure(
    site: TradingSite,
) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    page = await follow(browser, await press(browser, "paper"))
    facts = [e for e in page.all("dd") if any(c.isdigit() for c in e.text)]
    assert "Done" in page.said
    assert "no trade took place" in page.said
    order = await site.desk.ok("own_paper_books", p.caller)
    assert order["books"][0]["trades"] == 1
    figures = [e.text for e in facts if "USDC" in e.text or e.text.strip()[:5] == "Paper"]
    assert figures
    assert all(text.strip().startswith("Paper") for text in figures)


async def test_live_is_prepared_and_signed_on_two_pages_and_says_live(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    at = await browser.get("/app/orders")
    assert [b.text for b in at.all("button", name="mode_seen")] == ["Prepare LIVE order"]
    page = await prepared(browser)
    assert "Sign and place LIVE order" in page.said
    assert "at the market, 0.5% off the best price" in page.said
    assert t.posted("mainnet") == 0
    done = await follow(browser, await hand_in(t, browser, page))
    assert "Done" in done.said
    assert t.posted("mainnet") == 1
    site.desk.clock.at += timedelta(seconds=3)
    positions = await browser.get("/app/orders")
    assert "Close LIVE position" in said(positions, "positions")


async def test_mode_seen_is_what_the_page_showed_when_the_button_was_pressed(
    site: TradingSite,
) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await browser.get("/app/orders")
    sent = {"csrf": page.token(), "key": "f_1", **TICKET, "mode_seen": "live"}
    await switched(site, live_door=False)
    refused = await browser.post("/app/orders", sent)
    assert refused.status == 403
    assert "Live orders are switched off here" in refused.said
    assert [b.text for b in refused.all("button", name="mode_seen")] == ["Place PAPER order"]
    assert refused.one("input", id="amount").attributes["value"] == "20"
    await switched(site, live_door=True)
    paper = await browser.post("/app/orders", sent | {"mode_seen": "paper", "key": "f_2"})
    assert paper.status == 409
    assert "It changed between paper and live" in paper.said
    assert t.posted("mainnet") == 0


async def test_a_form_that_arrives_twice_makes_one_order(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    at = await browser.get("/app/orders")
    sent = {"csrf": at.token(), "key": "f_twice", **TICKET, "mode_seen": "live"}
    first, second = await browser.post("/app/orders", sent), await browser.post("/app/orders", sent)
    assert first.status == 201
    shown = await follow(browser, second)
    assert "Waits for your signature" in shown.said
    assert "Look at today’s price and sign" in shown.said
    waiting = (await site.desk.ok("order_pending", t.caller))["orders"]
    assert len(waiting) == 1
    other = await browser.post("/app/orders", sent | {"amount": "21"})
    assert other.status == 409
    assert "sent before with other contents" in other.said


async def test_a_signature_handed_in_twice_sends_one_order(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await prepared(browser)
    signature = json.dumps(t.sign(block(page)))
    for _ in range(2):
        assert (
            "Done"
            in (await follow(browser, await hand_in(t, browser, page, signature=signature))).said
        )
    assert t.posted("mainnet") == 1


# -- refusals


def test_each_of_the_13_refusals_has_a_sentence_for_a_person() -> None:
    assert {c for c in REFUSALS if c.startswith("wallet_")} <= set(SENTENCES)


async def test_what_is_refused_stands_beside_the_ticket_with_what_was_typed(
    site: TradingSite,
) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    wrong = await press(browser, "live", product="<b>x</b>", amount="20")
    assert wrong.status == 422
    assert "cannot be taken as it is written" in wrong.said
    assert wrong.one("input", id="product").attributes["value"] == "<b>x</b>"
    small = await press(browser, "live", amount="9.99")
    assert small.status == 422
    above = await press(browser, "live", amount="51")
    assert above.status == 403
    assert "above a limit" in above.said
    assert "The limit: 50.000000" in above.said
    unlisted = await site.desk.linked()
    other = await site.signed_in(unlisted)
    refused = await press(other, "live")
    assert refused.status == 403
    assert "not on the operator’s list" in refused.said


async def test_without_a_link_or_a_key_the_page_leads_to_the_own_account(
    site: TradingSite,
) -> None:
    await switched(site, live_door=True, venue_mainnet=True)
    p = await site.desk.person()
    await allow(site.desk, str(p.caller.user_id))
    browser = await site.signed_in(p)
    refused = await press(browser, "live")
    assert refused.status == 409
    assert "cannot trade live yet" in refused.said
    assert "/app/own" in refused.links()


async def test_the_throttle_is_told_with_its_end(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    for _ in range(10):
        await site.desk.do("trade_order", p.caller, product="no such", mode_seen="paper")
    for _ in range(11):
        page = await press(browser, "paper", product="nope!")
    assert page.status == 429
    assert "Too many orders in a short time" in page.said
    assert "It becomes possible at" in page.said


async def test_a_venue_that_is_away_gives_no_product_and_no_position_but_a_page(
    sqlite_url: str,
) -> None:
    async with a_trading_site(sqlite_url, down=True) as site:
        p = await site.desk.person()
        browser = await site.signed_in(p)
        page = await browser.get("/app/orders")
        assert page.status == 200
        assert "no product can be named" in page.said
        refused = await press(browser, "paper")
        assert refused.status == 503
        assert "The venue does not answer. Nothing was sent." in refused.said
        own = await browser.get("/app/own")
        assert own.status == 200


async def test_an_order_of_which_nobody_knows_is_shown_as_that_and_not_sent_again(
    sqlite_url: str,
) -> None:
    async with a_trading_site(sqlite_url, result_s=PATIENCE_S + 2) as site:
        t = await live_at_the_door(site)
        browser = await site.signed_in(t.person)
        page = await prepared(browser)
        for route, kind in (("/exchange", "order"), ("/info", "orderStatus")):
            site.desk.main.faults.add(VenueFault(effect="hang", route=route, kind=kind))
        shown = await follow(browser, await hand_in(t, browser, page))
        assert "Not known yet" in shown.said
        assert "Do not send it again" in shown.said
        assert shown.one("section", id="order").attributes["data-live"]
        assert not [b for b in shown.all("button") if "Cancel" in b.text or "sign" in b.text]
        at = await browser.get("/app/orders")
        assert "Not known yet" in said(at, "under-way")


async def test_a_refusal_of_the_venue_is_told_in_its_words(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await prepared(browser, type="limit", limit_px="60000", tif="ioc")
    shown = await hand_in(t, browser, page)
    assert shown.status in (200, 303, 422), shown.said
    whole = await follow(browser, shown) if shown.status == 303 else shown
    assert "Refused" in whole.said
    assert "could not immediately match" in whole.said


async def test_bytes_whose_time_is_up_are_refused_and_opened_again(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await prepared(browser)
    site.desk.clock.at += timedelta(seconds=121)
    late = await hand_in(t, browser, page)
    assert late.status in (409, 422)
    assert "Lapsed" in late.said
    assert t.posted("mainnet") == 0


async def test_a_signature_of_another_key_or_none_sends_nothing(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await prepared(browser)
    for wrong in (
        json.dumps(t.sign(block(page), key=99)),
        json.dumps(t.sign(block(page), high=True)),
    ):
        refused = await hand_in(t, browser, page, signature=wrong)
        assert refused.status == 422
        assert "The signature does not fit this order" in refused.said
        assert "Look at today’s price and sign" in refused.said
    for wrong in ("", "{", "[]", "null"):
        refused = await hand_in(t, browser, page, signature=wrong)
        assert refused.status == 422, wrong
    assert t.posted("mainnet") == 0


@pytest.mark.parametrize("code", [c for c in REFUSALS if c.startswith("wallet_")])
async def test_the_page_shows_each_of_the_13_refusals_with_who_can_fix_it(
    site: TradingSite, code: str
) -> None:
    t = await live_at_the_door(site)
    caller = t.caller
    replies = [
        await site.desk.ok(name, caller)
        for name in ("trade_me", "trade_positions", "order_pending", "order_under_way",
                     "trade_products", "own_paper_books", "owner_agents")
    ]  # fmt: skip
    kind = REFUSALS[code]
    told = {
        "error": code, "reason": "REASON <b>", "who_fixes": kind.who_fixes,
        "retry_safe": kind.retry_safe, "next": [], "remaining": {"limit": "50.000000"},
    }  # fmt: skip
    view = orders.with_refusal(orders.orders_view(*replies), told, {"product": "<i>"})
    shell = PageFrame(demo=False, form_key="f_1", path="/app/orders", owner="0x" + "1" * 40, csrf="c", chain_id=1, chain_name="One",
                  theme="")  # fmt: skip
    source = render("orders.html", page=shell, view=view)
    assert SENTENCES[code] in source
    assert WHO[kind.who_fixes] in source
    assert "REASON <b>" not in source
    assert "<i>" not in source.replace("<i></i>", "")


# -- agents


async def test_an_agents_order_waits_for_its_owner_who_opens_it_at_todays_price(
    site: TradingSite,
) -> None:
    t = await live_at_the_door(site)
    scout = await agent(site.desk, t)
    made = await site.desk.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20",
        mode_seen="live", why="<script>alert(1)</script>",
    )  # fmt: skip
    assert made["to_sign"] is None
    browser = await site.signed_in(t.person)
    at = await browser.get("/app/orders")
    waiting = said(at, "waiting")
    assert "The agent’s own words. Nobody has checked them. Scout u_" in waiting
    assert "<script>alert" not in at.source
    order_id = made["order"]["order_id"]
    page = await browser.submit("/app/orders", f"/app/orders/{order_id}/open")
    assert page.status == 201
    assert form(page, "signed")["step"] == "execute"
    assert "Done" in (await follow(browser, await hand_in(t, browser, page))).said


async def test_an_agents_order_on_the_test_network_is_signed_for_that_network(
    site: TradingSite,
) -> None:
    await switched(site, live_terminal=True)
    t = await trader(site.desk)
    scout = await agent(site.desk, t)
    made = await site.desk.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20",
        mode_seen="live",
    )  # fmt: skip
    browser = await site.signed_in(t.person)
    at = await browser.get("/app/orders")
    assert [b.text for b in at.all("button", name="mode_seen")] == ["Place PAPER order"]
    page = await browser.submit("/app/orders", f"/app/orders/{made['order']['order_id']}/open")
    assert "no real money" in page.said
    assert site.desk.urls[1] in page.headers["Content-Security-Policy"]
    assert block(page)["typed_data"]["message"]["source"] == "b"
    assert "Done" in (await follow(browser, await hand_in(t, browser, page))).said
    assert (t.posted("testnet"), t.posted("mainnet")) == (1, 0)


async def test_a_close_that_cannot_be_verified_says_what_to_do_at_the_venue(
    site: TradingSite,
) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    await follow(browser, await hand_in(t, browser, await prepared(browser)))
    site.desk.clock.at += timedelta(seconds=3)
    at = await browser.get("/app/orders")
    site.desk.main.faults.add(VenueFault(effect="status", route="/info", kind="l2Book", status=500))
    page = await browser.post(
        "/app/orders/close",
        {"csrf": at.token(), "product": "BTC", "mode_seen": "live", "key": "c_1"},
    )
    assert page.status == 503
    assert "Nothing was sent." in page.said
    assert "At the venue itself you can close it at any time: Sell" in page.said


async def test_anothers_order_is_not_here(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    mine = await site.signed_in(t.person)
    page = await prepared(mine)
    path = path_of(page)
    other = await site.signed_in(await site.desk.person())
    assert (await other.get(path)).status == 404
    for step in ("open", "cancel", "sign", "record"):
        assert (await other.submit("/app/orders", f"{path}/{step}")).status == 404


# -- cancel, close, limits


async def test_a_resting_order_is_taken_back_with_a_signature_whatever_is_switched_off(
    site: TradingSite,
) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await prepared(browser, type="limit", limit_px="60000", tif="gtc")
    shown = await follow(browser, await hand_in(t, browser, page))
    assert "Rests at the venue" in shown.said
    listed = await browser.get("/app/orders")
    assert "Rests at the venue" in said(listed, "under-way")
    assert path_of(page) in listed.links()
    await switched(site, live_door=False, live_terminal=False)
    path = path_of(page)
    asked = await browser.submit("/app/orders", f"{path}/cancel")
    assert asked.status == 201
    assert "Sign and cancel the LIVE order" in asked.said
    assert "Cancelled" in (await follow(browser, await hand_in(t, browser, asked))).said


async def test_an_unsent_order_is_taken_back_without_a_signature(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    page = await prepared(browser)
    path = path_of(page)
    done = await browser.submit("/app/orders", f"{path}/cancel")
    assert "Cancelled" in (await follow(browser, done)).said


async def test_a_live_position_is_closed_with_every_lock_shut(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    await follow(browser, await hand_in(t, browser, await prepared(browser)))
    await switched(site, live_door=False, live_terminal=False)
    at = await browser.get("/app/orders")
    assert [b.text for b in at.all("button", name="mode_seen")] == ["Place PAPER order"]
    page = await browser.post(
        "/app/orders/close",
        {"csrf": at.token(), "product": "BTC", "mode_seen": "live", "key": "c_1"},
    )
    assert page.status == 201, page.said
    assert "Sign and close the LIVE position" in page.said
    assert "A close counts against no limit." in page.said
    assert "Done" in (await follow(browser, await hand_in(t, browser, page))).said
    assert float(t.size(network="mainnet")) == 0
    again = await browser.post(
        "/app/orders/close",
        {"csrf": at.token(), "product": "BTC", "mode_seen": "live", "key": "c_2"},
    )
    assert again.status == 409
    assert "nothing to close" in again.said


async def test_a_paper_position_is_closed_at_once(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    await press(browser, "paper")
    at = await browser.get("/app/orders")
    assert "Close PAPER position" in said(at, "positions")
    assert "not known yet" not in said(at, "positions")
    book = (await site.desk.ok("own_paper_books", p.caller))["books"][0]["book"]
    done = await browser.post(
        "/app/orders/close",
        {"csrf": at.token(), "product": "BTC", "mode_seen": "paper", "book": book, "key": "c_1"},
    )
    assert "Done" in (await follow(browser, done)).said
    assert "There is no open position." in said(await browser.get("/app/orders"), "positions")


async def test_limits_only_fall(site: TradingSite) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    lower = await browser.submit("/app/orders", "/app/orders/limits", per_order_usdc="25")
    assert "25.00" in said(await follow(browser, lower), "limits")
    raised = await browser.submit("/app/orders", "/app/orders/limits", per_order_usdc="26")
    assert raised.status == 409
    assert "Limits only fall here" in raised.said
    assert "Your limit, an order: 25.000000" in raised.said
    odd = await browser.submit("/app/orders", "/app/orders/limits", per_day_usdc="1e2")
    assert odd.status == 422


# -- the gate


async def test_live_orders_so_far_are_paged_with_what_became_of_each(
    site: TradingSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "A_PAGE", 2)
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    assert "There is none." in (await browser.get("/app/orders/history")).said
    await follow(browser, await hand_in(t, browser, await prepared(browser)))
    site.desk.clock.at += timedelta(seconds=3)
    taken_back = path_of(await prepared(browser))
    await browser.post(f"{taken_back}/cancel", {"csrf": (await browser.get("/app")).token()})
    scout = await agent(site.desk, t)
    site.desk.clock.at += timedelta(seconds=3)
    await site.desk.ok(
        "order_prepare", scout, product="BTC", side="buy", type="market", notional_usdc="20",
        mode_seen="live",
    )  # fmt: skip
    first = await browser.get("/app/orders/history")
    assert "prepared by" in first.said
    assert "nothing traded" in first.said
    (older,) = [a for a in first.all("a") if a.text == "Older"]
    second = await browser.get(older.attributes["href"])
    assert "Done" in second.said
    assert "fees" in second.said
    assert not [a for a in second.all("a") if a.text == "Older"]
    assert [a for a in second.all("a") if a.text == "Newest"]
    wrong = await browser.get("/app/orders/history?cursor=x")
    assert wrong.status == 400


async def test_only_these_pages_may_ask_the_venue_and_only_this_venue(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    main, _ = site.desk.urls
    page = await prepared(browser)
    policy = page.headers["Content-Security-Policy"]
    assert f"connect-src 'self' {main};" in policy
    assert (
        policy.replace(f" {main}", "")
        == (await browser.get("/app")).headers["Content-Security-Policy"]
    )
    own = await browser.get("/app/own")
    assert f"connect-src 'self' {main};" in own.headers["Content-Security-Policy"]
    assert main not in (await browser.get("/app/orders")).headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    ["", "/close", "/limits", "/o_x/open", "/o_x/sign", "/o_x/record", "/o_x/cancel"],
)
async def test_a_write_without_token_or_from_elsewhere_is_refused(
    site: TradingSite, path: str
) -> None:
    p = await site.desk.person()
    browser = await site.signed_in(p)
    token = (await browser.get("/app/orders")).token()
    to = f"/app/orders{path}"
    assert (await browser.post(to, {})).status == 403
    assert (await browser.post(to, {"csrf": token}, Sec_Fetch_Site="cross-site")).status == 403
    other = await site.signed_in(await site.desk.person())
    assert (await other.post(to, {"csrf": token})).status == 403
    assert (await site.signed_out().post(to, {"csrf": token})).status == 401


async def test_signed_out_the_pages_lead_to_sign_in_and_back(site: TradingSite) -> None:
    browser = site.signed_out()
    for path in (
        "/app/orders",
        "/app/own",
        "/app/books",
        "/app/orders/o_abcdefgh23",
        "/app/orders/history",
    ):
        page = await browser.get(path)
        assert (page.status, page.headers["Location"]) == (303, f"/app/sign-in?next={path}")


async def test_pages_are_small(site: TradingSite) -> None:
    t = await live_at_the_door(site)
    browser = await site.signed_in(t.person)
    await follow(browser, await hand_in(t, browser, await prepared(browser)))
    for path in ("/app/orders", "/app/own", "/app/books", "/app/orders/history"):
        assert len((await browser.get(path)).source.encode()) <= 45_000, path
