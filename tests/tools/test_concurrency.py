"""What must hold when many call at once, on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from storage.integrity.ledger_check import verify
from tests.world import World, drafted, working
from tools.model.operation import OperationResult

pytestmark = pytest.mark.anyio


async def together(*calls: Any) -> list[OperationResult]:
    """Run calls at once and collect their replies."""
    found: list[OperationResult] = []

    async def one(call: Any) -> None:
        found.append(await call())

    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(one, call)
    return found


async def test_32_calls_with_one_key_write_one_row_and_get_one_answer(both: World) -> None:
    m = await working(both)

    async def report() -> OperationResult:
        return await m.as_agent("mandate_report_event", kind="buy", amount_usdc="5", key="same")

    replies = await together(*[report] * 32)
    assert {r.status for r in replies} == {201}
    assert len({str(dict(r.body)) for r in replies}) == 1
    rows = await both.ok("mandate_events", m.agent, public_id=m.id)
    assert sum(e["reported_by"] == "agent" for e in rows["items"]) == 1
    other = await m.as_agent("mandate_report_event", kind="buy", amount_usdc="6", key="same")
    assert other.body["error"] == "idempotency_key_reused"


@pytest.mark.slow
async def test_parallel_execute_calls_never_hand_out_more_than_the_day_cap(both: World) -> None:
    m = await working(both, per_tx_cap_usdc="30", daily_cap_usdc="100")

    def ask(n: int) -> Any:
        async def call() -> OperationResult:
            return await m.execute(f"9.{n:06d}")

        return call

    replies = await together(*[ask(n) for n in range(25)])
    given = [r for r in replies if r.status == 200]
    assert {r.body.get("error") for r in replies if r.status != 200} == {"over_daily_cap"}
    assert len(given) == 11
    used = (await m.read())["limits"]["used"]["per_day"]
    assert float(used["reserved"]) <= 100


@pytest.mark.slow
async def test_ten_approvals_wait_at_the_most(both: World) -> None:
    m = await working(both, approval_above_usdc="1")

    def ask(n: int) -> Any:
        async def call() -> OperationResult:
            return await m.execute(f"2.{n:06d}")

        return call

    replies = await together(*[ask(n) for n in range(15)])
    assert sorted(r.status for r in replies) == [202] * 10 + [429] * 5
    assert {r.body["error"] for r in replies if r.status == 429} == {"rate_limited"}


async def test_sixty_refusals_a_day_exactly(both: World) -> None:
    m = await working(both)

    async def report() -> OperationResult:
        return await m.as_agent("mandate_report_refusal", reason="server_guard")

    replies = await together(*[report] * 70)
    assert sorted(r.status for r in replies) == [201] * 60 + [429] * 10
    both.clock.forward(hours=12)
    assert (await report()).status == 201


async def test_two_decisions_race_to_one_outcome(both: World) -> None:
    m = await working(both, approval_above_usdc="1")
    item = (await m.execute("5")).body["approval"]["approval_id"]

    def decide(subject: str) -> Any:
        async def call() -> OperationResult:
            return await m.as_owner("owner_approval_decide", approval_id=item, decision=subject)

        return call

    replies = await together(
        decide("approve"), decide("decline"), decide("approve"), decide("decline")
    )
    assert {r.status for r in replies} == {200, 409}
    final = (await m.as_owner("mandate_approvals", approval_id=item)).body["items"][0]["status"]
    assert final in ("approved", "declined")
    assert {r.body["approval"]["status"] for r in replies if r.status == 200} == {final}


async def test_of_two_agents_racing_for_an_open_offer_one_wins(both: World) -> None:
    m = await drafted(both, agent_id=None, open_board=True)
    rivals = [m.agent, (await both.agent(m.owner))[0]]

    def accept(rival: Any) -> Any:
        async def call() -> OperationResult:
            return await both.do("mandate_accept", rival, public_id=m.id)

        return call

    replies = await together(*[accept(r) for r in rivals])
    assert sorted(r.status for r in replies) == [200, 409]
    assert next(r for r in replies if r.refused).body["error"] == "conflict"


async def test_the_ledgers_stay_whole_under_parallel_reports(both: World) -> None:
    m = await working(both)

    def report(n: int) -> Any:
        async def call() -> OperationResult:
            return await m.as_agent(
                "mandate_report_event", kind="note", payload={"text": str(n)}, key=f"n{n}"
            )

        return call

    assert {r.status for r in await together(*[report(n) for n in range(100)])} == {201}
    assert (await verify(both.store)).ok
