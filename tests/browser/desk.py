"""A service beside a local venue, and somebody with a browser who trades there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from app import session_guard
from tests.app.desks import TradingSite, a_trading_site, switched
from tests.browser.window import Window, a_window
from tests.tools.trading.conftest import Person
from tests.tools.trading.orders import allow
from tests.world import START, Clock

CHAIN = "0xa4b1"
LINK, MAKE = "Sign text and link wallet", "Create and approve order key"
TAKE = "Use my wallet’s address"


class Ticking(Clock):
    """The time that the browser has, and what a test moves it on by."""

    def now(self) -> datetime:
        return datetime.now(UTC) + (self.at - START)


@dataclass
class VenueWallet:
    """A wallet that trades: it answers every question, and notes it."""

    own: LocalAccount
    account: str = ""
    fickle: bool = False
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.account = self.account or self.own.address

    async def answer(self, _: Any, request: str) -> dict[str, Any]:
        """The binding's end: one EIP-1193 request."""
        told = json.loads(request)
        method, params = told["method"], told["params"]
        self.asked.append(method)
        match method:
            case "eth_requestAccounts":
                return {"result": [self.account]}
            case "eth_chainId":
                return {"result": CHAIN}
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
        return self.asked.count(method)


@dataclass
class TradingStage:
    """A site, somebody who may trade there, and his wallet."""

    site: TradingSite
    browser: Any
    person: Person
    wallet: VenueWallet

    @asynccontextmanager
    async def window(self) -> AsyncIterator[Window]:
        """A window that is signed in."""
        token = (await self.site.signed_in(self.person)).cookies[session_guard.LOCAL_COOKIE]
        async with a_window(self.browser, self.site.base, self.wallet) as window:
            cookie = {"name": session_guard.LOCAL_COOKIE, "value": token, "url": self.site.base}
            await window.page.context.add_cookies([cookie])
            yield window

    async def linked(self, window: Window) -> None:
        """Link a wallet as a person does."""
        await window.goto("/app/own")
        await window.press(TAKE)
        await window.press(LINK)
        await window.button(MAKE).wait_for()

    async def ready(self, window: Window) -> None:
        """Link, make the order key and approve it as a person does."""
        await self.linked(window)
        await self.keyed(window)

    async def keyed(self, window: Window) -> None:
        """Make the order key and approve it, on the page that offers it."""
        await window.goto("/app/own")
        await window.press(MAKE)
        await window.says("This browser holds it, sealed.")
        await allow(self.site.desk, self.person.wallet.address)
        self.account.leverage["BTC"] = (True, 3)

    async def to_the_signature(self, window: Window, amount: str = "20") -> None:
        """Prepare an order, up to the page that signs it."""
        await window.goto("/app/orders")
        await window.page.get_by_label("Find a product").fill("BTC")
        await window.press("Find product")
        await window.page.get_by_role("radio", name="BTC", exact=True).check()
        await window.page.get_by_label("How much").fill(amount)
        await window.press("Prepare LIVE order")
        await window.heading("Order to sign")

    @property
    def account(self) -> Any:
        """What the venue's main network knows of the wallet."""
        return self.site.desk.main.account(self.person.wallet.address)


@asynccontextmanager
async def a_trading_stage(url: str, browser: Any) -> AsyncIterator[TradingStage]:
    """A stage where every switch is on, so that orders are live."""
    # Long enough for a slow machine; a page takes no order that lasts for more than 10 minutes.
    async with a_trading_site(url, clock=Ticking(), confirm_ttl_s=500) as site:
        config = replace(site.desk.deps.config, base_url=site.base)
        object.__setattr__(site.deps, "config", config)
        await switched(site, live_door=True, live_terminal=True, venue_mainnet=True)
        person = await site.desk.person()
        yield TradingStage(site, browser, person, VenueWallet(person.wallet))
