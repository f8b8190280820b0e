"""The trading pages over a local venue: every mode, switch, refusal and state that they can show."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.components.order_look import look, product_of, smallest_size
from app.page_context import PageFrame
from app.pages import orders
from app.replies import freeze
from app.templates import render
from app.words.refusals import SENTENCES, WHO
from devtools.devvenue import VenueFault
from domain.refusal_kinds.kind import RefusalKind
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
from tests.tools.call.test_bad_input import counts
from tests.tools.trading.conftest import PATIENCE_S
from tests.tools.trading.orders import Trader, agent, allow, trader

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("no_backoff")]
TICKET = {"product": "BTC", "side": "buy", "type": "market", "amount": "20", "unit": "usdc"}
AGENTS = {
    "product": "BTC",
    "side": "buy",
    "type": "market",
    "notional_usdc": "20",
    "mode_seen": "live",
}


@pytest.fixture
async def site(sqlite_url: str) -> AsyncIterator[TradingSite]:
    async with a_trading_site(sqlite_url) as opened:
        yield opened


@dataclass
class Trading:
    """Somebody before the orders page."""

    site: TradingSite
    t: Trader
    browser: Browser

    async def orders(self) -> Page:
        return await self.browser.get("/app/orders")

    async def buttons(self) -> list[str]:
        return [b.text for b in (await self.orders()).all("button", name="mode_seen")]

    async def press(self, mode: str, **changes: str) -> Page:
        """Fill the ticket and press the button of a mode."""
        at = await self.orders()
        keys = [e.attributes["value"] for e in at.all("input", name="key")]
        ticket = next(k for k in keys if k.count("-") == 0)
        sent = {"csrf": at.token(), "key": ticket, **TICKET, "mode_seen": mode} | changes
        return await self.browser.post("/app/orders", sent)

    async def prepared(self, **changes: str) -> Page:
        page = await self.press("live", **changes)
        assert page.status == 201, page.said
        return page

    async def hand_in(self, page: Page, **changes: Any) -> Page:
        """Sign as the page's script does, and send its form."""
        sent = form(page, "signed") | {"signature": json.dumps(self.t.sign(block(page)))} | changes
        return await self.browser.post(page.one("form", id="signed").attributes["action"], sent)

    async def follow(self, page: Page) -> Page:
        assert page.status == 303, page.said
        return await self.browser.get(page.headers["Location"])

    async def done(self, page: Page) -> Page:
        """Sign it, and see where that led."""
        return await self.follow(await self.hand_in(page))

    async def close(self, key: str, **fields: str) -> Page:
        sent = {"csrf": (await self.orders()).token(), "product": "BTC", "key": key} | fields
        return await self.browser.post("/app/orders/close", sent)


@pytest.fixture
async def live(site: TradingSite) -> Trading:
    """Somebody who may trade live."""
    t = await live_at_the_door(site)
    return Trading(site, t, await site.signed_in(t.person))


@pytest.fixture
async def paper(site: TradingSite) -> Trading:
    """Somebody for whom live orders are off."""
    p = await site.desk.person()
    return Trading(site, Trader(site.desk, p, 0), await site.signed_in(p))


def path_of(page: Page) -> str:
    """The address of the order that a page asks to sign."""
    return page.one("form", id="signed").attributes["action"].removesuffix("/sign")


# -- modes


async def test_on_paper_an_order_is_placed_and_closed_at_once_and_each_figure_says_paper(
    paper: Trading,
) -> None:
    at = await paper.orders()
    assert await paper.buttons() == ["Place PAPER order"]
    assert "Orders of yours are on paper" in at.said
    assert [a.text for a in at.all("a", aria_current="page")] == ["Orders", "Orders"]
    assert "The operator has to switch them on" in said(at, "locks")
    page = await paper.follow(await paper.press("paper"))
    assert "Filled" in page.said
    assert "no trade took place" in page.said
    facts = [e.text for e in page.all("dd") if any(c.isdigit() for c in e.text)]
    figures = [f for f in facts if "USDC" in f or "Paper" in f]
    assert figures
    assert all("paper USDC" in f or f.strip().startswith("Paper") for f in figures)
    held = said(await paper.orders(), "positions")
    assert "Close PAPER position" in held
    assert "not known yet" not in held
    (book,) = (await paper.site.desk.ok("own_paper_books", paper.t.caller))["books"]
    assert book["trades"] == 1
    done = await paper.close("c_1", mode_seen="paper", book=book["book"])
    assert "Filled" in (await paper.follow(done)).said
    assert "There is no open position." in said(await paper.orders(), "positions")


async def test_live_is_prepared_and_signed_on_two_pages_once_and_closed_with_every_lock_shut(
    live: Trading,
) -> None:
    t, site = live.t, live.site
    assert await live.buttons() == ["Prepare LIVE order"]
    page = await live.prepared()
    assert "Sign and place LIVE order" in page.said
    value = page.one("span", data_says="value").text
    assert re.fullmatch(r"[1-9]\d{0,2}(,\d{3})*\.\d\d(\d*[1-9])?", value), value
    assert "at the market, 0.5% off the best price" in page.said
    assert t.posted("mainnet") == 0
    signature = json.dumps(t.sign(block(page)))
    for _ in range(2):
        shown = await live.follow(await live.hand_in(page, signature=signature))
        assert "Filled" in shown.said
    assert t.posted("mainnet") == 1
    site.desk.clock.at += timedelta(seconds=3)
    assert "Close LIVE position" in said(await live.orders(), "positions")
    await switched(site, live_door=False, live_terminal=False)
    assert await live.buttons() == ["Place PAPER order"]
    close = await live.close("c_1", mode_seen="live")
    assert close.status == 201, close.said
    assert "Sign and close the LIVE position" in close.said
    assert "A close counts against no limit." in close.said
    assert "Filled" in (await live.done(close)).said
    assert float(t.size(network="mainnet")) == 0
    again = await live.close("c_2", mode_seen="live")
    assert again.status == 409
    assert "position is smaller than that" in again.said


async def test_mode_seen_is_what_the_page_showed_when_the_button_was_pressed(live: Trading) -> None:
    page = await live.orders()
    sent = {"csrf": page.token(), "key": "f_1", **TICKET, "mode_seen": "live"}
    await switched(live.site, live_door=False)
    refused = await live.browser.post("/app/orders", sent)
    assert refused.status == 403
    assert "Live orders are switched off here" in refused.said
    assert [b.text for b in refused.all("button", name="mode_seen")] == ["Place PAPER order"]
    assert refused.one("input", id="amount").attributes["value"] == "20"
    await switched(live.site, live_door=True)
    on_paper = await live.browser.post("/app/orders", sent | {"mode_seen": "paper", "key": "f_2"})
    assert on_paper.status == 409
    assert "Orders changed between paper and live" in on_paper.said
    assert live.t.posted("mainnet") == 0


async def test_a_form_that_arrives_twice_makes_one_order(live: Trading) -> None:
    sent = {"csrf": (await live.orders()).token(), "key": "f_twice", **TICKET, "mode_seen": "live"}
    assert (await live.browser.post("/app/orders", sent)).status == 201
    shown = await live.follow(await live.browser.post("/app/orders", sent))
    assert "Needs your signature" in shown.said
    assert "Look at today’s price and sign" in shown.said
    assert len((await live.site.desk.ok("order_pending", live.t.caller))["orders"]) == 1
    other = await live.browser.post("/app/orders", sent | {"amount": "21"})
    assert other.status == 409
    assert "sent before with other contents" in other.said


# -- refusals


async def test_what_is_refused_stands_beside_the_ticket_with_what_was_typed(live: Trading) -> None:
    wrong = await live.press("live", product="<b>x</b>", amount="20")
    assert wrong.status == 422
    assert "cannot be placed like this" in wrong.said
    assert wrong.one("input", id="find").attributes["value"] == "<b>x</b>"
    assert (await live.press("live", amount="9.99")).status == 422
    above = await live.press("live", amount="51")
    assert above.status == 403
    assert "above a limit" in above.said
    assert "The limit: 50.00 USDC" in above.said
    unlisted = await live.site.desk.linked()
    other = Trading(live.site, live.t, await live.site.signed_in(unlisted))
    refused = await other.press("live")
    assert refused.status == 403
    assert "not on the operator’s list" in refused.said


async def test_without_a_link_or_a_key_the_page_leads_to_the_own_account(paper: Trading) -> None:
    await switched(paper.site, live_door=True, venue_mainnet=True)
    await allow(paper.site.desk, str(paper.t.caller.user_id))
    refused = await paper.press("live")
    assert refused.status == 409
    assert "cannot trade live yet" in refused.said
    assert "/app/own" in refused.links()


async def test_the_throttle_is_told_with_its_end(paper: Trading) -> None:
    for _ in range(10):
        await paper.site.desk.do(
            "trade_order", paper.t.caller, product="no such", mode_seen="paper"
        )
    for _ in range(11):
        page = await paper.press("paper", product="nope!")
    assert page.status == 429
    assert "Too many orders in a short time" in page.said
    assert "It becomes possible at" in page.said


async def test_a_venue_that_is_away_gives_no_product_and_no_position_but_a_page(
    sqlite_url: str,
) -> None:
    async with a_trading_site(sqlite_url, down=True) as site:
        p = await site.desk.person()
        paper = Trading(site, Trader(site.desk, p, 0), await site.signed_in(p))
        page = await paper.orders()
        assert page.status == 200
        assert "no product can be listed" in page.said
        refused = await paper.press("paper")
        assert refused.status == 503
        assert "The venue does not answer. Nothing was sent." in refused.said
        assert (await paper.browser.get("/app/own")).status == 200


async def test_an_order_of_which_nobody_knows_is_shown_as_that_and_not_sent_again(
    sqlite_url: str,
) -> None:
    async with a_trading_site(sqlite_url, result_s=PATIENCE_S + 2) as site:
        t = await live_at_the_door(site)
        live = Trading(site, t, await site.signed_in(t.person))
        page = await live.prepared()
        for route, kind in (("/exchange", "order"), ("/info", "orderStatus")):
            site.desk.main.faults.add(VenueFault(effect="hang", route=route, kind=kind))
        shown = await live.done(page)
        assert "Outcome unknown" in shown.said
        assert "Do not send it again" in shown.said
        assert shown.one("section", id="order").attributes["data-live"]
        assert not [b for b in shown.all("button") if "Cancel" in b.text or "sign" in b.text]
        assert "Outcome unknown" in said(await live.orders(), "under-way")


async def test_a_refusal_of_the_venue_is_told_in_its_words(live: Trading) -> None:
    page = await live.prepared(type="limit", limit_px="60000", tif="ioc")
    shown = await live.hand_in(page)
    assert shown.status in (200, 303, 422), shown.said
    whole = await live.follow(shown) if shown.status == 303 else shown
    assert "Rejected" in whole.said
    assert "could not immediately match" in whole.said
    live.browser.cookies["language"] = "de"
    path = page.one("form", id="signed").attributes["action"].rpartition("/")[0]
    assert "Der Handelsplatz hat abgelehnt: " in (await live.browser.get(path)).said


async def test_a_signature_that_is_wrong_or_late_sends_nothing(live: Trading) -> None:
    page = await live.prepared()
    of_others = [live.t.sign(block(page), key=99), live.t.sign(block(page), high=True)]
    for wrong in map(json.dumps, of_others):
        refused = await live.hand_in(page, signature=wrong)
        assert refused.status == 422
        assert "The signature does not fit this order" in refused.said
        assert "Look at today’s price and sign" in refused.said
    for wrong in ("", "{", "[]", "null"):
        refused = await live.hand_in(page, signature=wrong)
        assert refused.status == 422, wrong
    live.site.desk.clock.at += timedelta(seconds=121)
    late = await live.hand_in(page)
    assert late.status in (409, 422)
    assert "Expired" in late.said
    assert live.t.posted("mainnet") == 0


async def test_the_page_shows_each_refusal_of_an_order_with_who_can_fix_it(live: Trading) -> None:
    replies = [
        await live.site.desk.ok(name, live.t.caller)
        for name in ("trade_me", "trade_positions", "order_pending", "order_under_way",
                     "trade_products", "own_paper_books", "owner_agents")
    ]  # fmt: skip
    shell = PageFrame(demo=False, trades=True, form_key="f_1", path="/app/orders", owner="0x" + "1" * 40, csrf="c", chain_id=1, chain_name="One",
                  theme="", language="en")  # fmt: skip
    empty = orders.orders_view(*replies)

    def told_in_full(kind: RefusalKind) -> bool:
        told = {
            "error": kind.code, "reason": "REASON <b>", "who_fixes": kind.who_fixes,
            "retry_safe": kind.retry_safe, "next": [], "remaining": {"limit": "50.000000"},
        }  # fmt: skip
        view = orders.with_refusal(empty, told, {"product": "<i>"})
        source = render("orders.html", page=shell, view=view)
        assert "REASON <b>" not in source
        assert "<i>" not in source.replace("<i></i>", "")
        return SENTENCES[kind.code] in source and WHO[kind.who_fixes] in source

    kinds = [kind for code, kind in REFUSALS.items() if code.startswith("wallet_")]
    assert len(kinds) == 13
    assert [kind.code for kind in kinds if not told_in_full(kind)] == []


# -- agents


async def test_an_agents_order_waits_for_its_owner_who_opens_it_at_todays_price(
    live: Trading,
) -> None:
    scout = await agent(live.site.desk, live.t)
    made = await live.site.desk.ok(
        "order_prepare", scout, **AGENTS, why="<script>alert(1)</script>"
    )
    assert made["to_sign"] is None
    at = await live.orders()
    assert "The agent’s own words. Nobody has checked them. Scout u_" in said(at, "waiting")
    assert "<script>alert" not in at.source
    path = f"/app/orders/{made['order']['order_id']}"
    page = await live.browser.submit("/app/orders", f"{path}/open")
    assert page.status == 201
    assert form(page, "signed")["step"] == "execute"
    assert "Filled" in (await live.done(page)).said


async def test_an_agents_order_on_the_test_network_is_signed_for_that_network(
    site: TradingSite,
) -> None:
    await switched(site, live_terminal=True)
    t = await trader(site.desk)
    made = await site.desk.ok("order_prepare", await agent(site.desk, t), **AGENTS)
    owner = Trading(site, t, await site.signed_in(t.person))
    assert await owner.buttons() == ["Place PAPER order"]
    path = f"/app/orders/{made['order']['order_id']}"
    page = await owner.browser.submit("/app/orders", f"{path}/open")
    assert "no real money" in page.said
    assert site.desk.urls[1] in page.headers["Content-Security-Policy"]
    assert block(page)["typed_data"]["message"]["source"] == "b"
    assert "Filled" in (await owner.done(page)).said
    assert (t.posted("testnet"), t.posted("mainnet")) == (1, 0)


async def test_a_close_that_cannot_be_verified_says_what_to_do_at_the_venue(live: Trading) -> None:
    await live.done(await live.prepared())
    live.site.desk.clock.at += timedelta(seconds=3)
    await live.orders()
    fault = VenueFault(effect="status", route="/info", kind="l2Book", status=500)
    live.site.desk.main.faults.add(fault)
    page = await live.close("c_1", mode_seen="live")
    assert page.status == 503
    assert "Nothing was sent." in page.said
    assert "At the venue itself you can close it at any time: Sell" in page.said


async def test_anothers_order_is_not_here(live: Trading) -> None:
    path = path_of(await live.prepared())
    other = await live.site.signed_in(await live.site.desk.person())
    assert (await other.get(path)).status == 404
    for step in ("open", "cancel", "sign", "record"):
        assert (await other.submit("/app/orders", f"{path}/{step}")).status == 404


# -- cancel, limits


async def test_a_resting_order_is_taken_back_with_a_signature_whatever_is_switched_off(
    live: Trading,
) -> None:
    page = await live.prepared(type="limit", limit_px="60000", tif="gtc")
    assert "Open" in (await live.done(page)).said
    listed, path = await live.orders(), path_of(page)
    assert "Open" in said(listed, "under-way")
    assert path in listed.links()
    await switched(live.site, live_door=False, live_terminal=False)
    asked = await live.browser.submit("/app/orders", f"{path}/cancel")
    assert asked.status == 201
    assert "Sign and cancel the LIVE order" in asked.said
    assert "Cancelled" in (await live.done(asked)).said


async def test_limits_only_fall(paper: Trading) -> None:
    async def lowered(**limits: str) -> Page:
        return await paper.browser.submit("/app/orders", "/app/orders/limits", **limits)

    lower = await paper.follow(await lowered(per_order_usdc="25"))
    assert "25.00" in said(lower, "limits")
    raised = await lowered(per_order_usdc="26")
    assert raised.status == 409
    assert "Limits only fall here" in raised.said
    assert "Your limit per order: 25.00 USDC" in raised.said
    assert (await lowered(per_day_usdc="1e2")).status == 422


async def test_live_orders_so_far_are_paged_with_what_became_of_each(
    live: Trading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "A_PAGE", 2)
    browser, clock = live.browser, live.site.desk.clock
    assert "There is no order yet." in (await browser.get("/app/orders/history")).said
    await live.done(await live.prepared())
    clock.at += timedelta(seconds=3)
    unsent = path_of(await live.prepared())
    taken_back = await browser.submit("/app/orders", f"{unsent}/cancel")
    assert "Cancelled" in (await live.follow(taken_back)).said  # without a signature
    clock.at += timedelta(seconds=3)
    await live.site.desk.ok("order_prepare", await agent(live.site.desk, live.t), **AGENTS)
    first = await browser.get("/app/orders/history")
    assert "prepared by" in first.said
    assert "nothing traded" in first.said
    (older,) = [a for a in first.all("a") if a.text == "Older"]
    second = await browser.get(older.attributes["href"])
    assert "Filled" in second.said
    assert "fees" in second.said
    assert not [a for a in second.all("a") if a.text == "Older"]
    assert [a for a in second.all("a") if a.text == "Newest"]
    assert (await browser.get("/app/orders/history?cursor=x")).status == 400


async def test_these_pages_are_small_and_only_they_may_ask_the_venue_and_only_this_venue(
    live: Trading,
) -> None:
    main, _ = live.site.desk.urls
    plain = (await live.browser.get("/app")).headers["Content-Security-Policy"]
    page = await live.prepared()
    asking = {page.headers["Content-Security-Policy"]}
    await live.done(page)
    for path in ("/app/orders", "/app/own", "/app/books", "/app/orders/history"):
        shown = await live.browser.get(path)
        assert len(shown.source.encode()) <= 45_000, path
        if path == "/app/own":
            asking.add(shown.headers["Content-Security-Policy"])
        else:
            assert shown.headers["Content-Security-Policy"] == plain, path
    (policy,) = asking
    assert f"connect-src 'self' {main};" in policy
    assert policy.replace(f" {main}", "") == plain


# -- what is chosen, and what it comes to before it is placed


async def test_a_product_is_found_by_its_name_and_chosen_without_a_script(paper: Trading) -> None:
    page = await paper.browser.get("/app/orders?find=btc")
    (btc,) = [e for e in page.all("input", name="product") if e.attributes["value"] == "BTC"]
    assert btc.attributes["type"] == "radio"
    assert page.one("input", id="find").attributes["value"] == "btc"
    told = await paper.site.desk.ok("trade_products", paper.t.caller)
    (row,) = [p for p in told["products"] if p["product"] == "BTC"]
    for figure in (row["mark_px"], f"{row['max_leverage']}×", "%"):
        assert figure in page.one("form", id="order").text
    assert Decimal(row["funding_hourly"]) is not None
    smallest = Decimal(smallest_size(freeze(row)))
    lot = Decimal(1).scaleb(-row["sz_decimals"])
    assert smallest * Decimal(row["mark_px"]) >= 10 > (smallest - lot) * Decimal(row["mark_px"])
    nothing = await paper.browser.get("/app/orders?find=%3Cb%3E")
    assert "No product has this in its name." in nothing.said
    assert nothing.all("input", name="product") == []
    assert len(nothing.all("datalist")) == 0


async def test_an_order_is_looked_at_before_it_is_placed_and_nothing_is_stored(
    live: Trading,
) -> None:
    at = await live.orders()
    sent = {"csrf": at.token(), "key": "f_look", "then": "look", **TICKET}
    before = await counts(live.site.desk.store)
    page = await live.browser.post("/app/orders", sent)
    assert page.status == 200
    shown = page.one("section", id="look").text
    assert "Before you place it" in shown
    assert "Live" in shown
    for part in (
        "Price now",
        "20.00 USDC",
        "Fee, about",
        "Limit per order",
        "Limit per day",
        "left after it",
    ):
        assert part in shown, part
    assert await counts(live.site.desk.store) == before
    checked = [e for e in page.all("input", name="product") if "checked" in e.attributes]
    assert [e.attributes["value"] for e in checked] == ["BTC"]
    assert page.one("input", id="amount").attributes["value"] == "20"
    above = await live.browser.post("/app/orders", sent | {"amount": "51"})
    assert "above the limit: it would be refused" in above.one("section", id="look").text
    none = await live.browser.post("/app/orders", sent | {"product": "nope"})
    assert "Choose a product first." in none.one("section", id="look").text
    for odd in ("-1", "1e9", "NaN", "<b>", "9" * 40):
        page = await live.browser.post("/app/orders", sent | {"amount": odd})
        assert page.status == 200
        assert "not known yet" in page.one("section", id="look").text


async def test_what_is_looked_at_is_what_the_order_then_comes_to(live: Trading) -> None:
    products = freeze(await live.site.desk.ok("trade_products", live.t.caller))
    me = freeze(await live.site.desk.ok("trade_me", live.t.caller))
    terms = {"side": "buy", "limit_px": None, "notional_usdc": "20", "size": None}
    looked = look(terms, product_of(products, "BTC"), me, mode="live")
    page = await live.prepared()
    order = (await live.site.desk.ok("order_pending", live.t.caller))["orders"][0]
    assert abs(Decimal(order["notional_usdc"]) - Decimal(looked["notional"])) < Decimal("0.7")
    after = freeze(await live.site.desk.ok("trade_me", live.t.caller))["used_today"]["per_day"]
    held = Decimal(after["limit"]) - Decimal(after["reserved"]["value"])
    day = next(c for c in looked["limits"] if c["title"] == "Limit per day")
    assert abs(held - Decimal(day["left"])) < Decimal("0.7")
    assert page.status == 201


async def test_a_price_of_before_the_venue_fell_silent_is_no_price_now(live: Trading) -> None:
    await live.prepared()
    at = await live.orders()
    sent = {"csrf": at.token(), "key": "f_look", "then": "look", **TICKET}
    live.site.desk.clock.forward(minutes=10)
    live.site.desk.main.faults.add(VenueFault(effect="status", status=500))
    page = await live.browser.post("/app/orders", sent)
    assert "prices are old" in page.said
    facts = [" ".join(e.text.split()) for e in page.all("dd")]
    assert "not known yet the venue does not answer" in facts
    assert "Order value, about20.00 USDC" in page.one("section", id="look").text
    assert "Now: price" not in said(page, "waiting")


async def test_a_waiting_order_says_what_it_comes_to_before_it_is_opened(live: Trading) -> None:
    await live.prepared()
    waiting = said(await live.orders(), "waiting")
    assert "Now: price" in waiting
    assert "fee about" in waiting
    assert "left after it" in waiting
