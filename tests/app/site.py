"""The screens on a port, and a browser without scripts that keeps cookies and sends forms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession, DummyCookieJar

from app import screens, session_guard
from devtools.local_wallet import LocalWallet
from http_shim.application import build
from http_shim.http_server import listen
from tests.app.markup import VOID, Attributes, MarkupReader
from tests.world import Mandated, World
from tools.catalogue import OPERATIONS
from tools.model.operation import Caller, Deps

OWN = {"Sec-Fetch-Site": "same-origin"}
TYPED = {"Sec-Fetch-Site": "none", "Accept": "text/html,application/xhtml+xml"}


@dataclass
class Element:
    """An element of a page; the text inside it is a run of the page's texts."""

    name: str
    attributes: Attributes
    texts: list[str]
    first: int
    end: int

    @property
    def text(self) -> str:
        return "".join(self.texts[self.first : self.end])


@dataclass
class Page(MarkupReader):
    """A page as it came: status, headers, elements in order with the text inside them."""

    status: int
    headers: Mapping[str, str]
    source: str
    elements: list[Element] = field(default_factory=list)
    words: str = ""
    texts: list[str] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._words: list[str] = []
        self.feed(self.source)
        self.words = "".join(self._words)
        assert not self._open, f"never closed: {[e.name for e in self._open]}"

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        at = len(self.texts)
        found = Element(tag, attributes, self.texts, at, at)
        self.elements.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].name == tag, f"</{tag}> closes <{self._open[-1].name}>"
        self._open.pop().end = len(self.texts)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        # Nothing else is inside these two.
        if not self._open or self._open[-1].name not in ("script", "title"):
            self._words.append(data)

    @property
    def said(self) -> str:
        """What a reader sees, spaces folded."""
        return " ".join(self.words.split())

    def all(self, element: str, /, **attributes: str) -> list[Element]:
        """Elements of a name that have these attributes; `class_` is one of the classes."""
        wanted = {k.rstrip("_").replace("_", "-"): v for k, v in attributes.items()}
        return [
            e
            for e in self.elements
            if e.name == element
            and all(
                v in e.attributes.get(k, "").split() if k == "class" else e.attributes.get(k) == v
                for k, v in wanted.items()
            )
        ]

    def one(self, element: str, /, **attributes: str) -> Element:
        (found,) = self.all(element, **attributes)
        return found

    def links(self) -> list[str]:
        return [e.attributes["href"] for e in self.all("a")]

    def token(self) -> str:
        """The form token of the page."""
        return self.all("input", name="csrf")[0].attributes["value"]


class Browser:
    """Keeps cookies as a browser does; sends the headers that it is told to."""

    def __init__(self, base: str, http: ClientSession):
        self.base, self._http, self.cookies = base, http, dict[str, str]()

    async def _send(
        self, method: str, path: str, headers: Mapping[str, str], data: Any = None
    ) -> Page:
        cookie = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        sent = dict(headers) | ({"Cookie": cookie} if cookie else {})
        async with self._http.request(
            method, self.base + path, data=data, headers=sent, allow_redirects=False
        ) as answer:
            for name, morsel in answer.cookies.items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
            is_page = answer.content_type == "text/html"
            page = Page(
                answer.status, answer.headers.copy(), await answer.text() if is_page else ""
            )
            if not is_page:
                page.words = await answer.text(errors="replace")
            return page

    async def get(self, path: str, **headers: str) -> Page:
        """Open a page, as if its address had been typed."""
        return await self._send("GET", path, TYPED | _named(headers))

    async def post(self, path: str, form: Mapping[str, str], **headers: str) -> Page:
        """Send a form, as a page of the site would."""
        return await self._send("POST", path, OWN | _named(headers), data=form)

    async def raw(
        self, method: str, path: str, headers: Mapping[str, str], data: Any = None
    ) -> Page:
        """Send exactly these headers."""
        return await self._send(method, path, headers, data)

    async def submit(self, at: str, path: str, **fields: str) -> Page:
        """Open the page `at` and send the form that leads to `path` with its own token."""
        token = (await self.get(at)).token()
        return await self.post(path, {"csrf": token} | fields)

    async def sign_in(self, wallet: LocalWallet, next_page: str = "/app") -> Page:
        """Sign in as the page's script does; the text passes through a form's line ends."""
        asked = {"address": wallet.address}
        async with self._http.post(self.base + "/wallet/auth/challenge", json=asked) as answer:
            text = (await answer.json())["message"]
        form = {
            "message": text.replace("\n", "\r\n"),
            "signature": wallet.sign_text(text),
            "next": next_page,
        }
        return await self.post("/app/session", form)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {k.replace("_", "-"): v for k, v in headers.items()}


@dataclass
class Site:
    """A service with screens."""

    base: str
    world: World
    http: ClientSession

    def browser(self) -> Browser:
        return Browser(self.base, self.http)

    async def signed_in(self, wallet: LocalWallet) -> Browser:
        browser = self.browser()
        assert (await browser.sign_in(wallet)).status == 303
        assert session_guard.LOCAL_COOKIE in browser.cookies
        return browser

    async def somebody(self) -> tuple[Caller, LocalWallet, Browser]:
        """An owner, who is signed in."""
        owner, wallet = await self.world.owner()
        return owner, wallet, await self.signed_in(wallet)

    async def of(self, made: Awaitable[Mandated]) -> tuple[Mandated, Browser, str]:
        """A mandate, its owner's browser, and where its pages begin."""
        m = await made
        return m, await self.signed_in(m.owner_wallet), f"/app/mandates/{m.id}"


@asynccontextmanager
async def served(deps: Deps) -> AsyncIterator[tuple[str, ClientSession]]:
    """The catalogue and the screens on a port: its address, and a client without cookies."""
    pages = screens.routes(deps, OPERATIONS)
    runner = await listen(build(deps, OPERATIONS, screens=pages), "127.0.0.1", 0)
    try:
        async with ClientSession(cookie_jar=DummyCookieJar()) as http:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", http
    finally:
        await runner.cleanup()


@asynccontextmanager
async def a_site(world: World) -> AsyncIterator[Site]:
    """Serve a world."""
    async with served(world.deps) as (base, http):
        yield Site(base, world, http)
