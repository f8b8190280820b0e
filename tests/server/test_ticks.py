"""The keeper: marks, the stop line, settlement; done once, whoever does it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from chain.contracts import abi_codec
from domain.chain_facts import Call
from domain.money import Usdc
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.world import CHAIN_ID, Mandated, World, working
from venue.venues import Networks

WORLD = {"stop_line_dry_run": False}

pytestmark = pytest.mark.anyio


def keeper(world: World) -> KeeperScheduler:
    settings = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}})  # type: ignore[dict-item]
    return KeeperScheduler(Runtime(settings, world.deps, world.chains, Networks({})))


async def spend(world: World, m: Mandated, amount: str) -> None:
    told = await m.execute(amount)
    ok, _ = await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok


async def lose(world: World, amount: str) -> None:
    data = abi_codec.calldata("TestMarket", "lose", (Usdc.parse(amount),))
    await world.wallets[0].send(Call(CHAIN_ID, world.evm.market, data))


async def marks(world: World, m: Mandated) -> list[dict[str, Any]]:
    told = await world.ok("mandate_events", m.owner, public_id=m.id, limit=200)
    return [e for e in told["items"] if "marked" in e["payload"]]


async def test_an_unchanged_vault_is_marked_once_a_day_and_its_refresh_time_moves(
    world: World,
) -> None:
    m = await working(world)
    await spend(world, m, "40")
    ticks = keeper(world)
    await ticks.round()
    assert await marks(world, m) == [], "its call is an observation of the day"
    world.clock.forward(days=1)
    world.evm.chain.mine()
    await ticks.round()
    first = (await m.read())["mandate"]["last_chain_refresh_at"]
    world.clock.forward(seconds=30)
    await ticks.round()
    assert len(await marks(world, m)) == 1
    assert (await m.read())["mandate"]["last_chain_refresh_at"] > first


async def test_two_fresh_marks_at_the_line_stop_close_and_settle(world: World) -> None:
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400", on_floor="close")
    await spend(world, m, "400")
    await lose(world, "150")
    ticks = keeper(world)
    await ticks.round()
    assert (await m.read())["mandate"]["status"] == "working"
    world.clock.forward(seconds=30)
    await ticks.round()
    seen = await m.read()
    assert seen["mandate"]["status"] in ("stopped", "settled")
    world.clock.forward(seconds=30)
    await ticks.round()
    seen = await m.read()
    assert seen["mandate"]["status"] == "settled"
    assert float(seen["progress"]["cash"]) == pytest.approx(350, abs=0.01)


async def test_a_dry_run_sends_nothing(world: World) -> None:
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400")
    await world.store.write(
        lambda uow: uow.switches.set("stop_line_dry_run", "on", world.clock.now(), "test")
    )
    await spend(world, m, "400")
    await lose(world, "150")
    ticks = keeper(world)
    for _ in range(3):
        await ticks.round()
        world.clock.forward(seconds=30)
    assert (await m.read())["mandate"]["status"] == "working"
    asks = (await m.read())["clauses"][6]
    assert (asks["key"], asks["status"]) == ("at_stop", "stored_pending")


async def test_two_keepers_settle_once(world: World) -> None:
    m = await working(world)
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    first, second = keeper(world), keeper(world)
    async with anyio.create_task_group() as group:
        group.start_soon(first.round)
        group.start_soon(second.round)
    await first.round()
    told = await world.ok("mandate_events", m.owner, public_id=m.id, limit=200)
    assert sum("settled" in e["payload"] for e in told["items"]) == 1
    assert (await m.read())["mandate"]["status"] == "settled"


async def test_a_chain_that_does_not_answer_fails_no_read(world: World) -> None:
    from dataclasses import replace

    from chain.chains import EvmChains

    m = await working(world)
    dead = EvmChains(
        [world.evm.facts() and replace(world.evm.facts(), rpc_url="http://127.0.0.1:1")]
    )
    world.deps = replace(world.deps, chains=dead)
    seen = await m.read()
    assert seen["chain_state"]["agent_known"] is False
    assert seen["lock"]["reason"] == "unknown"
    assert seen["progress"]["cash"] == "500.000000"
    refused = await m.as_owner("owner_vault_tx", tx_hash="0x" + "00" * 32)
    assert (refused.status, refused.body["error"]) == (503, "chain_unavailable")
    await dead.close()
