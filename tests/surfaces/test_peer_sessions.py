"""Two processes on one database: each answers the sessions of the other, and hands its streams their messages."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import anyio
import pytest
from aiohttp import ClientPayloadError, ClientResponse, ClientSession
from mcp.server.sse import SseServerTransport
from starlette.types import Scope

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.settings import Config, Switches
from server.mcp_api import session_limits, shared_places
from server.mcp_api.session_limits import SessionSlot, SlotLimits
from server.mcp_api.shared_places import SharedPlaces
from server.system import SystemIds
from storage.repositories.mcp_places import McpPlace
from storage.store import Store
from tests.surfaces.small import (
    ACCEPT,
    ALICE,
    BOB,
    HELLO,
    JSON,
    READY,
    Small,
    by_key,
    small,
)
from tests.waiting import STUCK_S
from tests.world import START, Clock
from tools.model.operation import Deps
from tools.model.sealing import key_ring

pytestmark = [pytest.mark.anyio, pytest.mark.pg]
RING = key_ring("k" * 32)
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@asynccontextmanager
async def two(url: str) -> AsyncIterator[tuple[Small, Small]]:
    async with (
        small(url, sealing=RING) as a,
        small(url, sealing=RING, again=True) as b,
    ):
        yield a, b


async def opened(s: Small, who: str | None) -> str:
    reply = await s.post("/mcp", who, json=HELLO, headers=ACCEPT)
    assert reply.status == 200, reply.text
    return reply.headers["Mcp-Session-Id"]


async def asked(s: Small, method: str, session: str, who: str | None) -> int:
    headers = ACCEPT | {"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}
    sent = {"json": LIST} if method == "POST" else {}
    return (await s.ask(method, "/mcp", who, headers=headers, **sent)).status


async def until_it_is(status: int, s: Small, session: str, who: str | None) -> None:
    with anyio.fail_after(STUCK_S):
        while await asked(s, "POST", session, who) != status:
            await anyio.sleep(0.1)


@pytest.mark.parametrize("who", [ALICE, None, "ak_" + "z" * 43])
async def test_a_session_is_answered_by_the_process_that_did_not_give_it(
    pg_url: str, who: str | None
) -> None:
    async with two(pg_url) as (a, b):
        session = await opened(a, who)
        for process in (a, b, a, b):
            assert await asked(process, "POST", session, who) == 200
        assert await asked(b, "POST", "0" * 32, who) == 404
        for other in {ALICE, BOB, None} - {who}:
            assert await asked(b, "POST", session, other) == 404
            assert await asked(b, "DELETE", session, other) == 404
            assert await asked(a, "POST", session, other) == 404
        assert await asked(b, "POST", session, who) == 200


async def test_another_key_on_a_session_ends_it_nowhere(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_places, "SYNC_S", 0)
    async with two(pg_url) as (a, b):
        session = await opened(a, ALICE)
        for other in (BOB, None, "ak_" + "z" * 43):
            for process in (a, b):
                for method in ("POST", "GET", "DELETE"):
                    assert await asked(process, method, session, other) == 404
        for process in (b, a):
            assert await asked(process, "POST", session, ALICE) == 200


@pytest.mark.parametrize("ending", ["home", "elsewhere"])
async def test_a_session_that_ended_has_ended_everywhere(pg_url: str, ending: str) -> None:
    async with two(pg_url) as (a, b):
        session = await opened(a, ALICE)
        assert await asked(b, "POST", session, ALICE) == 200
        assert await asked(a if ending == "home" else b, "DELETE", session, ALICE) == 200
        for process in (a, b):
            await until_it_is(404, process, session, ALICE)
        with anyio.fail_after(STUCK_S):
            while await a.store.read(lambda uow: uow.sql.rows("SELECT * FROM mcp_places")):
                await anyio.sleep(0.1)


async def test_a_session_outlives_the_process_that_gave_it(pg_url: str) -> None:
    async with small(pg_url, sealing=RING) as a:
        session = await opened(a, ALICE)
    async with small(pg_url, sealing=RING, again=True) as b:
        assert await asked(b, "POST", session, ALICE) == 200


async def test_a_session_that_is_used_elsewhere_alone_goes_on(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that gave it ends its own part after a rest; whoever calls has not rested."""
    monkeypatch.setattr("server.mcp_api.http_app.IDLE_S", 1)
    monkeypatch.setattr(shared_places, "SYNC_S", 0.05)
    async with two(pg_url) as (a, b):
        session, silent = await opened(a, ALICE), await opened(a, ALICE)
        for _ in range(15):
            assert await asked(b, "POST", session, ALICE) == 200
            await anyio.sleep(0.1)
        assert await asked(a, "POST", session, ALICE) == 200
        await opened(a, ALICE)  # it looks at what rests
        await anyio.sleep(0.3)
        for process in (a, b, a):
            assert await asked(process, "POST", session, ALICE) == 200
        assert await asked(b, "DELETE", session, ALICE) == 200
        await until_it_is(404, a, session, ALICE)
        assert await asked(b, "POST", silent, ALICE) == 200  # until the rows are swept


async def test_without_a_common_ring_a_process_knows_its_own_sessions_alone(
    pg_url: str,
) -> None:
    async with small(pg_url) as a, small(pg_url, again=True) as b:
        session = await opened(a, ALICE)
        assert await asked(a, "POST", session, ALICE) == 200
        assert await asked(b, "POST", session, ALICE) == 404
        assert not await a.store.read(lambda uow: uow.sql.rows("SELECT * FROM mcp_places"))


# -- SSE


async def next_data(stream: ClientResponse) -> str:
    with anyio.fail_after(STUCK_S):
        while True:
            line = (await stream.content.readline()).decode()
            if line.startswith("data: "):
                return line.removeprefix("data: ").strip()


@asynccontextmanager
async def listening(s: Small, who: str | None) -> AsyncIterator[tuple[ClientResponse, str]]:
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(ClientSession())
        stream = await stack.enter_async_context(http.get(s.base + "/sse", headers=by_key(who)))
        assert stream.status == 200
        yield stream, await next_data(stream)


async def test_a_stream_for_who_takes_none_is_refused_alike_in_every_process(pg_url: str) -> None:
    async with two(pg_url) as (a, b):
        session = {"Mcp-Session-Id": await opened(a, ALICE)}
        for accept in ("application/json", "text/html"):
            own, other = [
                await s.get("/mcp", ALICE, headers=session | {"Accept": accept}) for s in (a, b)
            ]
            assert (own.status, other.status) == (406, 406)
            assert own.body == other.body


@pytest.mark.parametrize("who", [ALICE, None])
async def test_a_message_reaches_the_stream_whichever_process_takes_it(
    pg_url: str, who: str | None
) -> None:
    async with two(pg_url) as (a, b), listening(a, who) as (stream, path):
        for n, (process, message) in enumerate(
            [(b, HELLO), (b, READY), (a, LIST), (b, LIST), (a, LIST)]
        ):
            reply = await process.post(path, who, json=message, headers=JSON)
            assert (reply.status, reply.text) == (202, "Accepted"), n
            if "id" in message:
                assert f'"id":{message["id"]}' in await next_data(stream)
        call = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {"name": "who_am_i", "arguments": {}},
        }
        assert (await b.post(path, who, json=call, headers=JSON)).status == 202
        told = await next_data(stream)
        assert ("u_alice" in told) is (who is not None)
        assert not await a.store.read(lambda uow: uow.sql.rows("SELECT * FROM mcp_inbox"))


async def test_a_header_of_a_message_is_that_of_its_call(pg_url: str) -> None:
    async with two(pg_url) as (a, b), listening(a, ALICE) as (stream, path):
        for message in (HELLO, READY):
            assert (await b.post(path, ALICE, json=message, headers=JSON)).status == 202
        await next_data(stream)
        keep = {
            "name": "mandate_keep",
            "arguments": {"name": "n", "more": {}, "idempotency_key": "k"},
        }
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": keep}
        await b.post(path, ALICE, json=call, headers=JSON | {"X-Wallet-Readonly": "1"})
        assert "forbidden" in await next_data(stream)
        await b.post(path, ALICE, json=call, headers=JSON)
        assert "u_alice" in await next_data(stream)


async def test_a_message_of_another_key_or_for_no_stream_is_refused(pg_url: str) -> None:
    async with two(pg_url) as (a, b), listening(a, ALICE) as (_, path):
        for who in (BOB, None):
            assert (await b.post(path, who, json=LIST, headers=JSON)).status == 404
        none = re.sub("=.*", "=" + "0" * 32, path)
        assert (await b.post(none, ALICE, json=LIST, headers=JSON)).status == 404
        assert (await b.post(path, ALICE, json={"x": 1}, headers=JSON)).status == 400
        assert not await a.store.read(lambda uow: uow.sql.rows("SELECT * FROM mcp_inbox"))


async def test_what_waits_for_a_stream_is_sealed_and_bounded(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.mcp_api.peer_sessions.POLL_S", 3_600)
    monkeypatch.setattr("storage.repositories.mcp_places.MOST_WAITING", 3)
    async with two(pg_url) as (a, b), listening(a, ALICE) as (stream, path):
        for status in (202, 202, 202, 429):
            assert (await b.post(path, ALICE, json=HELLO, headers=JSON)).status == status
        rows = await a.store.read(lambda uow: uow.sql.rows("SELECT body FROM mcp_inbox"))
        assert len(rows) == 3
        assert not any("initialize" in row["body"] for row in rows)
        # The next one that comes to the process of the stream takes them along, before itself.
        assert (await a.post(path, ALICE, json=LIST, headers=JSON)).status == 202
        assert '"id":1' in await next_data(stream)


async def test_a_message_as_long_as_a_body_may_be_reaches_the_stream(pg_url: str) -> None:
    async with two(pg_url) as (a, b), listening(a, ALICE) as (stream, path):
        for message in (HELLO, READY):
            assert (await b.post(path, ALICE, json=message, headers=JSON)).status == 202
        await next_data(stream)
        for text in ("x" * 100_000, '"' * 120_000, "\u00e9" * 120_000):
            params = {"name": "who_am_i", "arguments": {}, "_meta": {"text": text}}
            call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
            sent = json.dumps(call, ensure_ascii=False).encode()
            reply = await b.post(path, ALICE, data=sent, headers=JSON)
            assert (reply.status, reply.text) == (202, "Accepted")
            assert "u_alice" in await next_data(stream)


async def test_a_stream_that_breaks_under_a_message_takes_no_other_along(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two(pg_url) as (a, b), AsyncExitStack() as stack:
        _, first = await stack.enter_async_context(listening(a, ALICE))
        stream, second = await stack.enter_async_context(listening(a, ALICE))
        broken = re.sub(".*=", "", first).encode()
        given = SseServerTransport.handle_post_message

        async def going(self: SseServerTransport, scope: Scope, *rest: Any) -> None:
            if broken in scope["query_string"]:
                raise anyio.ClosedResourceError
            await given(self, scope, *rest)

        monkeypatch.setattr(SseServerTransport, "handle_post_message", going)
        assert (await b.post(first, ALICE, json=HELLO, headers=JSON)).status == 202
        with anyio.fail_after(STUCK_S):
            while await a.store.read(lambda uow: uow.sql.rows("SELECT * FROM mcp_inbox")):
                await anyio.sleep(0.05)
        assert (await b.post(second, ALICE, json=HELLO, headers=JSON)).status == 202
        assert '"id":1' in await next_data(stream)


# -- places


async def test_an_owner_has_so_many_places_in_all_processes(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = SlotLimits(one=3, all=50, rest_s=10_000, listening_s=10_000)
    monkeypatch.setattr(session_limits, "KEYED", limits)
    async with two(pg_url) as (a, b):
        own = [await opened(process, ALICE) for process in (a, b, a)]
        full = await b.post("/mcp", ALICE, json=HELLO, headers=ACCEPT)
        assert full.told == (429, "rate_limited")
        assert full.body["retry_at"]
        # Another key of the same owner has a share of them, and one of the first's goes.
        second = await opened(b, BOB)
        for process in (a, b):
            with anyio.fail_after(STUCK_S):
                while [await asked(process, "POST", n, ALICE) for n in own].count(404) != 1:
                    await anyio.sleep(0.1)
            assert await asked(process, "POST", second, BOB) == 200


async def test_streams_of_an_owner_are_counted_in_all_processes(
    pg_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = SlotLimits(one=2, all=50, rest_s=10_000, listening_s=10_000)
    monkeypatch.setattr(session_limits, "KEYED", limits)
    async with two(pg_url) as (a, b), AsyncExitStack() as stack:
        for process in (a, b):
            await stack.enter_async_context(listening(process, ALICE))
        assert (await b.get("/sse", ALICE)).status == 429
        await stack.aclose()
        with anyio.fail_after(STUCK_S):
            while (await a.post("/mcp", ALICE, json=HELLO, headers=ACCEPT)).status != 200:
                await anyio.sleep(0.1)


# -- a process that stands still


@pytest.fixture
def quick_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_places, "SYNC_S", 0.05)
    monkeypatch.setattr(shared_places, "TOUCH_S", 0.1)


async def rests(a: Small, seconds: float) -> None:
    """Another process takes for dead what was not used for so long."""
    await a.store.write(lambda uow: uow.mcp.sweep(START + timedelta(seconds=seconds)))


def goes_on(s: Small, seconds: float) -> None:
    clock = s.deps.clock
    assert isinstance(clock, Clock)
    clock.forward(seconds=seconds)


@pytest.mark.usefixtures("quick_turns")
async def test_a_process_that_stood_still_puts_its_places_back(pg_url: str) -> None:
    async with two(pg_url) as (a, b), listening(a, ALICE) as (stream, path):
        await rests(a, 90)
        assert (await b.post(path, ALICE, json=HELLO, headers=JSON)).status == 404
        goes_on(a, 90)
        with anyio.fail_after(STUCK_S):
            while (await b.post(path, ALICE, json=HELLO, headers=JSON)).status != 202:
                await anyio.sleep(0.1)
        assert '"id":1' in await next_data(stream)


@pytest.mark.usefixtures("quick_turns")
@pytest.mark.parametrize("standstill_s", [90, 700])
async def test_a_place_whose_owner_has_others_by_now_or_that_rested_too_long_ends(
    pg_url: str, monkeypatch: pytest.MonkeyPatch, standstill_s: float
) -> None:
    limits = SlotLimits(one=2, all=50, rest_s=10_000, listening_s=10_000)
    monkeypatch.setattr(session_limits, "KEYED", limits)
    async with two(pg_url) as (a, b), AsyncExitStack() as stack:
        stream, _ = await stack.enter_async_context(listening(a, ALICE))
        await rests(a, standstill_s)
        goes_on(b, standstill_s)
        for _ in range(2 if standstill_s == 90 else 0):
            await stack.enter_async_context(listening(b, ALICE))
        goes_on(a, standstill_s)
        with anyio.fail_after(STUCK_S), suppress(ClientPayloadError):
            while await stream.content.readany():
                """Pings, and then its end."""


@dataclass
class Holding:
    """What holds places, and which of them were ended."""

    here: list[SessionSlot] = field(default_factory=list)
    over: list[str] = field(default_factory=list)

    def slots(self) -> list[SessionSlot]:
        return self.here

    async def end_place(self, place_hash: str) -> None:
        self.over.append(place_hash)


@pytest.mark.usefixtures("quick_turns")
@pytest.mark.parametrize("comes", ["behind the reading", "before its new name"])
async def test_a_place_that_comes_while_a_process_puts_its_others_back_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch, comes: str
) -> None:
    system = Clock(), SystemIds(), Config(), SiweSignIn(), Switches()
    deps, holder = Deps(store, EvmChains([]), *system), Holding()
    places, limits = SharedPlaces(deps), SlotLimits(one=1, all=9, rest_s=99, listening_s=99)
    system[0].forward(seconds=90)
    slot = SessionSlot(True, "k", "u", used=0)
    reads, writes = store.read, store.write
    put_back, waits, goes_on = anyio.Event(), anyio.Event(), anyio.Event()
    turns = 0

    async def whole_turn() -> None:
        seen = turns
        while turns < seen + 2:
            await anyio.sleep(0.01)

    async def read(work: Any, *, single: bool = False) -> Any:
        nonlocal turns
        found = await reads(work, single=single)
        turns += isinstance(found, list)  # its places that others ended
        if isinstance(found, frozenset):  # the rows that there are of its places
            put_back.set()
            if comes == "behind the reading":
                await goes_on.wait()
        return found

    async def late_write(work: Any) -> Any:
        monkeypatch.setattr(store, "write", writes)
        waits.set()
        await goes_on.wait()
        return await writes(work)

    monkeypatch.setattr(store, "read", read)
    with anyio.fail_after(STUCK_S):
        async with anyio.create_task_group() as group:
            if comes == "behind the reading":
                group.start_soon(places.run, holder)
                await put_back.wait()
            await places.add(slot, "sse", "k", limits)
            holder.here.append(slot)
            if comes == "before its new name":
                monkeypatch.setattr(store, "write", late_write)
                group.start_soon(places.rename, slot, "x")
                await waits.wait()
                group.start_soon(places.run, holder)
                await put_back.wait()
                await whole_turn()
                goes_on.set()
            else:
                await places.rename(slot, "x")
                goes_on.set()
                await whole_turn()
            while await places.find("x", "sse", "k") is None:
                await anyio.sleep(0.1)
            group.cancel_scope.cancel()
    assert holder.over == []


async def test_what_was_ended_is_known_as_ended_to_a_process_that_stands_still(
    store: Store,
) -> None:
    place = McpPlace(
        place_hash="h", kind="session", process="p_1", credential="k", owner="u", used_at=START
    )
    rest = timedelta(seconds=9)
    await store.write(lambda uow: uow.mcp.add(place, limit=9, rest=rest))
    await store.write(lambda uow: uow.mcp.end("h", START))
    for later_s, ended in ((90, ["h"]), (700, [])):
        at = START + timedelta(seconds=later_s)
        await store.write(lambda uow, at=at: uow.mcp.sweep(at))
        assert await store.read(lambda uow: uow.mcp.ended("p_1")) == ended
