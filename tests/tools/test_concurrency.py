"""What must hold when many call at once, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from storage.integrity.ledger_check import verify
from tests.world import World, drafted, error_of, working

pytestmark = pytest.mark.anyio


async def test_32_calls_with_one_key_write_one_row_and_get_one_answer(both: World) -> None:
    m = await working(both)

    report = partial(m.as_agent, "mandate_report_event", kind="buy", key="same")
    replies = await asyncio.gather(*(report(amount_usdc="5") for _ in range(32)))
    assert {r.status for r in replies} == {201}
    assert len({str(dict(r.body)) for r in replies}) == 1
    rows = await both.ok("mandate_events", m.agent, public_id=m.id)
    assert sum(e["reported_by"] == "agent" for e in rows["items"]) == 1
    assert await error_of(report(amount_usdc="6")) == "idempotency_key_reused"


@pytest.mark.slow
async def test_parallel_execute_calls_never_hand_out_more_than_the_day_cap(both: World) -> None:
    m = await working(both, per_tx_cap_usdc="30", daily_cap_usdc="100")

    replies = await asyncio.gather(*(m.execute(f"9.{n:06d}") for n in range(25)))
    given = [r for r in replies if r.status == 200]
    assert {r.body.get("error") for r in replies if r.status != 200} == {"over_daily_cap"}
    assert len(given) == 11
    used = (await m.read())["limits"]["used"]["per_day"]
    assert float(used["reserved"]) <= 100


@pytest.mark.slow
async def test_ten_approvals_wait_at_the_most(both: World) -> None:
    m = await working(both, approval_above_usdc="1")

    replies = await asyncio.gather(*(m.execute(f"2.{n:06d}") for n in range(15)))
    assert sorted(r.status for r in replies) == [202] * 10 + [429] * 5
    assert {r.body["error"] for r in replies if r.status == 429} == {"rate_limited"}


async def test_sixty_refusals_a_day_exactly(both: World) -> None:
    m = await working(both)

    report = partial(m.as_agent, "mandate_report_refusal", reason="server_guard")
    replies = await asyncio.gather(*(report() for _ in range(70)))
    assert sorted(r.status for r in replies) == [201] * 60 + [429] * 10
    both.clock.forward(hours=12)
    assert (await report()).status == 201


async def test_two_decisions_race_to_one_outcome(both: World) -> None:
    m = await working(both, approval_above_usdc="1")
    item = (await m.execute("5")).body["approval"]["approval_id"]

    decide = partial(m.as_owner, "owner_approval_decide", approval_id=item)
    replies = await asyncio.gather(*(decide(decision=d) for d in ("approve", "decline") * 2))
    assert {r.status for r in replies} == {200, 409}
    final = (await m.as_owner("mandate_approvals", approval_id=item)).body["items"][0]["status"]
    assert final in ("approved", "declined")
    assert {r.body["approval"]["status"] for r in replies if r.status == 200} == {final}


async def test_of_two_agents_racing_for_an_open_offer_one_wins(both: World) -> None:
    m = await drafted(both, agent_id=None, open_board=True)
    rivals = [m.agent, (await both.agent(m.owner))[0]]

    replies = await asyncio.gather(
        *(both.do("mandate_accept", rival, public_id=m.id) for rival in rivals)
    )
    assert sorted(r.status for r in replies) == [200, 409]
    assert next(r for r in replies if r.refused).body["error"] == "conflict"


async def test_the_ledgers_stay_whole_under_parallel_reports(both: World) -> None:
    m = await working(both)

    report = partial(m.as_agent, "mandate_report_event", kind="note")
    replies = await asyncio.gather(
        *(report(payload={"text": str(n)}, key=f"n{n}") for n in range(100))
    )
    assert {r.status for r in replies} == {201}
    assert (await verify(both.store)).ok
