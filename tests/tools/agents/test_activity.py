"""The activity feed: merged, newest first, whole, and stable under what is added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain.agents.transfers import Delta
from tests.world import CHAIN_ID, World, drafted
from tools.model.operation import Caller

pytestmark = pytest.mark.anyio


async def walked(
    world: World, caller: Caller, agent_id: str, limit: int = 3
) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        given = {"agent_id": agent_id, "limit": limit, "cursor": cursor}
        page = await world.ok("agent_activity", caller, **given)
        seen += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return seen


async def a_history(world: World) -> Any:
    """Rows in two mandates and balance changes, several of them in one instant."""
    m = await drafted(world)
    draft = {"budget_usdc": "10", "agent_id": m.agent.user_id}
    told = await world.ok("owner_mandate_create", m.owner, **draft)
    second = replace(m, id=told["mandate"]["public_id"])
    for n in range(4):
        await m.as_agent("mandate_report_event", kind="note", payload={"text": f"a{n}"})
        await second.as_agent("mandate_report_event", kind="note", payload={"text": f"b{n}"})
        of = {"ref_kind": "transfer_report", "ref_id": f"t{n}"}
        delta = Delta(chain_id=CHAIN_ID, asset="USDC", state="idle", delta=1, **of)
        await world.store.write(
            lambda uow, d=delta: uow.transfers.move(m.agent.user_id, (d,), world.clock.now())  # type: ignore[misc]
        )
        if n % 2:
            world.clock.forward(seconds=1)
    return m


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [r["ref_id"] if r["type"] == "balance" else r["event"]["payload"]["text"] for r in rows]


async def test_pages_of_any_size_show_everything_once_newest_first(both: World) -> None:
    m = await a_history(both)
    whole = await walked(both, m.agent, m.agent.user_id, 200)
    assert len(whole) == 12
    assert sorted(names(whole)) == sorted(f"{s}{n}" for s in "abt" for n in range(4))
    assert [r["at"] for r in whole] == sorted((r["at"] for r in whole), reverse=True)
    for limit in (1, 2, 5):
        assert await walked(both, m.agent, m.agent.user_id, limit) == whole


async def test_rows_that_a_clock_stamped_ahead_come_first_and_hide_none(both: World) -> None:
    m = await a_history(both)
    both.clock.forward(days=400)
    await m.as_agent("mandate_report_event", kind="note", payload={"text": "ahead"})
    both.clock.forward(days=-400)
    await m.as_agent("mandate_report_event", kind="note", payload={"text": "after"})
    whole = await walked(both, m.agent, m.agent.user_id, 200)
    assert names(whole)[:2] == ["ahead", "after"]
    assert len(whole) == 14
    assert await walked(both, m.agent, m.agent.user_id, 3) == whole


async def test_what_is_added_meanwhile_moves_no_page(world: World) -> None:
    m = await a_history(world)
    whole = await walked(world, m.agent, m.agent.user_id, 200)
    first = await world.ok("agent_activity", m.agent, agent_id=m.agent.user_id, limit=4)
    await m.as_agent("mandate_report_event", kind="note", payload={"text": "new"})
    after = {"agent_id": m.agent.user_id, "limit": 200, "cursor": first["next_cursor"]}
    rest = await world.ok("agent_activity", m.agent, **after)
    assert first["items"] + rest["items"] == whole


async def test_a_paid_read_carries_its_reference(world: World) -> None:
    m = await drafted(world)
    paid = {"fee_kind": "paid_read", "resource": "r1"}
    await m.as_agent("mandate_report_event", kind="fee", amount_usdc="0.02", payload=paid)
    (row,) = await walked(world, m.agent, m.agent.user_id)
    assert row["type"] == "paid_read"
    assert row["reference"] == {"resource": "r1", "fee_kind": "paid_read", "tx_hash": None}


async def test_who_registered_the_agent_does_not_see_other_owners_mandates(world: World) -> None:
    m = await drafted(world)
    other, _ = await world.owner()
    draft = {"budget_usdc": "10", "agent_id": m.agent.user_id}
    theirs = await world.ok("owner_mandate_create", other, **draft)
    report = {"kind": "note", "payload": {"text": "theirs"}}
    public_id = theirs["mandate"]["public_id"]
    await world.ok("mandate_report_event", m.agent, public_id=public_id, **report)
    assert names(await walked(world, m.agent, m.agent.user_id)) == ["theirs"]
    assert await walked(world, m.owner, m.agent.user_id) == []
    rival, _ = await world.agent(m.owner)
    for caller in (other, rival):
        error = await world.error("agent_activity", caller, agent_id=m.agent.user_id)
        assert error == "not_found"


@pytest.mark.parametrize("cursor", ["", "nonsense", "WzEsMl0", "e30"])
async def test_a_cursor_that_is_none_is_refused(world: World, cursor: str) -> None:
    m = await drafted(world)
    reply = await world.do("agent_activity", m.agent, agent_id=m.agent.user_id, cursor=cursor)
    assert reply.body["error"] == "invalid_request"
