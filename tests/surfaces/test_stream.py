"""The stream of a mandate's ledger: every row once, over every break, and nobody held."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import ClientSession, web

from chain.adapter import ChainConfig
from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.settings import Config
from http_shim import event_stream, http_server
from http_shim.application import HUB, build
from http_shim.http_server import drain_connections, listen
from server.system import SystemIds
from storage.repositories.identities import Agent
from storage.store import Store
from tests.surfaces.conftest import KEY
from tests.surfaces.small import Served
from tests.waiting import STUCK_S, beating
from tests.world import CHAIN_ID, START, Clock
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed
from tools.model.operation import Deps

pytestmark = pytest.mark.anyio
MINE, OTHER, THEIRS = "m_aaaaaaaaaa", "m_bbbbbbbbbb", "m_cccccccccc"
HEADERS = {"X-Service-User-Key": KEY}


@dataclass
class Door(Served):
    """A served application over two mandates of one agent, and one of another."""

    base: str
    deps: Deps
    app: web.Application
    runner: web.AppRunner

    async def append(self, count: int = 1, public_id: str = MINE) -> None:
        row = NewEvent(
            kind=LedgerKind.NOTE,
            reported_by=Reporter.AGENT,
            occurred_at=self.deps.clock.now(),
            payload={"why": "a reason"},
        )
        for _ in range(count):
            of = {"event_id": self.deps.ids.short("ev_"), "now": self.deps.clock.now()}
            await self.deps.store.write(lambda uow, of=of: uow.ledger.append(public_id, row, **of))  # type: ignore[misc]

    @asynccontextmanager
    async def stream(
        self,
        last: str | None = None,
        public_id: str = MINE,
        headers: dict[str, str] = HEADERS,
        **query: str,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        headers = headers | ({"Last-Event-ID": last} if last is not None else {})
        url = f"{self.base}/wallet/mandates/{public_id}/stream"
        async with ClientSession() as http, http.get(url, params=query, headers=headers) as answer:
            yield answer


async def event(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """The next event; comments are passed over."""
    told: dict[str, str] = {}
    with anyio.fail_after(STUCK_S):
        while True:
            line = (await answer.content.readline()).decode()
            if line == "\n" and told:
                return told
            if line == "":
                return {"event": "end"}
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                told[name] = value


@asynccontextmanager
async def served(store: Store, **config: Any) -> AsyncIterator[Door]:
    clock, chains = Clock(), EvmChains([ChainConfig(CHAIN_ID)])
    deps = Deps(store, chains, clock, SystemIds(), Config(**config), SiweSignIn())
    await store.write(lambda uow: fill(uow, clock))
    app = build(deps, OPERATIONS)
    runner = await listen(app, "127.0.0.1", 0)
    try:
        yield Door(f"http://127.0.0.1:{runner.addresses[0][1]}", deps, app, runner)
    finally:
        await runner.cleanup()


def fill(uow: Any, clock: Clock) -> None:
    owner = uow.identities.person("0x" + "22" * 20, new_id="u_owner", now=clock.at)
    for agent_id in ("u_agent", "u_agent2"):
        address = "0x" + "33" * 20
        uow.identities.add_agent(Agent(agent_id, owner.user_id, "Scout", address, clock.at))
    uow.identities.add_key("k_test", "u_agent", hashed(KEY), clock.at)
    for public_id, agent_id in ((MINE, "u_agent"), (OTHER, "u_agent"), (THEIRS, "u_agent2")):
        uow.mandates.add(
            Mandate(
                public_id=public_id,
                owner_id=owner.user_id,
                owner_address="0x" + "22" * 20,
                budget_usdc=Usdc.parse("500"),
                horizon_days=30,
                stop_floor_bps=2000,
                created_at=clock.at,
                agent_id=agent_id,
                status=Status.WORKING,
                accepted_at=clock.at,
            )
        )


async def test_rows_come_as_they_are_stored_and_a_later_stream_goes_on_behind_them(
    store: Store,
) -> None:
    async with served(store) as door:
        await door.append(2)
        async with door.stream() as answer:
            assert answer.content_type == "text/event-stream"
            assert (await event(answer))["event"] == "open"
            await door.append(1, OTHER)
            await door.append(3)
            rows = [await event(answer) for _ in range(3)]
        assert [r["id"].partition(".")[0] for r in rows] == ["3", "4", "5"]
        page = (await door.get(f"/wallet/mandates/{MINE}/events", KEY)).body["items"]
        assert [json.loads(r["data"]) for r in rows] == page[:3][::-1]
        await door.append(120)  # more than one page of them while nobody listens
        async with door.stream(rows[0]["id"]) as answer:
            assert (await event(answer))["id"] == rows[0]["id"]
            await door.append(1)
            again = [await event(answer) for _ in range(123)]
        assert [int(r["id"].partition(".")[0]) for r in again] == list(range(4, 127))
        async with door.stream("0.") as answer:
            await event(answer)
            assert (await event(answer))["id"].startswith("1.")
        # Who reconnects repeats the address it began with; the header says how far it came.
        async with door.stream(rows[1]["id"], last_event_id="0.") as answer:
            assert answer.status == 200
            assert (await event(answer))["id"] == rows[1]["id"]


async def test_who_may_not_see_the_mandate_or_names_no_row_of_it_gets_no_stream(
    store: Store,
) -> None:
    async with served(store, streams_per_caller=1) as door:
        await door.append()
        for last, public_id, expected in (
            (None, THEIRS, "not_found"),
            ("x", MINE, "invalid_request"),
            ("1." + "0" * 16, MINE, "conflict"),
            ("9." + "0" * 16, MINE, "conflict"),
        ):
            async with door.stream(last, public_id) as answer:
                assert (await answer.json())["error"] == expected
        async with door.stream() as one:
            await event(one)
            async with door.stream() as two:
                told = await two.json()
                assert (told["error"], told["retry_safe"]) == ("rate_limited", False)
                assert "retry_at" not in told
                assert "Retry-After" not in two.headers
                assert told["next"][0]["text"] == "Close one of your streams"
                assert told["next"][1]["tool"] == "mandate_events"
        for _ in range(3):  # one that is gone takes nobody's place
            await until(lambda: all(x.gone for own in door.app[HUB]._of.values() for x in own))
            async with door.stream() as next_one:
                assert (await event(next_one))["event"] == "open"


async def test_who_has_fewer_streams_than_others_always_gets_one(store: Store) -> None:
    """`u_agent` fills the house; another agent of its owner, and then the owner, find a place."""

    def more(uow: Any) -> None:
        uow.identities.add_key("k_two", "u_agent2", hashed("ak_" + "2" * 43), START)
        later = START + timedelta(days=1)
        uow.identities.add_session(hashed("ws_" + "3" * 43), "u_owner", START, later, later)

    second = {"X-Service-User-Key": "ak_" + "2" * 43}
    owner = {"Authorization": "Bearer ws_" + "3" * 43}
    async with served(store, streams_most=4) as door, AsyncExitStack() as stack:
        await store.write(more)

        async def opened(of: str = MINE, credential: dict[str, str] = HEADERS) -> Any:
            return await stack.enter_async_context(door.stream(None, of, credential))

        filled = [await opened() for _ in range(4)]
        assert [(await event(a))["event"] for a in filled] == ["open"] * 4
        assert (await (await opened()).json())["error"] == "rate_limited"
        for of, credential in ((THEIRS, second), (MINE, owner)):
            assert (await event(await opened(of, credential)))["event"] == "open"
        assert door.app[HUB].listening == 4
        ended = list[str]()

        async def end_of(answer: aiohttp.ClientResponse) -> None:
            ended.append((await event(answer))["event"])

        async with anyio.create_task_group() as group:
            for answer in filled:
                group.start_soon(end_of, answer)
            await until(lambda: len(ended) == 2)
            group.cancel_scope.cancel()
        assert ended == ["full"] * 2


async def test_a_listener_that_falls_behind_is_ended_and_comes_back_without_a_gap(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "QUEUE", 4)
    monkeypatch.setattr(event_stream, "CHECK_S", 0.5)
    async with served(store) as door:
        hub, block, blocked = door.app[HUB], asyncio.Event(), asyncio.Event()
        write = event_stream.LedgerStream._write

        async def stuck(self: event_stream.LedgerStream, chunk: bytes) -> None:
            if b"event: row" in chunk and not block.is_set():
                blocked.set()
                await block.wait()
            await write(self, chunk)

        monkeypatch.setattr(event_stream.LedgerStream, "_write", stuck)
        async with door.stream() as answer:
            await event(answer)
            await until(lambda: bool(hub._of[MINE]) and all(x.live for x in hub._of[MINE]))
            await door.append()
            with anyio.fail_after(STUCK_S):
                await blocked.wait()
            await door.append(12)
            await until(lambda: all(x.ending == "behind" for x in hub._of[MINE]))
            block.set()
            seen = [await event(answer)]
            while seen[-1]["event"] == "row":
                seen.append(await event(answer))
            assert seen[-1]["event"] == "behind"
        last = seen[-2]["id"]
        async with door.stream(last) as answer:
            await event(answer)
            rest = [await event(answer) for _ in range(13 - int(last.partition(".")[0]))]
        assert int(rest[-1]["id"].partition(".")[0]) == 13
        await until(lambda: hub.listening == 0)


async def until(holds: Any) -> None:
    with anyio.fail_after(STUCK_S):
        while not holds():
            await anyio.sleep(0.01)


async def test_a_revoked_key_ends_its_stream(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "CHECK_S", 0.05)
    async with served(store) as door, door.stream() as answer:
        await event(answer)
        now = door.deps.clock.now()
        await store.write(lambda uow: uow.identities.revoke_key("u_agent", "k_test", now))
        assert (await event(answer))["event"] == "closed"


async def test_a_connection_that_was_taken_before_the_end_is_answered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A balancer has chosen this process, and its request is on its way."""
    monkeypatch.setattr(http_server, "FAREWELL_S", 0.01)
    monkeypatch.setattr(http_server, "FIRST_S", STUCK_S)
    async with served(store) as door:
        host, port = door.runner.addresses[0][:2]
        sites: Any = list(door.runner.sites)

        async def end() -> None:
            await drain_connections(door.runner)
            await door.runner.cleanup()

        async with await anyio.connect_tcp(host, port) as late, anyio.create_task_group() as group:
            await until(lambda: any(site.crowd.expects_first() for site in sites))
            group.start_soon(end)
            await anyio.sleep(0.2)
            await late.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with anyio.fail_after(STUCK_S):
                assert (await late.receive()).startswith(b"HTTP/1.1 200 ")


async def test_open_streams_end_with_the_service_within_two_seconds(store: Store) -> None:
    async with served(store) as door, door.stream() as one, door.stream(None, OTHER) as two:
        for answer in (one, two):
            await event(answer)
        async with beating() as waited:
            await drain_connections(door.runner)
            await door.runner.cleanup()
        assert waited.seconds < 2
        for answer in (one, two):
            assert (await event(answer))["event"] == "leaving"
