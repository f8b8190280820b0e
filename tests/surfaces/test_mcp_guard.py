"""Sessions and streams of strangers are bounded apart; the transport's own errors are blocks; nothing sent is logged."""

from __future__ import annotations

import json
import logging
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from aiohttp import ClientResponse, ClientSession

from http_shim import listening
from server import mcp_guard
from server.mcp_guard import Bounds, Places
from tests.surfaces.small import ALICE, BOB, connected, small
from tests.waiting import STUCK_S, LoopClock

pytestmark = pytest.mark.anyio
ACCEPT = {"Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def key(value: str | None) -> dict[str, str]:
    return ACCEPT | ({"X-Service-User-Key": value} if value else {})


async def opened(http: ClientSession, base: str, who: str | None = None) -> tuple[int, str, Any]:
    async with http.post(base + "/mcp", json=HELLO, headers=key(who)) as r:
        return r.status, r.headers.get("Mcp-Session-Id", ""), await r.json()


async def listed(http: ClientSession, base: str, session: str, who: str | None = None) -> int:
    headers = key(who) | {"Mcp-Session-Id": session}
    async with http.post(base + "/mcp", json=LIST, headers=headers) as r:
        return r.status


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few places, and rest that never comes by itself."""
    monkeypatch.setattr(mcp_guard, "STRANGERS_SESSIONS", Bounds(one=3, all=4, rest_s=10_000))
    monkeypatch.setattr(mcp_guard, "STRANGERS_STREAMS", Bounds(one=2, all=4, rest_s=10_000))


@pytest.mark.usefixtures("few")
async def test_strangers_take_no_place_of_keyed_sessions(sqlite_url: str) -> None:
    async with small(sqlite_url) as s, ClientSession() as http:
        told = [await opened(http, s.base) for _ in range(6)]
        assert [status for status, _, _ in told] == [200] * 3 + [429] * 3
        assert told[-1][2]["error"] == "rate_limited"
        assert told[-1][2]["retry_at"]
        # A key that is none does not make a stranger less of one.
        assert (await opened(http, s.base, "ak_" + "z" * 43))[0] == 429
        for who in (ALICE, BOB):
            status, session, _ = await opened(http, s.base, who)
            assert status == 200
            assert await listed(http, s.base, session, who) == 200
        assert await listed(http, s.base, told[0][1]) == 200


async def test_the_stranger_that_rests_longest_gives_way(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_guard, "STRANGERS_SESSIONS", Bounds(one=3, all=9, rest_s=0))
    async with small(sqlite_url) as s, ClientSession() as http:
        sessions = [(await opened(http, s.base))[1] for _ in range(3)]
        assert await listed(http, s.base, sessions[0]) == 200
        status, newest, _ = await opened(http, s.base)
        assert status == 200
        assert [await listed(http, s.base, n) for n in (*sessions, newest)] == [200, 404, 200, 200]


async def test_a_session_that_ends_frees_its_place(sqlite_url: str, few: None) -> None:
    async with small(sqlite_url) as s, ClientSession() as http:
        for _ in range(5):
            status, session, _ = await opened(http, s.base)
            assert status == 200
            headers = key(None) | {"Mcp-Session-Id": session}
            async with http.delete(s.base + "/mcp", headers=headers) as r:
                assert r.status == 200


@pytest.mark.usefixtures("few")
async def test_streams_of_strangers_are_bounded_and_free_their_place(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        for _ in range(2):  # the second round finds the places free again
            async with AsyncExitStack() as stack, ClientSession() as http:
                streams: list[ClientResponse] = [
                    await stack.enter_async_context(http.get(s.base + "/sse")) for _ in range(3)
                ]
                assert [r.status for r in streams] == [200, 200, 429]
                assert (await streams[2].json())["error"] == "rate_limited"
                async with http.get(s.base + "/sse", headers=key(ALICE)) as keyed:
                    assert keyed.status == 200
            with anyio.fail_after(STUCK_S):
                while s.server.open_requests:
                    await anyio.sleep(0.01)


async def test_places_are_counted_by_holder_and_by_kind() -> None:
    at = 0.0
    places = Places("sessions", Bounds(one=2, all=3, rest_s=5), lambda: at)
    first, _ = places.admit(False, "a")
    places.admit(False, "a")
    with pytest.raises(Exception, match="rate_limited"):
        places.admit(False, "a")
    places.admit(False, "b")
    with pytest.raises(Exception, match="rate_limited"):
        places.admit(False, "c")
    assert places.admit(True, "k")[1] is None
    at = 6.0
    assert places.admit(False, "c")[1] is first
    places.forget(10)
    assert len(list(places)) == 4
    at = 17.0
    places.forget(10)
    assert list(places) == []


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "error"),
    [
        ("POST", "/mcp", {"Host": "evil.example"}, 421, "invalid_request"),
        ("POST", "/mcp", {"Origin": "https://evil.example"}, 403, "forbidden"),
        ("GET", "/sse", {"Host": "evil.example"}, 421, "invalid_request"),
        ("POST", "/messages/", {}, 400, "invalid_request"),
        ("POST", "/messages/?session_id=" + "0" * 32, {}, 404, "not_found"),
        ("POST", "/messages/?session_id=x", {}, 400, "invalid_request"),
        ("PUT", "/mcp", {}, 405, "method_not_allowed"),
    ],
)
async def test_what_the_transport_refuses_in_plain_text_is_a_block(
    sqlite_url: str, method: str, path: str, headers: dict[str, str], status: int, error: str
) -> None:
    async with small(sqlite_url) as s, ClientSession() as http:
        sent = ACCEPT | headers | {"Content-Type": "application/json"}
        async with http.request(method, s.base + path, data=json.dumps(HELLO), headers=sent) as r:
            told = await r.json()
            assert (r.status, told["error"]) == (status, error)
            assert told["next"]
            assert r.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_key_that_comes_twice_is_refused_over_mcp_too(sqlite_url: str) -> None:
    arguments = '{"name": "a", "name": "b"}'
    call = '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "mandate_keep", "arguments": %s}}'
    sent = key(ALICE) | {"Content-Type": "application/json"}
    async with small(sqlite_url) as s, ClientSession() as http:
        _, session, _ = await opened(http, s.base, ALICE)
        headers = sent | {"Mcp-Session-Id": session}
        async with http.post(s.base + "/mcp", data=call % arguments, headers=headers) as r:
            assert (r.status, (await r.json())["error"]) == (400, "invalid_request")
        async with http.post(s.base + "/mcp", data=call % '{"name": "b"}', headers=headers) as r:
            assert r.status == 200
        assert list(await s.notes()) == ["b"]


async def test_two_idempotency_keys_are_refused(sqlite_url: str) -> None:
    async with small(sqlite_url) as s, ClientSession() as http:
        headers = [
            ("X-Service-User-Key", ALICE),
            ("Idempotency-Key", "a"),
            ("Idempotency-Key", "b"),
        ]
        async with http.post(s.base + "/wallet/notes/n", headers=headers, json={}) as r:
            assert (r.status, (await r.json())["error"]) == (400, "invalid_request")
        assert await s.notes() == {}


@pytest.mark.parametrize("way", ["sse-2025", "sse-2026", "streamable-2025", "streamable-2026"])
async def test_nothing_that_a_caller_sent_is_logged_at_debug(
    sqlite_url: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with small(sqlite_url) as s:
        async with connected(way, s.base, {"X-Service-User-Key": ALICE}) as client:
            caplog.clear()
            told = await client.call_tool("mandate_keep", {"name": "n", "more": {"x": PHRASE}})
            assert (told.structured_content or {})["refusal"]["error"] == "secret_not_accepted"
        async with ClientSession() as http, http.get(s.base + "/sse") as stream:
            with anyio.fail_after(STUCK_S):
                while not (line := (await stream.content.readline()).decode()).startswith("data:"):
                    pass
            where = line.removeprefix("data:").strip()
            async with http.post(
                s.base + where,
                data=f'{{"a": "{PHRASE}"}}',
                headers={"Content-Type": "application/json"},
            ) as r:
                assert r.status == 400
    ours = [r for r in caplog.records if not r.name.startswith(("mcp.client", "httpx", "httpcore"))]
    assert ours
    assert not any(PHRASE in r.getMessage() or PHRASE in (r.exc_text or "") for r in ours)
    assert PHRASE not in "".join(caplog.handler.format(r) for r in ours)


async def test_a_second_head_that_never_ends_is_cut_too(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, wait, begun = LoopClock(), listening.Connection._wait, 0

    def counted(self: listening.Connection) -> None:
        nonlocal begun
        begun += 1
        wait(self)

    monkeypatch.setattr(listening.Connection, "_wait", counted)
    async with small(sqlite_url) as s:
        host, _, port = s.base.removeprefix("http://").partition(":")
        with anyio.fail_after(STUCK_S):
            async with await anyio.connect_tcp(host, int(port)) as stream:
                for _ in range(2):  # a kept connection answers as often as it is asked in time
                    await stream.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert b"200 OK" in await stream.receive()
                heads = begun
                await stream.send(b"GET /healthz HTTP/1.1\r\nHo")
                while begun == heads:
                    await anyio.sleep(0.01)
                clock.forward(listening.HEAD_S)
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stream.receive()
