"""A running service, and one helper that drives the same scenario over every door."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from aiohttp import ClientSession
from mcp import Client, StdioServerParameters

from domain.next_steps import Role
from domain.settings import Config
from http_shim import application
from http_shim.application import about_itself, build
from http_shim.http_server import listen
from http_shim.service_routes import DEPS, GAUGES
from server.mcp_api import listeners
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from storage.unit_of_work import UnitOfWork
from tests.surfaces.small import WAYS, Served, by_key, connected
from tests.waiting import PATIENTLY
from tests.world import BY_NAME, CHAIN_ID, Evm, Mandated, World, a_world, working
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed

KEY = "ak_" + "k" * 43


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals of strangers come at once; test_admission shows that they are waited for. What a
    session listens to is looked at ten times as often.
    """
    monkeypatch.setattr(application, "STRANGER_PAUSE_S", 0)
    monkeypatch.setattr(listeners, "WATCH_S", 0.1)


@dataclass
class Service(Served):
    """A service on a port, its figures on another, with one working mandate and its agent's key."""

    base: str
    world: World
    mandate: Mandated
    key: str
    watched: str = ""
    resources: Any = None
    sessions: Any = None


@asynccontextmanager
async def running(
    url: str, evm: Evm, *, purses: bool = False, **settings: Any
) -> AsyncIterator[Service]:
    config = Config(default_chain_id=CHAIN_ID, **settings)
    async with a_world(url, evm, config=config, purses=purses) as world:
        m = await working(world)
        agent_id = m.agent.user_id or ""
        await world.store.write(
            lambda uow: uow.identities.add_key("k_test", agent_id, hashed(KEY), world.clock.now())
        )
        server, _ = build_server(world.deps, OPERATIONS)
        app = build(world.deps, OPERATIONS, mcp=mcp_app(server, world.deps.config.base_url))
        runner = await listen(app, "127.0.0.1", 0)
        beside = await listen(about_itself(app[DEPS], app[GAUGES]), "127.0.0.1", 0)
        base, watched = (f"http://127.0.0.1:{r.addresses[0][1]}" for r in (runner, beside))
        try:
            yield Service(base, world, m, KEY, watched, server.resources, server.sessions)
        finally:
            await drain(server)
            await runner.cleanup()
            await beside.cleanup()


TOKEN, KEEPER, ADMIN = "ws_" + "s" * 43, "kk_" + "s" * 43, "dk_" + "s" * 43
HEADERS: dict[Role, dict[str, str]] = {
    "nobody": {},
    "agent": {"X-Service-User-Key": KEY},
    **{
        role: {"Authorization": f"Bearer {token}"}
        for role, token in (("owner", TOKEN), ("keeper", KEEPER), ("admin", ADMIN))
    },
}


async def credentials(service: Service, at: datetime | None = None) -> None:
    """Make `HEADERS` those of the mandate's owner and of the house."""
    m, now = service.mandate, at or service.world.clock.now()
    until = max(now, service.world.clock.now()) + timedelta(days=1)

    def add(uow: UnitOfWork) -> None:
        uow.identities.add_session(hashed(TOKEN), m.owner.user_id or "", now, until, until)
        uow.identities.add_house_key("k_k", "keeper", hashed(KEEPER), now)
        uow.identities.add_house_key("k_d", "admin", hashed(ADMIN), now)

    await service.world.store.write(add)


@pytest.fixture
async def service(sqlite_url: str, evm: Evm) -> AsyncIterator[Service]:
    async with running(sqlite_url, evm) as found:
        yield found


def stdio_env(service: Service) -> dict[str, str]:
    """What `wallet mcp` needs to see the same database and chain."""
    evm = service.world.evm
    prefix = f"WALLET_CHAINS__{CHAIN_ID}__"
    return PATIENTLY | {
        "PATH": os.defpath, "WALLET_DATABASE_URL": service.world.store.url, "WALLET_DOOR": "on",
        "WALLET_DEFAULT_CHAIN_ID": str(CHAIN_ID), "WALLET_LOG_LEVEL": "ERROR", "WALLET_SERVICE_USER_KEY": service.key,
        f"{prefix}RPC_URL": evm.url, f"{prefix}USDC": evm.usdc, f"{prefix}FACTORY": evm.factory, f"{prefix}LENS": evm.lens,
        f"{prefix}CONFIRMATIONS": "0",
    }  # fmt: skip


class Door:
    """One way in: `call` answers (status, body), a refusal's block as body, whatever the way."""

    def __init__(self, name: str, service: Service, client: Client | None, http: ClientSession):
        self.name, self.service, self.client, self._http = name, service, client, http
        self.replayed = False

    async def call(
        self, name: str, *, key: str | None = None, **arguments: Any
    ) -> tuple[int, dict[str, Any]]:
        if self.client is None:
            return await self._over_http(name, key, arguments)
        given = arguments | ({"idempotency_key": key} if key is not None else {})
        result = await self.client.call_tool(name, given)
        body: dict[str, Any] = result.structured_content or {}
        text = result.content[0].text  # type: ignore[union-attr]
        if text.endswith("the answer is the structured content."):
            assert self.name.endswith("2026")
            assert (
                len(text) <= 200 < len(json.dumps(body, separators=(",", ":"), ensure_ascii=False))
            )
        else:
            assert json.loads(text) == body
            assert (
                not self.name.endswith("2026")
                or len(text) <= 200
                or "refusal" in body
                or "next" in body
            )
        assert result.is_error == ("refusal" in body)
        meta = result.meta or {}
        self.replayed = meta.get("wallet/replayed", False)
        return meta["wallet/http_status"], body.get("refusal", body)

    async def _over_http(
        self, name: str, key: str | None, arguments: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        op = BY_NAME[name].routes[-1 if self.name == "http-post" else 0]
        assert op.route is not None
        method, path = op.route
        left = dict(arguments)
        for part in op.path_names:
            path = path.replace("{" + part + "}", str(left.pop(part)))
        headers = by_key(self.service.key) | ({"Idempotency-Key": key} if key is not None else {})
        query = {k: _query(v) for k, v in left.items()} if op.from_query else {}
        body = None if op.from_query else left
        async with self._http.request(
            method, self.service.base + path, params=query, json=body, headers=headers
        ) as response:
            self.replayed = response.headers.get("Idempotent-Replayed") == "true"
            return response.status, await response.json()


def _query(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


STDIO = ["stdio-2026", "stdio-2025"]
DOORS = ["http", "http-post", *STDIO, *WAYS]


@asynccontextmanager
async def opened(name: str, service: Service) -> AsyncIterator[Door]:
    """Open one door."""
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(ClientSession())
        client = None
        if name in STDIO:
            command = StdioServerParameters(
                command=sys.executable, args=["-m", "server", "mcp"], env=stdio_env(service)
            )
            mode = "auto" if name.endswith("2026") else "legacy"
            client = await stack.enter_async_context(Client(command, mode=mode))
        elif name in WAYS:
            way = connected(name, service.base, by_key(service.key))
            client = await stack.enter_async_context(way)
        yield Door(name, service, client, http)


@pytest.fixture(params=DOORS)
async def door(request: pytest.FixtureRequest, service: Service) -> AsyncIterator[Door]:
    async with opened(request.param, service) as found:
        yield found
