"""An agent's first hour over plain HTTP, from an address and a key to a proven deposit and back:
what it has to read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import ClientSession

from chain.contracts import abi_codec
from domain.money import Usdc
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.surfaces.conftest import Service, running
from tests.world import CHAIN_ID, Evm, Mandated, config_of, working
from tools.context.credentials import hashed
from venue.venues import Networks

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CALLS, CHARACTERS = 40, 50_000
KEY = "ak_" + "h" * 43
# The most that one answer may have, by its path's end; what is not named has 2,500.
ANSWERS: Mapping[str, int] = {
    "/wallet/skill.md": 6_000,
    "mandate_reconcile": 6_000,
    "parts=clauses": 6_000,
    "/events limit=5": 3_000,
    "/steps limit=5": 4_000,
}


class Reader:
    """Somebody with an address and a key, who counts what is read."""

    def __init__(self, http: ClientSession, base: str):
        self._http, self._base = http, base
        self.read: list[tuple[str, int]] = []

    async def ask(
        self, method: str, path: str, body: Any = None, key: str | None = None, **query: str
    ) -> Any:
        """One call; it must not be refused."""
        headers = {"Idempotency-Key": key} if key else {}
        async with self._http.request(
            method, self._base + path, json=body, params=query, headers=headers
        ) as response:
            text = await response.text()
            assert response.status < 300, text
        told = f"{method} {path}" + "".join(f" {n}={v}" for n, v in query.items())
        self.read.append((told, len(text)))
        return json.loads(text) if response.content_type == "application/json" else text


async def offered(service: Service) -> Mandated:
    """A funded mandate that waits for its agent, whose key is `KEY`."""
    world = service.world
    m = await working(world, accept=False)
    now, agent_id = world.clock.now(), m.agent.user_id or ""
    await world.store.write(lambda uow: uow.identities.add_key("k_h", agent_id, hashed(KEY), now))
    return m


async def chain_is_read(service: Service) -> None:
    """What the service's own tasks do every few seconds."""
    world = service.world
    settings = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}})  # type: ignore[dict-item]
    await KeeperScheduler(Runtime(settings, world.deps, world.chains, Networks({}))).round()


async def test_a_first_hour_is_forty_calls_and_fifty_thousand_characters(
    sqlite_url: str, evm: Evm
) -> None:
    markets = config_of(evm).markets
    async with (
        running(sqlite_url, evm, markets=markets) as service,
        ClientSession(headers={"X-Service-User-Key": KEY}) as http,
    ):
        m, reader = await offered(service), Reader(http, service.base)
        await reader.ask("GET", "/")
        await reader.ask("GET", "/wallet/skill.md")
        needed = "mandate_execute_call,mandate_report_event,mandate_reconcile"
        told = await reader.ask("GET", "/wallet/mcp-tools", names=needed)
        assert all(t["inputSchema"]["required"] for t in told["tools"])
        path = await _takes_the_offer(reader)
        await _goes_in(reader, service, m, path)
        await _comes_back(reader, service, m, path)
    total = sum(size for _, size in reader.read)
    table = "\n".join(f"{size:6} {told}" for told, size in reader.read)
    assert len(reader.read) <= CALLS, table
    assert total <= CHARACTERS, f"{total}\n{table}"
    for told, size in reader.read:
        most = next((n for end, n in ANSWERS.items() if told.endswith(end)), 2_500)
        assert size <= most, told


async def _takes_the_offer(reader: Reader) -> str:
    """Who am I, what is offered, what would I be held to; then accept."""
    me = await reader.ask("GET", "/wallet/agents/me")
    offers = await reader.ask("GET", "/wallet/agents/me/offers")
    (offer,) = offers["items"]
    assert offer["mandate"]["agent_id"] == me["agent_id"]
    path = f"/wallet/mandates/{offer['mandate']['public_id']}"
    await reader.ask("GET", path, parts="clauses")
    before = await reader.ask("GET", path + "/limits")
    assert before["limits"]["remaining"]["blocked_by"] == "mandate_not_accepted"
    accepted = await reader.ask("POST", path + "/accept")
    assert accepted["mandate"]["accepted_at"]
    now = await reader.ask("GET", path + "/limits")
    assert now["limits"]["remaining"]["blocked_by"] is None
    (market,) = (await reader.ask("GET", "/wallet/markets"))["items"]
    assert market["id"] in accepted["mandate"]["markets"]
    return path


async def _goes_in(reader: Reader, service: Service, m: Mandated, path: str) -> None:
    """Deposit 10, report it, and see the claim proven."""
    data = m.world.deposit_data(m.vault, "10")
    told = await _acts(reader, m, path, data, "10", kind="buy")
    assert (told["confirmed"], told["proof"]["tool"]) == (False, "mandate_limits")
    assert (await reader.ask("GET", path + "/limits"))["pending_claims"]["count"] == 1
    await chain_is_read(service)
    assert (await reader.ask("GET", path + "/limits"))["pending_claims"]["count"] == 0
    progress = (await reader.ask("GET", path, parts="progress"))["progress"]
    assert progress["positions_est"] == "10.000000"


async def _comes_back(reader: Reader, service: Service, m: Mandated, path: str) -> None:
    """Withdraw 4, report it, read what the record says of it all."""
    taken = (Usdc.parse("4"), m.vault, m.vault)
    await _acts(
        reader, m, path, abi_codec.calldata("TestMarket", "withdraw", taken), "0", kind="sell"
    )
    await chain_is_read(service)
    progress = (await reader.ask("GET", path, parts="progress"))["progress"]
    assert (progress["pending_claims"]["count"], progress["positions_est"]) == (0, "6.000000")
    events = (await reader.ask("GET", path + "/events", limit="5"))["items"]
    assert all(e["occurred_at"] for e in events)
    steps = (await reader.ask("GET", path + "/steps", limit="5"))["items"]
    assert steps[0]["confirmed_on_chain"]


async def _acts(
    reader: Reader, m: Mandated, path: str, data: str, approve: str, *, kind: str
) -> Any:
    """Check the first one, ask for the calldata, send it, report it, and ask what became of it."""
    wanted = {"target": m.world.evm.market, "data": data, "approve_amount": approve}
    if kind == "buy":
        await reader.ask("GET", path + "/execute-call", **wanted, dry_run="1")
    call = await reader.ask("GET", path + "/execute-call", **wanted)
    ok, tx = await m.world.mined(m.agent_wallet, call, gas=900_000)
    assert ok
    amount = "10" if kind == "buy" else "4"
    report = {"kind": kind, "amount_usdc": amount, "tx_hash": tx}
    told = await reader.ask("POST", path + "/events", report, key=f"{kind}-1")
    landed = await reader.ask("GET", path + "/reconcile", tx_hash=tx)
    assert landed["outcome"] == "landed"
    return told
