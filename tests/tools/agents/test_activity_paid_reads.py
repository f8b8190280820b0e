"""Paid reads against the agent's daily credits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from domain.money import Usdc
from domain.rules.paid_read_credits import cost
from tests.world import Evm, World, a_world, drafted
from tools.model.operation import OperationResult

pytestmark = pytest.mark.anyio


@pytest.fixture
async def strict(database_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(database_url, evm, paid_read_enforcement=True) as opened:
        yield opened


async def read(m: Any, amount: str, **more: Any) -> OperationResult:
    payload = {"fee_kind": "paid_read", "resource": "https://data.example/1"} | more
    return await m.as_agent("mandate_report_event", kind="fee", amount_usdc=amount, payload=payload)


async def with_budget(world: World, credits_a_day: int | None) -> Any:
    m = await drafted(world)
    given = {"accepts_mandates": True, "credit_budget_daily": credits_a_day}
    await world.ok("owner_agent_policy_put", m.owner, agent_id=m.agent.user_id, **given)
    return m


@pytest.mark.parametrize(
    ("amount", "credits_"), [("0", 0), ("0.000001", 1), ("0.01", 1), ("0.010001", 2), ("1", 100)]
)
def test_a_credit_is_a_cent_rounded_up(amount: str, credits_: int) -> None:
    assert cost(Usdc.parse(amount)) == credits_


async def test_a_read_over_the_days_budget_is_refused_until_the_next_day(strict: World) -> None:
    m = await with_budget(strict, 5)
    for amount in ("0.03", "0.011"):
        assert not (await read(m, amount)).refused
    reply = await read(m, "0.01")
    assert (reply.status, reply.body["error"]) == (402, "mandate_budget_exceeded")
    assert reply.body["remaining"] == {"credits": 0}
    assert reply.body["retry_at"] == "2026-11-21T00:00:00.000Z"
    assert not (await read(m, "9", fee_kind="gas")).refused
    strict.clock.forward(hours=12)
    assert not (await read(m, "0.05")).refused


@pytest.mark.parametrize("named", ["tools", None, "data"])
async def test_a_paid_read_under_another_name_is_held_to_the_budget_too(
    strict: World, named: str | None
) -> None:
    m = await with_budget(strict, 5)
    payload = {"resource": "https://data.example/1"} | ({"fee_kind": named} if named else {})
    given = {"kind": "fee", "amount_usdc": "0.06", "payload": payload}
    reply = await m.as_agent("mandate_report_event", **given)
    assert (reply.status, reply.body["error"]) == (402, "mandate_budget_exceeded")
    small = await m.as_agent("mandate_report_event", **given | {"amount_usdc": "0.05"})
    assert not small.refused
    (step, *_) = (await m.read())["steps"]
    assert (step["kind"], step["code"]) == ("research", "paid_read")


async def test_the_budget_spans_the_agents_mandates_and_holds_at_once(strict: World) -> None:
    m = await with_budget(strict, 10)
    draft = {"budget_usdc": "10", "agent_id": m.agent.user_id}
    told = await strict.ok("owner_mandate_create", m.owner, **draft)
    ids, replies = (told["mandate"]["public_id"], m.id), list[OperationResult]()
    fee = {"kind": "fee", "amount_usdc": "0.01", "payload": {"fee_kind": "x402"}}

    async def one(n: int) -> None:
        given = fee | {"public_id": ids[n % 2]}
        replies.append(await strict.do("mandate_report_event", m.agent, **given))

    async with anyio.create_task_group() as group:
        for n in range(24):
            group.start_soon(one, n)
    assert sum(not r.refused for r in replies) == 10
    assert {r.body["error"] for r in replies if r.refused} == {"mandate_budget_exceeded"}


async def test_without_enforcement_or_budget_nothing_is_refused(
    world: World, strict: World
) -> None:
    for m in (await with_budget(world, 1), await with_budget(strict, None)):
        assert not (await read(m, "5")).refused
