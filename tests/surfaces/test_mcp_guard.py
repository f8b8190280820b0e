"""Sessions and streams of strangers are bounded apart; the transport's own errors are blocks; nothing sent is logged."""

from __future__ import annotations

import itertools
import json
import logging
import math
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from aiohttp import ClientError, ClientResponse, ClientSession
from starlette.responses import PlainTextResponse

from domain.refusals import Refused, refusal
from http_shim import connections
from http_shim.json_body import MAX_BODY
from server.mcp_api import session_limits
from server.mcp_api.session_limits import SessionGuard, SessionSlots, SlotLimits
from storage.repositories.identities import Agent
from tests.surfaces.small import ALICE, BOB, START, connected, small
from tests.waiting import STUCK_S, LoopClock
from tools.context.credentials import hashed

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
    monkeypatch.setattr(
        session_limits,
        "STRANGERS_SESSIONS",
        SlotLimits(one=3, all=4, rest_s=10_000, listening_s=10_000),
    )
    monkeypatch.setattr(
        session_limits,
        "STRANGERS_STREAMS",
        SlotLimits(one=2, all=4, rest_s=10_000, listening_s=10_000),
    )


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
    monkeypatch.setattr(
        session_limits, "STRANGERS_SESSIONS", SlotLimits(one=3, all=9, rest_s=0, listening_s=60)
    )
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
    places = SessionSlots(
        "sessions", SlotLimits(one=2, all=3, rest_s=5, listening_s=60), lambda: at
    )
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


def test_owners_share_the_places_of_keys_however_many_keys_they_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        session_limits, "KEYED", SlotLimits(one=40, all=60, rest_s=10_000, listening_s=math.inf)
    )
    at = itertools.count()
    places = SessionSlots(
        "sessions", SlotLimits(one=1, all=1, rest_s=1, listening_s=1), lambda: next(at)
    )
    owners = [f"owner {n}" for n in range(6)]

    def asked(owner: str, n: int) -> bool:
        with suppress(Refused):
            return bool(places.admit(True, f"{owner}, key {n}", owner))
        return False

    for owner in owners:  # each comes with 50 keys, and asks with each of them four times
        got = [asked(owner, n) for _ in range(4) for n in range(50)]
        assert got[:10] == [True] * 10
    assert Counter(p.owner for p in places) == dict.fromkeys(owners, 10)
    assert [asked("owner 0", 77), asked("newcomer", 1)] == [False, True]
    assert len(list(places)) == 60


def test_one_that_is_just_answered_gives_no_place_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        session_limits, "KEYED", SlotLimits(one=2, all=2, rest_s=10_000, listening_s=math.inf)
    )
    places = SessionSlots(
        "sessions", SlotLimits(one=1, all=1, rest_s=1, listening_s=1), lambda: 0.0
    )
    busy = [places.admit(True, "k", "a")[0] for _ in range(2)]
    for place in busy:
        place.open = 1
    with pytest.raises(Refused, match="rate_limited"):
        places.admit(True, "k2", "b")
    busy[1].open = 0
    assert places.admit(True, "k2", "b")[1] is busy[1]


async def test_whose_owner_has_the_most_gives_a_session_up(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_limits, "KEYED", SlotLimits(one=4, all=4, rest_s=10_000, listening_s=math.inf)
    )
    carla = "ak_" + "c" * 43

    def another(uow: Any) -> None:
        uow.identities.person("0x" + "12" * 20, new_id="u_other", now=START)
        uow.identities.add_agent(Agent("u_carla", "u_other", "u_carla", None, START))
        uow.identities.add_key("k_carla", "u_carla", hashed(carla), START)

    async with small(sqlite_url) as s, ClientSession() as http:
        await s.store.write(another)
        first, *others = [(await opened(http, s.base, ALICE))[1] for _ in range(4)]
        status, theirs, _ = await opened(http, s.base, carla)
        assert status == 200
        assert await listed(http, s.base, theirs, carla) == 200
        assert [await listed(http, s.base, n, ALICE) for n in (first, *others)] == [404] + [200] * 3
        # Another key of the owner who has the most takes none of somebody else's.
        assert (await opened(http, s.base, BOB))[0] == 200
        assert await listed(http, s.base, theirs, carla) == 200
        assert [await listed(http, s.base, n, ALICE) for n in others] == [404, 200, 200]


async def test_whose_owner_has_the_most_gives_a_stream_up(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_limits, "KEYED", SlotLimits(one=2, all=2, rest_s=10_000, listening_s=math.inf)
    )
    async with small(sqlite_url) as s, ClientSession() as http, AsyncExitStack() as stack:
        mine = [
            await stack.enter_async_context(http.get(s.base + "/sse", headers=key(ALICE)))
            for _ in range(2)
        ]
        async with http.get(s.base + "/sse", headers=key(BOB)) as theirs:
            assert [r.status for r in (*mine, theirs)] == [200] * 3
            with anyio.fail_after(STUCK_S), suppress(ClientError):
                await mine[0].content.read()  # it ends


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
    clock, wait, begun = LoopClock(), connections.Connection._wait, 0

    def counted(self: connections.Connection) -> None:
        nonlocal begun
        begun += 1
        wait(self)

    monkeypatch.setattr(connections.Connection, "_wait", counted)
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
                clock.forward(connections.HEAD_S)
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stream.receive()


@asynccontextmanager
async def listening_to(
    http: ClientSession, base: str, session: str
) -> AsyncIterator[ClientResponse]:
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": session}
    async with http.get(base + "/mcp", headers=headers) as r:
        assert r.status == 200
        yield r


async def test_a_stranger_who_only_listens_gives_way(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = SlotLimits(one=2, all=9, rest_s=10_000, listening_s=0)
    monkeypatch.setattr(session_limits, "STRANGERS_SESSIONS", bounds)
    async with small(sqlite_url) as s, ClientSession() as http, AsyncExitStack() as stack:
        sessions = [(await opened(http, s.base))[1] for _ in range(2)]
        # A stream that was left and opened anew is one stream.
        async with listening_to(http, s.base, sessions[0]):
            pass
        with anyio.fail_after(STUCK_S):
            while s.server.open_requests:
                await anyio.sleep(0.01)
        streams = [await stack.enter_async_context(listening_to(http, s.base, n)) for n in sessions]
        status, newest, _ = await opened(http, s.base)
        assert status == 200
        with anyio.fail_after(STUCK_S), suppress(ClientError):
            await streams[0].read()
        assert not streams[1].content.at_eof()
        assert [await listed(http, s.base, n) for n in (*sessions, newest)] == [404, 200, 200]


async def test_a_full_house_says_when_a_place_can_be_had(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_limits, "STRANGERS_SESSIONS", SlotLimits(one=1, all=9, rest_s=500, listening_s=900)
    )
    monkeypatch.setattr(
        session_limits, "STRANGERS_STREAMS", SlotLimits(one=1, all=9, rest_s=700, listening_s=700)
    )

    async def waits(http: ClientSession, method: str, path: str) -> int:
        sent = HELLO if method == "POST" else None
        async with http.request(method, s.base + path, json=sent, headers=ACCEPT) as r:
            assert (r.status, (await r.json())["error"]) == (429, "rate_limited")
            return int(r.headers["Retry-After"])

    async with small(sqlite_url) as s, ClientSession() as http:
        session = (await opened(http, s.base))[1]
        assert 400 < await waits(http, "POST", "/mcp") <= 500
        async with listening_to(http, s.base, session):
            assert 800 < await waits(http, "POST", "/mcp") <= 900
        async with http.get(s.base + "/sse") as stream:
            assert stream.status == 200
            assert 600 < await waits(http, "GET", "/sse") <= 700


async def test_each_address_has_places_of_its_own(sqlite_url: str, few: None) -> None:
    async with small(sqlite_url, trusted_proxies="127.0.0.0/8") as s, ClientSession() as http:
        seen: list[int] = []
        for address in ("1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.2"):
            headers = ACCEPT | {"X-Forwarded-For": address}
            async with http.post(s.base + "/mcp", json=HELLO, headers=headers) as r:
                seen.append(r.status)
        assert seen == [200, 200, 200, 429, 200]


NOWHERE = "/messages/?session_id=" + "0" * 32
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern(method: str, **more: Any) -> tuple[dict[str, str], dict[str, Any]]:
    headers = {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if "name" in more:
        headers["Mcp-Name"] = more["name"]
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**more, "_meta": MODERN}}
    return ACCEPT | headers, sent


@pytest.mark.parametrize(
    "who", [{}, {"X-Service-User-Key": "ak_" + "z" * 43}], ids=["no key", "a wrong key"]
)
async def test_whatever_a_stranger_asks_over_mcp_counts(
    sqlite_url: str, who: dict[str, str]
) -> None:
    each = 5 if who else 1
    asked: list[tuple[str, str, dict[str, str], Any]] = [
        ("POST", "/mcp", *modern("server/discover")),
        ("POST", "/mcp", *modern("resources/list")),
        ("POST", "/mcp", *modern("prompts/list")),
        ("POST", "/mcp", *modern("tools/call", name="nope", arguments={})),
        ("GET", "/mcp", ACCEPT, None),
        ("DELETE", "/mcp", {"Mcp-Session-Id": "x"}, None),
        ("POST", NOWHERE, {}, {}),
        ("POST", "/mcp", ACCEPT, HELLO),
    ]
    async with (
        small(sqlite_url, rate_anonymous=each * len(asked)) as s,
        ClientSession() as http,
    ):

        async def status(method: str, path: str, headers: dict[str, str], sent: Any) -> int:
            async with http.request(method, s.base + path, json=sent, headers=headers | who) as r:
                if r.status == 429:
                    assert (await r.json())["error"] == "rate_limited"
                    assert r.headers["Retry-After"]
                return r.status

        assert 429 not in [await status(*one) for one in asked]
        async with http.get(s.base + "/wallet/who") as r:
            assert r.status == 429
        limited = [await status(*one) for one in asked]
        # A tool tells its refusal as a tool does (contract 1); there is none of this name.
        assert limited == [429, 429, 429, 400, 429, 429, 429, 429]
        headers, call = modern("tools/call", name="who_am_i", arguments={})
        async with http.post(s.base + "/mcp", json=call, headers=headers | who) as r:
            told = (await r.json())["result"]
            assert (r.status, told["isError"]) == (200, True)
            assert told["structuredContent"]["refusal"]["error"] == "rate_limited"
        headers, call = modern("tools/call", name="who_am_i", arguments={"x": "y" * 10_000})
        assert await status("POST", "/mcp", headers, call) == 429


async def test_a_strangers_call_counts_once(sqlite_url: str) -> None:
    async with small(sqlite_url, rate_anonymous=4) as s, ClientSession() as http:
        errors = []
        headers, call = modern("tools/call", name="who_am_i", arguments={})
        for _ in range(5):
            async with http.post(s.base + "/mcp", json=call, headers=headers) as r:
                errors.append((await r.json())["result"]["isError"])
        assert errors == [False] * 4 + [True]


@pytest.mark.parametrize(
    "filled",
    ["[" + "[]," * 80_000 + "[]]", "[" + "{}," * 80_000 + "{}]", "[" * 100_000 + "]" * 100_000, "[" + '"",' * 80_000 + '""]'],
    ids=["lists", "objects", "depth", "texts"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/mcp", NOWHERE, "/wallet/notes/n"])
async def test_a_body_that_would_cost_a_parser_reaches_none(
    sqlite_url: str, path: str, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def kept(text: str, **_: Any) -> Any:
        parsed.append(text)
        return {}

    async with small(sqlite_url) as s, ClientSession() as http:
        monkeypatch.setattr("http_shim.json_body.json", SimpleNamespace(loads=kept))
        monkeypatch.setattr("http_shim.json_body._STRICT", SimpleNamespace(decode=kept))
        sent = key(ALICE) | {"Content-Type": "application/json"}
        body = f'{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"a": {filled}}}}}'
        async with http.post(s.base + path, data=body, headers=sent) as r:
            assert (r.status, (await r.json())["error"]) == (400, "invalid_request")
        assert parsed == []


async def test_a_message_is_as_long_as_a_body_may_be(sqlite_url: str) -> None:
    sent = key(None) | {"Content-Type": "application/json"}
    async with small(sqlite_url) as s, ClientSession() as http:
        for path in ("/mcp", NOWHERE):
            async with http.post(s.base + path, data=b" " * (MAX_BODY + 1), headers=sent) as r:
                assert (r.status, (await r.json())["error"]) == (413, "body_too_large")


async def test_a_key_that_comes_twice_is_refused_on_messages_too(sqlite_url: str) -> None:
    sent = {"Content-Type": "application/json"}
    async with (
        small(sqlite_url) as s,
        ClientSession() as http,
        http.post(s.base + NOWHERE, data='{"a": 1, "a": 2}', headers=sent) as r,
    ):
        told = await r.json()
        assert (r.status, told["detail"]["fields"][0]["loc"]) == (400, "a")


async def test_a_block_names_steps_for_whoever_asked(sqlite_url: str) -> None:
    async with small(sqlite_url) as s, ClientSession() as http:
        steps = []
        for who in (None, ALICE):
            async with http.post(s.base + NOWHERE, json={}, headers=key(who)) as r:
                steps.append((await r.json())["next"])
        block = refusal("not_found", what="session")
        assert steps == [block.as_json("nobody")["next"], block.as_json("agent")["next"]]


async def test_a_transport_that_is_full_is_told_as_a_rate_limit(sqlite_url: str) -> None:
    async def full(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("Too many", 503)(scope, receive, send)

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async with small(sqlite_url) as s:
        asked = {"type": "http", "method": "GET", "path": "/mcp", "headers": [], "client": None}
        await SessionGuard(full, deps=s.deps, idle_s=600)(asked, _nothing, send)
    head, body = sent
    assert (head["status"], json.loads(body["body"])["error"]) == (429, "rate_limited")
    assert (b"retry-after", b"1") in head["headers"]


async def _nothing() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}
