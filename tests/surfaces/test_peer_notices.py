"""Two processes on one database: a session of 2025 hears of what it subscribed to, whichever was asked and holds its stream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from aiohttp import ClientResponse, ClientSession

from server.mcp_api import shared_places
from server.mcp_api.wallet_resources import READ
from tests.surfaces.conftest import Service, running
from tests.surfaces.small import ACCEPT, HELLO, READY, Small, by_key, small
from tests.waiting import STUCK_S
from tests.world import BY_NAME, Evm
from tools.model.sealing import key_ring

pytestmark = [pytest.mark.anyio, pytest.mark.pg]
RING = key_ring("k" * 32)
NOTE = {"kind": "note", "payload": {"text": "hello"}}


@pytest.fixture
async def three(pg_url: str, evm: Evm) -> AsyncIterator[tuple[Service, list[Small]]]:
    """A service with a mandate, and two processes beside it that know of each other."""
    more = (BY_NAME[READ],)
    async with (
        running(pg_url, evm) as service,
        small(pg_url, sealing=RING, again=True, more=more) as a,
        small(pg_url, sealing=RING, again=True, more=more) as b,
    ):
        yield service, [a, b]


class Session:
    """A session of 2025 that its client speaks with by hand."""

    def __init__(self, key: str, headers: dict[str, str]):
        self.key, self.headers = key, headers

    async def ask(self, process: Small, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
        reply = await process.post("/mcp", self.key, json=message, headers=self.headers)
        assert reply.status == 200, reply.text
        return reply.body

    async def subscribe(self, process: Small, uri: str, verb: str = "subscribe") -> Any:
        return await self.ask(process, f"resources/{verb}", uri=uri)

    @asynccontextmanager
    async def stream(self, process: Small) -> AsyncIterator[ClientResponse]:
        headers = self.headers | by_key(self.key) | {"Accept": "text/event-stream"}
        async with (
            ClientSession() as http,
            http.get(process.base + "/mcp", headers=headers) as told,
        ):
            assert told.status == 200
            yield told


async def opened(process: Small, key: str) -> Session:
    reply = await process.post("/mcp", key, json=HELLO, headers=ACCEPT)
    assert reply.status == 200, reply.text
    headers = ACCEPT | {
        "Mcp-Session-Id": reply.headers["Mcp-Session-Id"],
        "Mcp-Protocol-Version": "2025-11-25",
    }
    await process.post("/mcp", key, json=READY, headers=headers)
    return Session(key, headers)


async def heard(stream: ClientResponse) -> Any:
    with anyio.fail_after(STUCK_S):
        while True:
            line = (await stream.content.readline()).decode()
            assert line, "the stream has ended"
            if line.startswith("data: {"):
                return json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize(("asked", "told"), [(0, 0), (0, 1), (1, 0), (1, 1)])
async def test_a_session_hears_whichever_process_was_asked_and_holds_its_stream(
    three: tuple[Service, list[Small]], asked: int, told: int
) -> None:
    service, processes = three
    mandate = f"wallet://mandates/{service.mandate.id}"
    session = await opened(processes[0], service.key)
    async with session.stream(processes[told]) as stream:
        reply = await session.subscribe(processes[asked], mandate)
        assert reply.get("result") == {}, reply
        # At once: what happens before the other process has looked is told too.
        assert (await service.mandate.as_agent("mandate_report_event", **NOTE)).status == 201
        first = await heard(stream)
        assert first["method"] == "notifications/resources/updated"
        assert first["params"]["uri"] == mandate
        assert (await service.mandate.as_agent("mandate_report_event", **NOTE)).status == 201
        assert (await heard(stream))["params"]["uri"] == mandate
        await session.subscribe(processes[1 - asked], mandate, "unsubscribe")
        with anyio.fail_after(STUCK_S):
            while processes[told].server.resources.watched():
                await anyio.sleep(0.05)


async def test_a_stream_elsewhere_hears_of_the_list_of_tools_and_ends_with_its_session(
    three: tuple[Service, list[Small]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_places, "SYNC_S", 0.05)
    service, (home, other) = three
    session = await opened(home, service.key)
    async with session.stream(other) as stream:
        await other.tools.watch()
        await home.door("off")
        await other.tools.watch()
        assert (await heard(stream))["method"] == "notifications/tools/list_changed"
        await home.door("on")
        reply = await home.ask("DELETE", "/mcp", service.key, headers=session.headers)
        assert reply.status == 200
        with anyio.fail_after(STUCK_S):
            while not stream.content.at_eof():
                await stream.content.readany()


async def test_a_session_subscribes_to_so_many_in_all_processes(
    three: tuple[Service, list[Small]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.mcp_api.shared_subscriptions.MOST", 0)
    service, processes = three
    mandate = f"wallet://mandates/{service.mandate.id}"
    session = await opened(processes[0], service.key)
    for process in processes:
        told = (await session.subscribe(process, mandate))["error"]
        assert told["data"]["refusal"]["error"] == "rate_limited"
        foreign = (await session.subscribe(process, "wallet://mandates/m_aaaaaaaaaa"))["error"]
        assert foreign["data"]["refusal"]["error"] == "not_found"


async def test_who_lost_the_right_hears_no_more_elsewhere(
    three: tuple[Service, list[Small]],
) -> None:
    service, (home, other) = three
    mandate, m = f"wallet://mandates/{service.mandate.id}", service.mandate
    agent_id, now = m.agent.user_id or "", service.world.clock.now()
    session = await opened(home, service.key)
    async with session.stream(other):
        await session.subscribe(home, mandate)
        with anyio.fail_after(STUCK_S):
            while not other.server.resources.watched():
                await anyio.sleep(0.05)
        await service.world.store.write(
            lambda uow: uow.identities.revoke_key(agent_id, "k_test", now)
        )
        assert (await m.as_agent("mandate_report_event", **NOTE)).status == 201
        with anyio.fail_after(STUCK_S):
            while other.server.resources.watched():
                await anyio.sleep(0.05)
        await anyio.sleep(1.5)  # it looks again at what was subscribed to
        assert not other.server.resources.watched()
