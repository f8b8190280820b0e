"""The agent's fee: paid whenever it is owed, and no gas is burnt where it cannot be."""

from __future__ import annotations

import pytest

from chain.contracts import abi_codec
from chain.tx_sender import address_of
from domain.chain_facts import Call
from domain.money import Usdc
from server.keeper.value_recording import REST_S
from tests.server.test_ticks import keeper, spend
from tests.tools.mandates.test_unwinding import exit_of
from tests.world import CHAIN_ID, Mandated, World, working
from tools.model.operation import Caller

WORLD = {"stop_line_dry_run": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def blacklist(world: World, account: str, *, listed: bool) -> None:
    data = abi_codec.calldata("TestUSDC", "setBlacklisted", (account, listed))
    await world.wallets[0].send(Call(CHAIN_ID, world.evm.usdc, data))


async def left_with_a_gain(world: World) -> Mandated:
    """100 earned 10; the owner is out with withdrawAll, and the agent's 10% are owed."""
    m = await working(world)
    await spend(world, m, "100")
    await world.mint(world.evm.market, "10")
    for name in ("owner_stop_call", "mandate_unwind_call", "owner_withdraw_call"):
        more = await exit_of(m) if name == "mandate_unwind_call" else {}
        told = await m.as_owner(name, **more)
        assert told.status == 200, told.body
        ok, tx = await world.mined(m.owner_wallet, told.body["call"])
        assert ok
        assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200
    return m


async def sent_by_the_keeper(world: World) -> int:
    who = address_of(world.evm.keeper_key)
    node = world.chains.get(CHAIN_ID).node()
    return int(await node.ask("eth_getTransactionCount", who, "latest"), 16)


async def held(world: World, who: str) -> Usdc:
    return (await world.chains.get(CHAIN_ID).usdc_balances([who]))[who]


async def listed(world: World) -> int:
    """How many mandates the keeper would read in its next round."""
    now = world.clock.now()
    due = await world.store.read(lambda uow: uow.mandates.due_for_refresh(CHAIN_ID, 10, now))
    return len(due)


async def test_the_agent_is_paid_after_the_owner_has_left(world: World) -> None:
    m = await left_with_a_gain(world)
    assert (await m.read())["mandate"]["status"] == "settled"
    ticks = keeper(world)
    await ticks.round()
    assert await held(world, m.agent_wallet.address) == Usdc.parse("0.999999")
    assert (await m.read())["fees"]["agent_fee"]["paid"] == "0.999999"
    paid = await sent_by_the_keeper(world)
    world.clock.forward(seconds=30)
    await ticks.round()
    assert await sent_by_the_keeper(world) == paid
    assert await listed(world) == 0


async def test_a_blacklisted_agent_costs_no_gas_and_is_paid_when_it_can_be(world: World) -> None:
    m = await left_with_a_gain(world)
    await blacklist(world, m.agent_wallet.address, listed=True)
    ticks, before = keeper(world), await sent_by_the_keeper(world)
    for _ in range(2):
        await ticks.round()
        world.clock.forward(seconds=30)
    told = await world.ok("keeper_settle", Caller("keeper"), public_id=m.id)
    assert (told["transactions"], told["fee_paid"], told["fee_owed"]) == (
        [],
        "0.000000",
        "0.999999",
    )
    assert await sent_by_the_keeper(world) == before
    # Left alone for an hour: it holds none back that works, and asks the node nothing.
    assert await listed(world) == 0
    await blacklist(world, m.agent_wallet.address, listed=False)
    world.clock.forward(seconds=REST_S)
    assert await listed(world) == 1
    await ticks.round()
    world.clock.forward(seconds=REST_S)
    await ticks.round()  # compared once more, and done with
    assert await listed(world) == 0
    assert await sent_by_the_keeper(world) == before + 1
    assert await held(world, m.agent_wallet.address) == Usdc.parse("0.999999")
