"""Codes and tokens that come many times at once, on both databases; and an app beside its owner."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from http_shim import application
from tests.app.site import Page
from tests.surfaces.apps import DOCUMENT, Connecting, connecting, parameters
from tests.surfaces.small import Reply, modern
from tests.world import Evm, a_world

pytestmark = pytest.mark.anyio
AT_ONCE = 6


@pytest.fixture
async def c(
    database_url: str, evm: Evm, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connecting]:
    monkeypatch.setattr(application, "STRANGER_PAUSE_S", 0)
    async with a_world(database_url, evm) as world, connecting(world) as found:
        yield found


async def called(c: Connecting, token: str, tool: str = "agents_me") -> Reply:
    sent = modern("tools/call", name=tool, arguments={})
    headers = sent["headers"] | {"Authorization": f"Bearer {token}"}
    return await c.post("/mcp/connect", json=sent["json"], headers=headers)


async def test_a_grant_lives_from_consent_to_its_end(c: Connecting) -> None:
    tokens = await c.tokens("wallet:read wallet:act")
    reply = await called(c, tokens["access_token"])
    assert reply.body["result"]["structuredContent"]["agent_id"] == c.mandate.agent.user_id
    fresh = (await c.refreshed(tokens["refresh_token"])).body
    assert (await called(c, fresh["access_token"])).status == 200
    revoked = await c.form("/oauth/revoke", token=fresh["refresh_token"], client_id=DOCUMENT)
    assert revoked.status == 200
    assert (await called(c, fresh["access_token"])).status == 401
    assert [g["ended_by"] for g in await c.grants()] == ["app"]


async def test_a_code_that_comes_many_times_at_once_is_redeemed_once_and_then_ended(
    c: Connecting,
) -> None:
    code, replies = (await c.consent())["code"], list[Reply]()

    async def redeem() -> None:
        replies.append(await c.redeemed(code))

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(redeem)
    good = [r for r in replies if r.status == 200]
    assert len(good) == 1
    assert {r.body["error"] for r in replies if r.status != 200} == {"invalid_grant"}
    assert (await called(c, good[0].body["access_token"])).status == 401
    assert [g["ended_by"] for g in await c.grants()] == ["reused"]


async def test_a_request_that_is_answered_many_times_at_once_has_one_grant_ever(
    c: Connecting,
) -> None:
    link, browser, agent = await c.link(), await c.browser(), c.mandate.agent.user_id or ""
    form = {"csrf": (await browser.get(link)).token(), "agent": agent}
    pages: list[Page] = []

    async def answer(decision: str) -> None:
        pages.append(await browser.post(link, form | {"decision": decision}))

    async with anyio.create_task_group() as group:
        for n in range(AT_ONCE):
            group.start_soon(answer, ("allow", "deny")[n % 2])
    # Whoever chose as the first one did is led on; the others are told what was chosen.
    led = [parameters(p.one("a").attributes["href"]) for p in pages if p.status == 200]
    others = [p for p in pages if p.status != 200]
    assert (len(led), {p.status for p in others}) == (AT_ONCE // 2, {409})
    codes = {sent["code"] for sent in led if "code" in sent}
    assert {"you connected the app" in p.said for p in others} == {bool(codes)}
    rows = await c.world.store.read(lambda uow: uow.grants.of_agent(agent))
    assert len(rows) == bool(codes)
    assert len(codes) in (0, AT_ONCE // 2)
    redeemed = [(await c.redeemed(code)).status for code in codes]
    assert redeemed.count(200) == len(rows)


async def test_a_refresh_token_that_comes_many_times_at_once_is_rotated_once(
    c: Connecting,
) -> None:
    tokens, replies = await c.tokens(), list[Reply]()

    async def refresh() -> None:
        replies.append(await c.refreshed(tokens["refresh_token"]))

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(refresh)
    good = [r for r in replies if r.status == 200]
    assert len(good) == 1
    assert (await called(c, good[0].body["access_token"])).status == 401
    assert [g["ended_by"] for g in await c.grants()] == ["reused"]


async def test_a_refresh_beside_the_end_of_its_grant_leaves_no_token_that_is_good(
    c: Connecting,
) -> None:
    m, tokens, fresh = c.mandate, await c.tokens(), list[Reply]()
    (grant,) = await c.grants()

    async def refresh() -> None:
        fresh.append(await c.refreshed(tokens["refresh_token"]))

    async def end() -> None:
        asked = {"agent_id": m.agent.user_id, "grant_id": grant["grant_id"]}
        await c.world.ok("owner_agent_grant_end", m.owner, **asked)

    async with anyio.create_task_group() as group:
        group.start_soon(refresh)
        group.start_soon(end)
    given = [tokens["access_token"], *(r.body["access_token"] for r in fresh if r.status == 200)]
    assert {(await called(c, token)).status for token in given} == {401}
    rows = await c.world.store.read(lambda uow: uow.sql.rows("SELECT 1 FROM oauth_tokens"))
    assert rows == []
