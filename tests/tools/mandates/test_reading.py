"""Reading by parts, and what a model is given unasked: at most 8 KB, the limits in 2 KB."""

from __future__ import annotations

from typing import Any

import pytest

from domain.reads.summary import PARTS
from tests.world import Mandated, World, drafted, working
from tools.catalogue import OPERATIONS
from tools.dispatch.run import run
from tools.model.operation import OperationResult
from tools.model.serialization import encoded

pytestmark = pytest.mark.anyio
BY_NAME = {op.name: op for op in OPERATIONS}
LONG = "because the price moved, " * 60


async def over_mcp(m: Mandated, name: str, **arguments: Any) -> OperationResult:
    """The agent's call as a tool."""
    reply = await run(
        BY_NAME[name], m.world.deps, m.agent, {"public_id": m.id, **arguments}, transport="mcp"
    )
    assert reply.status == 200, reply.body
    return reply


async def talkative(world: World) -> Mandated:
    """A mandate whose agent wrote forty long notes."""
    m = await drafted(world)
    await m.world.ok("mandate_accept", m.agent, public_id=m.id)
    for n in range(40):
        told = await m.as_agent(
            "mandate_report_event", kind="note", payload={"text": LONG, "why": str(n)}
        )
        assert told.status in (201, 202), told.body
    return m


async def test_a_read_of_parts_answers_those_alone(world: World) -> None:
    m = await drafted(world)
    whole = await m.read()
    assert set(whole) == set(PARTS) - {"x402", "payments"}  # the terms have no purse
    some = (await m.as_owner("mandate_get", parts="limits, progress")).body
    assert some == {"progress": whole["progress"], "limits": whole["limits"]}


@pytest.mark.parametrize("parts", ["profit", "limits,,fees", ""])
async def test_a_part_that_there_is_not_is_refused(world: World, parts: str) -> None:
    m = await drafted(world)
    told = await m.as_owner("mandate_get", parts=parts)
    assert (told.status, told.body["error"]) == (400, "invalid_request")
    assert told.body["detail"]["fields"][0]["loc"] == "parts"


async def test_a_model_gets_everything_but_the_rows_unasked(world: World) -> None:
    m = await drafted(world)
    told = (await over_mcp(m, "mandate_get")).body
    assert {"events", "steps"}.isdisjoint(told)
    assert set(told) | set(told.get("left_out", ())) - {"left_out"} >= set(PARTS) - {
        "x402",
        "payments",
        "events",
        "steps",
    }
    assert {"progress", "limits", "mandate"} <= set(told)
    assert len(encoded(told)) <= 8_192
    asked = (await over_mcp(m, "mandate_get", parts="steps")).body
    assert set(asked) == {"steps"}


async def test_no_default_page_over_mcp_is_above_8_kb_and_its_cursor_goes_on(world: World) -> None:
    m = await talkative(world)
    for name in ("mandate_events", "mandate_steps"):
        seen: list[str] = []
        cursor, pages = {}, 0
        while True:
            page = (await over_mcp(m, name, **cursor)).body
            assert 0 < len(encoded(page)) <= 8_192
            seen += [i.get("event_id") or i["id"] for i in page["items"]]
            pages += 1
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert pages > 3
        assert len(seen) == len(set(seen)) >= 40
    asked = (await over_mcp(m, "mandate_events", limit=40)).body
    assert len(asked["items"]) == 40


async def test_the_limits_alone_are_at_most_2_kb(world: World) -> None:
    m = await working(world)
    whole = await m.read()
    told = (await over_mcp(m, "mandate_limits")).body
    assert len(encoded(told)) <= 2_048
    assert told["limits"].keys() == whole["limits"].keys() - {"breaches"}
    assert told["limits"]["remaining"] == whole["limits"]["remaining"]
    assert (told["status"], told["paused"]) == ("working", False)
    assert told["as_of_block"] == whole["chain_state"]["as_of_block"]
