"""One bad node of three, in every place among them: no figure is wrong, and reading goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from chain import quorum
from chain.chains import EvmChains
from chain.logs.log_reader import LogReader, Watched
from domain.money import Usdc
from http_shim.readiness import Readiness
from http_shim.service_routes import DEPS, READY, ROUTES
from server.cli import doctor
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from storage.integrity.ledger_check import verify
from tests.chain_campaign.life import told_here
from tests.server.bad_nodes import PLACES, SCENARIOS, Node, Scenario, ask_straight, stopped_on
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, own_evm, working
from venue.venues import Networks

evm = own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ROUNDS = 6


@pytest.fixture
async def world(sqlite_url: str, evm: Evm, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(quorum, "LATE_S", 0.2)
    async with a_world(sqlite_url, evm) as opened:
        yield opened


@asynccontextmanager
async def read_through(
    world: World, nodes: list[Node], *, answer_s: float = 10, **facts: Any
) -> AsyncIterator[KeeperScheduler]:
    """A service that reads the chain through these nodes, and answers by them too."""
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(node.served()) for node in nodes]
        told = world.evm.facts(rpc_url=urls[0], rpc_urls=tuple(urls[1:]), **facts)
        chains = EvmChains([told])
        stack.push_async_callback(chains.close)
        for rpc, node in zip(chains.get(CHAIN_ID).node().clients, nodes, strict=True):
            rpc._timeout_s, rpc._transport._timeout_s = 1, answer_s
            ask_straight(rpc, node)
            # A round is half a minute of this world: a node's pause is over by the next one.
            for breaker in (rpc._breaker, rpc._deadline_breaker):
                breaker._clock = lambda: world.clock.now().timestamp()
        settings = Settings(chains={CHAIN_ID: {"rpc_url": urls[0]}})  # type: ignore[dict-item]
        before, world.deps = world.deps, replace(world.deps, chains=chains)
        try:
            yield KeeperScheduler(Runtime(settings, world.deps, chains, Networks({})))
        finally:
            world.deps = before


async def a_round(world: World, ticks: KeeperScheduler, *nodes: Node) -> None:
    """Half a minute, a block, a round of everything."""
    world.clock.forward(seconds=30)
    world.evm.chain.mine()
    for node in nodes:
        node.goes_on()
    await ticks.round()


async def spend(world: World, m: Mandated, amount: str) -> str:
    data = world.deposit_data(m.vault, amount)
    call = world.chains.get(CHAIN_ID).vault_call(
        m.vault, "execute", world.evm.market, data, Usdc.parse(amount)
    )
    receipt = await m.agent_wallet.send(call, gas=900_000)
    assert receipt["status"] == 1
    return "0x" + bytes(receipt["transactionHash"]).hex()


async def rows(world: World, m: Mandated) -> list[tuple[int, int, str, str]]:
    """Every log that stands in the ledger."""
    found = await world.store.read(lambda uow: uow.ledger.newest(m.id, 1_000))
    return sorted(told_here(list(reversed(found))))


async def logs(world: World, m: Mandated) -> list[tuple[int, int, str, str]]:
    """Every log of the vault, asked of the chain itself."""
    honest = world.chains.get(CHAIN_ID)
    told = await LogReader(honest).logs_of(Watched.of([m.vault]), 0, world.evm.chain.head.number)
    return sorted((g.block.number, g.log_index, g.tx_hash, g.block.at.isoformat()) for g in told)


@PLACES
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_one_bad_node_of_three_makes_no_wrong_figure_and_stops_no_reading(
    world: World, scenario: Scenario, place: int, confirmations: int
) -> None:
    m = await working(world)
    bad = Node(world, scenario)
    nodes = [Node(world), Node(world)]
    nodes.insert(place, bad)
    async with read_through(world, nodes, confirmations=confirmations) as ticks:
        for _ in range(confirmations + 1):
            await a_round(world, ticks)
        assert (await m.read())["progress"]["cash"] == "500.000000"
        bad.turn()
        await world.deps.chains.get(CHAIN_ID).node().close()  # type: ignore[attr-defined]  # EvmChain's
        if bad.own is not None and scenario == "minority fork":
            stopped_on(bad.own, m.owner_wallet, m.vault)
        await spend(world, m, "40")
        for _ in range(ROUNDS):
            await a_round(world, ticks, bad)
            told = await m.read()
            cash, issue = told["progress"]["cash"], told["progress"].get("data_issue", False)
            assert told["mandate"]["status"] == "working"
            assert cash in ("500.000000", "460.000000") or (cash is None and issue)
        assert (cash, issue) == ("460.000000", False)
        kept = await world.store.read(lambda uow: uow.chainlog.cursor(CHAIN_ID))
        assert kept is not None
        assert kept.deep == world.evm.chain.head.number - confirmations
        assert await rows(world, m) == await logs(world, m)
        assert (await verify(world.store)).ok


# -- what is said of them


async def ready(world: World) -> dict[str, Any]:
    app = web.Application()
    app[DEPS], app[READY] = world.deps, Readiness(world.deps)
    app.add_routes(ROUTES)
    async with TestClient(TestServer(app)) as http:
        return dict(await (await http.get("/readyz")).json())


WORDS: dict[Scenario, str] = {
    "stands still": "stands still at block",
    "minority fork": "is on another fork at block",
    "no such method": "failed a step: eth_getLogs refused",
    "another chain": "the node serves chain 1",
    "hangs": "in time",
    "429": "in time",
    "lies about logs": "contradicts the others on the logs of some blocks",
    "another hash": "not hash to",
}


@pytest.mark.parametrize("scenario", WORDS)
async def test_what_is_wrong_with_a_node_is_told_by_its_place_and_never_by_its_address(
    world: World, scenario: Scenario
) -> None:
    m = await working(world)
    bad = Node(world, scenario)
    async with read_through(world, [bad, Node(world), Node(world)], confirmations=1) as ticks:
        await a_round(world, ticks)
        assert (await ready(world))["nodes"] == []
        bad.turn()
        chain = world.deps.chains.get(CHAIN_ID)
        await chain.node().close()  # type: ignore[attr-defined]  # EvmChain's
        if bad.own is not None and scenario == "minority fork":
            stopped_on(bad.own, m.owner_wallet, m.vault)
        await spend(world, m, "40")
        for _ in range(6):
            await a_round(world, ticks, bad)
        (told,) = (await ready(world))["nodes"]
        assert (told["chain_id"], told["node"]) == (CHAIN_ID, 1)
        assert WORDS[scenario] in told["fault"]
        assert "http" not in told["fault"]
        gauges = ticks.parts.chains.gauges()
        faults = {name for name, value in gauges.items() if "node_fault" in name and value}
        assert faults
        assert all('node="1"' in name for name in faults)
        found = {f.what: f for f in await doctor._chain(chain, world.clock)}  # type: ignore[arg-type]  # an EvmChain
        assert not found[f"chain {CHAIN_ID} node 1"].works
        assert "http" not in found[f"chain {CHAIN_ID} node 1"].state
        assert found[f"chain {CHAIN_ID} node 2"].works


DOCTOR: dict[Scenario, str] = {
    "stands still": "stands still at block",
    "minority fork": "is on another fork at block",
    "no such method": "eth_getLogs refused",
    "lies about logs": "contradicts the others on the logs of some blocks",
    "omits logs": "contradicts the others on the logs of some blocks",
    "429": "in time",
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("scenario", DOCTOR)
async def test_the_doctor_by_itself_names_what_is_wrong_with_a_node(
    world: World, scenario: Scenario, place: int
) -> None:
    """It begins with no node known, as the command does."""
    m = await working(world)
    bad = Node(world, scenario)
    nodes = [Node(world), Node(world)]
    nodes.insert(place, bad)
    async with read_through(world, nodes, confirmations=1):
        bad.turn()
        if bad.own is not None and scenario == "minority fork":
            stopped_on(bad.own, m.owner_wallet, m.vault)
        await spend(world, m, "40")
        for _ in range(3):
            world.clock.forward(seconds=60)
            world.evm.chain.mine()
            bad.goes_on()
        chain = world.deps.chains.get(CHAIN_ID)
        found = {f.what: f for f in await doctor._chain(chain, world.clock)}  # type: ignore[arg-type]  # an EvmChain
        works = [found[f"chain {CHAIN_ID} node {n}"].works for n in (1, 2, 3)]
        assert works == [n != place for n in range(3)]
        assert DOCTOR[scenario] in found[f"chain {CHAIN_ID} node {place + 1}"].state
        assert found[f"chain {CHAIN_ID}"].works


async def test_a_chain_that_stands_still_is_told_at_once(world: World) -> None:
    m = await working(world)
    async with read_through(world, [Node(world)], confirmations=1) as ticks:
        await a_round(world, ticks)
        assert (await m.read())["progress"].get("data_issue") is None
        world.clock.forward(seconds=121)
        await ticks.round()
        told = await m.read()
        assert told["progress"]["data_issue"] is True
        assert (await ready(world))["chains"][0]["chain_id"] == CHAIN_ID
        await a_round(world, ticks)
        assert (await m.read())["progress"].get("data_issue") is None


async def test_nodes_that_do_not_agree_are_a_data_issue_after_some_minutes(world: World) -> None:
    """One of two is on a fork: nothing becomes deep, and nothing of the fork is shown as sure."""
    m = await working(world)
    bad = Node(world, "minority fork")
    async with read_through(world, [bad, Node(world)], confirmations=1) as ticks:
        for _ in range(2):
            await a_round(world, ticks)
        bad.turn()
        assert bad.own is not None
        stopped_on(bad.own, m.owner_wallet, m.vault)
        issues, deeps = [], set()
        for _ in range(14):
            await a_round(world, ticks, bad)
            issues.append((await m.read())["progress"].get("data_issue", False))
            kept = await world.store.read(lambda uow: uow.chainlog.cursor(CHAIN_ID))
            deeps.add(kept.deep if kept else None)
    assert issues == sorted(issues)
    assert (issues[3], issues[-1]) == (False, True)
    assert len(deeps) <= 2


async def test_a_read_names_its_block_by_the_blocks_own_time(world: World) -> None:
    m = await working(world)
    async with read_through(
        world, [Node(world), Node(world), Node(world)], confirmations=3
    ) as ticks:
        for _ in range(4):
            await a_round(world, ticks)
        deep = world.evm.chain.blocks[-4]
        world.clock.forward(seconds=60)
        told = await m.read()
        assert told["as_of"]["block"] == deep.number
        assert datetime.fromisoformat(told["as_of"]["block_time"]).timestamp() == deep.timestamp
        assert told["chain_state"]["as_of_block"] == deep.number + 3
