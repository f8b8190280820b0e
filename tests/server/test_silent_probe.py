"""A probe that stops answering, on a real EVM: worth is unknown, nothing stops, no gas is spent."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from domain.chain_facts import Call
from tests.chain.test_signatures import artifact
from tests.server.test_paying import sent_by_the_keeper
from tests.server.test_ticks import keeper, marks
from tests.world import CHAIN_ID, Mandated, World, working

WORLD = {"stop_line_dry_run": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ANSWERS, REVERTS, ANSWERS_NOTHING = 0, 1, 4


def selector(signature: str) -> str:
    return "0x" + keccak(text=signature)[:4].hex()


async def hostile(world: World) -> str:
    """A target that keeps what it takes and values it as it is told to."""
    rpc = world.chains.get(CHAIN_ID).node()
    data = artifact("HostileTarget")["bytecode"] + encode(["address"], [world.evm.usdc]).hex()
    tx = await rpc.ask(
        "eth_sendTransaction", {"from": (await rpc.ask("eth_accounts"))[5], "data": data}
    )
    made = await rpc.ask("eth_getTransactionReceipt", tx)
    return str(to_checksum_address(made["contractAddress"]))


async def values(world: World, target: str, micros: int, mode: int) -> None:
    args = encode(["uint256", "uint8"], [micros, mode]).hex()
    data = selector("setProbe(uint256,uint8)") + args
    await world.wallets[0].send(Call(CHAIN_ID, target, data))


async def invested(world: World) -> tuple[Mandated, str]:
    """500 in a vault, 400 of them in a position that its target values at 400."""
    world.wallet()
    target = await hostile(world)
    await values(world, target, 400_000_000, ANSWERS)
    take, give = selector("take(uint256)"), selector("give(uint256)")
    entry = {"kind": "contract", "address": target, "self_args": []}
    probe = {"probe": selector("worthOf(address)")}
    targets = [entry | probe | {"selector": take}, entry | {"selector": give}]
    terms: dict[str, Any] = {"allowed_targets": targets, "on_floor": "close"}
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400", **terms)
    data = take + encode(["uint256"], [400_000_000]).hex()
    told = await m.as_agent("mandate_execute_call", target=target, data=data, approve_amount="400")
    assert told.status == 200, told.body
    ok, tx = await world.mined(m.agent_wallet, dict(told.body), gas=1_500_000)
    assert ok
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    return m, target


@pytest.mark.parametrize("silence", [REVERTS, ANSWERS_NOTHING])
async def test_a_probe_that_goes_silent_neither_stops_nor_marks_nor_costs(
    world: World, silence: int
) -> None:
    m, target = await invested(world)
    ticks = keeper(world)
    await ticks.round()
    world.clock.forward(days=1)
    world.evm.chain.mine()
    await ticks.round()
    assert [e["payload"]["marked"]["positions"] for e in await marks(world, m)] == ["400.000000"]
    await values(world, target, 400_000_000, silence)
    before = await sent_by_the_keeper(world)
    for _ in range(3):
        world.clock.forward(seconds=30)
        await ticks.round()
    seen = await m.read()
    assert (seen["mandate"]["status"], seen["chain_state"]["stopped"]) == ("working", False)
    assert (seen["progress"]["worth_est"], seen["progress"]["data_issue"]) == ("500.000000", True)
    assert len(await marks(world, m)) == 1
    assert await sent_by_the_keeper(world) == before
    # Answering again, and far below the line: two marks, and the keeper stops it.
    await values(world, target, 100_000_000, ANSWERS)
    for _ in range(2):
        world.clock.forward(seconds=30)
        await ticks.round()
    assert (await m.read())["mandate"]["status"] in ("stopped", "settled")


async def test_what_nobody_can_measure_is_neither_unwound_nor_settled_by_the_house(
    world: World,
) -> None:
    """The owner is free at any time; the agent's exit is refused by name, and the keeper sends nothing
    until the three days are over.
    """
    m, target = await invested(world)
    await values(world, target, 400_000_000, REVERTS)
    ok, tx = await world.mined(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    assert ok
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    give = selector("give(uint256)") + encode(["uint256"], [400_000_000]).hex()
    told = await m.as_agent("mandate_unwind_call", target=target, data=give)
    assert (told.body["error"], told.body["detail"]["revert"]["name"]) == (
        "would_revert",
        "ProbeFailed",
    )
    ticks, before = keeper(world), await sent_by_the_keeper(world)
    for _ in range(3):
        await ticks.round()
        world.clock.forward(seconds=30)
        world.evm.chain.mine()
    assert await sent_by_the_keeper(world) == before
    seen = await m.read()
    assert seen["mandate"]["status"] == "stopped"
    assert (seen["progress"]["worth_source"], seen["progress"]["data_issue"]) == (
        "chain_mark",
        True,
    )
    assert (await m.as_owner("owner_withdraw_call")).status == 200
    world.clock.forward(days=3)
    world.evm.chain.mine()
    await ticks.round()
    assert await sent_by_the_keeper(world) == before + 1
    assert (await m.read())["mandate"]["status"] == "settled"
