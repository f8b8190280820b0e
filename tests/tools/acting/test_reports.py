"""What the answer to a report tells an agent, now and when it is repeated."""

from __future__ import annotations

import pytest

from tests.world import World, working

pytestmark = pytest.mark.anyio


async def test_a_repeated_answer_says_as_of_when_its_remaining_was(world: World) -> None:
    m = await working(world)
    given = {"kind": "note", "payload": {"text": "looked"}}
    first = await m.as_agent("mandate_report_event", key="k", **given)
    assert first.body["remaining"]["as_of"] == "2026-11-20T12:00:00.000Z"
    world.clock.forward(minutes=5)
    again = await m.as_agent("mandate_report_event", key="k", **given)
    assert again.body == first.body


@pytest.mark.parametrize("when", ["soon", "2026-13-01T00:00:00Z", "2026-11-25T00:00:00", "", "1"])
async def test_when_an_agent_looks_again_is_a_time(world: World, when: str) -> None:
    m = await working(world)
    told = await m.as_agent("mandate_report_event", kind="note", payload={"next_at": when})
    assert (told.status, told.body["error"]) == (400, "invalid_request")
    assert told.body["detail"]["fields"][0]["loc"] == "payload.next_at"
    for fit in ("2026-11-25T00:00:00Z", "2026-11-25T00:00:00.123Z", "2026-11-25T01:00:00+01:00"):
        told = await m.as_agent("mandate_report_event", kind="note", payload={"next_at": fit})
        assert told.status == 201, told.body


async def test_a_preview_is_bounded(world: World) -> None:
    m = await working(world)
    for size, status in ((16_000, 201), (17_000, 400)):
        preview = {"steps": ["x" * size]}
        told = await m.as_agent("mandate_report_event", kind="note", payload={"preview": preview})
        assert told.status == status, told.body


async def test_an_error_outside_the_list_is_told_by_the_receipts_own_name(world: World) -> None:
    m = await working(world)
    call = dict((await m.execute("5")).body)
    pause = (await m.as_owner("owner_pause_call")).body["call"]
    assert (await world.mined(m.owner_wallet, pause))[0]
    ok, tx = await world.mined(m.agent_wallet, call, gas=900_000)
    assert not ok
    given = {"reason": "server_guard", "check": "NotAgent", "tx_hash": tx}
    told = (await m.as_agent("mandate_report_refusal", **given)).body
    assert (told["proven"], told["vault_error"]) == (True, "NotAgent")
    again = (await m.as_agent("mandate_report_refusal", **given)).body
    assert (again["known"], again["vault_error"]) == (True, "NotAgent")
    bare = (await m.as_agent("mandate_report_refusal", reason="server_guard")).body
    assert (bare["proven"], bare["vault_error"]) == (False, None)
