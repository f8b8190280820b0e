"""Transfers as the running service settles them: its ticks against a real chain."""

from __future__ import annotations

from typing import Any

import pytest

from chain.contracts import abi_codec
from chain.logs.transfer_logs import inbound
from chain.rpc.errors import NodeError
from domain.chain_facts import Call
from domain.money import Usdc
from server.keeper.scheduler import KeeperScheduler
from server.settings import Settings
from server.wiring import Runtime
from tests.world import CHAIN_ID, World
from tools.model.operation import Caller
from tools.model.serialization import wire
from venue.venues import Networks

pytestmark = pytest.mark.anyio


def ticks(world: World) -> KeeperScheduler:
    settings = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}})  # type: ignore[dict-item]
    return KeeperScheduler(Runtime(settings, world.deps, world.chains, Networks({})))


async def token(world: World, wallet: Any, function: str, *args: Any) -> str:
    """Call the token's contract."""
    call = Call(CHAIN_ID, world.evm.usdc, abi_codec.calldata("TestUSDC", function, args))
    ok, hashed = await world.mined(wallet, wire(call))
    assert ok
    return hashed


async def pay(world: World, wallet: Any, to: str, amount: str) -> str:
    await world.mint(wallet.address, amount)
    return await token(world, wallet, "transfer", to, Usdc.parse(amount))


def received(hashed: str, amount: str) -> dict[str, Any]:
    """A report of what came in."""
    of = {"chain_id": CHAIN_ID, "asset": "usdc", "amount": amount}
    return of | {"tx_hash": hashed, "direction": "in"}


async def registered(world: World) -> tuple[Caller, Any, Any]:
    owner, stranger = await world.owner()
    agent, wallet = await world.agent(owner)
    await world.prove(agent, wallet)
    return agent, wallet, stranger


async def idle(world: World, agent: Caller) -> str:
    rows = (await world.ok("agent_balances", agent, agent_id=agent.user_id))["balances"]
    return str(rows[0]["idle"]) if rows else "0.000000"


async def test_what_nobody_reported_is_found_once(world: World) -> None:
    agent, wallet, stranger = await registered(world)
    await pay(world, stranger, wallet.address, "1")  # before the first look: nobody's report
    await world.mint(stranger.address, "1")
    keeper = ticks(world)
    await keeper.round()
    hashed = await pay(world, stranger, wallet.address, "7.5")
    for _ in range(2):
        await keeper.round()
    assert await idle(world, agent) == "7.500000"
    (row,) = (await world.ok("agent_activity", agent, agent_id=agent.user_id))["items"]
    assert (row["ref_kind"], row["ref_id"]) == ("transfer_confirmed", hashed)
    late = received(hashed, "7.5")
    assert await world.error("transfer_report", agent, **late) == "duplicate_transfer"


async def test_a_report_that_came_first_is_confirmed_not_doubled(world: World) -> None:
    agent, wallet, stranger = await registered(world)
    keeper = ticks(world)
    await keeper.round()
    hashed = await pay(world, stranger, wallet.address, "3")
    assert (await world.do("transfer_report", agent, **received(hashed, "3"))).status == 201
    await keeper.round()
    assert await idle(world, agent) == "3.000000"


async def test_an_address_is_the_agents_that_proved_it_whoever_names_it(world: World) -> None:
    agent, wallet, stranger = await registered(world)
    owner, _ = await world.owner()
    rival, _ = await world.agent(owner)
    named = {"agent_id": rival.user_id, "chain_id": CHAIN_ID, "address": wallet.address}
    await world.ok("agent_deposit_address", rival, **named)
    keeper = ticks(world)
    await keeper.round()
    await pay(world, stranger, wallet.address, "3")
    await keeper.round()
    assert (await idle(world, agent), await idle(world, rival)) == ("3.000000", "0.000000")


async def test_what_one_agent_pays_another_is_found_for_both(world: World) -> None:
    agent, wallet, stranger = await registered(world)
    payee, purse = await world.agent((await world.owner())[0])
    await world.prove(payee, purse)
    keeper = ticks(world)
    await keeper.round()
    await pay(world, stranger, wallet.address, "5")
    await keeper.round()
    await pay(world, wallet, purse.address, "2")
    for _ in range(2):
        await keeper.round()
    # `pay` mints what it sends: 5 came, 2 came, 2 went.
    assert (await idle(world, agent), await idle(world, payee)) == ("5.000000", "2.000000")


async def test_only_transfers_to_the_named_addresses_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chain.logs.transfer_logs.ADDRESSES_A_CALL", 1)
    _, wallet, stranger = await registered(world)
    chain = world.chains.get(CHAIN_ID)
    before = (await chain.latest()).number
    await pay(world, stranger, wallet.address, "2")
    await pay(world, wallet, "0x" + "77" * 20, "2")
    after = (await chain.latest()).number
    found = await inbound(
        chain, [wallet.address.lower(), "0x" + "77" * 20, "0x" + "88" * 20], before + 1, after
    )
    told = [g.recipient.lower() for _, g in found if int(g.sender, 16)]
    assert sorted(told) == sorted(["0x" + "77" * 20, wallet.address.lower()])
    assert await inbound(chain, [], before + 1, after) == []


async def test_a_range_that_the_provider_refuses_is_halved(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, wallet, stranger = await registered(world)
    chain = world.chains.get(CHAIN_ID)
    low = (await chain.latest()).number + 1
    sent = [await pay(world, stranger, wallet.address, "1") for _ in range(3)]
    high = (await chain.latest()).number
    ask = chain.node().ask

    async def narrow(method: str, *params: Any) -> Any:
        if method == "eth_getLogs" and params[0]["fromBlock"] != params[0]["toBlock"]:
            raise NodeError(-32005, "too many results", None)
        return await ask(method, *params)

    monkeypatch.setattr(chain.node(), "ask", narrow)
    found = await inbound(chain, [wallet.address.lower()], low, high)
    assert [hashed for hashed, g in found if int(g.sender, 16)] == sent


@pytest.mark.parametrize("micros", [2**63, 2**255, 10**18 + 1])
async def test_a_transfer_larger_than_all_usdc_is_left_out_and_the_others_are_found(
    world: World, micros: int
) -> None:
    agent, wallet, stranger = await registered(world)
    keeper = ticks(world)
    await keeper.round()
    await token(world, stranger, "mint", wallet.address, micros)
    await keeper.settle_transfers(world.chains.get(CHAIN_ID))
    await pay(world, stranger, wallet.address, "7.5")
    await keeper.settle_transfers(world.chains.get(CHAIN_ID))
    assert await idle(world, agent) == "7.500000"
    gauges = world.chains.gauges()
    assert gauges[f'wallet_chain_logs_left_out_total{{chain="{CHAIN_ID}"}}'] >= 1


async def test_a_balance_that_a_transfer_would_outgrow_stays_and_the_next_is_found(
    world: World,
) -> None:
    agent, wallet, stranger = await registered(world)
    keeper = ticks(world)
    await keeper.round()
    for _ in range(10):
        await token(world, stranger, "mint", wallet.address, 10**18)
    await pay(world, stranger, wallet.address, "7.5")
    await keeper.settle_transfers(world.chains.get(CHAIN_ID))
    assert await idle(world, agent) == "9000000000007.500000"
