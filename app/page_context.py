"""Pages: the route of one, a request for it, and the responses that its handler can give."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, final

from aiohttp import web
from multidict import MultiDict

from app import headers, session_guard
from app.assets import BUILD
from app.language import language_of
from app.replies import Json, Record, freeze, thaw
from app.templates import render
from app.words.other_layers import in_language
from tools.dispatch.run import run
from tools.model.operation import Caller, Deps, Operation

# Entries of the menu, each with the beginnings of its pages, and the pages that stand elsewhere.
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "/app/mandates": ("/app/start",),
    "/app/orders": ("/app/books", "/app/own"),
    "/app/agents": (),
    "/app/notices": (),
    "/app/hall": (),
    "/app/markets": (),
    "/app/deposit": (),
    "/app/docs": (),
}
OF_MANDATES: Final = (session_guard.HOME, "/app/statement")


@final
class OperationRefused(Exception):
    """A refusal that a page does not handle; the screens answer it with the refusal page."""

    def __init__(self, status: int, block: Mapping[str, object]):
        super().__init__(str(block.get("error")))
        self.status = status
        self.block: Record = freeze(block)

    @property
    def code(self) -> str:
        """The registry code."""
        return str(self.block["error"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """The frame of every page: the signed-in owner and the network.

    `demo`: with the demo's own wallet; `trades`: at a venue; `form_key`: the idempotency key of the
    page's forms, new with each page and no part of its version.
    """

    path: str
    owner: str
    csrf: str
    chain_id: int
    chain_name: str
    theme: str
    language: str
    demo: bool
    trades: bool
    form_key: str = field(repr=False)

    @property
    def section(self) -> str:
        """The entry of the menu that the page belongs to; "" for none."""
        if self.path in OF_MANDATES:
            return "/app/mandates"
        for entry, prefixes in SECTIONS.items():
            if self.path == entry or self.path.startswith((f"{entry}/", *prefixes)):
                return entry
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """One request for a page, as its handler sees it; operations run as its caller may run them."""

    request: web.Request
    deps: Deps
    operations: Mapping[str, Operation]
    caller: Caller
    token: str
    address: str | None
    now: datetime
    form: MultiDict[str]
    demo: bool = False

    def path_part(self, name: str) -> str:
        """A part of the path."""
        return self.request.match_info[name]

    def query(self, name: str) -> str | None:
        """A value of the query; None for one that is absent or empty."""
        return self.request.query.get(name) or None

    def field(self, name: str) -> str | None:
        """A field of the form; None for one that is absent or empty."""
        return self.form.get(name, "").strip() or None

    async def run(self, name: str, /, **arguments: object) -> Record:
        """Run an operation through the dispatch that every transport uses, and return its body;
        arguments that are None are left out. Errors: OperationRefused for a refusal.
        """
        return await self._run(None, name, arguments)

    async def run_once(self, name: str, /, **arguments: object) -> Record:
        """Run an operation under the key of the form, which acts once however often it is sent.

        Errors: OperationRefused for a refusal.
        """
        return await self._run(self.field("key"), name, arguments)

    async def _run(self, key: str | None, name: str, arguments: Json) -> Record:
        values = {n: thaw(v) for n, v in arguments.items() if v is not None}
        op = self.operations[name]
        reply = await run(op, self.deps, self.caller, values, key=key, address=self.address)
        if reply.refused:
            raise OperationRefused(reply.status, reply.body)
        body: Record = freeze(reply.body)
        return body

    async def run_or_refusal(
        self, name: str, /, **arguments: object
    ) -> tuple[Record | None, Record | None]:
        """(reply, None) or (None, the block of its refusal).

        Errors: OperationRefused for what is not there.
        """
        try:
            return await self.run(name, **arguments), None
        except OperationRefused as refused:
            if refused.code == "not_found":
                raise
            return None, refused.block

    def chain_name(self, chain_id: int) -> str:
        """Name of a network in the reader's language; its number where there is no other."""
        chains, unnamed = self.deps.chains, f"chain {chain_id}"
        return in_language(chains.get(chain_id).name if chain_id in chains.ids() else unnamed)

    def has_purses(self, chain_id: int) -> bool:
        """True on a network where mandates can pay for web services."""
        chains = self.deps.chains
        return chain_id in chains.ids() and chains.get(chain_id).plain_hub is not None

    def market_names(self) -> Mapping[str, str]:
        """The service's own names of markets, by their ids."""
        return {str(m["id"]): str(m["name"]) for m in self.deps.config.markets}

    def shell(self, chain_id: int | None = None) -> PageFrame:
        """The frame of the page; on the service's own network where none is given."""
        theme = self.request.cookies.get("theme", "")
        chain_id = chain_id or self.caller.chain_id or self.deps.config.default_chain_id
        return PageFrame(
            path=self.request.path,
            owner=self.caller.address or "",
            csrf=session_guard.form_token(self.token) if self.token else "",
            chain_id=chain_id,
            chain_name=self.chain_name(chain_id),
            theme=theme if theme in ("light", "dark") else "",
            language=language_of(self.request),
            demo=self.demo,
            trades=self.deps.venues is not None,
            form_key=self.deps.ids.short("f_"),
        )

    def show(
        self,
        template: str,
        view: object,
        *,
        status: int = 200,
        refused: OperationRefused | None = None,
        chain_id: int | None = None,
        asks: Sequence[str] = (),
        registers: bool = False,
    ) -> web.Response:
        """Render the page; 304 where the browser has this version. `refused`: what the page shows a
        refusal of, whose status it has.

        A page depends on its view and its frame alone, so that their text is its version and an
        unchanged page is not rendered again. `asks`: other origins that its script calls;
        `registers`: it registers the worker of notices.
        """
        status = status if refused is None else refused.status
        shell = self.shell(chain_id)
        identity = f"{BUILD} {template} {shell!r} {view!r}".encode()
        tag = f'"{hashlib.blake2b(identity, digest_size=10).hexdigest()}"'
        response_headers = {**headers.asking(asks, registers=registers), "ETag": tag}
        if status == 200 and self.request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=response_headers)
        body = render(template, shell.language, page=shell, view=view)
        return web.Response(
            text=body, content_type="text/html", status=status, headers=response_headers
        )

    def go(self, path: str) -> web.Response:
        """Redirect to another page (303) after a form, so that a reload repeats nothing."""
        return web.Response(status=303, headers={**headers.PAGE, "Location": path})


Handler = Callable[[PageRequest], Awaitable[web.StreamResponse]]
RefusalHandler = Callable[[PageRequest, OperationRefused], Awaitable[web.Response]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A route of the screens.

    `owner`: without a session it leads to sign-in and back. `token`: a form that is sent within a
    session has to be made for it. `refused`: the page on which a refusal of this one is shown.
    """

    method: Literal["GET", "POST"]
    path: str
    show: Handler
    refused: RefusalHandler | None = None
    owner: bool = True
    token: bool = True


def whole_number(typed: str | None, most_digits: int = 16) -> int | None:
    """A whole number as it was typed; None for what is none."""
    if typed is None or not typed.isascii() or not typed.isdigit() or len(typed) > most_digits:
        return None
    return int(typed)


def text(body: str, content_type: str) -> web.Response:
    """A plain-text answer under a page's headers."""
    return web.Response(text=body, content_type=content_type, headers=headers.PAGE)
