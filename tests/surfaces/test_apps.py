"""Connecting an app by OAuth: from the challenge to a tool, and every way in which that is refused."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import orjson
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from domain.agents.grants import SCOPES
from domain.agents.sent_calls import HostedKey
from http_shim import application
from tests import npm
from tests.app.site import Browser
from tests.hosted import signing
from tests.surfaces.apps import (
    CALLBACK,
    DOCUMENT,
    HOSTED,
    PUBLISHED,
    VERIFIER,
    Connecting,
    connecting,
    parameters,
)
from tests.surfaces.small import ACCEPT, HELLO, READY, modern
from tests.waiting import STUCK_S
from tests.world import World
from tools.catalogue import OPERATIONS
from tools.model.operation import Caller, GrantedAccess

pytestmark = pytest.mark.anyio
PATH = "/mcp/connect"
NOTE = {"kind": "note", "payload": {"text": "looking around"}, "idempotency_key": "n-1"}


@pytest.fixture
async def c(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connecting]:
    monkeypatch.setattr(application, "STRANGER_PAUSE_S", 0)
    async with connecting(world) as found:
        yield found


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def called(
    c: Connecting, token: str | None, tool: str, path: str = PATH, **given: Any
) -> Any:
    """A tool called in the newer era, with a token."""
    sent = modern("tools/call", name=tool, arguments=given)
    headers = sent["headers"] | (bearer(token) if token else {})
    return await c.post(path, json=sent["json"], headers=headers)


class Stored:
    """What the SDK's client keeps."""

    tokens: Any = None
    info: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.info

    async def set_client_info(self, info: Any) -> None:
        self.info = info


@asynccontextmanager
async def official(
    c: Connecting, stored: Stored, *, mode: str, document: str | None = DOCUMENT
) -> AsyncIterator[tuple[Client, OAuthClientProvider]]:
    """The official SDK's client, whose browser is the owner's, and what it knows of its tokens."""
    browser: Browser = await c.browser()
    arrived: dict[str, str] = {}

    async def go(url: str) -> None:
        parts = urlsplit(url)
        page = await browser.get(f"{parts.path}?{parts.query}")
        link = page.one("a").attributes["href"]
        agent = c.mandate.agent.user_id or ""
        left = await browser.submit(link, link, decision="allow", agent=agent)
        arrived.update(parameters(left.one("a").attributes["href"]))

    async def back() -> AuthorizationCodeResult:
        told = (arrived.get(n) for n in ("code", "state", "iss"))
        code, state, iss = told
        return AuthorizationCodeResult(code=code or "", state=state, iss=iss)

    auth = OAuthClientProvider(
        server_url=c.base + PATH,
        client_metadata=OAuthClientMetadata(client_name="An app", redirect_uris=[CALLBACK]),  # type: ignore[list-item]
        storage=stored,
        redirect_handler=go,
        callback_handler=back,
        client_metadata_url=document,
    )
    async with (
        httpx2.AsyncClient(auth=auth) as http,
        Client(streamable_http_client(c.base + PATH, http_client=http), mode=mode) as client,  # type: ignore[arg-type]
    ):
        yield client, auth


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("document", [DOCUMENT, None])
async def test_the_official_client_goes_from_a_401_to_a_tool_and_steps_up(
    c: Connecting, mode: str, document: str | None
) -> None:
    stored, me = Stored(), c.mandate.agent.user_id
    async with official(c, stored, mode=mode, document=document) as (client, auth):
        assert (await client.call_tool("agents_me", {})).structured_content["agent_id"] == me  # type: ignore[index]
        assert stored.tokens.scope == "wallet:read"
        written = await client.call_tool(
            "mandate_report_event", {"public_id": c.mandate.id, **NOTE}
        )
        assert not written.is_error
        assert stored.tokens.scope == "wallet:read wallet:act"
        first = stored.tokens.access_token
        # As when an hour has passed: the client refreshes, and goes on in the same session.
        auth.context.token_expiry_time = 1
        assert (await client.call_tool("agents_me", {})).structured_content["agent_id"] == me  # type: ignore[index]
        assert stored.tokens.access_token != first
        listed = {t.name for t in (await client.list_tools()).tools}
        assert {"agents_me", "mandate_report_event"} <= listed
    grants = await c.grants()
    assert sorted(len(g["scopes"]) for g in grants) == [1, 2]
    assert {g["client_host"] for g in grants} == {document and "claude.ai"}
    revoked = await c.form(
        "/oauth/revoke", token=stored.tokens.refresh_token, client_id=stored.info.client_id
    )
    assert revoked.status == 200
    assert (await called(c, stored.tokens.access_token, "agents_me")).status == 401


@pytest.mark.node
@pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")
@pytest.mark.parametrize("era", ["2026", "2025"])
@pytest.mark.parametrize("document", [DOCUMENT, None])
async def test_the_typescript_client_goes_from_a_401_to_a_tool_and_steps_up(
    c: Connecting, era: str, document: str | None
) -> None:
    await anyio.to_thread.run_sync(npm.install)
    browser, agent = await c.browser(), c.mandate.agent.user_id or ""
    command = npm.node("../connect.mjs", c.base + PATH, era, CALLBACK, document or "", c.mandate.id)
    env = {"PATH": os.environ["PATH"]}
    async with await anyio.open_process(command, cwd=npm.FOLDER, env=env) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        said = BufferedByteReceiveStream(node.stdout)
        with anyio.fail_after(STUCK_S):
            while "go" in (line := orjson.loads(await said.receive_until(b"\n", 65_536))):
                parts = urlsplit(line["go"])
                page = await browser.get(f"{parts.path}?{parts.query}")
                link = page.one("a").attributes["href"]
                left = await browser.submit(link, link, decision="allow", agent=agent)
                await node.stdin.send(left.one("a").attributes["href"].encode() + b"\n")
    scopes = ["wallet:read", "wallet:read wallet:act"][: 2 if era == "2026" else 1]
    assert line == {"agent": agent, "scopes": scopes, "errors": len(scopes)}
    assert {g["client_host"] for g in await c.grants()} == {document and "claude.ai"}


async def test_a_request_without_a_token_is_told_where_to_begin(c: Connecting) -> None:
    for sent in (
        {"json": HELLO, "headers": ACCEPT},
        modern("server/discover"),
        modern("tools/list"),
    ):
        reply = await c.post(PATH, **sent)
        assert reply.status == 401
        assert reply.headers["WWW-Authenticate"] == (
            f'Bearer resource_metadata="{c.base}/.well-known/oauth-protected-resource/mcp/connect", '
            'scope="wallet:read"'
        )
        assert reply.body["error"] == "unauthenticated"
    wrong = await c.post(PATH, json=HELLO, headers=ACCEPT | bearer("at_" + "x" * 43))
    assert 'error="invalid_token"' in wrong.headers["WWW-Authenticate"]
    for method in ("GET", "DELETE"):
        assert (await c.ask(method, PATH)).status == 401


async def test_the_address_for_keys_stays_as_it_was(c: Connecting) -> None:
    assert (await c.post("/mcp", json=HELLO, headers=ACCEPT)).status == 200
    reply = await called(c, None, "agents_me", "/mcp")
    assert (reply.status, reply.body["result"]["isError"]) == (200, True)
    token = (await c.tokens())["access_token"]
    # A token is for its own address: neither for the other one, nor for any route.
    assert (await called(c, token, "agents_me", "/mcp")).status == 401
    assert (await c.get("/sse", headers=bearer(token))).status == 401
    for path in ("/wallet/agents/me", "/wallet/auth/session", "/wallet/agents"):
        assert (await c.get(path, headers=bearer(token))).told == (401, "unauthenticated")
    other = await c.tokens(resource=c.base + "/mcp")
    assert (await called(c, other["access_token"], "agents_me", "/mcp")).status == 200
    assert (await called(c, other["access_token"], "agents_me")).status == 401


async def test_an_agent_key_and_an_owners_session_are_no_tokens_of_an_app(c: Connecting) -> None:
    key = (await c.world.ok("owner_agent_key_add", c.mandate.owner, agent_id=c.mandate.agent.user_id))["key"]  # fmt: skip
    session = (await c.browser()).cookies["wallet"]
    for headers in (bearer(key), {"X-Service-User-Key": key}, bearer(session)):
        reply = await c.post(PATH, json=HELLO, headers=ACCEPT | headers)
        assert reply.status == 401, headers


async def test_the_metadata_says_what_hosts_look_for(c: Connecting) -> None:
    for path in ("", PATH):
        told = (await c.get("/.well-known/oauth-protected-resource" + path)).body
        assert told["resource"] == c.base + PATH
        assert told["authorization_servers"] == [c.base]
        assert told["scopes_supported"] == ["wallet:read"]
    told = (await c.get("/.well-known/oauth-authorization-server")).body
    assert told["issuer"] == c.base
    assert told["code_challenge_methods_supported"] == ["S256"]
    assert told["token_endpoint_auth_methods_supported"] == ["none"]
    assert told["revocation_endpoint_auth_methods_supported"] == ["none"]
    assert told["client_id_metadata_document_supported"] is True
    assert told["authorization_response_iss_parameter_supported"] is True
    assert told["scopes_supported"] == list(SCOPES)


@pytest.mark.parametrize(
    ("over", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"state": "s" * 601}, None),
    ],
)
async def test_a_wrong_request_goes_back_to_its_app_with_the_issuer(
    c: Connecting, over: dict[str, str | None], error: str | None
) -> None:
    reply = await c.get(c.asked(**over), allow_redirects=False)
    if error is None:
        assert (reply.status, "Location" in reply.headers) == (400, False)
        return
    assert reply.status == 302
    assert reply.headers["Location"].startswith(CALLBACK + "?")
    told = parameters(reply.headers["Location"])
    assert (told["error"], told["iss"], told["state"]) == (error, c.base, "st")


@pytest.mark.parametrize(
    "over",
    [
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": "https://localhost:3118/callback"},
        {"redirect_uri": "http://localhost:3118/other"},
        {"redirect_uri": "http://localhost:3118/callback#x"},
        {"redirect_uri": 'http://localhost:3118/"'},
        {"redirect_uri": None},
        {"client_id": None},
        {"client_id": "https://unknown.example/client.json"},
        {"client_id": "https://claude.ai"},
        {"client_id": "http://claude.ai/client.json"},
        {"client_id": "https://127.0.0.1/client.json"},
        {"client_id": "https://169.254.169.254/latest/meta-data"},
        {"client_id": "https://x.internal/client.json"},
        {"client_id": "https://u:p@claude.ai/client.json"},
        {"client_id": "https://claude.ai/a/../client.json"},
        {"client_id": "dc_none"},
    ],
)
async def test_where_the_app_or_its_address_is_not_known_nobody_is_sent_anywhere(
    c: Connecting, over: dict[str, str | None]
) -> None:
    reply = await c.get(c.asked(**over), allow_redirects=False)
    assert (reply.status, "Location" in reply.headers) == (400, False)
    assert "evil" not in reply.text
    assert "url=" not in reply.text
    assert [u for u in c.fetched if "127.0.0.1" in u or "internal" in u or "169.254" in u] == []


async def test_a_loopback_address_may_have_any_port_and_is_the_same_at_the_token(
    c: Connecting,
) -> None:
    for uri in ("http://localhost:1/callback", "http://127.0.0.1:65535/callback"):
        told = await c.consent(redirect_uri=uri)
        wrong = await c.redeemed(told["code"], redirect_uri="http://localhost:9/callback")
        assert wrong.body["error"] == "invalid_grant"
        assert (await c.redeemed(told["code"], redirect_uri=uri)).status == 200


async def test_the_token_endpoint_takes_what_belongs_together(c: Connecting) -> None:
    code = (await c.consent())["code"]
    for over, error in (
        ({"code_verifier": "w" * 50}, "invalid_grant"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"redirect_uri": "http://localhost:9/callback"}, "invalid_grant"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"resource": c.base + "/mcp"}, "invalid_target"),
        ({"client_id": HOSTED}, "invalid_grant"),
        ({"client_secret": "x"}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": 'é"'}, "invalid_request"),
        ({"code": "ac_none"}, "invalid_grant"),
    ):
        reply = await c.redeemed(code, **over)
        assert reply.body["error"] == error, over
        assert reply.status == (401 if error == "invalid_client" else 400)
        assert set(reply.body) == {"error", "error_description"}
    unknown = await c.redeemed(code, client_id="dc_forgotten")
    assert (unknown.status, unknown.body["error"]) == (401, "invalid_client")
    token = await c.redeemed(code)
    assert token.status == 200
    assert token.headers["Cache-Control"] == "no-store"
    assert token.body["token_type"] == "Bearer"
    assert token.body["access_token"].startswith("at_")
    assert token.body["refresh_token"].startswith("rt_")
    again = await c.redeemed(code)
    assert again.body["error"] == "invalid_grant"
    # Who has the code a second time may have it from the first: what was given for it ends.
    assert (await called(c, token.body["access_token"], "agents_me")).status == 401
    assert [g["ended_by"] for g in await c.grants()] == ["reused"]


async def test_a_code_is_good_for_a_minute(c: Connecting) -> None:
    code = (await c.consent())["code"]
    c.world.clock.forward(seconds=60)
    assert (await c.redeemed(code)).body["error"] == "invalid_grant"
    assert await c.grants() == []


async def test_a_refresh_token_is_rotated_and_one_that_comes_twice_ends_the_grant(
    c: Connecting,
) -> None:
    first = await c.tokens("wallet:read wallet:act")
    second = (await c.refreshed(first["refresh_token"], scope="wallet:read")).body
    assert second["scope"] == "wallet:read"
    assert second["refresh_token"] != first["refresh_token"]
    wider = await c.refreshed(second["refresh_token"], scope="wallet:read wallet:propose")
    assert wider.body["error"] == "invalid_scope"
    stolen = await c.refreshed(second["refresh_token"], client_id=HOSTED)
    assert stolen.body["error"] == "invalid_grant"
    third = (await c.refreshed(second["refresh_token"])).body
    assert third["scope"] == "wallet:read wallet:act"
    assert (await called(c, third["access_token"], "agents_me")).status == 200
    assert (await c.refreshed(first["refresh_token"])).body["error"] == "invalid_grant"
    assert (await called(c, third["access_token"], "agents_me")).status == 401
    assert (await c.refreshed(third["refresh_token"])).body["error"] == "invalid_grant"
    assert [g["ended_by"] for g in await c.grants()] == ["reused"]


async def test_offline_access_is_no_scope_and_in_the_way_of_nothing(c: Connecting) -> None:
    """Hosts ask for it with the scopes, and send all of that again when they refresh."""
    asked = "wallet:read wallet:act offline_access"
    tokens = await c.tokens(asked)
    for scope, granted in (
        (asked, "wallet:read wallet:act"),
        ("offline_access", "wallet:read wallet:act"),
        ("wallet:act", "wallet:read wallet:act"),
        ("wallet:read offline_access", "wallet:read"),
        ("", "wallet:read wallet:act"),
    ):
        reply = await c.refreshed(tokens["refresh_token"], scope=scope)
        assert (reply.status, reply.body.get("scope")) == (200, granted), scope
        tokens = reply.body
    wider = "wallet:read wallet:propose offline_access"
    assert (await c.refreshed(tokens["refresh_token"], scope=wider)).body[
        "error"
    ] == "invalid_scope"
    told = (await c.tokens("offline_access"))["scope"]
    assert told == "wallet:read"


async def test_a_grant_slides_for_thirty_days_and_ends_after_ninety(c: Connecting) -> None:
    idle = await c.tokens()
    c.world.clock.forward(days=30)
    assert (await c.refreshed(idle["refresh_token"])).body["error"] == "invalid_grant"
    assert [g["ended_by"] for g in await c.grants()] == ["expired"]
    token = (await c.tokens())["refresh_token"]
    for _ in range(4):
        c.world.clock.forward(days=20)
        token = (await c.refreshed(token)).body["refresh_token"]
    c.world.clock.forward(days=10)
    assert (await c.refreshed(token)).body["error"] == "invalid_grant"


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
async def test_an_app_ends_its_own_grant_with_either_token(c: Connecting, which: str) -> None:
    tokens = await c.tokens()
    other = await c.form("/oauth/revoke", token=tokens[which], client_id=HOSTED)
    assert other.body["error"] == "invalid_grant"
    assert (await c.form("/oauth/revoke", token="at_none", client_id=DOCUMENT)).status == 200
    hint = await c.form("/oauth/revoke", token="x", client_id=DOCUMENT, token_type_hint="odd")
    assert hint.body["error"] == "unsupported_token_type"
    assert (await called(c, tokens["access_token"], "agents_me")).status == 200
    assert (await c.form("/oauth/revoke", token=tokens[which], client_id=DOCUMENT)).status == 200
    assert (await called(c, tokens["access_token"], "agents_me")).status == 401
    assert [g["ended_by"] for g in await c.grants()] == ["app"]


async def test_the_owner_ends_a_grant_by_route_and_by_page_and_nobody_else_does(
    c: Connecting,
) -> None:
    m, (stranger, _) = c.mandate, await c.world.owner()
    tokens = await c.tokens()
    (grant,) = await c.grants()
    asked = {"agent_id": m.agent.user_id, "grant_id": grant["grant_id"]}
    assert await c.world.error("owner_agent_grant_end", stranger, **asked) == "not_found"
    assert (
        await c.world.error("owner_agent_grants", stranger, agent_id=m.agent.user_id) == "not_found"
    )
    assert await c.world.error("owner_agent_grant_end", m.agent, **asked) == "forbidden"
    assert (
        await c.world.error("owner_agent_grants", m.agent, agent_id=m.agent.user_id) == "forbidden"
    )
    assert (await called(c, tokens["access_token"], "agents_me")).status == 200
    await c.world.ok("owner_agent_grant_end", m.owner, **asked)
    assert (await called(c, tokens["access_token"], "agents_me")).status == 401
    assert await c.world.error("owner_agent_grant_end", m.owner, **asked) == "not_found"
    tokens = await c.tokens()
    browser, page = await c.browser(), f"/app/agents/{m.agent.user_id}"
    assert "claude.ai" in (await browser.get(page)).said
    (grant,) = [g for g in await c.grants() if g["ended_at"] is None]
    left = await browser.submit(page, f"{page}/apps/{grant['grant_id']}/disconnect")
    assert left.status == 303
    assert (await called(c, tokens["access_token"], "agents_me")).status == 401
    assert "you disconnected the app" in (await browser.get(page)).said


async def test_the_last_key_of_an_agent_takes_its_apps_along(c: Connecting) -> None:
    m, tokens = c.mandate, await c.tokens()
    agent_id = m.agent.user_id
    extra = (await c.world.ok("owner_agent_key_add", m.owner, agent_id=agent_id))["key_id"]
    agents = (await c.world.ok("owner_agents", m.owner))["items"]
    keys = [k["key_id"] for a in agents if a["agent_id"] == agent_id for k in a["keys"]]
    for key_id in keys:
        assert (await called(c, tokens["access_token"], "agents_me")).status == 200
        await c.world.ok("owner_agent_key_revoke", m.owner, agent_id=agent_id, key_id=key_id)
    assert extra in keys
    assert (await called(c, tokens["access_token"], "agents_me")).status == 401
    assert [g["ended_by"] for g in await c.grants()] == ["key"]


async def test_an_app_that_listens_hears_as_long_as_its_grant_lasts(c: Connecting) -> None:
    m, tokens = c.mandate, await c.tokens()
    uri, told = f"wallet://mandates/{m.id}", {"kind": "note", "payload": {"text": "hello"}}
    async with (
        httpx2.AsyncClient(headers=bearer(tokens["access_token"]), timeout=STUCK_S) as http,
        Client(streamable_http_client(c.base + PATH, http_client=http), mode="auto") as client,
        client.listen(resource_subscriptions=[uri]) as stream,
    ):
        assert stream.honored.resource_subscriptions == [uri]
        # Its token has had its hour; the app has another one, and its stream goes on.
        c.world.clock.forward(minutes=61)
        assert (await c.refreshed(tokens["refresh_token"])).status == 200
        assert (await m.as_agent("mandate_report_event", **told)).status == 201
        with anyio.fail_after(10):
            assert await anext(stream) == ResourceUpdated(uri)
        (grant,) = await c.grants()
        agent_id, grant_id = m.agent.user_id, grant["grant_id"]
        await c.world.ok("owner_agent_grant_end", m.owner, agent_id=agent_id, grant_id=grant_id)
        assert (await m.as_agent("mandate_report_event", **told)).status == 201
        with anyio.move_on_after(2.5) as silence:
            await anext(stream)
        assert silence.cancelled_caught


async def test_what_happens_to_a_grant_stands_in_the_agents_activity(c: Connecting) -> None:
    m, tokens = c.mandate, await c.tokens()
    c.world.clock.forward(minutes=59)
    for _ in range(3):
        assert (await called(c, tokens["access_token"], "agents_me")).status == 200
    tokens = (await c.refreshed(tokens["refresh_token"])).body
    c.world.clock.forward(minutes=59)
    await c.form("/oauth/revoke", token=tokens["access_token"], client_id=DOCUMENT)
    told = await c.world.ok("agent_activity", m.owner, agent_id=m.agent.user_id, limit=200)
    apps = [i for i in told["items"] if i["type"] == "app"]
    assert [i["happened"] for i in apps] == ["ended", "used", "connected"]
    assert {i["client_host"] for i in apps} == {"claude.ai"}
    paged: list[str] = []
    cursor = None
    while True:
        page = await c.world.ok("agent_activity", m.owner, agent_id=m.agent.user_id, limit=1, cursor=cursor)  # fmt: skip
        paged += [i["happened"] for i in page["items"] if i["type"] == "app"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == ["ended", "used", "connected"]


async def test_a_use_is_noted_once_an_hour(c: Connecting) -> None:
    tokens = await c.tokens()
    before = (await c.grants())[0]["used_at"]
    c.world.clock.forward(minutes=59)
    await called(c, tokens["access_token"], "agents_me")
    assert (await c.grants())[0]["used_at"] == before


# -- scopes


def agents_operations() -> list[Any]:
    return [op for op in OPERATIONS if op.on_mcp]


async def test_of_every_scope_and_every_tool_the_door_and_the_operation_say_the_same(
    c: Connecting,
) -> None:
    wrong, cells = [], 0
    for scope in ("wallet:read", "wallet:read wallet:act", "wallet:read wallet:propose"):
        token = (await c.tokens(scope))["access_token"]
        held = tuple(scope.split())
        access = GrantedAccess("g_test", held, "")  # type: ignore[arg-type]
        agent = c.mandate.agent
        app = Caller("agent", agent.user_id, agent.owner_id, agent.address, "x", "g", access=access)
        for op in agents_operations():
            needed = op.needed_scope
            may = needed is None or needed in held
            reply = await called(c, token, op.name)
            inside = (await c.world.do(op.name, app)).body.get("error")
            told = reply.status == 403, inside == "insufficient_scope"
            cells += 1
            if told != (not may, not may):
                wrong.append((scope, op.name, reply.status, inside))
            if not may:
                challenge = reply.headers["WWW-Authenticate"]
                assert 'error="insufficient_scope"' in challenge
                assert f'scope="{scope} {needed}"' in challenge
                assert "resource_metadata=" in challenge
    assert (wrong, cells) == ([], 3 * len(agents_operations()))


def test_scopes_follow_from_what_an_operation_is() -> None:
    for op in OPERATIONS:
        if op.auth in ("agent", "owner_or_agent"):
            expected = "wallet:act" if op.writes else "wallet:read"
            proposes = op.name == "mandate_propose"
            assert op.needed_scope == ("wallet:propose" if proposes else expected), op.name
        else:
            assert op.needed_scope is None


async def test_no_token_has_an_owners_right(c: Connecting) -> None:
    token = (await c.tokens(" ".join(SCOPES)))["access_token"]
    access = GrantedAccess("g_test", SCOPES, "")
    agent = c.mandate.agent
    app = Caller("agent", agent.user_id, agent.owner_id, agent.address, "x", "g", access=access)
    for op in OPERATIONS:
        if op.auth in ("owner", "keeper", "admin"):
            assert (await c.world.error(op.name, app)) == "forbidden", op.name
            if op.on_mcp:
                reply = await called(c, token, op.name)
                assert reply.body["result"]["structuredContent"]["refusal"]["error"] == "forbidden"


async def test_the_message_counts_where_a_header_says_something_else(c: Connecting) -> None:
    token = (await c.tokens())["access_token"]
    sent = modern("tools/call", name="mandate_report_event", arguments={})
    for name in ("agents_me", None):
        headers = {n: v for n, v in sent["headers"].items() if n != "Mcp-Name"} | bearer(token)
        headers |= {"Mcp-Name": name} if name else {}
        assert (await c.post(PATH, json=sent["json"], headers=headers)).status == 403
    batch = [sent["json"], modern("tools/list")["json"]]
    assert (await c.post(PATH, json=batch, headers=ACCEPT | bearer(token))).status == 403


async def test_an_older_session_lasts_while_tokens_change_and_is_the_apps_alone(
    c: Connecting,
) -> None:
    hosted = {"client_id": HOSTED, "redirect_uri": "https://host.example/callback"}
    tokens, wider, other = await c.tokens(), await c.tokens(), await c.tokens(**hosted)
    opened = await c.post(PATH, json=HELLO, headers=ACCEPT | bearer(tokens["access_token"]))
    of = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
    await c.post(PATH, json=READY, headers=ACCEPT | of | bearer(tokens["access_token"]))
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    fresh = (await c.refreshed(tokens["refresh_token"])).body["access_token"]
    for token, status in ((tokens["access_token"], 200), (fresh, 200), (wider["access_token"], 200), (other["access_token"], 404)):  # fmt: skip
        reply = await c.post(PATH, json=listing, headers=ACCEPT | of | bearer(token))
        assert reply.status == status
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "mandate_report_event", "arguments": {}}}  # fmt: skip
    stepped = await c.post(PATH, json=call, headers=ACCEPT | of | bearer(fresh))
    assert stepped.status == 403
    assert 'scope="wallet:read wallet:act"' in stepped.headers["WWW-Authenticate"]


# -- apps


async def test_a_registration_is_nothing_but_its_own_text(c: Connecting) -> None:
    told = await c.post("/oauth/register", json={"client_name": "Tool", "redirect_uris": ["cursor://anysphere.cursor-mcp/oauth/callback"], "token_endpoint_auth_method": "none"})  # fmt: skip
    assert told.status == 201
    client_id = told.body["client_id"]
    assert client_id.startswith("dc_")
    over = {"client_id": client_id, "redirect_uri": "cursor://anysphere.cursor-mcp/oauth/callback"}
    # Any program can take a scheme of this machine, as it can a port.
    page = await (await c.browser()).get(await c.link(**over))
    assert "any program here can take it" in page.said
    tokens = await c.tokens(**over)
    assert (await called(c, tokens["access_token"], "agents_me")).status == 200
    (grant,) = await c.grants()
    assert (grant["client_host"], grant["client_name"]) == (None, "Tool")
    assert grant["redirect_host"] == "anysphere.cursor-mcp" or grant["redirect_host"] == "cursor:"
    changed = client_id[:-1] + ("A" if client_id[-1] != "A" else "B")
    assert (await c.get(c.asked(**over | {"client_id": changed}))).status == 400
    assert (await c.refreshed(tokens["refresh_token"], client_id=changed)).status == 401


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": [1]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://h.example/c"] * 11}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://h.example/c"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["data:text/html,x"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["file:///etc/passwd"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://h.example/c#x"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://u@h.example/c"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://h.example/c?code=stolen"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["https://h.example/c?x=1;%73tate"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://[::1]/c?iss=https://h.example"]}, "invalid_redirect_uri"),
        (
            {"redirect_uris": ["https://h.example/c"], "token_endpoint_auth_method": "client_secret_post"},
            "invalid_client_metadata",
        ),
        ({"redirect_uris": ["https://h.example/c"], "client_name": "a\u202eb"}, "invalid_client_metadata"),
        ({"redirect_uris": ["https://h.example/c"], "client_name": "x" * 61}, "invalid_client_metadata"),
    ],
)  # fmt: skip
async def test_a_registration_that_is_not_taken(
    c: Connecting, metadata: dict[str, Any], error: str
) -> None:
    told = await c.post("/oauth/register", json=metadata)
    assert (told.status, told.body["error"]) == (400, error)


async def test_a_registration_has_bounds(c: Connecting) -> None:
    long = {"redirect_uris": ["https://h.example/" + "x" * 17_000]}
    assert (await c.post("/oauth/register", json=long)).status == 400
    for body in (b"[]", b"{", b'{"a": 1, "a": 2}'):
        told = await c.post(
            "/oauth/register", data=body, headers={"Content-Type": "application/json"}
        )
        assert (told.status, told.body["error"]) == (400, "invalid_client_metadata"), body


async def test_strangers_store_nothing(c: Connecting) -> None:
    for n in range(5):
        await c.post("/oauth/register", json={"redirect_uris": [f"https://h{n}.example/c"]})
        await c.get(c.asked(state=str(n)))
        await c.redeemed("ac_none")
        await c.refreshed("rt_none")
    for table in ("oauth_grants", "oauth_tokens"):
        rows = await c.world.store.read(lambda uow, t=table: uow.sql.rows(f"SELECT 1 FROM {t}"))
        assert rows == [], table


async def test_an_apps_document_is_fetched_once_and_has_to_name_itself(c: Connecting) -> None:
    for n in range(3):
        await c.link(state=str(n))
    assert c.fetched == [DOCUMENT]
    for body in (
        b"no json", b"[]", b"{}", orjson.dumps({"client_id": DOCUMENT, "redirect_uris": [CALLBACK]}),
        orjson.dumps({"client_id": HOSTED, "redirect_uris": ["javascript:alert(1)"]}), None,
    ):  # fmt: skip
        c.documents[HOSTED] = body
        c.world.clock.forward(hours=25)
        over = {"client_id": HOSTED, "redirect_uri": "https://host.example/callback"}
        assert (await c.get(c.asked(**over))).status == 400, body


@pytest.mark.parametrize(
    "change", [None, {"redirect_uris": ["https://claude.ai/other"]}, {"client_name": "Another"}]
)
async def test_a_document_that_changed_since_the_page_was_shown_gets_no_consent(
    c: Connecting, change: dict[str, Any] | None
) -> None:
    link, browser = await c.link(), await c.browser()
    assert (await browser.get(link)).status == 200
    was = c.documents[DOCUMENT]
    changed = None if change is None else orjson.dumps(PUBLISHED[DOCUMENT] | change)
    c.documents[DOCUMENT] = changed
    agent = c.mandate.agent.user_id or ""
    page = await browser.submit(link, link, decision="allow", agent=agent)
    assert page.status == 409, page.said
    assert "What the app publishes of itself has changed, or cannot be read now." in page.said
    assert await c.grants() == []
    # What is published again is asked for again, and not taken from what was kept.
    c.documents[DOCUMENT] = was
    page = await browser.submit(link, link, decision="allow", agent=agent)
    code = parameters(page.one("a").attributes["href"])["code"]
    assert (await c.redeemed(code)).status == 200


# -- the page of consent


async def test_the_page_of_consent_says_who_asks_what_and_what_could_be_lost(c: Connecting) -> None:
    browser = await c.browser()
    page = await browser.get(await c.link(scope="wallet:read wallet:act"))
    assert page.status == 200
    assert page.all("b", data_says="client")[0].text == "claude.ai"
    assert page.all("b", data_says="redirect")[0].text == "localhost"
    assert "“Claude Code”" in page.said
    assert "any program here can take it" in page.said
    assert "Act as this agent within your mandates" in page.said
    read = await c.world.ok("mandate_get", c.mandate.owner, public_id=c.mandate.id)
    worst = page.all("data", value=read["exposure"]["ever"])
    assert len(worst) == 1
    hosted = {"client_id": HOSTED, "redirect_uri": "https://host.example/callback"}
    assert "any program here" not in (await browser.get(await c.link(**hosted))).said


async def test_the_owner_refuses(c: Connecting) -> None:
    link = await c.link()
    page = await (await c.browser()).submit(link, link, decision="deny")
    told = parameters(page.one("a").attributes["href"])
    assert told == {"error": "access_denied", "state": "st", "iss": c.base}
    assert await c.grants() == []


async def test_the_owner_makes_a_new_agent_for_an_app(c: Connecting) -> None:
    link, browser = await c.link(), await c.browser()
    page = await browser.submit(link, link, decision="allow", agent="new", name="Claude Code")
    code = parameters(page.one("a").attributes["href"])["code"]
    token = (await c.redeemed(code)).body["access_token"]
    me = (await called(c, token, "agents_me")).body["result"]["structuredContent"]
    assert me["name"] == "Claude Code"
    assert me["agent_id"] != c.mandate.agent.user_id
    link = await c.link()
    again = await browser.submit(link, link, decision="allow", agent="new", name="Claude Code")
    assert (again.status, "reads the same" in again.said) == (409, True)


@pytest.mark.parametrize("redeemed", [False, True])
@pytest.mark.parametrize("again", ["allow", "deny"])
async def test_a_request_is_answered_once_and_then_says_what_was_answered(
    c: Connecting, redeemed: bool, again: str
) -> None:
    link, browser, agent = await c.link(), await c.browser(), c.mandate.agent.user_id or ""
    form = {"csrf": (await browser.get(link)).token(), "decision": "allow", "agent": agent}
    left = await browser.post(link, form)
    code = parameters(left.one("a").attributes["href"])["code"]
    if redeemed:
        assert (await c.redeemed(code)).status == 200
    pages = [await browser.get(link)]
    if redeemed or again == "deny":
        pages.append(await browser.post(link, form | {"decision": again}))
    for page in pages:
        assert (page.status, page.one("h1").text) == (409, "This request to connect is answered")
        assert "you connected the app" in page.said
        assert "Start connecting again in the app" in page.said
        assert f"/app/agents/{agent}" in page.links()
    rows = await c.world.store.read(lambda uow: uow.grants.of_agent(agent))
    assert len(rows) == 1
    if not redeemed:
        assert (await c.redeemed(code)).status == 200
    assert len(await c.grants()) == 1


@pytest.mark.parametrize("named", [False, True])
async def test_a_second_press_of_the_button_has_the_grant_of_the_first_and_another_code(
    c: Connecting, named: bool
) -> None:
    link, browser, agent = await c.link(), await c.browser(), c.mandate.agent.user_id or ""
    chosen = {"agent": "new", "name": "Claude"} if named else {"agent": agent}
    form = {"csrf": (await browser.get(link)).token(), "decision": "allow"} | chosen
    pages = [await browser.post(link, form) for _ in range(3)]
    codes = [parameters(p.one("a").attributes["href"])["code"] for p in pages]
    for lost in codes[:-1]:
        assert (await c.redeemed(lost)).body["error"] == "invalid_grant"
    assert (await c.redeemed(codes[-1])).status == 200
    late = await browser.post(link, form)
    assert (late.status, "you connected the app" in late.said) == (409, True)
    other = await browser.post(link, form | {"agent": "new", "name": "Another"})
    assert other.status == 409
    agents = (await c.world.ok("owner_agents", c.mandate.owner))["items"]
    assert len(agents) == 1 + named
    ids = [a["agent_id"] for a in agents]
    rows = await c.world.store.read(lambda uow: [g for i in ids for g in uow.grants.of_agent(i)])
    assert len(rows) == 1


async def test_a_request_that_was_refused_stays_refused(c: Connecting) -> None:
    link, browser, agent = await c.link(), await c.browser(), c.mandate.agent.user_id or ""
    form = {"csrf": (await browser.get(link)).token(), "decision": "deny", "agent": agent}
    assert (await browser.post(link, form)).status == 200
    for hold in ({}, {"hold": "1"}):
        page = await browser.post(link, form | {"decision": "allow"} | hold)
        assert page.status == 409
        assert "you refused the app" in page.said
    assert await c.world.store.read(lambda uow: uow.grants.of_agent(agent)) == []


async def test_a_request_that_is_over_and_one_that_never_was_are_told_alike(c: Connecting) -> None:
    links = [await c.link() for _ in range(3)]
    owner = await c.browser()
    agent = c.mandate.agent.user_id or ""
    await owner.submit(links[0], links[0], decision="allow", agent=agent)
    stranger, outside = Browser(c.base, c.http), Browser(c.base, c.http)
    _, wallet = await c.world.owner()
    await stranger.sign_in(wallet)
    # What another owner answered is to a stranger as what there never was.
    answered = await stranger.get(links[0])
    c.world.clock.forward(minutes=10)
    pages = [answered]
    for browser in (stranger, owner):
        pages += [await browser.get(link) for link in (*links, "/app/connect/s1.AbCdEfGh")]
    form = {"csrf": (await stranger.get("/app")).token(), "decision": "allow", "agent": agent}
    pages.append(await stranger.post(links[1], form))
    for page in pages:
        assert (page.status, page.one("h1").text) == (404, "This request to connect has run out")
        assert "no such page" not in page.said
        assert "Nothing can be connected by this link any more." in page.said
        assert "Start connecting again in the app: a link lasts ten minutes." in page.said
    assert len({p.said for p in pages[:5]}) == 1
    for link in (*links, "/app/connect/s1.AbCdEfGh"):
        shown = await outside.get(link)
        assert shown.headers["Location"] == f"/app/sign-in?next={link}"


async def test_a_consent_is_the_owners_own_act(c: Connecting) -> None:
    link, agent = await c.link(), c.mandate.agent.user_id or ""
    form = {"decision": "allow", "agent": agent}
    stranger = Browser(c.base, c.http)
    assert (await stranger.get(link)).headers["Location"].startswith("/app/sign-in?next=")
    assert (await stranger.post(link, form)).status == 401
    owner = await c.browser()
    assert (await owner.post(link, form)).status == 403  # without the form's token
    token = (await owner.get(link)).token()
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    sent = form | {"csrf": token}
    assert (await owner.raw("POST", link, elsewhere, data=sent)).status == 403
    assert (await owner.post(link, {"csrf": token, "decision": "allow"})).status == 400
    other, wallet = await c.world.owner()
    assert other.user_id != c.mandate.owner.user_id
    browser = Browser(c.base, c.http)
    await browser.sign_in(wallet)
    foreign = await browser.submit(link, link, decision="allow", agent=agent)
    assert foreign.status == 404
    assert await c.grants() == []
    c.world.clock.forward(minutes=10)
    assert (await owner.get(link)).status == 404
    assert (await owner.get(link[:-1] + ("A" if link[-1] != "A" else "B"))).status == 404


async def test_signing_in_leads_back_to_the_page_of_consent(c: Connecting) -> None:
    link = await c.link(state="s" * 300)
    browser = Browser(c.base, c.http)
    asked = await browser.get(link)
    page = await browser.get(asked.headers["Location"])
    wanted = page.one("input", name="next").attributes["value"]
    assert wanted == link
    signed = await browser.sign_in(c.mandate.owner_wallet, wanted)
    assert signed.headers["Location"] == link


async def test_a_page_of_ours_leads_to_consent_and_one_away_from_it(c: Connecting) -> None:
    reply = await c.get(c.asked())
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert '<meta http-equiv="refresh" content="0;url=/app/connect/' in reply.text
    link = await c.link()
    agent = c.mandate.agent.user_id or ""
    page = await (await c.browser()).submit(link, link, decision="allow", agent=agent)
    assert page.status == 200
    target = page.one("a").attributes["href"]
    assert page.all("meta", http_equiv="refresh")[0].attributes["content"] == f"0;url={target}"
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]


async def test_an_agent_has_twenty_grants_and_the_record_of_fifty(c: Connecting) -> None:
    m = c.mandate
    browser = await c.browser()
    token = (await browser.get("/app")).token()
    codes = []
    for _ in range(22):
        form = {"csrf": token, "decision": "allow", "agent": m.agent.user_id or ""}
        page = await browser.post(await c.link(), form)
        codes.append(parameters(page.one("a").attributes["href"])["code"])
        assert (await c.redeemed(codes[-1])).status == 200
        c.world.clock.forward(seconds=1)
    ended = [g["ended_by"] for g in await c.grants()]
    assert (ended.count(None), ended.count("replaced")) == (20, 2)
    rows = await c.world.store.read(lambda uow: uow.sql.rows("SELECT 1 FROM oauth_tokens"))
    assert len(rows) == 20


async def test_what_is_stored_of_a_token_is_its_hash(c: Connecting) -> None:
    tokens = await c.tokens()
    secrets = [tokens["access_token"], tokens["refresh_token"], VERIFIER]
    for table in ("oauth_grants", "oauth_tokens"):
        rows = await c.world.store.read(lambda uow, t=table: uow.sql.rows(f"SELECT * FROM {t}"))
        text = repr([dict(row) for row in rows])
        assert [s for s in secrets if s in text or s[3:] in text] == []


# -- bounds


async def test_a_host_that_goes_on_asking_without_a_token_is_no_attack(c: Connecting) -> None:
    """Some hosts say hello without a token every few minutes, beside a connection that is good."""
    tokens = await c.tokens()
    for _ in range(20):
        assert (await c.post(PATH, json=HELLO, headers=ACCEPT)).status == 401
    assert (await called(c, tokens["access_token"], "agents_me")).status == 200
    assert [g["ended_by"] for g in await c.grants()] == [None]


async def test_strangers_are_charged_at_every_endpoint_and_a_connected_app_is_not(
    c: Connecting,
) -> None:
    tokens = await c.tokens()
    # The service has its settings by the very same value.
    object.__setattr__(c.world.deps.config, "rate_anonymous", 40)
    limits = []
    for ask in (
        lambda: c.get(c.asked(client_id="https://x.example/c")),
        lambda: c.redeemed("ac_none"),
        lambda: c.form("/oauth/revoke", token="x", client_id="dc_x"),
        lambda: c.post("/oauth/register", json={"redirect_uris": ["https://h.example/c"]}),
        lambda: c.post(PATH, json=HELLO, headers=ACCEPT),
        lambda: c.post(PATH, json=HELLO, headers=ACCEPT | bearer("at_wrong")),
    ):
        c.world.clock.forward(minutes=2)
        statuses = [(await ask()).status for _ in range(42)]
        limits.append(statuses.index(429))
        assert set(statuses[limits[-1] :]) == {429}
    assert limits[:2] == [6, 6]
    assert limits[2] == 6
    assert limits[3:5] == [40, 40]
    assert limits[5] < 10
    assert (await called(c, tokens["access_token"], "agents_me")).status == 200


async def test_the_page_of_consent_says_where_the_service_signs_for_the_agent(
    c: Connecting,
) -> None:
    m, browser = c.mandate, await c.browser()
    link = await c.link(scope="wallet:act")
    assert "signs for the app" not in (await browser.get(link)).said
    address, now = m.agent_wallet.address, c.world.clock.now()
    key = HostedKey(agent_id=m.agent.user_id or "", number=1, address=address, made_at=now)
    await c.world.store.write(lambda uow: uow.hosted_keys.put(key))
    assert "signs for the app" in (await browser.get(link)).said
    assert "signs for the app" not in (await browser.get(await c.link())).said
    await c.world.store.write(lambda uow: uow.hosted_keys.put(key.ended(c.world.clock.now())))
    assert "signs for the app" not in (await browser.get(link)).said


async def test_the_owner_lets_the_service_hold_a_key_at_consent_and_ends_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "STRANGER_PAUSE_S", 0)
    async with signing(world, tmp_path), connecting(world) as c:
        m, browser = c.mandate, await c.browser()
        assert "hold a key" not in (await browser.get(await c.link())).said
        link = await c.link(scope="wallet:act")
        assert "hold a key" in (await browser.get(link)).said
        # A live vault names the agent's own address: nothing is delivered to the app.
        named = {"agent": m.agent.user_id or "", "decision": "allow", "hold": "1"}
        taken = {"agent": "new", "name": m.agent.name or ""}
        refused = await browser.submit(link, link, **named)
        assert (refused.status, refused.all("meta", http_equiv="refresh")) == (409, [])
        assert "names another address" in refused.said
        assert "reads the same" in (await browser.submit(link, link, **named | taken)).said
        assert len((await world.ok("owner_agents", m.owner))["items"]) == 1
        assert not [*(tmp_path / "keys").iterdir()]
        made = await browser.submit(link, link, **named | {"agent": "new", "name": "Keyed"})
        code = parameters(made.one("a").attributes["href"])["code"]
        token = (await c.redeemed(code)).body["access_token"]
        me = (await called(c, token, "agents_me")).body["result"]["structuredContent"]
        key = await world.ok("owner_agent_hosted_key", m.owner, agent_id=me["agent_id"])
        page = f"/app/agents/{me['agent_id']}"
        shown = await browser.get(page)
        assert key["address"] in shown.source
        assert "Key held by this service" in shown.said
        assert (await browser.submit(page, page + "/held-key/end")).status == 303
        assert "Key held by this service" not in (await browser.get(page)).said
        ended = await world.ok("owner_agent_hosted_key", m.owner, agent_id=me["agent_id"])
        assert ended["ended_at"] is not None


async def test_without_an_operators_signer_no_key_is_offered_to_be_held(c: Connecting) -> None:
    link = await c.link(scope="wallet:act")
    assert "hold a key" not in (await (await c.browser()).get(link)).said
