"""One node's word on the time closes nothing and settles nothing, and holds no stop line off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chain.chains import EvmChains
from domain.money import Usdc
from domain.rules.mark_policy import closed
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.chain.nodes import distorted
from tests.server.test_paying import sent_by_the_keeper
from tests.server.test_record_marks import recorded, until_before_the_end, worth
from tests.server.test_silent_probe import invested
from tests.world import CHAIN_ID, Mandated, World, own_evm
from tools.keeper.block_time import with_trusted_time
from tools.model.operation import Caller
from venue.venues import Networks

evm = own_evm
WORLD = {"stop_line_dry_run": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
YEARS = timedelta(days=800)


@asynccontextmanager
async def saying(world: World, off: timedelta) -> AsyncIterator[str]:
    """A node whose newest block is of another time than it is."""

    def distort(request: dict[str, Any], raw: Any) -> Any:
        if request["method"] != "eth_getBlockByNumber" or not raw.get("result"):
            return raw
        at = int(raw["result"]["timestamp"], 16) + int(off.total_seconds())
        return raw | {"result": raw["result"] | {"timestamp": hex(at)}}

    async with distorted(world.evm.chain, distort) as url:
        yield url


@asynccontextmanager
async def kept_by(world: World, *urls: str) -> AsyncIterator[KeeperScheduler]:
    """A service for a chain that has confirmations, beside its keeper."""
    facts = replace(world.evm.facts(confirmations=1), rpc_url=urls[0], rpc_urls=urls[1:])
    chains = EvmChains([facts])
    settings = Settings(chains={CHAIN_ID: {"rpc_url": urls[0]}})  # type: ignore[dict-item]
    deps = replace(world.deps, chains=chains)
    world.deps, before = deps, world.deps
    try:
        yield KeeperScheduler(Runtime(settings, deps, chains, Networks({})))
    finally:
        world.deps = before
        await chains.close()


async def some_rounds(world: World, ticks: KeeperScheduler) -> None:
    for _ in range(3):
        world.evm.chain.mine()
        await ticks.round()
        world.clock.forward(seconds=30)


async def settled(world: World, m: Mandated) -> bool:
    chain = world.chains.get(CHAIN_ID)
    return (await chain.vault_states([m.vault]))[m.vault].settled


async def test_a_node_far_ahead_does_not_hold_the_stop_line_off_and_settles_nothing(
    world: World,
) -> None:
    m, target = await invested(world)
    async with saying(world, YEARS) as url, kept_by(world, url) as ticks:
        told = await world.do("keeper_settle", Caller("keeper"), public_id=m.id)
        assert (told.status, told.body["error"]) == (409, "wrong_status")
        await worth(world, target, "100")
        await some_rounds(world, ticks)
    assert (await world.chains.get(CHAIN_ID).vault_states([m.vault]))[m.vault].stopped


async def test_a_node_far_behind_has_no_gain_recorded_after_the_end(world: World) -> None:
    m, target = await invested(world)
    before = await sent_by_the_keeper(world)
    await worth(world, target, "450")
    await until_before_the_end(world, m, days=-1)
    stored = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    async with saying(world, -YEARS) as url, kept_by(world, url) as ticks:
        chain = ticks.parts.chains.get(CHAIN_ID)
        vault = (await chain.vault_states([m.vault]))[m.vault]
        assert not closed(stored, vault)
        assert closed(stored, with_trusted_time(chain, vault, world.clock.now()))
        await some_rounds(world, ticks)
    assert await recorded(world, m) == Usdc.parse("400")
    assert await sent_by_the_keeper(world) == before


async def test_what_most_nodes_say_of_the_time_is_the_chains(world: World) -> None:
    """Our own clock may be wrong: where two nodes of three agree, it is not asked."""
    m, _ = await invested(world)
    stored = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    async with (
        saying(world, YEARS) as ahead,
        saying(world, timedelta(0)) as second,
        kept_by(world, ahead, world.evm.url, second) as ticks,
    ):
        chain = ticks.parts.chains.get(CHAIN_ID)
        vault = (await chain.vault_states([m.vault], agreed=True))[m.vault]
        wrong = world.clock.now() + YEARS
        assert with_trusted_time(chain, vault, wrong) == vault
        assert not closed(stored, with_trusted_time(chain, vault, wrong))
        told = await world.do("keeper_settle", Caller("keeper"), public_id=m.id)
        assert (told.status, told.body["error"]) == (409, "wrong_status")


async def test_where_time_travels_the_chains_word_is_taken(world: World) -> None:
    m, _ = await invested(world)
    chain = world.chains.get(CHAIN_ID)
    vault = (await chain.vault_states([m.vault]))[m.vault]
    assert with_trusted_time(chain, vault, world.clock.now() + YEARS) == vault
