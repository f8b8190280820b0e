"""A market falls by more than a fair exit may lose: who records what is left, and which exits pass; on a real EVM, in dry run and
out of it, with the house's key and without.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from domain.chain_facts import VaultState
from domain.money import Usdc
from domain.rules.mark_policy import LOOK_BACK
from server.keeper import value_recording
from server.keeper.value_recording import SHORT_REST_S
from tests.server.test_keeping import keeper, rounds, spend
from tests.server.test_paying import sent_by_the_keeper
from tests.server.test_record_marks import recorded, until_before_the_end, worth
from tests.server.test_silent_probe import invested
from tests.server.test_ticks import lose
from tests.tools.mandates.test_unwinding import exit_of
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, working
from tools.model.serialization import wire

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
LET_STAND = LOOK_BACK + 2  # rounds, of a block each
both = pytest.mark.parametrize("world", ["dry run", "acting"], indirect=True)
falls = pytest.mark.parametrize("lost", ["12", "200"], ids=["3 %", "50 %"])


def crossed(name: str, small: str, large: str) -> pytest.MarkDecorator:
    """Both worlds and both values; the other two pairs of them in make plays."""
    cells = [("dry run", small), ("acting", large)]
    rest = [("dry run", large), ("acting", small)]
    return pytest.mark.parametrize(
        ("world", name),
        [*cells, *(pytest.param(*cell, marks=pytest.mark.play) for cell in rest)],
        indirect=["world"],
    )


@pytest.fixture
async def world(sqlite_url: str, evm: Evm, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    dry = getattr(request, "param", "dry run") == "dry run"
    async with a_world(sqlite_url, evm, stop_line_dry_run=dry) as opened:
        yield opened


def without_a_key(world: World) -> None:
    world.deps = replace(world.deps, keeper=None)


async def at_the_market(world: World, floor_bps: int) -> Mandated:
    """400 of 500 in the market; the floor so many ten-thousandths below what was put in."""
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400", stop_floor_bps=floor_bps)
    await spend(world, m, "400")
    assert await recorded(world, m) == Usdc.parse("400")
    return m


async def exit_asked(m: Mandated, **more: Any) -> Any:
    return await m.as_agent("mandate_execute_call", **await exit_of(m), **more)


async def exits(m: Mandated, reply: Any) -> None:
    """The agent sends what it was given, and the vault takes it."""
    assert reply.status == 200, reply.body
    call = reply.body.get("call", reply.body)
    ok, _ = await m.world.mined(m.agent_wallet, dict(call), gas=900_000)
    assert ok
    state = (await m.world.chains.get(CHAIN_ID).vault_states([m.vault]))[m.vault]
    assert state.positions < Usdc.parse("0.01")


def stale(reply: Any, code: str, lost: str) -> dict[str, Any]:
    """What a refused exit says of the record."""
    assert (reply.status, reply.body["error"]) == (409, code), reply.body
    assert (reply.body["who_fixes"], reply.body["retry_safe"]) == ("owner", True)
    told: dict[str, Any] = reply.body["detail"]["recorded_value_stale"]
    now = Usdc.parse("400") - Usdc.parse(lost)
    assert (told["recorded"], told["stale"]) == ("400.000000", True)
    assert Usdc(-2) <= Usdc.parse(told["now"]) - now <= Usdc(2)
    assert (told["least_returned"], told["who_may_record"]) == ("392.000000", ["owner", "keeper"])
    return told


async def owner_records(m: Mandated) -> None:
    told = await m.as_owner("owner_record_call")
    assert told.status == 200, told.body
    assert (told.body["decoded"]["function"], told.body["simulation"]["ok"]) == ("record", True)
    ok, tx = await m.world.mined(m.owner_wallet, told.body["call"])
    assert ok
    done = await m.as_owner("owner_vault_tx", tx_hash=tx, kind="record")
    assert done.status == 200, done.body
    m.world.evm.chain.mine()


@falls
async def test_in_dry_run_below_the_line_the_keeper_records_and_the_exit_passes(
    world: World, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    m = await at_the_market(world, 100)
    await lose(world, lost)
    told = stale(await exit_asked(m), "below_stop_line", lost)
    dry = (await exit_asked(m, dry_run=True)).body
    line = next(c for c in dry["checks"] if c["code"] == "below_stop_line")
    assert line["detail"]["recorded_value_stale"] == told
    before = await sent_by_the_keeper(world)
    with caplog.at_level(logging.INFO, "wallet.keeping"):
        await rounds(world, keeper(world), LET_STAND)
    assert await sent_by_the_keeper(world) == before + 1, "and nothing but the record"
    said = [r.getMessage() for r in caplog.records if "recorded" in r.getMessage()]
    assert len(said) == 1
    assert f"{m.id}: recorded {told['now'][:3]}" in said[0]
    assert "was 400.000000 (0x" in said[0]
    read = (await m.read())["chain_state"]
    assert (read["stopped"], read["recorded_value"]["stale"]) == (False, False)
    await exits(m, await exit_asked(m))


@falls
async def test_out_of_dry_run_the_keeper_records_before_any_close_and_the_agent_unwinds(
    world: World, lost: str
) -> None:
    await world.store.write(
        lambda uow: uow.switches.set("stop_line_dry_run", "off", world.clock.now(), "test")
    )
    m = await at_the_market(world, 9_000)
    await lose(world, lost)
    before = await sent_by_the_keeper(world)
    await rounds(world, keeper(world), LET_STAND)
    assert await sent_by_the_keeper(world) == before + 1
    call = (await m.as_owner("owner_stop_call")).body["call"]
    assert (await world.mined(m.owner_wallet, call))[0]
    await exits(m, await m.as_agent("mandate_unwind_call", **await exit_of(m)))


@crossed("lost", "12", "200")
async def test_without_a_key_the_refusal_says_so_and_the_owners_record_lets_the_exit_pass(
    world: World, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    without_a_key(world)
    m = await at_the_market(world, 100)
    await lose(world, lost)
    before, ticks = await sent_by_the_keeper(world), keeper(world)
    with caplog.at_level(logging.WARNING, "wallet.keeping"):
        await rounds(world, ticks, LET_STAND)
    said = [r.getMessage() for r in caplog.records if "its owner may record" in r.getMessage()]
    assert len(said) == 1, "once an hour"
    assert "400.000000 USDC stands recorded" in said[0]
    assert await sent_by_the_keeper(world) == before
    refused = await exit_asked(m)
    stale(refused, "below_stop_line", lost)
    assert "record()" in refused.body["next"][0]["text"]
    await owner_records(m)
    assert (await m.read())["chain_state"]["recorded_value"]["stale"] is False
    await exits(m, await exit_asked(m))


@crossed("lost", "12", "200")
async def test_a_fall_after_the_close_is_the_owners_to_record(world: World, lost: str) -> None:
    """A market that somebody holds pressed after the close finds no keeper that writes it down."""
    m = await at_the_market(world, 9_000)
    call = (await m.as_owner("owner_stop_call")).body["call"]
    assert (await world.mined(m.owner_wallet, call))[0]
    await lose(world, lost)
    before = await sent_by_the_keeper(world)
    await rounds(world, keeper(world), LET_STAND)
    assert await sent_by_the_keeper(world) == before
    asked = await exit_of(m)
    stale(await m.as_agent("mandate_unwind_call", **asked), "would_revert", lost)
    assert (await m.as_owner("mandate_unwind_call", **asked)).status == 200, "at any price"
    await owner_records(m)
    await exits(m, await m.as_agent("mandate_unwind_call", **asked))


@crossed("usd", "380", "4")
async def test_a_market_that_is_pressed_for_one_block_lowers_nothing(
    world: World, usd: str
) -> None:
    m, target = await invested(world)
    ticks, before = keeper(world), await sent_by_the_keeper(world)
    for _ in range(4):
        for _ in range(LOOK_BACK):
            world.evm.chain.mine()
        await worth(world, target, usd)
        await ticks.round()
        await worth(world, target, "400")
        world.clock.forward(seconds=30)
        await ticks.round()
    assert await sent_by_the_keeper(world) == before
    assert await recorded(world, m) == Usdc.parse("400")


@both
async def test_a_market_that_is_pressed_in_the_block_of_the_record_is_recorded_again_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, target = await invested(world)
    await worth(world, target, "390")
    for _ in range(LET_STAND):
        world.evm.chain.mine()
    read, looks = value_recording.newest, 0

    async def pressing(*request: Any) -> VaultState:
        """Somebody presses the market right after the keeper looked, and lets go in the block
        after the record.
        """
        nonlocal looks
        looks += 1
        if looks == 2:
            await worth(world, target, "390")
        told = await read(*request)
        if looks == 1:
            monkeypatch.setattr(
                value_recording, "fall_persists", lambda *_: True
            )  # it was looked at before
            await worth(world, target, "380")
        return told

    monkeypatch.setattr(value_recording, "newest", pressing)
    before = await sent_by_the_keeper(world)
    await rounds(world, keeper(world), 1)
    assert await sent_by_the_keeper(world) == before + 2
    assert await recorded(world, m) == Usdc.parse("390")


@both
async def test_nothing_is_recorded_twice_however_long_nothing_moves(world: World) -> None:
    m, target = await invested(world)
    await worth(world, target, "390")
    before, ticks = await sent_by_the_keeper(world), keeper(world)
    await rounds(world, ticks, LET_STAND)
    assert await sent_by_the_keeper(world) == before + 1
    for each in (ticks, keeper(world)):  # another process, or the same one after a start
        world.clock.forward(hours=7)
        await rounds(world, each, 3)
    assert await sent_by_the_keeper(world) == before + 1
    assert await recorded(world, m) == Usdc.parse("390")


async def test_on_a_chain_that_makes_no_blocks_it_is_not_sent_again_either(world: World) -> None:
    """In the block of a record the older value still binds."""
    _, target = await invested(world)
    await worth(world, target, "390")
    for _ in range(LET_STAND):
        world.evm.chain.mine()
    before, ticks = await sent_by_the_keeper(world), keeper(world)
    for _ in range(5):
        await ticks.round()
        world.clock.forward(minutes=30)
    assert await sent_by_the_keeper(world) == before + 1


async def test_falls_rest_five_minutes_and_what_comes_back_is_recorded_at_once(
    world: World,
) -> None:
    m, target = await invested(world)
    ticks, before = keeper(world), await sent_by_the_keeper(world)
    await worth(world, target, "430")
    await rounds(world, ticks, 2)
    await worth(world, target, "400")
    await rounds(world, ticks, LET_STAND)
    assert await sent_by_the_keeper(world) == before + 2
    await worth(world, target, "390")
    await rounds(world, ticks, LET_STAND)
    assert await sent_by_the_keeper(world) == before + 2
    world.clock.forward(seconds=SHORT_REST_S)
    await rounds(world, ticks, 2)
    assert await recorded(world, m) == Usdc.parse("390")
    await worth(world, target, "430")
    await rounds(world, ticks, 2)
    assert await recorded(world, m) == Usdc.parse("430"), "hours before the next gain's turn"


@both
async def test_dust_and_a_small_fall_cost_no_gas(world: World) -> None:
    m, target = await invested(world)
    before, ticks = await sent_by_the_keeper(world), keeper(world)
    for usd in ("396.1", "0.999999"):
        if usd == "0.999999" and not await dry(world):
            continue  # the stop line's
        await worth(world, target, usd)
        await rounds(world, ticks, LET_STAND)
    assert await sent_by_the_keeper(world) == before
    assert await recorded(world, m) == Usdc.parse("400")


async def dry(world: World) -> bool:
    return world.deps.defaults.stop_line_dry_run


async def test_in_dry_run_what_the_chain_stopped_at_its_line_is_not_closed(world: World) -> None:
    m = await working(world, daily_cap_usdc="500", per_tx_cap_usdc="400", on_floor="close")
    await spend(world, m, "400")
    await lose(world, "150")
    chain, house = world.chains.get(CHAIN_ID), world.deps.keeper
    assert house is not None
    assert (await house.send(chain.vault_call(m.vault, "mark"))).ok
    before = await sent_by_the_keeper(world)
    await rounds(world, keeper(world), 3)
    assert await sent_by_the_keeper(world) == before
    assert (await m.read())["chain_state"]["stopped"]


async def test_a_stranger_and_the_agent_record_nothing(world: World) -> None:
    m = await at_the_market(world, 100)
    call = wire(world.chains.get(CHAIN_ID).vault_call(m.vault, "record"))
    for wallet in (m.agent_wallet, world.wallet()):
        ok, _ = await world.mined(wallet, dict(call))
        assert not ok


async def test_a_record_stops_nothing_and_a_settled_vault_has_none(world: World) -> None:
    m = await at_the_market(world, 100)
    await lose(world, "200")
    await owner_records(m)
    read = await m.read()
    assert (read["mandate"]["status"], read["chain_state"]["stopped"]) == ("working", False)
    await exits(m, await exit_asked(m))
    call = (await m.as_owner("owner_withdraw_call")).body["call"]
    ok, tx = await world.mined(m.owner_wallet, call)
    assert ok
    await m.as_owner("owner_vault_tx", tx_hash=tx)
    assert (await m.as_owner("owner_record_call")).body["error"] == "wrong_status"
    assert (await m.read())["chain_state"]["recorded_value"] is None


async def test_nothing_is_recorded_that_could_be_mined_after_the_end(world: World) -> None:
    m, target = await invested(world)
    await worth(world, target, "390")
    for _ in range(LET_STAND):
        world.evm.chain.mine()
    await until_before_the_end(world, m, minutes=1)
    before = await sent_by_the_keeper(world)
    await rounds(world, keeper(world), LET_STAND)
    assert await sent_by_the_keeper(world) == before
