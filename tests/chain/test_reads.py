"""Reading a vault with the lens and without it gives the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from eth_utils import keccak

from chain.adapter import EvmChain
from chain.contracts import abi_codec
from chain.logs.log_reader import LogReader, Watched
from chain.rpc.decoding import SILENT, vault_state
from domain.chain_facts import BlockStamp
from domain.money import Usdc
from tests.world import CHAIN_ID, World, working

pytestmark = pytest.mark.anyio
MARKED = "0x" + keccak(text="Marked(bytes32,uint256,uint256,uint256,uint256[])").hex()


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


async def test_a_log_tells_what_each_probe_answered_and_the_state_says_the_same(
    world: World,
) -> None:
    m = await working(world)
    told = await m.execute("25")
    await world.mined(m.agent_wallet, dict(told.body), gas=900_000)
    chain = EvmChain(world.evm.facts())
    state = (await chain.vault_states([m.vault]))[m.vault]
    logs = await LogReader(chain).logs_of(Watched.of([m.vault]), 0, state.block.number)
    (executed,) = [g for g in logs if g.name == "Executed"]
    assert executed.args["values"] == [25_000_000]
    assert (state.values, state.recorded) == ((Usdc(25_000_000),), Usdc(25_000_000))
    await chain.close()


def test_a_probe_that_did_not_answer_has_no_value() -> None:
    at = BlockStamp(9, "0x", datetime(2030, 1, 1, tzinfo=UTC))
    beyond = 2**128 - 1  # more than every USDC there is
    told: tuple[object, ...] = (
        True, False, False, True, 0, 0, "0x" + "11" * 20, 0, 0, 5 + 10**18 + beyond, *[0] * 7,
        (True, False, True, True), 7, (5, SILENT, 10**18, beyond),
    )  # fmt: skip
    names = abi_codec.struct_fields("VaultLens", "read")
    state = vault_state("0x" + "22" * 20, at, dict(zip(names, told, strict=True)))
    assert state.values == (Usdc(5), None, Usdc(10**18), None)
    assert state.positions == Usdc(5 + 10**18)
    assert state.answered == (True, False, True, False)
    assert (state.measured, state.recorded) == (False, Usdc(7))
    digest, words = b"\1" * 32, (1, 2, 3, 128, 3, 5, SILENT, 2**128 - 1)
    (topic,) = [t for t in abi_codec.event_topics("MandateVault") if t == MARKED]
    data = b"".join(w.to_bytes(32, "big") for w in words)
    assert abi_codec.decode_log("MandateVault", [bytes.fromhex(topic[2:]), digest], data) == (
        "Marked",
        {
            "mandate": "0x" + digest.hex(), "cash": 1, "positions": 2, "floor": 3,
            "values": [5, SILENT, 2**128 - 1],
        },
    )  # fmt: skip


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
