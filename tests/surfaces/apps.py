"""An app that connects: a service with screens and MCP on one port, an owner with a browser, and the requests of an app."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson
from aiohttp import ClientSession, DummyCookieJar

from app import screens
from http_shim.application import build
from http_shim.http_server import bound, listen_on
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from tests.app.site import Browser
from tests.surfaces.small import Reply, Served
from tests.world import Mandated, World, working
from tools.catalogue import OPERATIONS
from tools.model.client_documents import ClientDocument, ClientDocuments

DOCUMENT = "https://claude.ai/oauth/claude-code-client-metadata"
HOSTED = "https://host.example/client.json"
CALLBACK = "http://localhost:3118/callback"
VERIFIER = "v" * 50
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
)
PUBLISHED: Mapping[str, dict[str, Any]] = {
    DOCUMENT: {
        "client_id": DOCUMENT,
        "client_name": "Claude Code",
        "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
    },
    HOSTED: {
        "client_id": HOSTED,
        "client_name": "A host",
        "redirect_uris": ["https://host.example/callback"],
    },
}


def parameters(location: str) -> dict[str, str]:
    """What an address says in its query."""
    return dict(parse_qsl(urlsplit(location).query, strict_parsing=True))


@dataclass
class Connecting(Served):
    """The service, and an owner with a working mandate."""

    base: str
    world: World
    mandate: Mandated
    http: ClientSession
    documents: dict[str, bytes | None]
    fetched: list[str] = field(default_factory=list)

    async def browser(self) -> Browser:
        """A browser in which the owner is signed in."""
        browser = Browser(self.base, self.http)
        assert (await browser.sign_in(self.mandate.owner_wallet)).status == 303
        return browser

    def asked(self, **over: str | None) -> str:
        """The path to which an app sends a browser."""
        asks = {
            "response_type": "code",
            "client_id": DOCUMENT,
            "redirect_uri": CALLBACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "st",
            "scope": "wallet:read",
            "resource": self.base + "/mcp/connect",
        } | over
        return "/oauth/authorize?" + urlencode({n: v for n, v in asks.items() if v is not None})

    async def link(self, **over: str | None) -> str:
        """The page of consent that a request leads to."""
        page = await self.get(self.asked(**over))
        assert page.status == 200, page.text
        found = re.search(r'url=([^"]+)"', page.text)
        assert found is not None
        return html.unescape(found[1])

    async def consent(self, **over: str | None) -> dict[str, str]:
        """The owner lets an app connect to the mandate's agent: what the app is sent."""
        link = await self.link(**over)
        agent = self.mandate.agent.user_id or ""
        page = await (await self.browser()).submit(link, link, decision="allow", agent=agent)
        assert page.status == 200, page.said
        return parameters(page.one("a").attributes["href"])

    async def form(self, path: str, **fields: str) -> Reply:
        """Send a form as an app does."""
        return await self.post(path, data=fields, headers={})

    async def redeemed(self, code: str, /, **over: str) -> Reply:
        asks = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": DOCUMENT,
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
            "resource": self.base + "/mcp/connect",
        }
        return await self.form("/oauth/token", **asks | over)

    async def refreshed(self, token: str, **over: str) -> Reply:
        asks = {"grant_type": "refresh_token", "refresh_token": token, "client_id": DOCUMENT}
        return await self.form("/oauth/token", **asks | over)

    async def tokens(self, scope: str = "wallet:read", **over: str | None) -> dict[str, Any]:
        """The tokens of a new connection."""
        told = await self.consent(scope=scope, **over)
        given = {n: v for n, v in over.items() if v is not None and n in ("client_id", "redirect_uri", "resource")}  # fmt: skip
        reply = await self.redeemed(told["code"], **given)
        assert reply.status == 200, reply.text
        body: dict[str, Any] = reply.body
        return body

    async def grants(self) -> list[dict[str, Any]]:
        """The grants of the agent, as its owner reads them."""
        m = self.mandate
        told = await self.world.ok("owner_agent_grants", m.owner, agent_id=m.agent.user_id)
        return list(told["items"])


@asynccontextmanager
async def connecting(world: World) -> AsyncIterator[Connecting]:
    """Serve a world, which knows its own address."""
    m = await working(world)
    documents = {url: orjson.dumps(document) for url, document in PUBLISHED.items()}
    async with ClientSession(cookie_jar=DummyCookieJar()) as http:
        found = Connecting("", world, m, http, dict(documents))

        async def fetch(url: str) -> ClientDocument | None:
            found.fetched.append(url)
            body = found.documents.get(url)
            return None if body is None else ClientDocument(body)

        with bound("127.0.0.1", 0) as sock:
            found.base = f"http://127.0.0.1:{sock.getsockname()[1]}"
            world.deps = replace(
                world.deps,
                config=replace(world.deps.config, base_url=found.base),
                documents=ClientDocuments(fetch),
            )
            server, _ = build_server(world.deps, OPERATIONS)
            app = build(
                world.deps,
                OPERATIONS,
                mcp=mcp_app(server, found.base),
                screens=screens.routes(world.deps, OPERATIONS),
            )
            runner = await listen_on(app, sock)
            try:
                yield found
            finally:
                await drain(server)
                await runner.cleanup()
