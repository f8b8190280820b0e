"""Keepers that share many vaults and the Hall's rows: each piece of work is done once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest

from bench import keeping as field
from server.settings import Settings
from storage.unit_of_work import UnitOfWork
from tests.waiting import LoopClock
from tests.world import Evm, own_evm
from tools.keeper import hall_rollup
from tools.keeper.hall_rollup import refresh_stale

evm = own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
VAULTS, AGENTS = 250, 30
TICK_S = Settings().keeper_tick_s


@pytest.fixture
async def many(sqlite_url: str, evm: Evm) -> AsyncIterator[field.Field]:
    async with field.field(sqlite_url, evm, VAULTS, AGENTS) as made:
        yield made


def refreshes(uow: UnitOfWork) -> list[int]:
    return [r["at"] for r in uow.sql.rows("SELECT refreshed_at AS at FROM mandates") if r["at"]]


def claims_of_the_hall(uow: UnitOfWork) -> int:
    (row,) = uow.sql.rows("SELECT COUNT(*) AS n FROM work_claims WHERE kind = 'hall row'")
    return int(row["n"])


def rows_of_the_hall(uow: UnitOfWork) -> int:
    (row,) = uow.sql.rows("SELECT COUNT(*) AS n FROM hall_agents")
    return int(row["n"])


async def test_every_vault_is_read_in_half_the_time_in_which_a_mark_is_fresh(
    many: field.Field,
) -> None:
    one, clock = many.keeping("k1"), many.world.clock
    fresh_s = many.world.deps.config.mark_fresh_s
    for _ in range(fresh_s // 2 // TICK_S):
        await one.round(every_s=TICK_S / 2)
        clock.forward(seconds=TICK_S)
    assert len(await many.world.store.read(refreshes)) == many.mandates


async def test_keepers_share_the_vaults_and_read_none_twice_in_one_interval(
    many: field.Field,
) -> None:
    clock, store = many.world.clock, many.world.store
    await store.write(lambda uow: uow.switches.set("stop_line_dry_run", "off", clock.now(), "t"))
    keepers = [many.keeping(f"k{n}", keeper_batch=many.mandates // 2 + 1) for n in range(2)]
    async with anyio.create_task_group() as group:
        for keeper in keepers:
            group.start_soon(keeper.round, TICK_S / 2)
    assert len(many.lens_calls) == 2, "one call each, of a hundred and more"
    assert sum(many.lens_calls) == many.mandates
    for keeper in keepers:  # a second keeper's tick, a little later: nothing is due
        clock.forward(seconds=1)
        await keeper.round(every_s=TICK_S / 2)
    assert sum(many.lens_calls) == many.mandates


async def test_a_refresh_of_a_time_to_come_holds_no_vault_back(many: field.Field) -> None:
    clock, store = many.world.clock, many.world.store
    ahead = clock.now() + timedelta(days=400)
    ids = [f"m_b{n:09d}" for n in range(VAULTS)]
    await store.write(lambda uow: uow.mandates.refreshed(ids, ahead))
    await many.keeping("k1", keeper_batch=many.mandates).round(every_s=TICK_S / 2)
    found = await store.read(refreshes)
    assert {datetime.fromtimestamp(at / 1e6, tz=clock.now().tzinfo) for at in found} == {
        clock.now()
    }


async def test_one_round_refreshes_the_whole_hall_and_two_keepers_share_it(
    many: field.Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    whole = hall_rollup.refresh

    async def counted(deps: hall_rollup.Deps, agent_id: str) -> None:
        seen.append(agent_id)
        await whole(deps, agent_id)

    monkeypatch.setattr(hall_rollup, "refresh", counted)
    many.world.clock.forward(minutes=2)
    deps = many.world.deps
    done = await asyncio.gather(*(refresh_stale(deps, f"k{n}", limit=5) for n in range(2)))
    assert sum(done) == AGENTS + 1 == len(seen) == len(set(seen))
    assert min(done) > 0
    assert await refresh_stale(deps, "k0") == 0
    assert await many.world.store.read(claims_of_the_hall) == 0


async def test_a_round_of_the_hall_that_ran_out_of_time_leaves_no_claim(
    many: field.Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, whole, cut = LoopClock(), hall_rollup.refresh, 0

    async def slowly(deps: hall_rollup.Deps, agent_id: str) -> None:
        await whole(deps, agent_id)
        clock.forward(0.4 * hall_rollup.ROUND_S)  # the third of a round is over its time

    monkeypatch.setattr(hall_rollup, "refresh", slowly)
    many.world.clock.forward(minutes=2)
    while await many.world.store.read(rows_of_the_hall) <= AGENTS:
        cut += 1
        await refresh_stale(many.world.deps, "k0")
        left = await many.world.store.read(claims_of_the_hall)
        assert left == 0
    assert cut > 1


@pytest.mark.campaign
async def test_20000_vaults_and_5000_agents_are_kept_in_time(evm: Evm, tmp_path: Path) -> None:
    told = await field.run(evm, field.VAULTS, field.AGENTS)
    assert told["1_keepers"]["seconds"] < 450
    assert told["1_keepers"]["vaults_a_call"] >= 200
    assert told["hall"]["seconds"] < 450
    assert told["hall"]["agents"] == field.AGENTS + 1
