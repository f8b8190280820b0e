"""Cost of one keeper, and of two that share, for 20,000 vaults and 5,000 agents on the embedded chain.

One vault is real; the others are told as the same lens on the same chain tells of it. The chain is asked once a block for
the one, and its answer is given as often as a call names a vault: what is measured is the keeper, and no EVM in Python.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from eth_abi import decode, encode

from chain.chains import EvmChains
from chain.contracts import abi_codec
from devtools.devchain import answer as truth
from domain.ledger.events.event import NewEvent
from domain.mandates.mandate import Mandate
from server.keeper.vault_upkeep import VaultUpkeep
from server.settings import Settings
from storage.repositories.identities import Agent
from storage.schema import migrate
from storage.unit_of_work import UnitOfWork
from tests.world import CHAIN_ID, Evm, World, a_world, running_evm, working
from tools.keeper.hall_rollup import refresh_stale

VAULTS, AGENTS = 20_000, 5_000
TYPES = abi_codec.items("VaultLens", "function")["read"].outputs
LENS = "0x" + abi_codec.calldata("VaultLens", "read", [()])[2:10]


@dataclass
class Field:
    """Many mandates with a vault, and how often the lens was asked."""

    world: World
    chains: EvmChains
    mandates: int
    lens_calls: list[int]

    def keeping(self, name: str, **settings: Any) -> VaultUpkeep:
        deps = replace(self.world.deps, chains=self.chains)
        told = Settings(keeper_budget_s=3_600, **settings)
        return VaultUpkeep(deps, told, name, self.chains.get(CHAIN_ID))


def vault(n: int) -> str:
    """The address of a vault that stands for the real one."""
    return f"0x{'ee' * 16}{n:08x}"


@asynccontextmanager
async def field(url: str, evm: Evm, vaults: int, agents: int) -> AsyncIterator[Field]:
    """A database with one funded mandate, and as many again as are asked for, each agent with some."""
    async with a_world(url, evm) as world:
        m = await working(world)
        calls: list[int] = []
        async with _lens_for_all(evm, m.vault, calls) as node:
            chains = EvmChains([evm.facts(rpc_url=node)])
            await _fill(world, m.id, vaults, agents)
            try:
                yield Field(world, chains, vaults + 1, calls)
            finally:
                await chains.close()


async def _fill(world: World, like: str, vaults: int, agents: int) -> None:
    """Copy a mandate with its ledger."""
    store, now = world.store, world.clock.now()
    one = await store.read(lambda uow: uow.mandates.get(like))
    rows = await store.read(lambda uow: uow.ledger.behind(like, 0, 100))
    assert one is not None
    for start in range(0, vaults, 50):

        def some(uow: UnitOfWork, start: int = start) -> None:
            for n in range(start, min(start + 50, vaults)):
                agent_id = f"u_b{n % agents:06d}"
                if n < agents:
                    uow.identities.add_agent(Agent(agent_id, one.owner_id, f"B {n}", None, now))
                _copy(uow, world, one, rows, n, agent_id)

        await store.write(some)


def _copy(uow: UnitOfWork, world: World, one: Mandate, rows: Any, n: int, agent_id: str) -> None:
    of = f"m_b{n:09d}"
    uow.mandates.add(
        replace(one, public_id=of, vault_address=vault(n), agent_id=agent_id, refreshed_at=None)
    )
    for e in rows:
        new = NewEvent(
            kind=e.kind, reported_by=e.reported_by, occurred_at=e.occurred_at, amount_usdc=e.amount_usdc, tx_hash=e.tx_hash,
            chain_id=e.chain_id, log_index=e.log_index, block_number=e.block_number, payload=e.payload,
        )  # fmt: skip
        now = world.clock.now()
        uow.ledger.append(of, new, event_id=world.deps.ids.short("ev_"), now=now)


@asynccontextmanager
async def _lens_for_all(evm: Evm, real: str, calls: list[int]) -> AsyncIterator[str]:
    """The chain, whose lens is asked for the real vault as often as a call names any."""

    ran: dict[str, Any] = {}

    def told(one: dict[str, Any]) -> Any:
        if one["method"] != "eth_call" or not one["params"][0].get("data", "").startswith(LENS):
            return truth(evm.chain, one)
        (name,) = decode(["address[]"], bytes.fromhex(one["params"][0]["data"][10:]))
        calls.append(len(name))
        data = LENS + encode(["address[]"], [[real] * len(name)]).hex()
        block = json.dumps(one["params"][1:])
        if block not in ran:
            data = LENS + encode(["address[]"], [[real]]).hex()
            request = {**one["params"][0], "data": data}
            ran[block] = truth(evm.chain, {**one, "params": [request, *one["params"][1:]]})
        raw = bytes.fromhex(ran[block]["result"][2:])
        number, hashed, (state,) = decode(TYPES, raw)
        many = encode(TYPES, (number, hashed, [state] * len(name)))
        return {**ran[block], "id": one["id"], "result": "0x" + many.hex()}

    async def handle(request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        some = asked if isinstance(asked, list) else [asked]
        answers = [await asyncio.to_thread(told, one) for one in some]
        return web.json_response(answers if isinstance(asked, list) else answers[0])

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", handle)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/"))
    finally:
        await server.close()


async def lag(longest: list[float]) -> None:
    """The longest time that the loop blocked."""
    while True:
        at = time.perf_counter()
        await asyncio.sleep(0.01)
        longest.append(time.perf_counter() - at - 0.01)


async def run(evm: Evm, vaults: int, agents: int) -> dict[str, Any]:
    """Rounds until every vault is read, by one keeper and by two; then the Hall."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'w.sqlite'}"
        await asyncio.to_thread(migrate.upgrade, url)
        async with field(url, evm, vaults, agents) as f:
            lags: list[float] = []
            watch = asyncio.create_task(lag(lags))
            raw: dict[str, Any] = {"vaults": f.mandates, "agents": agents}
            for who in (1, 2):
                f.world.clock.forward(seconds=450)
                f.lens_calls.clear()
                keepers = [f.keeping(f"k{n}") for n in range(who)]
                started, rounds = time.perf_counter(), 0
                while await f.world.store.read(lambda uow: _due(uow, f.world)):
                    await asyncio.gather(*(k.round(every_s=15) for k in keepers))
                    rounds += 1
                raw[f"{who}_keepers"] = {
                    "seconds": round(time.perf_counter() - started, 1), "rounds": rounds,
                    "lens_calls": len(f.lens_calls), "vaults_a_call": max(f.lens_calls),
                }  # fmt: skip
            started = time.perf_counter()
            f.world.clock.forward(minutes=2)
            count = 0
            while done := await refresh_stale(f.world.deps, "k0"):
                count += done
            raw["hall"] = {"agents": count, "seconds": round(time.perf_counter() - started, 1)}
            watch.cancel()
            lags.sort()
            raw["loop_lag_ms"] = {
                "p99": round(1_000 * lags[int(0.99 * len(lags))]), "max": round(1_000 * lags[-1]),
            }  # fmt: skip
            return raw


def _due(uow: UnitOfWork, world: World) -> bool:
    now = world.clock.now()
    rows = uow.sql.rows(
        "SELECT 1 AS one FROM mandates WHERE vault_lower IS NOT NULL "
        "AND (refreshed_at IS NULL OR refreshed_at < :now) LIMIT 1",
        now=int(now.timestamp() * 1_000_000),
    )
    return bool(list(rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vaults", type=int, default=VAULTS)
    parser.add_argument("--agents", type=int, default=AGENTS)
    given = parser.parse_args()
    with running_evm() as chain:
        print(json.dumps(asyncio.run(run(chain, given.vaults, given.agents)), indent=2))
