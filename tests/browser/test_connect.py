"""Connecting an app in a real browser: a host's redirect arrives with the owner's cookie, and the owner's answer leaves
for the host, although the cookie is Strict and the policy lets forms go nowhere else.

The host is a site of its own: `localhost` and `127.0.0.1` are two sites to a browser.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import web

from tests.browser.conftest import Stage
from tests.browser.window import MARKS, PHONE, Window
from tests.surfaces.apps import CHALLENGE, VERIFIER
from tests.world import working
from tools.model.client_documents import ClientDocument, ClientDocuments

pytestmark = [*MARKS]
CLIENT = "https://host.example/client.json"
GO = "<script>location = {url}</script><a id=go href={url}>go</a>"


@dataclass
class Host:
    """A host on another site: it sends browsers away, and sees what comes back."""

    base: str
    arrived: list[dict[str, str]] = field(default_factory=list)

    @property
    def callback(self) -> str:
        return self.base + "/callback"

    def asks(self, wallet: str, **over: str) -> str:
        asked = {
            "response_type": "code", "client_id": CLIENT, "redirect_uri": self.callback, "code_challenge": CHALLENGE,
            "code_challenge_method": "S256", "state": "st", "scope": "wallet:read wallet:act", "resource": wallet + "/mcp/connect",
        } | over  # fmt: skip
        return wallet + "/oauth/authorize?" + urlencode(asked)


@asynccontextmanager
async def a_host(stage: Stage) -> AsyncIterator[Host]:
    """Serve a host, whose document the wallet finds."""
    host = Host("")

    async def go(request: web.Request) -> web.Response:
        page = GO.format(url=json.dumps(host.asks(stage.base)))
        return web.Response(text=page, content_type="text/html")

    async def callback(request: web.Request) -> web.Response:
        host.arrived.append(dict(request.query))
        return web.Response(text="<h1>Back at the host</h1>", content_type="text/html")

    app = web.Application()
    app.add_routes([web.get("/go", go), web.get("/callback", callback)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host.base = f"http://localhost:{runner.addresses[0][1]}"
    document = {"client_id": CLIENT, "client_name": "A host", "redirect_uris": [host.callback]}

    async def fetch(url: str) -> ClientDocument | None:
        return ClientDocument(json.dumps(document).encode()) if url == CLIENT else None

    stage.world.deps = replace(stage.world.deps, documents=ClientDocuments(fetch))
    await stage.stop()
    await stage.start()
    try:
        yield host
    finally:
        await runner.cleanup()


async def at_consent(window: Window, host: Host) -> None:
    """From the host's page to the page of consent, as a link of another site leads there."""
    await window.page.goto(host.base + "/go")
    await window.heading("Connect host.example?")


async def test_a_hosts_redirect_arrives_with_the_owners_cookie_and_the_answer_leaves(
    stage: Stage,
) -> None:
    m = await working(stage.world)
    async with a_host(stage) as host, stage.window(stage.wallet(m)) as window:
        await window.sign_in()
        # Without signing in again: the Strict cookie came along (trap of SameSite).
        await at_consent(window, host)
        await window.says("Act as this agent within your mandates")
        assert await window.page.locator("[data-says=redirect]").inner_text() == "localhost"
        assert await window.axe() == []
        await window.shot("connect")
        await window.page.get_by_label(m.agent.name or "").check()
        await window.press("Connect app")
        # The answer left, although the policy says form-action 'self' (trap of the consent form).
        await window.heading("Back at the host")
        (told,) = host.arrived
        assert (told["state"], told["iss"]) == ("st", stage.base)
        form = {
            "grant_type": "authorization_code", "code": told["code"], "client_id": CLIENT, "redirect_uri": host.callback, "code_verifier": VERIFIER,
        }  # fmt: skip
        answer = await window.page.request.post(stage.base + "/oauth/token", form=form)
        assert answer.status == 200
        await window.goto(f"/app/agents/{m.agent.user_id}")
        await window.says("Connected apps")
        await window.press("Disconnect app")
        await window.says("you disconnected the app")
    told_grants = await stage.world.ok("owner_agent_grants", m.owner, agent_id=m.agent.user_id)
    assert [g["ended_by"] for g in told_grants["items"]] == ["owner"]


async def test_who_is_not_signed_in_signs_in_on_the_way_and_refuses(stage: Stage) -> None:
    m = await working(stage.world)
    async with a_host(stage) as host, stage.window(stage.wallet(m), viewport=PHONE) as window:
        await window.page.goto(host.base + "/go")
        await window.page.wait_for_url("**/app/sign-in?next=/app/connect/**")
        await window.press("Continue with Test wallet")
        await window.heading("Connect host.example?")
        await window.shot("connect on a phone")
        await window.press("Refuse app")
        await window.heading("Back at the host")
    assert host.arrived == [{"error": "access_denied", "state": "st", "iss": stage.base}]


@pytest.mark.parametrize("colour", ["light", "dark"])
async def test_the_page_of_consent_is_legible_by_keyboard_and_in_both_themes(
    stage: Stage, colour: Any
) -> None:
    m = await working(stage.world)
    async with a_host(stage) as host, stage.window(stage.wallet(m), color_scheme=colour) as window:
        await window.sign_in()
        await at_consent(window, host)
        assert await window.axe() == []
        await window.tab_to("Connect app")
