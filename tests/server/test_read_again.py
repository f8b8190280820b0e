"""What a node left out long ago is found by reading a vault's whole life again, in steps that go on where they stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from chain.adapter import EvmChain
from domain.chain_facts import VaultLog
from server.keeper import vault_resync
from server.keeper.scheduler import KeeperScheduler
from storage.integrity.ledger_check import verify
from tests.chain.nodes import distorted
from tests.server.test_sums import by_anything, by_logs, kept_by, spend, sums
from tests.waiting import LoopClock
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, own_evm, working
from tools.keeper import reconciliation as keeper_sums

evm = own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
NEAR = 8
LIFE = 60


@pytest.fixture
async def world(sqlite_url: str, evm: Evm, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A round reads two steps of eight blocks one by one, and no more."""
    monkeypatch.setattr(vault_resync, "MAX_BLOCKS", NEAR)
    monkeypatch.setattr(
        vault_resync, "A_STEP", {"range": 4 * NEAR, "blocks": NEAR, "receipts": NEAR}
    )
    monkeypatch.setattr(vault_resync, "BUDGET", 2 * NEAR * vault_resync.COST["blocks"])
    async with a_world(sqlite_url, evm) as opened:
        yield opened


@dataclass
class Hiding:
    """A node that leaves out what one block holds, in all ways but those it is told not to."""

    hides: Any
    block: int = -1
    on: bool = True
    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, request: dict[str, Any], raw: Any) -> Any:
        if request["method"] == "eth_getBlockReceipts":
            self.asked[request["params"][0]] += 1
        if not self.on or not self.hides(request) or not isinstance(raw.get("result"), list):
            return raw
        return raw | {"result": [self._left(x) for x in raw["result"] if self._kept(x)]}

    def _here(self, item: dict[str, Any]) -> bool:
        return int(item["blockNumber"], 16) == self.block

    def _kept(self, item: dict[str, Any]) -> bool:
        return "logs" in item or not self._here(item)

    def _left(self, item: dict[str, Any]) -> dict[str, Any]:
        return item | {"logs": []} if "logs" in item and self._here(item) else item


@asynccontextmanager
async def behind(world: World, hiding: Hiding) -> AsyncIterator[str]:
    async with distorted(world.evm.chain, hiding) as url:
        yield url


async def hidden_long_ago(world: World, hiding: Hiding, ticks: KeeperScheduler) -> Mandated:
    """A spend that nobody told of, and many blocks after it."""
    m = await working(world)
    await ticks.round()
    hiding.block = world.evm.chain.head.number + 1
    await spend(world, m, "40")
    assert world.evm.chain.head.number == hiding.block
    for _ in range(LIFE):
        world.evm.chain.mine()
    return m


async def rounds(world: World, *urls: str, limit: int) -> int:
    """Rounds of new processes, one each, until the question is answered; how many."""
    for n in range(1, limit + 1):
        async with kept_by(world, *urls) as ticks:
            await ticks.round()
        world.clock.forward(seconds=30)
        differs = await world.store.read(
            lambda uow: uow.sql.rows("SELECT 1 FROM mandates WHERE differs_at IS NOT NULL")
        )
        if not differs:
            return n
    return limit + 1


async def old_blocks_asked(world: World, hiding: Hiding) -> dict[int, int]:
    """How often the receipts of each block were asked for that is not among the newest."""
    old = range(1, world.evm.chain.head.number - 2 * NEAR)
    headers = await world.chains.get(CHAIN_ID).headers(old)
    times = {n: hiding.asked[header.block.hash] for n, header in headers.items()}
    return {n: t for n, t in times.items() if t}


async def test_what_was_hidden_long_ago_is_found_in_steps_that_go_on_in_another_process(
    world: World,
) -> None:
    hiding = Hiding(by_logs)
    async with behind(world, hiding) as url:
        async with kept_by(world, url) as ticks:
            m = await hidden_long_ago(world, hiding, ticks)
            await ticks.round()
        assert await sums(m) == (None, None, True)
        hiding.asked.clear()
        needed = await rounds(world, url, limit=40)
    assert 2 < needed <= 40
    assert await sums(m) == ("460.000000", "500.000000", False)
    walked = await old_blocks_asked(world, hiding)
    assert hiding.block in walked
    assert set(walked.values()) == {1}, "a block that was read is not read again on the same path"
    kept = await world.store.read(lambda uow: (uow.readings.of(m.id), uow.readings.logs(m.id)))
    assert kept == (None, [])
    assert (await verify(world.store)).ok


async def test_what_stood_out_before_the_last_agreement_is_found_in_the_vaults_life(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agreement that was noted too soon does not bound what is read again."""
    monkeypatch.setattr(keeper_sums, "BACK", NEAR)
    hiding = Hiding(by_logs)
    async with behind(world, hiding) as url:
        async with kept_by(world, url) as ticks:
            m = await hidden_long_ago(world, hiding, ticks)
        head = world.evm.chain.head.number
        await world.store.write(lambda uow: uow.sums.agree(m.id, head))
        assert await rounds(world, url, limit=40) <= 40
    assert await sums(m) == ("460.000000", "500.000000", False)


async def test_after_a_walk_in_vain_a_vault_rests_and_another_node_ends_the_rest(
    world: World,
) -> None:
    hiding = Hiding(by_anything)
    async with behind(world, hiding) as url:
        async with kept_by(world, url) as ticks:
            m = await hidden_long_ago(world, hiding, ticks)
        assert await rounds(world, url, limit=30) > 30
        resting = await world.store.read(lambda uow: uow.readings.of(m.id))
        assert resting is not None
        assert resting.rests_until is not None
        assert resting.rests_until > world.clock.now()
        hiding.asked.clear()
        assert await rounds(world, url, limit=2) > 2
        assert not await old_blocks_asked(world, hiding), "its life is not read in the rest"
        assert await sums(m) == (None, None, True)
        assert await rounds(world, url, world.evm.url, limit=3) <= 3
    assert await sums(m) == ("460.000000", "500.000000", False)


async def test_what_no_node_serves_is_passed_over_and_a_busy_node_goes_on_where_it_was(
    world: World,
) -> None:
    """The range says nothing, the blocks by hash are refused, the receipts now and then."""
    hiding, turns = Hiding(by_logs), Counter[str]()

    def distort(request: dict[str, Any], raw: Any) -> Any:
        if request["method"] == "eth_getLogs" and "blockHash" in request["params"][0]:
            return {
                "jsonrpc": "2.0",
                "id": request["id"],
                "error": {"code": -32601, "message": "no such method"},
            }
        if request["method"] == "eth_getBlockReceipts":
            turns["receipts"] += 1
            if turns["receipts"] % 40 == 13:
                return {
                    "jsonrpc": "2.0",
                    "id": request["id"],
                    "error": {"code": -32000, "message": "busy"},
                }
        return hiding(request, raw)

    async with distorted(world.evm.chain, distort) as url:
        async with kept_by(world, url) as ticks:
            m = await hidden_long_ago(world, hiding, ticks)
        assert await rounds(world, url, limit=60) <= 60
    assert await sums(m) == ("460.000000", "500.000000", False)


async def test_a_step_that_takes_too_long_is_halved_until_it_fits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node answers of two blocks in time, and of no more; its logs say nothing."""
    hiding, whole, clock = Hiding(by_logs), vault_resync.requery_logs, LoopClock()

    async def slow(
        chain: EvmChain, way: str, vault: str, low: int, high: int, purses: Any
    ) -> list[VaultLog]:
        if high - low >= 2:
            clock.forward(vault_resync.LOOK_S + 1)
            await anyio.sleep_forever()
        return await whole(chain, way, vault, low, high, purses)

    monkeypatch.setattr(vault_resync, "BUDGET", 100 * vault_resync.BUDGET)
    async with behind(world, hiding) as url, kept_by(world, url) as ticks:
        m = await working(world)
        await ticks.round()
        hiding.block = world.evm.chain.head.number + 1
        await spend(world, m, "40")
        monkeypatch.setattr(vault_resync, "requery_logs", slow)
        for _ in range(20):
            await ticks.round()
            world.clock.forward(seconds=30)
            if await sums(m) == ("460.000000", "500.000000", False):
                break
    assert await sums(m) == ("460.000000", "500.000000", False)
