"""Whatever is slow, hangs or is left over holds no working vault back."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from bench import keeping as field
from chain.tx_sender import TxSender
from domain.chain_facts import Call, Receipt
from domain.mandates.mandate import Status
from domain.money import Usdc
from domain.refusals import Refused, refusal
from server.keeper import vault_upkeep
from server.keeper.vault_discovery import VaultDiscovery
from storage.unit_of_work import UnitOfWork
from tests.server.test_keeping import compared, keeper, rounds
from tests.server.test_record_marks import recorded, until_before_the_end, worth
from tests.server.test_silent_probe import invested
from tests.waiting import LoopClock
from tests.world import CHAIN_ID, Evm, World, signed, working

WORLD = {"stop_line_dry_run": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SETTLED, TICK_S = 150, 30


async def test_settled_vaults_that_are_not_empty_hold_no_working_one_back(
    sqlite_url: str, evm: Evm
) -> None:
    """Their owners left money in them: each is compared once an hour."""
    async with field.field(sqlite_url, evm, SETTLED + 40, 5) as many:
        store, clock = many.world.store, many.world.clock

        def settle(uow: UnitOfWork) -> None:
            for n in range(SETTLED):
                m = uow.mandates.get(f"m_b{n:09d}")
                assert m is not None
                uow.mandates.save(replace(m, status=Status.SETTLED, settled_at=clock.now()))
                uow.work.owe_fee(m.public_id)

        await store.write(settle)
        one = many.keeping("k1", keeper_batch=2)
        half_s = many.world.deps.config.mark_fresh_s // 2
        for _ in range(2 * half_s // TICK_S):
            await one.round(every_s=TICK_S / 2)
            clock.forward(seconds=TICK_S)
        rows = await store.read(
            lambda uow: uow.sql.rows(
                "SELECT public_id, refreshed_at AS at FROM mandates WHERE status = 'working'"
            )
        )
        read = {r["public_id"]: r["at"] for r in rows}
        late = clock.now().timestamp() * 1e6 - (half_s + TICK_S) * 1e6
        assert all(at is not None and at >= late for at in read.values())


async def test_a_gain_within_the_last_hour_is_recorded_though_it_began_without_one(
    world: World,
) -> None:
    m, target = await invested(world)
    ticks = keeper(world)
    await until_before_the_end(world, m, minutes=59)
    await rounds(world, ticks, 2)
    await worth(world, target, "401")
    await until_before_the_end(world, m, minutes=20)
    await rounds(world, ticks, 2)
    assert await recorded(world, m) == Usdc.parse("401")


async def test_a_stop_that_hung_is_tried_again_within_minutes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, target = await invested(world)
    await worth(world, target, "100")
    send, hung, clock = TxSender.send, 0, LoopClock()

    async def hanging(self: TxSender, call: Call) -> Receipt:
        nonlocal hung
        hung += 1
        if hung == 1:
            clock.forward(vault_upkeep.CLAIM_S + 1)
            await anyio.sleep_forever()
        return await send(self, call)

    monkeypatch.setattr(TxSender, "send", hanging)
    ticks = keeper(world)
    await rounds(world, ticks, 4)
    world.clock.forward(minutes=5)
    await rounds(world, ticks, 2)
    assert hung > 1
    assert (await m.read())["chain_state"]["stopped"]


async def test_a_mark_that_the_chain_took_no_part_in_is_tried_in_the_next_round(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m, target = await invested(world)
    await worth(world, target, "450")
    send, tries = TxSender.send, 0

    async def lost(self: TxSender, call: Call) -> Receipt:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Refused(refusal("chain_unavailable", chain_id=CHAIN_ID, why="no answer"))
        return await send(self, call)

    monkeypatch.setattr(TxSender, "send", lost)
    await rounds(world, keeper(world), 2)
    assert await recorded(world, m) == Usdc.parse("450")


async def test_looking_for_unseen_vaults_holds_no_vault_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = await working(world)
    await signed(world)
    ticks = keeper(world, keeper_budget_s=4)
    await ticks.read_chain(next(iter(ticks._readers.values())))

    async def silent(*_: object) -> None:
        await anyio.sleep_forever()

    monkeypatch.setattr(VaultDiscovery, "_look", silent)
    await ticks.keep()
    assert await compared(world, m.id)
