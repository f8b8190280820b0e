"""A chain that hangs: what a request waits for it in all, and what it answers then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import anyio
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from chain.chains import EvmChains
from chain.rpc.circuit_breaker import FAILURES
from domain.chain_facts import BlockStamp
from http_shim.readiness import Readiness
from http_shim.service_routes import DEPS, READY, ROUTES
from server.cli import doctor
from server.settings import Settings
from tests.chain.nodes import Stalling, stalling
from tests.waiting import STUCK_S, LoopClock, beating
from tests.world import CHAIN_ID, Mandated, World, working

pytestmark = pytest.mark.anyio
READ_MS = 300
OF_THE_VAULT = {"mandate_stopped", "mandate_paused", "over_daily_cap", "over_budget", "below_stop_line"}  # fmt: skip


@asynccontextmanager
async def behind(world: World, **facts: Any) -> AsyncIterator[tuple[Stalling, EvmChains]]:
    """The world over a node that can be told to hang."""
    async with stalling(world.evm.chain) as (node, url):
        told = {"rpc_url": url, "read_ms": 30_000} | facts
        chains = EvmChains([world.evm.facts(**told)])
        world.deps = replace(world.deps, chains=chains)
        try:
            yield node, chains
        finally:
            node.end()
            await chains.close()


def hurry(chains: EvmChains, read_ms: int = READ_MS) -> None:
    chain = chains.get(CHAIN_ID)
    chain.facts = replace(chain.facts, read_ms=read_ms)


async def took(m: Mandated, name: str, **arguments: Any) -> tuple[float, dict[str, Any]]:
    """Seconds of one call, without those that a busy machine took, and its answer."""
    async with beating() as waited:
        reply = await m.as_owner(name, **arguments)
    assert reply.status == 200, reply.body
    return waited.seconds, dict(reply.body)


def test_the_setting_reaches_every_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALLET_CHAIN_READ_MS", "120")
    monkeypatch.setenv("WALLET_CHAINS__7__RPC_URL", "http://127.0.0.1:1")
    (facts,) = Settings().chain_facts()
    assert (facts.read_ms, facts.call_ms) == (120, 3_000)


async def test_a_read_waits_a_third_of_a_second_and_tells_what_it_last_knew_and_its_age(
    world: World,
) -> None:
    m = await working(world)
    async with behind(world) as (node, chains):
        now = await m.read()
        assert now["chain_state"]["agent_known"] is True
        assert "age_s" not in now["chain_state"]
        hurry(chains)
        node.hangs = True
        world.clock.forward(seconds=40)
        for name in ("mandate_get", "mandate_limits", "mandate_series"):
            spent, told = await took(m, name)
            assert spent < 1, name
        spent, told = await took(m, "mandate_get")
        state, before = told["chain_state"], now["chain_state"]
        assert {n: state[n] for n in before} == before
        at = datetime.fromisoformat(state["as_of"])
        assert 0 < state["age_s"] == int((world.clock.now() - at).total_seconds())
        assert told["lock"]["withdrawable"] is None
        assert (await m.as_owner("mandate_limits")).body["age_s"] == state["age_s"]
        # By now nobody waits for it any more, and it is asked by one alone.
        asked, started = node.asked, time.monotonic()
        for _ in range(5):
            await took(m, "mandate_get")
        assert node.asked - asked <= 1 + (time.monotonic() - started)
        assert chains.gauges()[f'wallet_chain_node_open{{chain="{CHAIN_ID}",node="1"}}'] == 1
        given_up = chains.gauges()[
            f'wallet_chain_node_given_up_total{{chain="{CHAIN_ID}",node="1"}}'
        ]
        assert given_up >= FAILURES


async def test_a_vault_that_was_never_read_is_read_when_the_chain_answers_again(
    world: World,
) -> None:
    m = await working(world)
    async with behind(world) as (node, chains):
        node.hangs = True
        hurry(chains)
        spent, told = await took(m, "mandate_get")
        assert spent < 1
        assert told["chain_state"]["agent_known"] is False
        assert told["progress"]["cash"] == "500.000000"
        node.hangs = False
        node.end()  # those that hang are answered, with a fault that passes
        with anyio.fail_after(STUCK_S):
            while not (await m.read())["chain_state"]["agent_known"]:
                await anyio.sleep(0.05)


async def test_execute_call_says_what_it_could_not_check(world: World) -> None:
    m = await working(world)
    async with behind(world) as (node, chains):
        told = await m.execute("10", dry_run=True)
        assert all(c["ok"] is True for c in told.body["checks"])
        hurry(chains)
        node.hangs = True
        async with beating() as waited:
            for dry_run in (True, False):
                told = await m.execute("10", dry_run=dry_run)
                assert told.status == 200, told.body
                assert {c["code"] for c in told.body["checks"] if c["ok"] is None} == OF_THE_VAULT
                assert all(
                    c["ok"] is True for c in told.body["checks"] if c["code"] not in OF_THE_VAULT
                )
                assert told.body["simulation"] is None
        assert waited.seconds < 2
        # What the record alone tells is refused all the same.
        over = await m.execute("101")
        assert over.body["error"] == "over_per_tx_cap"
        await m.as_owner("owner_stop")
        assert (await m.execute("10")).body["error"] == "mandate_stopped"


async def test_what_cannot_do_without_the_chain_is_refused_in_time(world: World) -> None:
    m = await working(world)
    async with behind(world, read_ms=READ_MS, call_ms=400) as (node, _):
        node.hangs = True
        async with beating() as waited:
            told = await m.as_owner("owner_vault_tx", tx_hash="0x" + "11" * 32)
        assert waited.seconds < 2
        assert (told.status, told.body["error"]) == (503, "chain_unavailable")
        assert (await m.as_agent("mandate_reconcile", tx_hash="0x" + "11" * 32)).body["outcome"] == "unknown"  # fmt: skip
        for name in (
            "owner_stop_call",
            "owner_withdraw_call",
            "owner_pause_call",
            "owner_record_call",
            "owner_fund",
        ):
            spent, _ = await took(m, name)
            assert spent < 1, name


@pytest.mark.parametrize("others", [1, 2])
async def test_other_nodes_answer_within_the_same_time_where_they_are_enough(
    world: World, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three say what the vault says now; one of two is not believed by itself."""
    m = await working(world)
    urls = tuple(f"{world.evm.url}?{n}" for n in range(others))
    async with behind(world, rpc_urls=urls) as (node, chains):
        await m.read()
        hurry(chains, 60_000)
        node.hangs, clock, second = True, LoopClock(), chains.get(CHAIN_ID).views[1]
        answered, latest = anyio.Event(), second.latest

        async def once_answered() -> None:
            await answered.wait()
            clock.forward(31)  # the half of it that is the first one's

        async def telling() -> BlockStamp:
            try:
                return await latest()
            finally:
                answered.set()

        monkeypatch.setattr(second, "latest", telling)
        waits = asyncio.create_task(once_answered())
        told = await m.read()
        assert told["chain_state"]["agent_known"] is True
        assert ("age_s" in told["chain_state"]) is (others == 1)
        await waits


async def test_a_node_that_changed_its_chain_behind_its_address_is_told_and_not_believed(
    world: World,
) -> None:
    m = await working(world)
    async with behind(world) as (node, chains):
        assert "data_issue" not in (await m.read())["progress"]
        assert chains.node_problem() == {}
        node.serves = "0x1"
        await chains.get(CHAIN_ID).node().close()  # the next answer comes over a new connection
        told = await m.read()
        assert told["progress"]["data_issue"] is True
        assert told["chain_state"]["age_s"] is not None
        assert chains.node_problem() == {CHAIN_ID: "its node serves chain 1"}
        app = web.Application()
        deps, app[READY] = world.deps, Readiness(world.deps)
        app[DEPS] = deps
        app.add_routes(ROUTES)
        async with TestClient(TestServer(app)) as http:
            ready = await (await http.get("/readyz")).json()
        assert ready["chains"] == [{"chain_id": CHAIN_ID, "trouble": "its node serves chain 1"}]
        (found,) = await doctor._chain(chains.get(CHAIN_ID))
        assert (found.works, found.effect) == (False, "nothing of it is believed")
        gauge = f'wallet_chain_node_serves_another{{chain="{CHAIN_ID}",node="1"}}'
        assert chains.gauges()[gauge] == 1
        node.serves = None
        assert "data_issue" not in (await m.read())["progress"]
        assert chains.node_problem() == {}
