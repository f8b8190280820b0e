"""What a hostile agent and a careless owner found."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from domain.refusals import Refused
from http_shim.identity import credential_of
from tests.world import World, working

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("week", ["9999-W52", "2026-W٤٧", "2026-W54", "2026-W00", "0000-W01"])
async def test_a_week_that_no_calendar_holds_is_refused(world: World, week: str) -> None:
    owner, _ = await world.owner()
    reply = await world.do("owner_statement_all", owner, week=week)
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")


async def test_a_claim_is_never_shown_as_the_chains_figure(world: World) -> None:
    m = await working(world)
    told = await m.as_agent(
        "mandate_report_event", kind="buy", amount_usdc="70", payload={"position": {"id": "p"}}
    )
    assert (told.status, [w["code"] for w in told.body["warnings"]]) == (201, ["unproven"])
    read = await m.read()
    assert read["limits"]["used"]["per_day"]["value"] == "0.000000"
    assert [s["status"] for s in read["steps"] if s["kind"] == "action"] == ["unproven"]
    tx = "0x" + "ab" * 32
    await m.as_agent("mandate_report_event", kind="buy", amount_usdc="70", tx_hash=tx)
    read = await m.read()
    used = read["limits"]["used"]
    assert (used["per_day"]["value"], used["per_day"]["source"]) == ("70.000000", "agent")
    assert (read["progress"]["cash"], read["progress"]["worth_est"]) == ("500.000000", "500.000000")
    assert read["progress"]["pending_claims"]["out"] == "70.000000"


async def test_an_agent_needs_an_address_that_can_sign(world: World) -> None:
    owner, _ = await world.owner()
    for address in ("0x" + "00" * 20, world.evm.usdc, world.evm.factory):
        reply = await world.do("owner_agent_register", owner, name="Z", address=address)
        assert (reply.status, reply.body["error"]) == (400, "invalid_address")


@pytest.mark.parametrize("name", ["X-Service-User-Key", "Authorization"])
async def test_a_credential_header_comes_once(name: str) -> None:
    headers = CIMultiDict([(name, "Bearer ak_1"), (name, "Bearer ak_2")])
    with pytest.raises(Refused, match="unauthenticated"):
        credential_of(headers)


async def test_what_was_attempted_is_told_briefly(world: World) -> None:
    m = await working(world)
    reply = await m.as_agent(
        "mandate_report_refusal", reason="server_guard", attempted={"data": "x" * 10_000}
    )
    assert reply.body["error"] == "invalid_request"
