"""The two books over the running service: claims that end, and rows that two inlets bring in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain.money import Usdc
from tests.tools.keeper.test_attach import lost, mined
from tests.tools.keeper.test_transfers_chain import ticks
from tests.world import CHAIN_ID, Mandated, World, working

pytestmark = pytest.mark.anyio


async def sent(world: World, m: Mandated, name: str) -> str:
    """Send a call that the owner asked for."""
    return await mined(world, m.owner_wallet, (await m.as_owner(name)).body["call"])


async def reported(m: Mandated, tx: str, amount: str = "70", **payload: Any) -> dict[str, Any]:
    buy = {"kind": "buy", "amount_usdc": amount, "tx_hash": tx, "payload": payload}
    return dict((await m.as_agent("mandate_report_event", **buy)).body)


async def ended(m: Mandated) -> list[str]:
    notes = [e["payload"]["claim"] for e in (await m.read())["events"] if "claim" in e["payload"]]
    return [n["outcome"] for n in notes]


async def test_a_report_whose_transaction_reverted_gives_its_day_back(world: World) -> None:
    m = await working(world)
    data = world.deposit_data(m.vault, "70")
    call = (await m.execute("70")).body
    call = call | {"data": call["data"].replace(data[2:], data[2:-40] + "00" * 20)}  # for another
    ok, tx = await world.mined(m.agent_wallet, call, gas=900_000)
    assert not ok
    await reported(m, tx)
    assert (await m.read())["progress"]["pending_claims"]["count"] == 1
    await ticks(world).round()
    read = await m.read()
    assert await ended(m) == ["reverted"]
    assert read["limits"]["used"]["per_day"]["value"] == "0.000000"
    assert read["progress"]["pending_claims"]["count"] == 0


async def test_a_report_of_another_vault_s_transaction_ends_as_such(world: World) -> None:
    m, other = await working(world), await working(world)
    tx = await mined(world, other.agent_wallet, (await other.execute("70")).body)
    await reported(m, tx)
    await ticks(world).round()
    assert await ended(m) == ["elsewhere"]


async def test_a_report_that_no_block_answers_ends_when_the_reader_has_passed_its_time(
    world: World,
) -> None:
    m = await working(world)
    await reported(m, "0x" + "ab" * 32)
    keeper = ticks(world)
    await keeper.round()
    assert await ended(m) == []
    world.clock.forward(seconds=world.deps.config.claim_ttl_s + 1)
    world.evm.chain.mine()
    await keeper.round()
    assert await ended(m) == ["not_found"]
    assert (await m.read())["limits"]["used"]["per_day"]["value"] == "0.000000"


async def test_a_claim_ends_with_its_chain_row_and_the_chain_s_figures_stand(world: World) -> None:
    m = await working(world)
    tx = await mined(world, m.agent_wallet, (await m.execute("70")).body)
    await reported(m, tx, "90", position={"id": "p"})
    used = (await m.read())["limits"]["used"]["per_day"]
    assert (used["value"], used["reserved"]) == ("90.000000", "0.000000")
    await ticks(world).round()
    read = await m.read()
    used = read["limits"]["used"]["per_day"]
    assert (used["value"], used["reserved"], used["source"]) == ("70.000000", "0.000000", "chain")
    (action,) = [s for s in read["steps"] if s["reported_by"] == "agent"]
    told, measured = ({"out": out, "in": "0.000000"} for out in ("90.000000", "70.000000"))
    assert action["contradicted"] == {"told": told, "measured": measured}
    (position,) = read["progress"]["positions"]
    assert [p["id"] for p in position["parts"]] == ["p"]


@pytest.mark.parametrize("first", ["pause", "resume"])
async def test_pause_and_resume_read_out_of_order_leave_the_record_where_the_vault_is(
    world: World, first: str
) -> None:
    m = await working(world)
    pause = await sent(world, m, "owner_pause_call")
    resume = await sent(world, m, "owner_resume_call")
    early = pause if first == "pause" else resume
    assert (await m.as_owner("owner_vault_tx", tx_hash=early)).status == 200
    await ticks(world).round()
    assert (await m.read())["mandate"]["paused"] is False
    again = await sent(world, m, "owner_pause_call")
    assert (await m.as_owner("owner_vault_tx", tx_hash=again)).status == 200
    await ticks(world).round()
    assert (await m.read())["mandate"]["paused"] is True


async def test_a_withdrawal_recorded_before_the_call_before_it_flags_nothing(world: World) -> None:
    m = await working(world)
    await mined(world, m.agent_wallet, (await m.execute("70")).body)
    await world.mint(m.vault, "50")  # a donation leaves with the withdrawal
    world.clock.forward(days=1)
    await sent(world, m, "owner_stop_call")
    world.clock.forward(days=4)  # open positions hold it back no longer
    world.evm.chain.mine()
    tx = await sent(world, m, "owner_withdraw_call")
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx, kind="withdraw")).status == 200
    await ticks(world).round()
    read = await m.read()
    assert read["limits"]["breaches"] == []
    assert read["progress"]["cash"] == "0.000000"
    assert read["mandate"]["status"] == "settled"


async def test_a_stop_that_a_reorganisation_took_away_is_taken_back(world: World) -> None:
    m = await working(world)
    world.deps = replace(world.deps, keeper=None)  # it would settle at once
    keeper = ticks(world)
    await keeper.round()
    tx = await sent(world, m, "owner_stop_call")
    await keeper.round()
    assert (await m.read())["mandate"]["status"] == "stopped"
    lost(world, tx)
    await keeper.round()
    read = await m.read()
    assert (read["mandate"]["status"], read["mandate"]["paused"]) == ("working", False)


@pytest.mark.parametrize("dry", [True, False])
async def test_marks_are_the_same_with_dry_run_on_and_off(world: World, dry: bool) -> None:
    world.deps = replace(world.deps, defaults=replace(world.deps.defaults, stop_line_dry_run=dry))
    m = await working(world)
    await ticks(world).round()
    assert [e for e in (await m.read())["events"] if "marked" in e["payload"]] == []
    tx = await mined(world, m.agent_wallet, (await m.execute("60")).body)
    await ticks(world).round()
    events = (await m.read())["events"]
    (moved,) = [e for e in events if e["tx_hash"] == tx]
    seen = moved["payload"]["observed"]
    assert (seen["cash"], seen["whole"]) == ("440.000000", True)
    (position,) = seen["positions"]
    assert (position["key"], position["answered"]) == ("test-market", True)
    world.clock.forward(days=1)
    world.evm.chain.mine()
    await ticks(world).round()
    await ticks(world).round()
    (mark,) = [e for e in (await m.read())["events"] if "marked" in e["payload"]]
    assert (mark["reported_by"], mark["payload"]["observed"]["whole"]) == ("chain", True)
    assert mark["payload"]["marked"]["cash"] == "440.000000"


async def test_a_recorded_value_that_is_read_ahead_of_a_call_keeps_the_cash_of_its_log(
    world: World,
) -> None:
    m = await working(world)
    await mined(world, m.agent_wallet, (await m.execute("70")).body)
    tx = await sent(world, m, "owner_record_call")
    told = await m.as_owner("owner_vault_tx", tx_hash=tx, kind="record")
    assert told.status == 200, told.body
    await ticks(world).round()
    vault = (await world.chains.get(CHAIN_ID).vault_states([m.vault]))[m.vault]
    marks = [e["payload"] for e in (await m.read())["events"] if e["tx_hash"] == tx]
    assert [p["observed"]["cash"] for p in marks] == [str(vault.cash)]
    assert vault.cash == Usdc.parse("430")
    case = await world.deps.store.read(lambda uow: uow.ledger.state(m.id).measured)
    assert case.seen is not None
    assert case.seen.block == marks[0]["observed"]["block"]
