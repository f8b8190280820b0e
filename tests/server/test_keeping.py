"""The keeper of several chains and mandates: none holds another, and nothing costs gas twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
from aiohttp import web

from chain.adapter import EvmChain
from chain.chains import EvmChains
from chain.contracts import abi_codec
from chain.tx_sender import TxSender
from domain.chain_facts import Call
from domain.money import ZERO, Usdc
from server.keeper.scheduler import KeeperScheduler
from server.keeper.value_recording import REST_S
from server.settings import Settings
from server.wiring import Runtime
from tests.chain.nodes import node
from tests.hard_exits import hard_markets
from tests.tools.mandates.test_unwinding import exits_of
from tests.waiting import STUCK_S, LoopClock
from tests.world import CHAIN_ID, Mandated, World, working
from venue.venues import Networks

WORLD = {"stop_line_dry_run": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
HANGING = 7
HANGS_S = 60  # on the loop's clock


def keeper(world: World, chains: EvmChains | None = None, **settings: Any) -> KeeperScheduler:
    told = Settings(chains={CHAIN_ID: {"rpc_url": world.evm.url}}, **settings)  # type: ignore[dict-item]
    return KeeperScheduler(Runtime(told, world.deps, chains or world.chains, Networks({})))


async def sent(world: World) -> int:
    """How many transactions the house has paid for."""
    node = world.chains.get(CHAIN_ID).node()
    address = TxSender(world.chains, world.evm.keeper_key).address
    return await node.quantity("eth_getTransactionCount", address, "latest")


async def refreshed(world: World, public_id: str) -> bool:
    m = await world.store.read(lambda uow: uow.mandates.get(public_id))
    assert m is not None
    return m.refreshed_at is not None


async def marked(world: World, public_id: str) -> bool:
    books = await world.store.read(lambda uow: uow.ledger.state(public_id))
    return books.measured.mark is not None


async def compared(world: World, public_id: str) -> bool:
    """True where the vault was read and held against its rows."""
    return await world.store.read(lambda uow: uow.sums.block(public_id)) is not None


async def spend(world: World, m: Mandated, amount: str) -> None:
    ok, _ = await world.mined(m.agent_wallet, dict((await m.execute(amount)).body), gas=900_000)
    assert ok


async def rounds(world: World, ticks: KeeperScheduler, count: int) -> None:
    for _ in range(count):
        await ticks.round()
        world.clock.forward(seconds=30)
        world.evm.chain.mine()


async def test_a_chain_that_hangs_holds_no_other(world: World) -> None:
    m = await working(world)
    await spend(world, m, "40")
    stored = await world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    far = replace(stored, public_id="m_far", chain_id=HANGING)
    await world.store.write(lambda uow: uow.mandates.add(far))

    async def silent(_: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        await anyio.sleep_forever()
        raise AssertionError

    async with node(silent, chain_id=None) as url:
        hanging = replace(world.evm.facts(), chain_id=HANGING, rpc_url=url)
        chains = EvmChains([hanging, world.evm.facts()])
        world.deps = replace(world.deps, chains=chains)
        ticks, clock = keeper(world, chains, keeper_budget_s=HANGS_S), LoopClock()
        # The node is given longer than all that is kept: nothing else ends its question.
        asked = chains.get(HANGING).node().clients[0]
        asked._timeout_s = 2 * HANGS_S
        asked._transport._timeout_s = 2 * HANGS_S
        with anyio.fail_after(STUCK_S):
            async with anyio.create_task_group() as group:

                async def keep() -> None:
                    await ticks.keep()
                    over.set()

                over = anyio.Event()
                group.start_soon(keep)
                while not await marked(world, m.id):
                    await anyio.sleep(0.01)
                assert not over.is_set(), "the other still hangs"
                clock.forward(HANGS_S)
        assert await refreshed(world, "m_far"), "when it was looked at last, answer or none"
        await chains.close()


async def test_a_mandate_that_fails_does_not_hold_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await working(world), await working(world)
    for m in (first, second):
        stop = (await m.as_owner("owner_stop_call")).body["call"]
        await world.mined(m.owner_wallet, stop)
    call = EvmChain.vault_call

    def broken(chain: EvmChain, vault: str, function: Any, *args: Any) -> Call:
        if vault == first.vault:
            raise RuntimeError("nobody expected that")
        return call(chain, vault, function, *args)

    monkeypatch.setattr(EvmChain, "vault_call", broken)
    await rounds(world, keeper(world), 2)
    assert (await first.read())["mandate"]["status"] == "stopped"
    assert (await second.read())["mandate"]["status"] == "settled"


async def test_a_vault_exactly_on_its_floor_is_not_stopped_and_dust_costs_no_gas(
    world: World,
) -> None:
    exact = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400")
    await spend(world, exact, "400")
    floor = (await world.chains.get(CHAIN_ID).vault_states([exact.vault]))[exact.vault].floor
    lose = abi_codec.calldata("TestMarket", "lose", (Usdc.parse("500") - floor,))
    await world.wallets[0].send(Call(CHAIN_ID, world.evm.market, lose))
    dust = await working(world, deposit="0.9", daily_cap_usdc="500", per_tx_cap_usdc="400")
    await spend(world, dust, "0.8")
    states = await world.chains.get(CHAIN_ID).vault_states([exact.vault, dust.vault])
    worth = states[exact.vault].cash + states[exact.vault].positions
    assert ZERO <= worth - floor <= Usdc(1)
    before = await sent(world)
    await rounds(world, keeper(world), 6)
    assert await sent(world) == before + 1, "the fall is recorded"
    after = await world.chains.get(CHAIN_ID).vault_states([exact.vault, dust.vault])
    assert after[exact.vault].recorded == states[exact.vault].positions
    assert (after[exact.vault].stopped, after[dust.vault].stopped) == (False, False)


async def test_a_mark_that_stops_nothing_is_not_paid_for_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node says that the vault is worth next to nothing; the chain itself finds it well."""
    m = await working(world)
    read = EvmChain.vault_states

    async def lying(chain: EvmChain, vaults: Any, **more: Any) -> Any:
        told = await read(chain, vaults, **more)
        return {v: replace(s, cash=cash) for v, s in told.items()}

    cash = Usdc.parse("2")
    monkeypatch.setattr(EvmChain, "vault_states", lying)
    before, ticks = await sent(world), keeper(world)
    await rounds(world, ticks, 6)
    assert await sent(world) == before + 1
    other = keeper(world)  # another process, or the same one after a start
    await rounds(world, other, 2)
    assert await sent(world) == before + 1
    world.clock.forward(seconds=REST_S)
    await rounds(world, other, 3)
    assert await sent(world) == before + 1, "not before the figures change"
    cash = Usdc.parse("3")
    world.clock.forward(seconds=REST_S)
    await rounds(world, other, 3)
    assert await sent(world) == before + 2
    assert (await m.read())["mandate"]["status"] == "working"


async def test_what_the_chain_says_would_revert_is_not_sent(world: World) -> None:
    """The house's key is not the one that the vaults know: `mark` is not its to call."""
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400")
    await spend(world, m, "400")
    lose = abi_codec.calldata("TestMarket", "lose", (Usdc.parse("150"),))
    await world.wallets[0].send(Call(CHAIN_ID, world.evm.market, lose))
    stranger = TxSender(world.chains, world.evm.key(9), poll_s=0.01)
    world.deps = replace(world.deps, keeper=stranger)
    node = world.chains.get(CHAIN_ID).node()
    before = await node.quantity("eth_getTransactionCount", stranger.address, "latest")
    await rounds(world, keeper(world), 4)
    assert await node.quantity("eth_getTransactionCount", stranger.address, "latest") == before
    assert (await m.read())["mandate"]["status"] == "working"


async def test_the_keeper_closes_each_kind_of_market_by_the_exit_of_its_name(world: World) -> None:
    markets = await hard_markets(world)
    m = await working(
        world,
        allowed_targets=markets.targets(),
        daily_cap_usdc="500",
        per_tx_cap_usdc="400",
        on_floor="close",
    )
    await markets.enter(m, "hard", "250")
    await markets.enter(m, "pool", "100")
    await markets.lose("150")
    await rounds(world, keeper(world), 4)
    assert (await m.read())["mandate"]["status"] == "settled"
    assert (await markets.owned(m), await markets.supplied(m)) == (0, 0)
    cash = Usdc.parse((await m.read())["progress"]["cash"])
    assert Usdc.parse("349.99") < cash <= Usdc.parse("350")


@pytest.mark.parametrize(("divisor", "comes"), [(2, True), (1_000, False)])
async def test_a_market_that_lets_go_of_a_part_is_left_in_parts_of_1_usdc_at_least(
    world: World, divisor: int, comes: bool
) -> None:
    """Less costs the house no gas, and the other market is closed all the same."""
    markets = await hard_markets(world)
    m = await working(
        world,
        allowed_targets=markets.targets(),
        daily_cap_usdc="500",
        per_tx_cap_usdc="400",
        on_floor="close",
    )
    await markets.enter(m, "hard", "250")
    await markets.enter(m, "pool", "100")
    owned = await markets.owned(m)
    await markets.lose("150")
    await markets.harden(free=owned // divisor)
    await rounds(world, keeper(world), 4)
    assert (await markets.supplied(m), await markets.owned(m)) == (0, 0 if comes else owned)


async def test_the_fee_of_a_blacklisted_agent_costs_no_gas(
    world: World,
) -> None:
    m = await working(world, payout_rule={"kind": "share_of_verified_gain", "bps": 1_000})
    await spend(world, m, "100")
    await world.mint(world.evm.market, "50")
    chain = world.chains.get(CHAIN_ID)
    for exit in await exits_of(m):
        call = chain.vault_call(m.vault, "execute", exit.target, exit.data, ZERO)
        receipt = await m.agent_wallet.send(call, gas=900_000)
        assert receipt["status"] == 1
    await blacklist(world, m.agent_wallet.address)
    await world.mined(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    before, ticks = await sent(world), keeper(world)
    await rounds(world, ticks, 5)
    assert await sent(world) == before + 1  # settle, and no try to pay
    state = (await chain.vault_states([m.vault]))[m.vault]
    assert state.settled
    assert state.fee_owed


async def blacklist(world: World, address: str) -> None:
    data = abi_codec.calldata("TestUSDC", "setBlacklisted", (address, True))
    await world.wallets[0].send(Call(CHAIN_ID, world.evm.usdc, data))
