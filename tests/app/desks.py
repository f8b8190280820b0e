"""A site over a service beside a local venue, and somebody who is signed in on it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from aiohttp import ClientSession

from app import session_guard
from tests.app.site import Browser, Page, served
from tests.tools.trading.conftest import Desk, Person, a_desk, order_key
from tests.tools.trading.orders import Trader, allow
from tools.context.credentials import hashed
from tools.model.operation import Caller, Deps


@dataclass
class TradingSite:
    """A service with screens, a venue and no chain."""

    base: str
    desk: Desk
    deps: Deps
    http: ClientSession
    people: int = 0

    async def signed_in(self, p: Person) -> Browser:
        """A browser that holds a session of that person."""
        self.people += 1
        token, now = f"ws_{self.people:043d}", self.desk.clock.now()
        until, user = now + timedelta(days=1), str(p.caller.user_id)
        await self.desk.store.write(
            lambda uow: uow.identities.add_session(hashed(token), user, now, until, until)
        )
        browser = Browser(self.base, self.http)
        browser.cookies[session_guard.LOCAL_COOKIE] = token
        return browser

    def signed_out(self) -> Browser:
        """A browser without a session."""
        return Browser(self.base, self.http)


@asynccontextmanager
async def a_trading_site(url: str, **more: Any) -> AsyncIterator[TradingSite]:
    """Serve the catalogue and the screens over a desk; its switches may be changed meanwhile."""
    async with a_desk(url, **more) as desk, served(desk.deps) as (base, http):
        yield TradingSite(base, desk, desk.deps, http)


async def switched(site: TradingSite, **values: bool) -> None:
    """Turn switches as the operator does: rows, which the next request of every process reads."""
    for name, on in values.items():
        value = "on" if on else "off"
        await site.desk.ok("admin_switch_set", Caller("admin"), name=name, value=value)


async def live_at_the_door(site: TradingSite, p: Person | None = None) -> Trader:
    """Somebody who may trade live at the door: main network, linked, with a key, on the list."""
    await switched(site, live_door=True, live_terminal=True, venue_mainnet=True)
    desk = site.desk
    person = p or await desk.person()
    await desk.link(person)
    key = desk.next_nonce()
    await desk.enabled(person, order_key(key), network="mainnet")
    await desk.ok("own_enable_verify", person.caller)
    await allow(desk, person.wallet.address)
    account = desk.main.state.account(person.wallet.address)
    assert account is not None
    account.leverage["BTC"] = (True, 3)
    return Trader(desk, person, key)


def said(page: Page, part: str) -> str:
    """What a reader sees of the part with this id."""
    (found,) = (e for e in page.elements if e.attributes.get("id") == part)
    return " ".join(found.text.split())


def block(page: Page) -> dict[str, Any]:
    """What a page gives its script to sign."""
    return dict(json.loads(page.one("script", id="to-sign").text))


def sent_to(page: Page, ident: str) -> str:
    """Where the form with this id is sent."""
    return str(page.one("form", id=ident).attributes["action"])


def form(page: Page, ident: str) -> dict[str, str]:
    """The hidden fields of the form with this id."""
    inside = False
    found: dict[str, str] = {}
    for e in page.elements:
        if e.name == "form":
            inside = e.attributes.get("id") == ident
        elif inside and e.name == "input":
            found[e.attributes["name"]] = e.attributes.get("value", "")
    return found
