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
from tests.surfaces.small import (
    ACCEPT,
    ALICE,
    BOB,
    HELLO,
    JSON,
    START,
    WAYS,
    Reply,
    Small,
    by_key,
    connected,
    modern,
    small,
)
from tests.waiting import STUCK_S, LoopClock
from tools.context.credentials import hashed

pytestmark = pytest.mark.anyio
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def key(value: str | None) -> dict[str, str]:
    return ACCEPT | by_key(value)


async def opened(s: Small, who: str | None = None, **more: str) -> Reply:
    return await s.post("/mcp", who, json=HELLO, headers=ACCEPT | more)


async def session(s: Small, who: str | None = None) -> str:
    reply = await opened(s, who)
    assert reply.status == 200, reply.text
    return reply.headers["Mcp-Session-Id"]


async def listed(s: Small, of: str, who: str | None = None) -> int:
    return (await s.post("/mcp", who, json=LIST, headers=ACCEPT | {"Mcp-Session-Id": of})).status


async def quiet(s: Small) -> None:
    """Until no request is under way."""
    with anyio.fail_after(STUCK_S):
        while s.server.open_requests:
            await anyio.sleep(0.01)


def limit(
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    one: int,
    every: int,
    rest_s: int,
    listening_s: float,
) -> None:
    limits = SlotLimits(one=one, all=every, rest_s=rest_s, listening_s=listening_s)
    monkeypatch.setattr(session_limits, kind, limits)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few places, and rest that never comes by itself."""
    limit(monkeypatch, "STRANGERS_SESSIONS", 3, 4, 10_000, 10_000)
    limit(monkeypatch, "STRANGERS_STREAMS", 2, 4, 10_000, 10_000)


@pytest.mark.usefixtures("few")
async def test_strangers_take_no_place_of_keyed_sessions(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        told = [await opened(s) for _ in range(6)]
        assert [r.status for r in told] == [200] * 3 + [429] * 3
        assert told[-1].body["error"] == "rate_limited"
        assert told[-1].body["retry_at"]
        # A key that is none does not make a stranger less of one.
        assert (await opened(s, "ak_" + "z" * 43)).status == 429
        for who in (ALICE, BOB):
            assert await listed(s, await session(s, who), who) == 200
        assert await listed(s, told[0].headers["Mcp-Session-Id"]) == 200


async def test_the_stranger_that_rests_longest_gives_way(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "STRANGERS_SESSIONS", 3, 9, 0, 60)
    async with small(sqlite_url) as s:
        sessions = [await session(s) for _ in range(3)]
        assert await listed(s, sessions[0]) == 200
        newest = await session(s)
        assert [await listed(s, n) for n in (*sessions, newest)] == [200, 404, 200, 200]


@pytest.mark.usefixtures("few")
async def test_a_session_that_ends_frees_its_place(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        for _ in range(5):
            headers = ACCEPT | {"Mcp-Session-Id": await session(s)}
            assert (await s.ask("DELETE", "/mcp", headers=headers)).status == 200


async def test_who_has_a_wrong_key_has_no_more_sessions_than_places(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "STRANGERS_SESSIONS", 1, 9, 0, 60)
    wrong = "ak_" + "z" * 43
    async with small(sqlite_url) as s:
        first, second = [await session(s, wrong) for _ in range(2)]
        assert await listed(s, first, wrong) == 404
        assert await listed(s, second, wrong) == 200


@pytest.mark.usefixtures("few")
async def test_another_key_on_a_session_frees_no_place(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        names = [await session(s) for _ in range(3)]
        for name in names:
            assert await listed(s, name, BOB) == 404
        assert (await opened(s)).status == 429
        for name in names:
            assert await listed(s, name) == 200


@pytest.mark.usefixtures("few")
async def test_a_message_of_the_newer_era_frees_no_place_of_the_older_one(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        names = [await session(s) for _ in range(3)]
        for name in names:
            sent = modern("no/method")
            headers = sent["headers"] | {"Mcp-Session-Id": name}
            told = await s.post("/mcp", json=sent["json"], headers=headers)
            assert told.status == 404
        assert (await opened(s)).status == 429
        for name in names:
            assert await listed(s, name) == 200


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
            await quiet(s)


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
    limit(monkeypatch, "KEYED", 40, 60, 10_000, math.inf)
    at = itertools.count()
    bounds = SlotLimits(one=1, all=1, rest_s=1, listening_s=1)
    places = SessionSlots("sessions", bounds, lambda: next(at))
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
    limit(monkeypatch, "KEYED", 2, 2, 10_000, math.inf)
    bounds = SlotLimits(one=1, all=1, rest_s=1, listening_s=1)
    places = SessionSlots("sessions", bounds, lambda: 0.0)
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
    limit(monkeypatch, "KEYED", 4, 4, 10_000, math.inf)
    carla = "ak_" + "c" * 43

    def another(uow: Any) -> None:
        uow.identities.person("0x" + "12" * 20, new_id="u_other", now=START)
        uow.identities.add_agent(Agent("u_carla", "u_other", "u_carla", None, START))
        uow.identities.add_key("k_carla", "u_carla", hashed(carla), START)

    async with small(sqlite_url) as s:
        await s.store.write(another)
        first, *others = [await session(s, ALICE) for _ in range(4)]
        theirs = await session(s, carla)
        assert await listed(s, theirs, carla) == 200
        assert [await listed(s, n, ALICE) for n in (first, *others)] == [404] + [200] * 3
        # Another key of the owner who has the most takes none of somebody else's.
        assert await session(s, BOB)
        assert await listed(s, theirs, carla) == 200
        assert [await listed(s, n, ALICE) for n in others] == [404, 200, 200]


async def test_whose_owner_has_the_most_gives_a_stream_up(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "KEYED", 2, 2, 10_000, math.inf)
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
    async with small(sqlite_url) as s:
        told = await s.ask(method, path, data=json.dumps(HELLO), headers=ACCEPT | headers | JSON)
        assert told.told == (status, error)
        assert told.body["next"]
        assert told.headers["X-Content-Type-Options"] == "nosniff"


async def test_what_comes_twice_is_refused_over_mcp_too(sqlite_url: str) -> None:
    call = '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "mandate_keep", "arguments": %s}}'
    async with small(sqlite_url) as s:
        headers = ACCEPT | JSON | {"Mcp-Session-Id": await session(s, ALICE)}
        twice = call % '{"name": "a", "name": "b"}'
        told = await s.post("/mcp", ALICE, data=twice, headers=headers)
        assert told.told == (400, "invalid_request")
        told = await s.post(NOWHERE, data='{"a": 1, "a": 2}', headers=JSON)
        assert (told.status, told.body["detail"]["fields"][0]["loc"]) == (400, "a")
        keys = [*by_key(ALICE).items(), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
        async with (
            ClientSession() as http,
            http.post(s.base + "/wallet/notes/n", headers=keys, json={}) as r,
        ):
            assert (r.status, (await r.json())["error"]) == (400, "invalid_request")
        once = call % '{"name": "b"}'
        assert (await s.post("/mcp", ALICE, data=once, headers=headers)).status == 200
        assert list(await s.notes()) == ["b"]


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_that_a_caller_sent_is_logged_at_debug(
    sqlite_url: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with small(sqlite_url) as s:
        async with connected(way, s.base, by_key(ALICE)) as client:
            caplog.clear()
            told = await client.call_tool("mandate_keep", {"name": "n", "more": {"x": PHRASE}})
            assert (told.structured_content or {})["refusal"]["error"] == "secret_not_accepted"
        async with ClientSession() as http, http.get(s.base + "/sse") as stream:
            with anyio.fail_after(STUCK_S):
                while not (line := (await stream.content.readline()).decode()).startswith("data:"):
                    pass
            where = line.removeprefix("data:").strip()
            told_ = await s.post(where, data=f'{{"a": "{PHRASE}"}}', headers=JSON)
            assert told_.status == 400
    ours = [r for r in caplog.records if not r.name.startswith(("mcp.client", "httpx", "httpcore"))]
    assert ours
    # What a caller sends is no fault of the service.
    assert not [r for r in ours if r.levelno >= logging.ERROR]
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
    limit(monkeypatch, "STRANGERS_SESSIONS", 2, 9, 10_000, 0)
    async with small(sqlite_url) as s, ClientSession() as http, AsyncExitStack() as stack:
        sessions = [await session(s) for _ in range(2)]
        # A stream that was left and opened anew is one stream.
        async with listening_to(http, s.base, sessions[0]):
            pass
        await quiet(s)
        streams = [await stack.enter_async_context(listening_to(http, s.base, n)) for n in sessions]
        newest = await session(s)
        with anyio.fail_after(STUCK_S), suppress(ClientError):
            await streams[0].read()
        assert not streams[1].content.at_eof()
        assert [await listed(s, n) for n in (*sessions, newest)] == [404, 200, 200]


async def test_a_full_house_says_when_a_place_can_be_had(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monkeypatch, "STRANGERS_SESSIONS", 1, 9, 500, 900)
    limit(monkeypatch, "STRANGERS_STREAMS", 1, 9, 700, 700)

    def waits(reply: Reply) -> int:
        assert reply.told == (429, "rate_limited")
        return int(reply.headers["Retry-After"])

    async with small(sqlite_url) as s, ClientSession() as http:
        mine = await session(s)
        assert 400 < waits(await opened(s)) <= 500
        async with listening_to(http, s.base, mine):
            assert 800 < waits(await opened(s)) <= 900
        async with http.get(s.base + "/sse") as stream:
            assert stream.status == 200
            assert 600 < waits(await s.get("/sse", headers=ACCEPT)) <= 700


@pytest.mark.usefixtures("few")
async def test_each_address_has_places_of_its_own(sqlite_url: str) -> None:
    async with small(sqlite_url, trusted_proxies="127.0.0.0/8") as s:
        hops = ["1.1.1.1"] * 4 + ["1.1.1.2"]
        seen = [(await opened(s, **{"X-Forwarded-For": hop})).status for hop in hops]
        assert seen == [200, 200, 200, 429, 200]


NOWHERE = "/messages/?session_id=" + "0" * 32


@pytest.mark.parametrize("who", [None, "ak_" + "z" * 43], ids=["no key", "a wrong key"])
async def test_whatever_a_stranger_asks_over_mcp_counts(sqlite_url: str, who: str | None) -> None:
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/mcp", modern("server/discover")),
        ("POST", "/mcp", modern("resources/list")),
        ("POST", "/mcp", modern("prompts/list")),
        ("POST", "/mcp", modern("tools/call", name="nope", arguments={})),
        ("GET", "/mcp", {"headers": ACCEPT}),
        ("DELETE", "/mcp", {"headers": {"Mcp-Session-Id": "x"}}),
        ("POST", NOWHERE, {"json": {}}),
        ("POST", "/mcp", {"json": HELLO, "headers": ACCEPT}),
    ]
    call, long = (
        modern("tools/call", name="who_am_i", arguments=a) for a in ({}, {"x": "y" * 10_000})
    )
    async with small(sqlite_url, rate_anonymous=(5 if who else 1) * len(asked)) as s:
        assert 429 not in [(await s.ask(m, path, who, **sent)).status for m, path, sent in asked]
        assert (await s.get("/wallet/who")).status == 429
        limited = [await s.ask(m, path, who, **sent) for m, path, sent in asked]
        # A tool tells its refusal as a tool does (contract 1); there is none of this name.
        assert [r.status for r in limited] == [429, 429, 429, 400, 429, 429, 429, 429]
        for reply in (*limited[:3], *limited[4:], await s.post("/mcp", who, **long)):
            assert reply.told == (429, "rate_limited")
            assert reply.headers["Retry-After"]
        reply = await s.post("/mcp", who, **call)
        told = reply.body["result"]
        assert (reply.status, told["isError"]) == (200, True)
        assert told["structuredContent"]["refusal"]["error"] == "rate_limited"


async def test_a_strangers_call_counts_once(sqlite_url: str) -> None:
    call = modern("tools/call", name="who_am_i", arguments={})
    async with small(sqlite_url, rate_anonymous=4) as s:
        told = [(await s.post("/mcp", **call)).body["result"]["isError"] for _ in range(5)]
        assert told == [False] * 4 + [True]


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

    async with small(sqlite_url) as s:
        monkeypatch.setattr("http_shim.json_body.json", SimpleNamespace(loads=kept))
        monkeypatch.setattr("http_shim.json_body._STRICT", SimpleNamespace(decode=kept))
        body = f'{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"a": {filled}}}}}'
        told = await s.post(path, ALICE, data=body, headers=ACCEPT | JSON)
        assert told.told == (400, "invalid_request")
        assert parsed == []


async def test_a_message_is_as_long_as_a_body_may_be(sqlite_url: str) -> None:
    async with small(sqlite_url) as s:
        for path in ("/mcp", NOWHERE):
            long = b" " * (MAX_BODY + 1)
            told = await s.post(path, data=long, headers=ACCEPT | JSON)
            assert told.told == (413, "body_too_large")


async def test_a_block_names_steps_for_whoever_asked(sqlite_url: str) -> None:
    block = refusal("not_found", what="session")
    async with small(sqlite_url) as s:
        for who, role in ((None, "nobody"), (ALICE, "agent")):
            told = await s.post(NOWHERE, who, json={}, headers=ACCEPT)
            assert told.body["next"] == block.as_json(role)["next"]  # type: ignore[arg-type]


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
