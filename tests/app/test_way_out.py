"""The way out: what the page says of each position, and of what only the agent can leave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from domain.money import Usdc
from tests.app.site import Browser, Page, Site, a_site
from tests.app.test_pages import fine
from tests.hard_exits import HardMarkets, hard_markets
from tests.world import Evm, Mandated, World, a_world, drafted, market_targets, working

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
AGENT_ONLY = "Only the agent can leave this one; your cash is locked meanwhile."


@asynccontextmanager
async def opened(url: str, evm: Evm, **hard: Any) -> AsyncIterator[tuple[Site, HardMarkets]]:
    """A site over a world whose markets file knows the hard markets."""
    async with a_world(url, evm) as world:
        markets = await hard_markets(world, **hard)
        async with a_site(world) as site:
            yield site, markets


async def stopped(world: World, markets: HardMarkets, *into: str) -> Mandated:
    m = await working(world, allowed_targets=markets.targets())
    for market in into:
        await markets.enter(m, market, "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    return m


async def way_out(
    site: Site, life: Awaitable[Mandated], page: str = "leave"
) -> tuple[Mandated, Browser, Page]:
    m, browser, base = await site.of(life)
    shown = await browser.get(f"{base}/{page}")
    fine(shown)
    return m, browser, shown


async def test_each_position_says_what_comes_back_what_it_costs_and_what_stays(
    sqlite_url: str, evm: Evm
) -> None:
    async with opened(sqlite_url, evm) as (site, markets):
        life = stopped(site.world, markets, "hard", "pool")
        m, browser, page = await way_out(site, life)
        for title in ("Take 60.00 USDC out of Hard Market", "Take 60.00 USDC out of Aave v3"):
            assert title in page.said
        assert page.said.count("Stays in the market") == page.said.count("nothing") == 2
        assert "gas" in page.said
        assert not [i for i in page.all("input") if i.attributes.get("type") != "hidden"]
        assert not page.all("textarea")
        await markets.tell(
            markets.token, "lend(address,uint256)", site.world.evm.market, Usdc.parse("45")
        )
        await markets.harden(keeps="20")
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        assert "Take 15.00 USDC out of Aave v3" in page.said
        assert "The market frees only this much now." in page.said
        assert "Take 40.00 USDC out of Hard Market" in page.said
        assert "Your vault finds this exit too dear" in page.said
        assert "20.00 USDC" in page.said
        assert "all that can be is closedabout 435.00 USDC" in page.said
        assert "Stays in marketsabout 45.00 USDC" in page.said
        closing = await browser.get(f"/app/mandates/{m.id}/unwind?market=hard")
        fine(closing)
        assert "Your vault finds this exit too dear" in closing.said


async def test_what_cannot_be_closed_now_is_named_with_the_time_at_which_cash_is_free(
    sqlite_url: str, evm: Evm
) -> None:
    async with opened(sqlite_url, evm) as (site, markets):
        m, browser, page = await way_out(site, stopped(site.world, markets, "pool"))
        lent = Usdc.parse("60")
        await markets.tell(markets.token, "lend(address,uint256)", site.world.evm.market, lent)
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        assert "This position cannot be closed now." in page.said
        assert "At the latest 23 Nov 2026" in page.said
        links = [link for link in page.links() if "/unwind" in link or link.endswith("/withdraw")]
        assert links == []
        site.world.clock.forward(days=3, minutes=1)
        site.world.evm.chain.mine()
        browser = await site.signed_in(m.owner_wallet)
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        assert f"/app/mandates/{m.id}/withdraw" in page.links()
        assert "What is still in a market stays there, in your vault’s name." in page.said
        call = (await m.as_owner("owner_withdraw_call")).body["call"]
        await m.recorded(m.owner_wallet, call)
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        fine(page)
        assert "The cash was paid out. What is still in a market stays yours" in page.said
        await site.world.mint(markets.token, "60")
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        assert "Take 60.00 USDC out of Aave v3" in page.said


async def test_a_position_that_no_probe_values_now_is_not_forgotten(
    sqlite_url: str, evm: Evm
) -> None:
    async with opened(sqlite_url, evm) as (site, markets):
        m, browser, page = await way_out(site, stopped(site.world, markets, "hard"))
        await markets.harden(free=0)  # its probe says what can be withdrawn, and that is nothing
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        fine(page)
        assert "This position cannot be closed now." in page.said
        assert "about 60.00 USDC" in page.said
        assert "What is still in a market stays there, in your vault’s name." in page.said


async def test_a_market_that_only_the_agent_can_leave_is_named_before_the_signature_and_after(
    sqlite_url: str, evm: Evm
) -> None:
    async with opened(sqlite_url, evm, exit="none") as (site, markets):
        targets = markets.targets()
        m, browser, page = await way_out(
            site, drafted(site.world, allowed_targets=targets), "review"
        )
        assert f"Hard Market: {AGENT_ONLY}" in page.said
        assert f"Aave v3: {AGENT_ONLY}" not in page.said
        start = await browser.get(f"/app/start/{m.id}")
        fine(start)
        assert start.said.count(AGENT_ONLY) == 1
        listed = await browser.get("/app/markets")
        fine(listed)
        assert listed.said.count(AGENT_ONLY) == 1
        assert "you close the position yourself, without the agent" in listed.said
        m, browser, page = await way_out(site, stopped(site.world, markets, "hard"))
        assert AGENT_ONLY in page.said
        assert "At the latest" in page.said
        assert not [link for link in page.links() if "/unwind" in link]
        refused = await browser.get(f"/app/mandates/{m.id}/unwind?market=hard")
        assert "Only the agent can leave this market." in refused.one("div", role="alert").text


async def test_a_contract_of_no_listed_market_is_named_by_its_address(
    sqlite_url: str, evm: Evm
) -> None:
    async with opened(sqlite_url, evm) as (site, markets):
        targets = [*markets.targets(), *market_targets(site.world)[1:]]
        life = drafted(site.world, allowed_targets=targets)
        m, browser, page = await way_out(site, life, "review")
        assert page.said.count(AGENT_ONLY) == 1
        assert site.world.evm.market in page.said.replace(" ", "")
        assert (await browser.get(f"/app/start/{m.id}")).said.count(AGENT_ONLY) == 1


async def test_a_mandate_that_has_ended_needs_no_stop(sqlite_url: str, evm: Evm) -> None:
    async with opened(sqlite_url, evm) as (site, markets):
        m = await working(site.world, allowed_targets=markets.targets())
        await markets.enter(m, "hard", "60")
        browser, base = await site.signed_in(m.owner_wallet), f"/app/mandates/{m.id}"
        page = await browser.get(f"{base}/leave")
        fine(page)
        assert f"{base}/stop" in page.links()
        assert not [link for link in page.links() if "/unwind" in link]
        assert (
            "After the agent is stopped, each position is closed with one transaction." in page.said
        )
        assert "Stop it first" in (await browser.get(f"{base}/unwind")).said
        site.world.clock.forward(days=31)
        site.world.evm.chain.mine()
        browser = await site.signed_in(m.owner_wallet)
        page = await browser.get(f"{base}/leave")
        assert f"{base}/stop" not in page.links()
        assert f"{base}/unwind?market=hard" in page.links()


async def test_what_was_sent_before_the_browser_was_closed_is_not_offered_again(
    sqlite_url: str, evm: Evm
) -> None:
    async with opened(sqlite_url, evm) as (site, markets):
        world = site.world
        m, browser, page = await way_out(site, stopped(world, markets, "hard", "pool"))

        async def closed(market: str) -> str:
            told = await m.as_owner("mandate_unwind_call", market=market, share_bps=10_000)
            _, tx = await world.mined(m.owner_wallet, told.body["call"], gas=900_000)
            return tx

        tx = await closed("hard")
        page = await browser.get(f"/app/mandates/{m.id}/leave")
        fine(page)
        assert "If you have just closed this position, its amount joins the cash" in page.said
        assert "Nothing was sent" not in page.said
        assert "Stays in marketsnot known yet" in page.said
        again = await browser.get(f"/app/mandates/{m.id}/unwind?market=hard")
        assert "Nothing is left in this market." in again.said
        assert "The agent has to fix this" not in again.said
        for one in (tx, await closed("pool")):
            assert (await m.as_owner("owner_vault_tx", tx_hash=one)).status == 200
        call = (await m.as_owner("owner_withdraw_call")).body["call"]
        _, tx = await world.mined(m.owner_wallet, call, gas=900_000)
        for path in ("", "/leave"):
            page = await browser.get(f"/app/mandates/{m.id}{path}")
            fine(page)
            assert "The vault is settled; its figures follow once" in page.said
            assert f"/app/mandates/{m.id}/withdraw" not in page.links()
        assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200
        page = await browser.get(f"/app/mandates/{m.id}")
        assert "everything is paid out. You have nothing to do." in page.said
