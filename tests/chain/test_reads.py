"""Reading a vault with the lens and without it gives the same."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from chain.evm import EvmChain
from tests.world import CHAIN_ID, Evm, World, a_world, working

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm) as opened:
        yield opened


async def test_a_vault_reads_the_same_with_and_without_the_lens(world: World) -> None:
    m = await working(world)
    told = await m.execute("25")
    await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
    bare = EvmChain(world.evm.facts(lens=None))
    nobody = "0x" + "77" * 20
    assert await bare.vault_states([m.vault, nobody]) == await world.chains.get(
        CHAIN_ID
    ).vault_states([m.vault, nobody])
    await bare.close()


async def test_a_transaction_of_another_kind_is_not_recorded_as_asked(world: World) -> None:
    m = await working(world)
    _, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx, kind="stop")).body[
        "error"
    ] == "vault_mismatch"
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx, kind="pause")).body["mandate"][
        "paused"
    ] is True


async def test_a_state_tells_which_probes_answered_and_the_factory_whether_it_keeps_approvals(
    world: World,
) -> None:
    m = await working(world)
    chain = world.chains.get(CHAIN_ID)
    state = (await chain.vault_states([m.vault]))[m.vault]
    assert (state.answered, state.measured) == ((True,), True)
    assert (state.values, state.recorded) == ((state.positions,), state.positions)
    assert not replace(state, answered=(True, False)).measured
    assert await chain.approvals_on_chain(world.evm.factory) is False
