"""A page ends where its bytes do, whoever fills its rows, and the next one goes on from there."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from domain.mandates.approvals import Approval
from domain.money import Usdc
from storage.unit_of_work import UnitOfWork
from tests.world import World, drafted
from tools.model.operation import Caller
from tools.model.serialization import encoded

pytestmark = pytest.mark.anyio
MOST = 65_536
# As much as a draft may hold: targets in three of the forms, and a purpose of long characters.
FULL: dict[str, Any] = {
    "budget_usdc": "10",
    "purpose": "字" * 2_000,
    "allowed_targets": [
        {"kind": "venue", "venue": f"v{n}", "symbols": ["s" * 32] * 50} for n in range(4)
    ],
}


async def walked(
    world: World, name: str, caller: Caller, limit: int = MOST, **request: Any
) -> tuple[list[Any], int]:
    """Every row of a list, and how many pages it took; none of them is longer than `most`."""
    rows: list[Any] = []
    for pages in range(1, 100):
        page = await world.ok(name, caller, limit=200, **request)
        assert len(encoded(page)) <= limit
        assert page["items"]
        rows += page["items"]
        if page["next_cursor"] is None:
            return rows, pages
        request["cursor"] = page["next_cursor"]
    raise AssertionError("the list does not end")


def each_once(ids: list[str], of: set[str]) -> None:
    assert len(ids) == len(set(ids))
    assert set(ids) == of


async def test_what_strangers_offer_makes_no_answer_longer_than_64_kib(world: World) -> None:
    stranger, _ = await world.owner()
    owner, _ = await world.owner()
    agent, _ = await world.agent(owner)
    named = {"agent_id": agent.user_id}
    made = [
        (await world.ok("owner_mandate_create", stranger, **FULL, **more))["mandate"]["public_id"]
        for more in ([{"open_board": True}] * 10 + [named] * 10)
    ]
    offers, pages = await walked(world, "agent_offers", agent, agent_id="me")
    each_once([o["mandate"]["public_id"] for o in offers], set(made))
    assert pages > 2
    listed, _ = await walked(world, "mandate_list", agent)
    each_once([m["public_id"] for m in listed], set(made[10:]))


async def test_one_draft_is_bounded_in_every_answer(world: World) -> None:
    owner, _ = await world.owner()
    told = await world.ok("owner_mandate_create", owner, **FULL)
    assert len(encoded(told)) <= MOST
    wide = [{"kind": "venue", "venue": f"v{n}", "symbols": ["s" * 198] * 50} for n in range(24)]
    refused = await world.do("owner_mandate_create", owner, **FULL | {"allowed_targets": wide})
    assert (refused.status, refused.body["error"]) == (400, "invalid_request")
    assert len(json.dumps(refused.body)) < 1_000


async def test_what_an_agent_holds_for_its_owner_is_read_in_short_pages(world: World) -> None:
    m = await drafted(world)

    def hold(uow: UnitOfWork) -> None:
        for n in range(8):
            target: dict[str, str | None] = {"market": None, "address": "0x" + "11" * 20, "selector": "0x12345678"}  # fmt: skip
            at = world.clock.now() + timedelta(seconds=n)
            data = "0x" + "ab" * 10_000
            uow.approvals.add(
                Approval(f"ap_{n}", m.id, "pending", target, data, f"0x{n:064x}", Usdc(1), None, at, at + timedelta(days=1))
            )  # fmt: skip

    await world.store.write(hold)
    for name, asked in (("mandate_approvals", {"public_id": m.id}), ("owner_approvals", {})):
        items, pages = await walked(world, name, m.owner, **asked)
        each_once([i["approval_id"] for i in items], {f"ap_{n}" for n in range(8)})
        assert pages == 4


async def test_a_record_of_long_notes_is_read_in_pages_of_256_kb(world: World) -> None:
    m = await drafted(world)
    await m.as_agent("mandate_accept")
    told = {"kind": "note", "payload": {"text": "字" * 1_990, "why": "字" * 2_000}}
    for _ in range(30):
        assert (await m.as_agent("mandate_report_event", **told)).status < 300
    most = 262_144
    everything = (await world.ok("mandate_events", m.owner, public_id=m.id, limit=3))["items"]
    rows, pages = await walked(world, "mandate_events", m.owner, most, public_id=m.id)
    assert (rows[:3], pages) == (everything, 2)
    each_once([r["event_id"] for r in rows], {r["event_id"] for r in rows})
    assert sum(r["kind"] == "note" for r in rows) >= 30
    steps, _ = await walked(world, "mandate_steps", m.owner, most, public_id=m.id)
    assert len(steps) >= 30
    feed, _ = await walked(world, "agent_activity", m.agent, most, agent_id="me")
    assert len(feed) >= 30
