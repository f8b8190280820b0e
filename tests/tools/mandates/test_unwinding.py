"""Closing positions after the close: the owner always, the agent fairly and for three days, so that its fee cannot be waited out."""

from __future__ import annotations

from typing import Any

import pytest

from chain.contracts import abi_codec
from devtools.local_wallet import LocalWallet
from domain.chain_facts import Call
from domain.mandates.markets import from_config
from domain.money import Usdc
from tests.tools.mandates.test_calls import bought, down
from tests.world import CHAIN_ID, Mandated, World, error_of, working
from tools.context.market_calls import ContractCall, leavable, whole_exits
from tools.model.serialization import wire

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def exit_of(m: Mandated) -> dict[str, Any]:
    """The market's own exit of everything that the vault holds there."""
    call = (await exits_of(m))[0]
    return {"target": call.target, "data": call.data}


async def exits_of(m: Mandated) -> list[ContractCall]:
    """The first exit of each market in which the vault holds anything."""
    stored = await m.world.store.read(lambda uow: uow.mandates.get(m.id))
    assert stored is not None
    deps = m.world.deps
    markets = leavable(stored, from_config(deps.config.markets))
    found = [await whole_exits(deps, stored, market) for market in markets]
    return [calls[0] for calls in found if calls]


async def by_force(m: Mandated) -> bool:
    """The agent sends the unwinding past the service; whether the vault takes it."""
    exits = await exit_of(m)
    chain = m.world.chains.get(CHAIN_ID)
    call = chain.vault_call(m.vault, "unwind", exits["target"], exits["data"])
    ok, _ = await m.world.mined(m.agent_wallet, wire(call), gas=900_000)
    return ok


async def test_the_agent_unwinds_after_the_owner_s_stop(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    told = await m.as_agent("mandate_unwind_call", **await exit_of(m))
    assert told.status == 200, told.body
    assert told.body["call"]["from"] == m.agent_wallet.address
    await m.recorded(m.agent_wallet, told.body["call"])
    assert (await m.read())["progress"]["positions_est"] == "0.000000"


async def test_the_agent_s_own_stop_leaves_it_the_window_too(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    await m.recorded(m.agent_wallet, (await m.as_agent("mandate_forfeit")).body["call"])
    assert (await m.as_agent("mandate_unwind_call", **await exit_of(m))).status == 200
    assert await by_force(m)


async def test_three_days_after_the_close_the_agent_s_window_is_over(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    world.clock.forward(days=3, minutes=1)
    world.evm.chain.mine()
    late = await m.as_agent("mandate_unwind_call", **await exit_of(m))
    assert (late.status, late.body["error"]) == (409, "wrong_status")
    assert "3 days" in late.body["reason"]
    assert not await by_force(m)
    assert (await m.as_owner("mandate_unwind_call", **await exit_of(m))).status == 200


async def test_an_agent_that_was_paused_before_the_close_unwinds_nothing(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_pause_call")).body["call"])
    assert await error_of(m.as_agent("mandate_forfeit")) == "mandate_paused"
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    assert await error_of(m.as_agent("mandate_unwind_call", **await exit_of(m))) == "mandate_paused"
    assert not await by_force(m)


@pytest.mark.parametrize(("on_floor", "status"), [("keep", 409), ("close", 200)])
async def test_after_a_floor_stop_the_terms_say_whether_the_agent_unwinds(
    world: World, on_floor: str, status: int
) -> None:
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400", on_floor=on_floor)
    await bought(m, "400")
    chain = world.chains.get(CHAIN_ID)
    data = abi_codec.calldata("TestMarket", "lose", (Usdc.parse("150"),))
    await world.wallets[0].send(Call(CHAIN_ID, world.evm.market, data))
    keeper = LocalWallet(world.evm.keeper_key, world.evm.url)  # the owner's mark is no floor stop
    await keeper.send(chain.vault_call(m.vault, "mark"))
    await keeper.close()
    world.evm.chain.mine()  # from the next block on, an exit is judged by what the mark found
    told = await m.as_agent("mandate_unwind_call", **await exit_of(m))
    assert told.status == status, told.body
    assert await by_force(m) is (status == 200)


async def test_an_exit_that_the_vault_refuses_is_not_handed_to_the_agent(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    bad = {"target": world.evm.market, "data": world.deposit_data(m.vault, "1")}
    told = await m.as_agent("mandate_unwind_call", **bad)
    assert told.body["error"] == "would_revert"
    assert told.body["detail"]["revert"]["name"] == "TargetReverted"
    foreign = await m.as_agent("mandate_unwind_call", target=world.evm.usdc, data="0xa9059cbb")
    assert foreign.body["error"] == "target_not_allowed"
    assert "is not among the allowed targets" in foreign.body["reason"]
    other = world.deposit_data(m.agent_wallet.address, "1")
    pinned = await m.as_agent("mandate_unwind_call", target=world.evm.market, data=other)
    assert pinned.body["error"] == "target_not_allowed"
    assert "argument word 1 (counted from 0)" in pinned.body["reason"]
    assert pinned.body["next"][0]["tool"] == "mandate_unwind_call"


async def test_without_the_chain_the_record_decides_who_may_unwind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    await bought(m, "60")
    exits = await exit_of(m)
    await m.recorded(m.owner_wallet, (await m.as_owner("owner_stop_call")).body["call"])
    down(monkeypatch)
    assert (await m.as_agent("mandate_unwind_call", **exits)).status == 200
    world.clock.forward(days=3, minutes=1)
    assert await error_of(m.as_agent("mandate_unwind_call", **exits)) == "wrong_status"


async def test_past_the_end_the_agent_may_close_what_it_opened(world: World) -> None:
    m = await working(world)
    await bought(m, "60")
    world.clock.forward(days=31)
    world.evm.chain.mine()
    told = await m.as_agent("mandate_unwind_call", **await exit_of(m))
    assert told.status == 200, told.body
    assert await error_of(m.as_owner("owner_resume_call")) == "not_paused"
    assert await by_force(m)
