"""A set-up that is put back is the one that was acted out, and what a test does with it ends with the test."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from chain.contracts import abi_codec
from domain.settings import Config
from tests.world import CHAIN_ID, START, Evm, Mandated, World, a_world, drafted, working

pytestmark = pytest.mark.anyio
# Terms of these tests alone: whichever runs first finds nothing remembered of them.
TERMS: dict[str, Any] = {"budget_usdc": "521"}


class Worlds:
    """New worlds, one after the other, on one chain."""

    def __init__(self, evm: Evm, template: Path, folder: Path):
        self._evm, self._template, self._folder, self._n = evm, template, folder, 0

    @asynccontextmanager
    async def another(self, **more: Any) -> AsyncIterator[World]:
        self._n += 1
        path = self._folder / f"{self._n}.sqlite"
        shutil.copyfile(self._template, path)
        async with a_world(f"sqlite:///{path}", self._evm, **more) as world:
            yield world


@pytest.fixture
def worlds(evm: Evm, sqlite_template: Path, tmp_path: Path) -> Worlds:
    return Worlds(evm, sqlite_template, tmp_path)


async def stands(m: Mandated) -> tuple[Any, ...]:
    """All there is to see of a mandate and of its chain."""
    chain = m.world.evm.chain
    rows = (await m.as_owner("mandate_events")).body
    limits = (await m.as_owner("mandate_limits")).body
    return await m.read(), rows, limits, chain.head.hash, len(chain.txs), m.world.clock.now()


async def test_what_a_test_does_with_a_set_up_is_not_seen_in_the_next_world(worlds: Worlds) -> None:
    async with worlds.another() as world:
        first = await working(world, **TERMS)
        before = await stands(first)
        assert (await first.execute("10")).status == 200
        await first.world.mint(first.vault, "5")
        await first.as_agent("mandate_report_event", kind="note", payload={"text": "seen"})
        world.clock.forward(hours=1)
        world.evm.chain.mine()
        assert await stands(first) != before
    async with worlds.another() as world:
        second = await working(world, **TERMS)
        assert (second.id, second.vault) == (first.id, first.vault)
        assert await stands(second) == before
        assert world.clock.now() == START
    async with worlds.another() as world:
        assert world.evm.chain.head.hash != before[3]  # and the chain of a new world has none of it
        assert (await world.do("mandate_get", second.owner, public_id=second.id)).status == 404


async def test_who_is_put_back_can_act_and_sign_as_before(worlds: Worlds) -> None:
    for _ in range(2):
        async with worlds.another() as world:
            m = await working(world, **TERMS)
            assert m.world is world
            assert m.owner_wallet in world.wallets
            assert m.agent_wallet in world.wallets
            reply = await m.execute("10")
            assert reply.status == 200, reply.body
            assert (await world.mined(m.agent_wallet, dict(reply.body)))[0]
            # Somebody who comes later is nobody of the set-up.
            other = await working(world)
            assert other.owner_wallet.address != m.owner_wallet.address
            assert other.id != m.id


async def test_a_set_up_is_acted_out_where_anything_before_it_differs(worlds: Worlds) -> None:
    async with worlds.another() as world:
        known = (await drafted(world, **TERMS)).id
    async with worlds.another() as world:
        assert (await drafted(world, **TERMS)).id == known
        assert (await drafted(world, **TERMS)).id != known
    async with worlds.another() as world:
        assert (await drafted(world, budget_usdc="522")).id != known
    async with worlds.another() as world:
        world.clock.at += timedelta(seconds=1)
        assert (await drafted(world, **TERMS)).id != known
    async with worlds.another() as world:
        world.evm.chain.mine()
        assert (await drafted(world, **TERMS)).id != known
    async with worlds.another() as world:
        await world.owner()
        assert (await drafted(world, **TERMS)).id != known
    async with worlds.another(config=Config(default_chain_id=CHAIN_ID)) as world:
        assert (await drafted(world, **TERMS)).id != known
    async with worlds.another(paid_read_enforcement=True) as world:
        assert (await drafted(world, **TERMS)).id != known
    async with worlds.another() as world:
        world.remembers = False
        assert (await drafted(world, **TERMS)).id != known


async def test_the_chain_answers_anew_after_each_block_and_at_each_time(worlds: Worlds) -> None:
    async with worlds.another() as world:
        m = await working(world, **TERMS)
        held = abi_codec.calldata("TestUSDC", "balanceOf", (m.vault,))
        seen = []
        for _ in range(3):
            seen.append(int.from_bytes(world.evm.chain.call({"to": world.evm.usdc, "data": held})))
            await world.mint(m.vault, "5")
        assert [one - seen[0] for one in seen] == [0, 5_000_000, 10_000_000]
        now = {"data": "0x4260005260206000f3"}  # gives TIMESTAMP
        before = int.from_bytes(world.evm.chain.call(now))
        world.clock.forward(days=1)
        assert int.from_bytes(world.evm.chain.call(now)) == START.timestamp() + 86_400 > before
