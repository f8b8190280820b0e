"""What an owner has stored in a day is bounded, over all its sessions, agents and keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from domain.mandates.mandate import Status
from tests.world import START, Mandated, World, signed
from tools.dispatch import storage_allowance
from tools.model.operation import Caller, OperationResult
from tools.model.stored_bytes import OwnerDays

pytestmark = pytest.mark.anyio
ALLOWANCE = 120_000


@pytest.fixture
def small(both: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world where 120 kB a day are an owner's."""
    monkeypatch.setattr(storage_allowance, "MB", ALLOWANCE)
    monkeypatch.setattr(storage_allowance, "STEP", 4_000)
    before = both.deps
    both.deps = replace(before, config=replace(before.config, store_mb_per_day=1))
    yield both
    both.deps = before


async def told(m: Mandated, agent: Caller, n: int) -> OperationResult:
    payload = {"text": f"{n} " + "x" * 900}
    asked = {"public_id": m.id, "kind": "note", "payload": payload}
    return await m.world.do("mandate_report_event", agent, **asked)


async def until_refused(m: Mandated, agent: Caller) -> tuple[int, dict[str, Any]]:
    """How many reports are taken, and the refusal of the next."""
    for n in range(200):
        reply = await told(m, agent, n)
        if reply.refused:
            return n, dict(reply.body)
    raise AssertionError("nothing bounds it")


async def test_agents_fill_three_quarters_of_a_day_and_their_owner_goes_on(small: World) -> None:
    m, other = await signed(small), await signed(small)
    taken, refused = await until_refused(m, m.agent)
    assert 10 < taken < ALLOWANCE * 3 / 4 / 900
    assert (refused["error"], refused["retry_at"]) == ("rate_limited", "2026-11-21T00:00:00.000Z")
    # Another key, and another agent of the owner, find it just as full.
    assert (await told(m, replace(m.agent, credential="another key"), 0)).status == 429
    second, _ = await small.agent(m.owner)
    assert (await small.do("mandate_propose", second, budget_usdc="5")).status == 429
    assert not (await told(other, other.agent, 0)).refused
    for n in range(3):
        body = {"agent_id": m.agent.user_id, "accepts_mandates": True, "assets": [n]}
        assert (await small.do("owner_agent_policy_put", m.owner, **body)).status == 200
    small.clock.forward(hours=12)
    assert not (await told(m, m.agent, 0)).refused


async def test_an_owner_fills_its_day_and_can_still_end_things(small: World) -> None:
    m = await signed(small)
    asked: dict[str, Any] = {"agent_id": m.agent.user_id, "accepts_mandates": True}
    replies = [
        await small.do("owner_agent_policy_put", m.owner, **asked, venues=[n, "x" * 4_000])
        for n in range(60)
    ]
    taken = [r.status for r in replies].index(429)
    assert 5 < taken <= ALLOWANCE / 4_000
    assert {r.status for r in replies[taken:]} == {429}
    assert (await m.as_owner("owner_mandate_cancel")).status == 200


async def test_a_funded_vault_gives_ten_times_as_much_at_once(small: World) -> None:
    m = await signed(small)
    taken, _ = await until_refused(m, m.agent)
    await fund(m)
    for n in range(taken):
        assert not (await told(m, m.agent, n)).refused


async def fund(m: Mandated) -> None:
    def funded(uow: Any) -> None:
        found = uow.mandates.get(m.id, lock=True)
        uow.mandates.save(replace(found, status=Status.WORKING))

    await m.world.store.write(funded)


async def test_owners_without_a_vault_share_a_day_and_funded_ones_never_notice(
    small: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_allowance, "TOGETHER_TIMES", 2)
    monkeypatch.setattr(storage_allowance, "LITTLE", 40_000)
    funded, little = await signed(small), await signed(small)
    await fund(funded)
    greedy = [await signed(small) for _ in range(2)]
    # Of three quarters of what is for all, each may have as much as is left.
    taken = [(await until_refused(m, m.agent))[0] for m in greedy]
    assert taken[0] > taken[1] > 0
    # Who has little goes on beside them, and at last is told why not and until when.
    few, refused = await until_refused(little, little.agent)
    assert taken[1] > few > 0
    assert "no vault was funded" in refused["reason"]
    assert refused["retry_at"] == "2026-11-21T00:00:00.000Z"
    assert sum(taken) + few < 2 * ALLOWANCE / 900
    # Another process finds the same.
    small.deps = replace(small.deps, stored=OwnerDays())
    assert (await told(greedy[0], greedy[0].agent, 0)).refused
    for n in range(100):
        assert not (await told(funded, funded.agent, n)).refused
    await fund(greedy[0])
    assert not (await told(greedy[0], greedy[0].agent, 0)).refused
    small.clock.forward(hours=12)
    assert not (await told(little, little.agent, 0)).refused


async def test_another_process_knows_what_was_stored(small: World) -> None:
    m = await signed(small)
    await until_refused(m, m.agent)
    small.deps = replace(small.deps, stored=OwnerDays())
    taken, _ = await until_refused(m, m.agent)
    assert taken * 900 < 2 * storage_allowance.STEP
    rows = await small.store.read(lambda uow: uow.sql.rows("SELECT * FROM stored_days"))
    assert {r["day"] for r in rows} == {START.date().isoformat()}


async def test_of_an_allowance_of_0_nothing_is_counted(both: World) -> None:
    m = await signed(both)
    assert not (await told(m, m.agent, 0)).refused
    assert both.deps.stored.days == {}
