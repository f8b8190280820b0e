"""Every page in two languages: no sentence of ours is the same in both."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from app.screens import PAGES
from app.words.other_layers import CLAUSES, HALL, LINKING, NOTES, REASONS, WAYS, in_language
from app.words.text import ENGLISH, use_language
from domain.agents.grants import SCOPES
from tests.app.desks import TradingSite, a_trading_site, block, form, live_at_the_door, switched
from tests.app.lives import LIVES
from tests.app.markup import VOID, Attributes, MarkupReader
from tests.app.site import Browser, Page, Site
from tests.app.test_hostile_input import FIELD, names_in
from tests.browser.stations import NOWHERE, PART, opened, stations, values_of
from tests.hosted import signing
from tests.house.sources import ROOT
from tests.surfaces.apps import HOSTED, connecting
from tests.tools.trading.conftest import order_key
from tests.tools.trading.orders import Trader, agent, ordered
from tests.world import Evm, a_world

pytestmark = pytest.mark.slow
WORDS = 3
SHOWN = ("title", "aria-label", "placeholder", "alt")


class _Texts(MarkupReader):
    """The sentences of a page, but for those that are marked as of another language."""

    def __init__(self, source: str):
        self.texts: set[str] = set()
        self._open: list[tuple[str, bool]] = []
        self.feed(source)

    def _keep(self, text: str) -> None:
        folded = " ".join(text.split())
        if sum(word.strip(".,:;").isalpha() for word in folded.split()) >= WORDS:
            self.texts.add(folded)

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        foreign = tag in ("script", "style", "code", "pre") or (
            tag != "html" and "lang" in attributes
        )
        inside = foreign or any(mark for _, mark in self._open)
        if not inside:
            for name in SHOWN:
                self._keep(attributes.get(name, ""))
        if tag not in VOID:
            self._open.append((tag, foreign))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(mark for _, mark in self._open):
            self._keep(data)


OTHERS_WORDS = {
    "Park idle USDC.", "the rate is 4.6%", "a larger step",
    *(f"Test Market: {function}" for function in ("deposit", "withdraw", "redeem")),
}  # fmt: skip
"""What the owners and agents of these lives wrote, and labels of the markets list."""


async def alike(first: Page, second: Page) -> set[str]:
    return (_Texts(first.source).texts & _Texts(second.source).texts) - OTHERS_WORDS


async def in_both(browser: Browser, ask: Callable[[], Awaitable[Page]]) -> tuple[Page, Page]:
    told = []
    for language in (ENGLISH, "de"):
        browser.cookies["language"] = language
        told.append(await ask())
    first, second = told
    return first, second


@pytest.mark.anyio
@pytest.mark.parametrize("name", LIVES)
async def test_no_sentence_of_a_page_is_the_same_in_two_languages(site: Site, name: str) -> None:
    m, browser, _ = await site.of(LIVES[name](site.world))
    left: dict[str, str] = {}
    for path in stations(await values_of(m), opened()):
        both = await in_both(browser, partial(browser.get, path))
        left |= dict.fromkeys(await alike(*both), path)
    assert left == {}


@pytest.mark.anyio
async def test_no_sentence_of_a_refused_form_is_the_same_in_two_languages(site: Site) -> None:
    m, browser, _ = await site.of(LIVES["working"](site.world))
    own = {"csrf": (await browser.get("/app")).token()}
    values = await values_of(m) | {name: ["x_aaaaaaaaaa"] for name in ("key", "grant", "browser")}
    left: dict[str, str] = {}
    for page in (p for p in PAGES if p.method == "POST" and not p.path.endswith("sign-out")):
        path = PART.sub(lambda part: values[part[1]][0], page.path)
        for word in ("", "-1", "1000000000000000"):
            form = dict.fromkeys(names_in(page, FIELD), word) | own
            both = await in_both(browser, partial(browser.post, path, form))
            left |= dict.fromkeys(await alike(*both), f"{page.path} {word}")
    assert left == {}


TRADING = ("/app/orders", "/app/books", "/app/own")


def of_the_desk(orders: Sequence[str], books: Sequence[str]) -> list[str]:
    """The addresses of the trading pages, and of those that tell of them."""
    values = NOWHERE | {"order": orders, "book": books}
    pages = [p for p in opened() if p.path.startswith(TRADING)]
    found = ("?find=BTC", "?find=nothing+of+the+kind")
    return [*stations(values, pages), *(f"/app/orders{q}" for q in found), "/app", "/app/notices"]


@dataclass
class Walk:
    """What is the same in two languages, by where it stands; each form has a key of its own."""

    site: TradingSite
    browser: Browser
    left: dict[str, str] = field(default_factory=dict)
    sent: int = 0

    async def pages(self, orders: Sequence[str] = (), books: Sequence[str] = ()) -> None:
        """Every trading page, as it stands."""
        for path in of_the_desk(orders or NOWHERE["order"], books or NOWHERE["book"]):
            both = await in_both(self.browser, partial(self.browser.get, path))
            self.left |= dict.fromkeys(await alike(*both), path)

    async def form(self, path: str, **fields: str) -> Page:
        """A form in both languages; the page that the second led to."""
        own = {"csrf": (await self.browser.get("/app")).token()}

        async def send() -> Page:
            self.sent += 1
            self.site.desk.clock.forward(seconds=61)  # no limit of a minute is met
            return await self.browser.post(path, own | fields | {"key": f"f_{self.sent}"})

        both = await in_both(self.browser, send)
        self.left |= dict.fromkeys(await alike(*both), f"{path} {fields}")
        return both[1]

    async def signed(self, t: Trader, page: Page) -> str:
        """The order that the page asks to sign, signed; its id."""
        assert page.status == 201, page.said
        sent = form(page, "signed") | {"signature": json.dumps(t.sign(block(page)))}
        path = page.one("form", id="signed").attributes["action"]
        assert (await self.browser.post(path, sent)).status == 303
        return path.removesuffix("/sign").rpartition("/")[2]


TICKET = {
    "product": "BTC", "side": "buy", "amount": "12", "unit": "usdc", "type": "market", "mode_seen": "live",
}  # fmt: skip


@pytest.mark.anyio
@pytest.mark.usefixtures("no_backoff")
async def test_no_sentence_of_the_trading_desk_is_the_same_in_two_languages(
    sqlite_url: str,
) -> None:
    async with a_trading_site(sqlite_url) as site:
        t = await live_at_the_door(site)
        walk = Walk(site, await site.signed_in(t.person))
        await walk.pages()
        orders = [await walk.signed(t, await walk.form("/app/orders", **TICKET))]
        rests = {"type": "limit", "limit_px": "60000", "tif": "gtc"}
        resting = await walk.signed(t, await walk.form("/app/orders", **TICKET | rests))
        await walk.form(f"/app/orders/{resting}/cancel")
        await walk.form("/app/orders/close", product="BTC", mode_seen="live")
        await walk.form("/app/orders", **TICKET, then="look")
        scout = await agent(site.desk, t)
        prepared = await ordered(site.desk, scout, mode_seen="live", why="a step")
        assert prepared.status == 201, prepared.body
        book = await site.desk.ok("own_paper_book_open", t.caller, name="Trial", start_usdc="1000")
        on_paper = TICKET | {"mode_seen": "paper", "book": book["book"]}
        done = await walk.form("/app/orders", **on_paper)
        assert done.status == 303, done.said
        orders += [resting, done.headers["Location"].rpartition("/")[2]]
        orders += [o["order_id"] for o in (await site.desk.ok("order_pending", t.caller))["orders"]]
        await walk.pages(orders, [book["book"]])
        await walk.form(f"/app/orders/{orders[-1]}/open")
        site.desk.clock.forward(minutes=30)
        await switched(site, live_door=False, live_terminal=False)
        await walk.pages(orders, [book["book"]])
        assert set(walk.left) == set(), "\n".join(f"{k!r}: {v[:90]}" for k, v in walk.left.items())


@pytest.mark.anyio
@pytest.mark.parametrize("down", [False, True])
@pytest.mark.usefixtures("no_backoff")
async def test_no_sentence_of_the_own_account_is_the_same_in_two_languages(
    sqlite_url: str, down: bool
) -> None:
    async with a_trading_site(sqlite_url, down=down) as site:
        p = await site.desk.person()
        walk = Walk(site, await site.signed_in(p))
        await walk.pages()
        at = await walk.browser.get("/app/own")
        await walk.form("/app/own/challenge", **form(at, "choose") | {"address": p.wallet.address})
        await walk.form("/app/orders", **TICKET | {"mode_seen": "paper"})
        if not down:
            await site.desk.link(p)
            await walk.pages()
            await site.desk.enabled(p, order_key(site.desk.next_nonce()))
            await walk.pages()
        assert set(walk.left) == set(), "\n".join(f"{k!r}: {v[:90]}" for k, v in walk.left.items())


@pytest.mark.anyio
@pytest.mark.usefixtures("no_backoff")
async def test_no_sentence_of_a_refused_trading_form_is_the_same_in_two_languages(
    sqlite_url: str,
) -> None:
    async with a_trading_site(sqlite_url) as site:
        t = await live_at_the_door(site)
        walk = Walk(site, await site.signed_in(t.person))
        order = (await t.prepare())["order"]["order_id"]
        values = NOWHERE | {"order": [order]}
        for page in (p for p in PAGES if p.method == "POST" and p.path.startswith(TRADING)):
            path = PART.sub(lambda part: values[part[1]][0], page.path)
            names = names_in(page, FIELD)
            for word in ("", "-1", "1000000000000000", "a word"):
                await walk.form(path, **dict.fromkeys(names, word))
        for over in (
            {"product": "NOPE"}, {"amount": "9.99"}, {"amount": "51"}, {"amount": "12.1234567"}, {"slippage_bps": "99"},
            {"unit": "size", "amount": "0.0000001"}, {"type": "limit", "limit_px": "1"}, {"type": "limit"},
            {"mode_seen": "paper"}, {"reduce_only": "1"},
        ):  # fmt: skip
            page = await walk.form("/app/orders", **TICKET | over)
        assert set(walk.left) == set(), "\n".join(f"{k!r}: {v[:90]}" for k, v in walk.left.items())


@pytest.mark.anyio
async def test_no_sentence_of_a_request_to_connect_is_the_same_in_two_languages(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with a_world(sqlite_url, evm) as world, signing(world, tmp_path), connecting(world) as c:
        browser, agent_id = await c.browser(), c.mandate.agent.user_id or ""
        hosted = {"client_id": HOSTED, "redirect_uri": "https://host.example/callback"}
        links = [await c.link(scope=" ".join(SCOPES)), await c.link(**hosted)]
        own = {"csrf": (await browser.get("/app")).token()}
        left: dict[str, str] = {}

        async def walked(
            name: str, ask: Callable[[], Awaitable[Page]], whose: Browser = browser
        ) -> None:
            left.update(dict.fromkeys(await alike(*await in_both(whose, ask)), name))

        for link in links:
            await walked("asks", partial(browser.get, link))
        for name, fields in (
            ("nothing chosen", {"decision": "allow"}),
            ("a stranger's agent", {"decision": "allow", "agent": "u_" + "a" * 10}),
            ("a name that is none", {"decision": "allow", "agent": "new", "name": ""}),
        ):
            await walked(name, partial(browser.post, links[0], own | fields))

        async def answered(decision: str) -> Page:
            link = await c.link(scope="wallet:act")
            fields = {"decision": decision, "agent": agent_id}
            page = await browser.post(link, own | fields)
            assert page.status == 200, page.said
            links.append(link)
            return page

        for decision in ("allow", "deny"):
            await walked(decision, partial(answered, decision))
            await walked(f"{decision}, answered", partial(browser.get, links[-1]))
        arrived = Browser(c.base, c.http)
        sign_in = partial(arrived.get, f"/app/sign-in?next={links[0]}")
        await walked("signed out", sign_in, arrived)
        await walked("connected", partial(browser.get, f"/app/agents/{agent_id}"))
        world.clock.forward(minutes=10)
        await walked("run out", partial(browser.get, links[0]))
        assert set(left) == set(), "\n".join(f"{k!r}: {v[:90]}" for k, v in left.items())


@pytest.mark.anyio
async def test_a_clause_is_read_beside_the_wording_that_is_signed(site: Site) -> None:
    m, browser, _ = await site.of(LIVES["draft"](site.world))
    browser.cookies["language"] = "de"
    page = await browser.get(f"/app/mandates/{m.id}/review")
    signed = [e.text for e in page.all("p", lang="en")]
    assert len(signed) == 10
    assert "Im Tresor liegen nie mehr als 500.00 USDC von Ihnen." in page.said
    assert signed[0] == "At most 500.00 USDC of yours is ever in the vault."


@pytest.mark.parametrize(
    "sentence", [str(s) for s in (*CLAUSES, *HALL, *WAYS, *LINKING, *NOTES, *REASONS)]
)
def test_a_listed_sentence_is_written_by_some_other_layer(sentence: str) -> None:
    """One that no layer writes any more is to go, and one that was reworded to be reworded here."""
    longest = max(re.split(r"\{\w+\}|[,;] | a share | an amount ", sentence), key=len).strip(" .;:")
    assert _squeezed(longest) in WRITTEN, longest


RAILS = ROOT / "server" / "data" / "deposit_rails.toml"


def test_every_way_to_get_usdc_is_told_in_each_language() -> None:
    rails = tomllib.loads(RAILS.read_text("utf-8"))["rails"]
    assert {text for r in rails for text in (r["name"], *r["steps"])} == {str(s) for s in WAYS}


FOR_PROGRAMS = {
    "By the ledger.", "By its receipt.", "Its calldata was not handed out.",  # of an act
    "what it signed is another transaction", "there is no key for it",  # of a key that is held
    "saving a draft needs an owner session",  # of who has none
    "the settings at a start",  # of a process
}  # fmt: skip
"""Reasons that no form of the screens meets."""


def test_every_literal_reason_that_a_form_can_meet_is_listed() -> None:
    listed = {str(s) for s in (*CLAUSES, *HALL, *LINKING, *NOTES, *REASONS)}
    written = {
        given.value.value
        for layer in ("domain", "tools", "storage")
        for path in (ROOT / layer).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        for given in call.keywords
        if given.arg in ("why", "reason")
        and isinstance(given.value, ast.Constant)
        and isinstance(given.value.value, str)
    }
    sentences = {text for text in written if len(text.split()) >= WORDS}
    assert len(sentences) > 25
    assert sentences - listed == FOR_PROGRAMS


@pytest.mark.parametrize(
    ("english", "german"),
    [
        (
            "the vault itself, Aave v3 (every market maker), Desk: every market",
            "der Tresor selbst, Aave v3 (every market maker), Desk: jeder Markt",
        ),
        (
            "my 3 products that this service does not know, paid reads (x402) at named hosts (2)",
            "my 3 products that this service does not know, "
            "bezahlte Abfragen (x402) bei benannten Hosts (2)",
        ),
        (
            "paid services (x402), each bill signed by the agent's own key: at most 1,000.00 USDC "
            "a payment, 2.00 USDC a day, 3.00 USDC at risk at once, to anybody; this service holds "
            "them to named hosts (1)",
            "bezahlte Dienste (x402), jede Rechnung vom Schlüssel des Agenten signiert: höchstens "
            "1,000.00 USDC je Zahlung, 2.00 USDC am Tag, 3.00 USDC zugleich im Risiko, an jeden; "
            "dieser Dienst hält sie an benannte Hosts (1)",
        ),
    ],
)
def test_a_name_in_the_list_of_places_stays_as_it_is(english: str, german: str) -> None:
    use_language("de")
    try:
        told = in_language(f"The agent may only deal with: {english}.")
    finally:
        use_language(ENGLISH)
    assert told == f"Erlaubt sind dem Agenten nur: {german}."


def _squeezed(text: str) -> str:
    return re.sub(r"[^\w]", "", text)


WRITTEN = _squeezed(
    re.sub(
        r"\"\s*f?\"|\{[^{}\n]*\}",
        "",
        "".join(
            path.read_text("utf-8")
            for layer in (
                "domain",
                "tools",
                "storage",
                "chain",
                "http_shim",
                "server/signer",
                "app/pages",
            )
            for path in (ROOT / layer).rglob("*.py")
        ),
    )
    + RAILS.read_text("utf-8")
)
