"""What the newest block says of a mandate, before its rows are deep enough: one answer never says two things."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import CHAIN_ID, Mandated, World, error_of, working

pytestmark = pytest.mark.anyio


async def said(m: Mandated) -> tuple[Any, ...]:
    """(status, paused, provisional) of a read that does not contradict itself."""
    seen = await m.read()
    told, chain = seen["mandate"], seen["chain_state"]
    assert told["paused"] == chain["paused"]
    assert (told["paused_at"] is not None) == told["paused"]
    assert (told["status"] in ("stopped", "settled")) == (chain["stopped"] or chain["settled"])
    assert seen["progress"]["status"] == told["status"]
    limits = (await m.as_agent("mandate_limits")).body
    assert (limits["paused"], limits["status"]) == (told["paused"], told["status"])
    return told["status"], told["paused"], told["provisional"]


async def test_a_pause_is_said_at_once_and_marked_provisional_until_it_is_deep(
    world: World,
) -> None:
    m = await working(world)
    world.chains.get(CHAIN_ID).confirmations = 2
    assert await said(m) == ("working", False, False)
    pause = (await m.as_owner("owner_pause_call")).body["call"]
    _, tx = await world.mined(m.owner_wallet, pause)
    assert await said(m) == ("working", True, True)
    assert await error_of(m.execute("1")) == "mandate_paused"
    # A verdict is stored for good, so that it rests on deep rows alone.
    note = await m.as_agent("mandate_report_event", kind="resolve", amount_usdc="1")
    assert note.body["violation"] is False
    for _ in range(2):
        world.evm.chain.mine()
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    assert await said(m) == ("working", True, False)
    resume = (await m.as_owner("owner_resume_call")).body["call"]
    _, tx = await world.mined(m.owner_wallet, resume)
    assert await said(m) == ("working", False, True)
    assert (await m.execute("1")).status == 200
    young = (await m.as_owner("owner_vault_tx", tx_hash=tx)).body
    assert (young["recorded"], young["mandate"]["paused"]) == (False, False)


async def test_a_stop_on_chain_is_said_at_once(world: World) -> None:
    m = await working(world)
    world.chains.get(CHAIN_ID).confirmations = 2
    stop = (await m.as_owner("owner_stop_call")).body["call"]
    _, tx = await world.mined(m.owner_wallet, stop)
    assert await said(m) == ("stopped", False, True)
    assert await error_of(m.execute("1")) == "mandate_stopped"
    for _ in range(2):
        world.evm.chain.mine()
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    assert await said(m) == ("stopped", False, False)
