"""The reader and the ledger it feeds: backfill, resume, duplicates, reorganisations shallow and deep."""

from __future__ import annotations

import random
from typing import Any

import pytest

from chain.logs.log_reader import LogReader
from domain.money import Usdc
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from storage.integrity.ledger_check import verify
from tests.world import CHAIN_ID, Mandated, World, working
from venue.venues import Networks

pytestmark = pytest.mark.anyio


def ticks(world: World, **facts: Any) -> tuple[KeeperScheduler, LogReader]:
    from chain.adapter import EvmChain

    settings = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}})  # type: ignore[dict-item]
    parts = Runtime(settings, world.deps, world.chains, Networks({}))
    runner = KeeperScheduler(parts)
    chain = EvmChain(world.evm.facts(**facts))
    world.wallets.append(chain)  # type: ignore[arg-type]  # closed with the wallets
    return runner, LogReader(chain)


async def spend(world: World, m: Mandated, amount: str) -> str:
    told = await m.execute(amount)
    assert told.status == 200, told.body
    ok, tx = await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
    assert ok
    return tx


async def chain_rows(world: World, m: Mandated) -> list[dict[str, Any]]:
    told = await world.ok("mandate_events", m.owner, public_id=m.id, limit=200)
    return [e for e in reversed(told["items"]) if e["reported_by"] == "chain"]


async def cash_is_the_balance(world: World, m: Mandated) -> None:
    balance = (await world.chains.get(CHAIN_ID).usdc_balances([m.vault]))[m.vault]
    assert (await m.read())["progress"]["cash"] == str(balance)


async def test_the_reader_brings_everything_once_and_resumes(world: World) -> None:
    m = await working(world)
    runner, reader = ticks(world)
    await spend(world, m, "10")
    await runner.read_chain(reader)
    first = await chain_rows(world, m)
    assert [e["kind"] for e in first] == ["deposit", "move"]
    await spend(world, m, "5")
    again, other = ticks(world)
    await again.read_chain(other)
    await again.read_chain(reader)
    assert [e["kind"] for e in await chain_rows(world, m)] == ["deposit", "move", "move"]
    await cash_is_the_balance(world, m)
    assert (await verify(world.store)).ok


async def test_a_log_is_provisional_until_it_is_deep_enough(world: World) -> None:
    m = await working(world)
    runner, reader = ticks(world, confirmations=3)
    await spend(world, m, "10")
    await runner.read_chain(reader)
    seen = await m.read()
    assert seen["limits"]["used"]["per_day"]["value"] == "0.000000"
    # The deposit was taken from its receipt already; only what no ledger row tells is provisional.
    assert [(p["name"], p["confirmed_on_chain"]) for p in seen["chain_state"]["provisional"]] == [
        ("Executed", False)
    ]
    for _ in range(4):
        world.evm.chain.mine()
    await runner.read_chain(reader)
    seen = await m.read()
    assert seen["limits"]["used"]["per_day"]["value"] == "10.000000"
    assert seen["chain_state"]["provisional"] == []


async def test_a_shallow_reorganisation_leaves_no_trace(world: World) -> None:
    m = await working(world)
    runner, reader = ticks(world, confirmations=4)
    tx = await spend(world, m, "10")
    await runner.read_chain(reader)
    world.evm.chain.reorg(1, drop={bytes.fromhex(tx[2:])})
    for _ in range(6):
        world.evm.chain.mine()
    await runner.read_chain(reader)
    assert [e["kind"] for e in await chain_rows(world, m)] == ["deposit"]
    await cash_is_the_balance(world, m)


async def test_a_deep_reorganisation_is_answered_by_a_compensating_row(world: World) -> None:
    m = await working(world)
    runner, reader = ticks(world)
    tx = await spend(world, m, "10")
    await runner.read_chain(reader)
    world.evm.chain.reorg(1, drop={bytes.fromhex(tx[2:])})
    world.evm.chain.mine()
    await runner.read_chain(reader)
    rows = await chain_rows(world, m)
    assert [e["kind"] for e in rows] == ["deposit", "move", "note"]
    assert rows[-1]["payload"]["reverses"]["kind"] == "move"
    await cash_is_the_balance(world, m)
    assert (await verify(world.store)).ok


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.campaign) for n in range(2, 20))]
)
async def test_random_reorganisations_within_the_confirmations_end_at_the_truth(
    world: World, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311
    m = await working(world, per_tx_cap_usdc="20")
    runner, reader = ticks(world, confirmations=4)
    for _ in range(5):  # the deposit is deep enough before anything is reorganised
        world.evm.chain.mine()
    for n in range(8):
        told = await m.execute(f"1.{n:06d}")
        if told.status == 200:
            await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
        if chance.random() < 0.6:
            await runner.read_chain(reader)
        if chance.random() < 0.4:
            depth = chance.randint(1, 3)
            recent = [t.hash for b in world.evm.chain.blocks[-depth:] for t in b.txs]
            world.evm.chain.reorg(depth, drop={h for h in recent if chance.random() < 0.5})
    for _ in range(6):
        world.evm.chain.mine()
    await runner.read_chain(reader)
    await cash_is_the_balance(world, m)
    moves = [e for e in await chain_rows(world, m) if e["kind"] == "move"]
    vault = (await world.chains.get(CHAIN_ID).vault_states([m.vault]))[m.vault]
    assert (
        sum(Usdc.parse(e["payload"]["executed"]["spent"]).micros for e in moves)
        == vault.total_spent.micros
    )
