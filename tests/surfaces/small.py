"""A small service for what needs no chain and no mandate: four operations of its own on a real store, on a port."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from aiohttp import ClientSession, web
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import Field

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.refusals import Refused, refusal
from domain.settings import Config, Switches
from http_shim.application import build
from http_shim.asgi_bridge import Asgi
from http_shim.http_server import listen
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import Tools, WalletServer, build_server
from server.system import SystemIds
from storage.errors import DatabaseTimeouts
from storage.repositories.identities import Agent
from storage.store import Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.waiting import STUCK_S
from tests.world import START, Clock
from tools.context.credentials import hashed
from tools.model.fields import Nothing
from tools.model.operation import (
    Caller,
    Deps,
    ExternalEffect,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.sealing import KeyRing, ephemeral_ring

ALICE, BOB = "ak_" + "a" * 43, "ak_" + "b" * 43
JSON = {"Content-Type": "application/json"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
# The greeting of the older protocol era, and what says of the newer one who calls.
CLIENT = {"name": "t", "version": "1"}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}


def by_key(key: str | None) -> dict[str, str]:
    return {"X-Service-User-Key": key} if key else {}


def modern(method: str, **params: Any) -> dict[str, Any]:
    """A message of the newer era, as a request to /mcp has it."""
    headers = ACCEPT | {"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    headers |= {"Mcp-Name": params["name"]} if "name" in params else {}
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return {"headers": headers, "json": sent}


@dataclass(frozen=True)
class Reply:
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def told(self) -> tuple[int, str | None]:
        """The status, and the code of the refusal."""
        return self.status, self.body.get("error")


class Served:
    """Something that listens."""

    base: str

    async def ask(self, method: str, path: str, key: str | None = None, **sent: Any) -> Reply:
        headers = by_key(key) | dict(sent.pop("headers", {}))
        async with (
            ClientSession() as http,
            http.request(method, self.base + path, headers=headers, **sent) as r,
        ):
            is_stream = r.content_type == "text/event-stream"
            return Reply(r.status, r.headers, "" if is_stream else await r.text())

    async def get(self, path: str, key: str | None = None, **sent: Any) -> Reply:
        return await self.ask("GET", path, key, **sent)

    async def post(self, path: str, key: str | None = None, **sent: Any) -> Reply:
        return await self.ask("POST", path, key, **sent)

    async def statuses(self, times: int, path: str, key: str | None = None) -> list[int]:
        return [(await self.get(path, key)).status for _ in range(times)]


class Note(RequestModel):
    """A note under a name, and whatever belongs to it."""

    name: str = Field(max_length=80, description="what it is called")
    more: dict[str, Any] | None = Field(default=None, description="whatever belongs to it")


class Told(ResponseModel):
    """Who called, or what was kept."""

    who: str | None = None
    kept: dict[str, Any] | None = None


def who(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Told:
    return Told(who=ctx.caller.user_id, kept=None)


def keep(uow: UnitOfWork, ctx: RequestContext[Note, None]) -> Told:
    uow.switches.set("note:" + ctx.request.name, str(ctx.request.more), ctx.now, "test")
    return Told(who=ctx.caller.user_id, kept=ctx.request.more)


def per_caller(caller: Caller, request: Any) -> str:
    return f"note:{caller.user_id}"


def wait_a_little(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Told:
    raise Refused(refusal("rate_limited", why="Too many today.", detail={"retry_after_s": 7}))


def fall(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> Told:
    raise LookupError("a secret that nobody outside may read")


@dataclass
class Gate:
    """Holds a write in its middle."""

    entered: anyio.Event = field(default_factory=anyio.Event)
    opened: anyio.Event = field(default_factory=anyio.Event)
    inside: int = 0
    through: int = 0

    async def pass_through(self, deps: Deps, caller: Caller, request: Note) -> None:
        """Wait inside the operation."""
        self.inside += 1
        self.entered.set()
        await self.opened.wait()
        self.through += 1


def late(uow: UnitOfWork, ctx: RequestContext[Note, None], request: Note, _: None) -> Told:
    uow.switches.set("note:" + request.name, "late", ctx.now, "test")
    return Told(who=ctx.caller.user_id, kept=None)


def operations(gate: Gate) -> tuple[Operation, ...]:
    """The catalogue of the small service; two of its tools are behind the door."""
    on_mcp: Any = {"on_mcp": True}
    return (
        Operation(name="who_am_i", title="Who", summary="Says who calls.", auth="open", route=("GET", "/wallet/who"), request_model=Nothing, response_model=Told, handler=who, **on_mcp),
        Operation(
            name="mandate_keep", title="Keep", summary="Keeps a note.", auth="agent", route=("POST", "/wallet/notes/{name}"), request_model=Note, response_model=Told, handler=keep, writes=True,
            idempotency=per_caller, statuses={201: "Kept"}, **on_mcp,
        ),
        Operation(
            name="slow_keep", title="Keep slowly", summary="Keeps a note, slowly.", auth="agent", route=("POST", "/wallet/slow/{name}"), request_model=Note, response_model=Told,
            effect=ExternalEffect(begin=lambda uow, ask: ask.request, act=gate.pass_through, finish=late), writes=True, statuses={201: "Kept"}, **on_mcp,
        ),
        Operation(name="mandate_wait", title="Wait", summary="Refuses.", auth="open", route=("GET", "/wallet/wait"), request_model=Nothing, response_model=Told, handler=wait_a_little, **on_mcp),
        Operation(name="fall", title="Fall", summary="Fails.", auth="open", route=("GET", "/wallet/fall"), request_model=Nothing, response_model=Told, handler=fall, **on_mcp),
    )  # fmt: skip


@dataclass
class Small(Served):
    """The running service."""

    base: str
    deps: Deps
    store: Store
    gate: Gate
    server: WalletServer
    tools: Tools
    app: web.Application

    async def door(self, value: str) -> None:
        """Turn the bot door."""
        await self.store.write(lambda uow: uow.switches.set("door", value, START, "test"))

    async def notes(self) -> dict[str, str]:
        """What was written."""
        rows = await self.store.read(lambda uow: uow.switches.all())
        return {n.removeprefix("note:"): v for n, v in rows.items() if n.startswith("note:")}


async def _people(store: Store) -> None:
    def add(uow: UnitOfWork) -> None:
        owner = uow.identities.person("0x" + "11" * 20, new_id="u_owner", now=START)
        for name, key in (("u_alice", ALICE), ("u_bob", BOB)):
            uow.identities.add_agent(Agent(name, owner.user_id, name, None, START))
            uow.identities.add_key("k_" + name, name, hashed(key), START)

    await store.write(add)


@asynccontextmanager
async def small(
    url: str,
    *,
    mcp: Asgi | None = None,
    more: Sequence[Operation] = (),
    patience: DatabaseTimeouts | None = None,
    sealing: KeyRing | None = None,
    again: bool = False,
    **config: Any,
) -> AsyncIterator[Small]:
    """Run it; `mcp` takes the place of our own application behind the bridge, and with `again` it
    is another process on the database of one that runs.
    """
    store = await open_store(url, patience or PATIENT)
    if not again:
        await _people(store)
    system = Clock(), SystemIds(), Config(**config), SiweSignIn()
    ring = sealing or ephemeral_ring()
    deps, gate = Deps(store, EvmChains([]), *system, Switches(door=True), sealing=ring), Gate()
    catalogue = (*operations(gate), *more)
    server, tools = build_server(deps, catalogue)
    # Not aiohttp's TestServer: that cancels a handler whose client has gone, which the service does not do.
    app = build(deps, catalogue, mcp=mcp or mcp_app(server, deps.config.base_url))
    runner = await listen(app, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield Small(base, deps, store, gate, server, tools, app)
    finally:
        await drain(server)
        await runner.cleanup()
        await store.close()


WAYS = ["sse-2026", "sse-2025", "streamable-2026", "streamable-2025"]


@asynccontextmanager
async def connected(
    way: str, base: str, headers: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[Client]:
    """The SDK's own client, over HTTP; it is shown every tool."""
    kind, _, era = way.partition("-")
    headers = {"X-Wallet-Toolsets": "all"} | (headers or {})
    async with AsyncExitStack() as stack:
        if kind == "sse":
            transport: Any = sse_client(base + "/sse", headers=headers, timeout=STUCK_S)
        else:
            inner = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            transport = streamable_http_client(base + "/mcp", http_client=inner)
        yield await stack.enter_async_context(
            Client(transport, mode="auto" if era == "2026" else "legacy", **options)
        )
