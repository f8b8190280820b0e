"""What an execution used up comes back with the reorganisation that takes it away, and is used again
where it is mined again.
"""

from __future__ import annotations

from typing import Any

import pytest

from domain.money import Usdc
from tests.tools.keeper.test_attach import reading, vars_of
from tests.world import CHAIN_ID, Mandated, World, working

pytestmark = pytest.mark.anyio


async def approved(m: Mandated, amount: str) -> tuple[str, dict[str, Any]]:
    """An action above the amount that the owner approved: the item's id, and the call."""
    asked = await m.execute(amount)
    assert asked.status == 202, asked.body
    item = asked.body["approval"]["approval_id"]
    told = await m.as_owner("owner_approval_decide", approval_id=item, decision="approve")
    assert told.status == 200, told.body
    return item, await handed_out(m, amount)


async def handed_out(m: Mandated, amount: str) -> dict[str, Any]:
    told = await m.execute(amount)
    assert told.status == 200, told.body
    return dict(told.body)


async def mined(world: World, m: Mandated, call: dict[str, Any]) -> bytes:
    """Send the call; the transaction as it was signed."""
    assert (await world.mined(m.agent_wallet, call, gas=900_000))[0]
    return bytes(world.evm.chain.head.txs[0].raw)


def lost(world: World, depth: int = 1) -> None:
    """The newest blocks are gone, and empty ones stand in their place."""
    world.evm.chain.reorg(depth, keep=False)
    world.evm.chain.mine()


async def items(m: Mandated) -> list[tuple[str, str]]:
    told = (await m.as_owner("mandate_approvals")).body["items"]
    return [(i["approval_id"], i["status"]) for i in told]


async def breaches(m: Mandated) -> list[str]:
    return [b["code"] for b in (await m.read())["limits"]["breaches"]]


async def reserved(m: Mandated) -> str:
    return str((await m.read())["limits"]["used"]["per_day"]["reserved"])


async def test_a_vanished_execution_gives_its_approval_and_its_reservation_back(
    world: World,
) -> None:
    m, reads = await working(world, approval_above_usdc="10"), reading(world)
    item, call = await approved(m, "40")
    await mined(world, m, call)
    await reads.on()
    assert (await items(m), await reserved(m)) == ([(item, "used")], "0.000000")
    lost(world)
    await reads.on()
    assert (await items(m), await reserved(m)) == ([(item, "approved")], "40.000000")
    # The owner approved one execution, and one is what there is.
    await mined(world, m, await handed_out(m, "40"))
    await reads.on()
    assert (await items(m), await breaches(m)) == ([(item, "used")], [])
    assert (await m.execute("40")).status == 202


async def test_an_execution_that_is_mined_again_uses_its_approval_again(world: World) -> None:
    m, reads = await working(world, approval_above_usdc="10"), reading(world)
    item, call = await approved(m, "40")
    raw = await mined(world, m, call)
    await reads.on()
    lost(world)
    await reads.on()
    world.evm.chain.send_raw(raw)
    await reads.on()
    assert (await items(m), await breaches(m)) == ([(item, "used")], [])
    assert await reserved(m) == "0.000000"


async def test_one_approval_never_covers_the_call_that_vanished_and_one_that_took_its_place(
    world: World,
) -> None:
    """Another execution used the approval meanwhile: the first, mined again, is one too many."""
    m, reads = await working(world, approval_above_usdc="10"), reading(world)
    item, call = await approved(m, "40")
    nothing = world.chains.get(CHAIN_ID).approve_call(m.vault, Usdc(0))
    await mined(world, m, vars_of(nothing))
    first = await mined(world, m, call)
    await reads.on()
    lost(world, 2)
    await reads.on()
    await mined(world, m, call)  # in the place of what made room for the first
    await reads.on()
    assert (await items(m), await breaches(m)) == ([(item, "used")], [])
    world.evm.chain.send_raw(first)
    await reads.on()
    assert (await items(m), await breaches(m)) == ([(item, "used")], ["approval_missing"])
