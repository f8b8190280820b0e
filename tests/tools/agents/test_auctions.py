"""The auction ledger: reserved, released, delivered, each event once."""

from __future__ import annotations

import anyio
import pytest

from tests.world import World
from tools.model.operation import Caller, OperationResult

pytestmark = pytest.mark.anyio
KEEPER = Caller("keeper")


async def bid(
    world: World, agent: Caller, event: str, amount: str, seq: int = 1, bid_id: str = "b1"
) -> OperationResult:
    given = {"bid_id": bid_id, "event": event, "amount": amount, "seq": seq}
    return await world.do("keeper_auction_event", KEEPER, agent_id=agent.user_id, **given)


async def an_agent(world: World) -> Caller:
    owner, _ = await world.owner()
    return (await world.agent(owner))[0]


async def test_a_bid_is_reserved_released_and_delivered(both: World) -> None:
    agent = await an_agent(both)
    placed = await bid(both, agent, "placed", "100")
    assert (placed.status, placed.body["known"]) == (201, False)
    assert placed.body["reserved"] == "100.000000"
    assert (await bid(both, agent, "closed", "60")).body["reserved"] == "40.000000"
    assert (await bid(both, agent, "delivered", "60")).body["delivered"] == "60.000000"
    (row,) = (await both.ok("agent_balances", agent, agent_id=agent.user_id))["balances"]
    assert row == {
        "chain_id": both.deps.config.auction_chain_id, "asset": "USDT", "idle": "0.000000", "reserved": "40.000000",
        "in_transit": "0.000000", "delivered": "60.000000",
    }  # fmt: skip
    rows = (await both.ok("agent_activity", agent, agent_id=agent.user_id))["items"]
    assert [(r["ref_kind"], r["ref_id"], r["delta"]) for r in rows] == [
        ("auction_bid_delivered", "b1:1", "60.000000"),
        ("auction_bid_close", "b1:1", "-60.000000"),
        ("auction_bid", "b1:1", "100.000000"),
    ]


async def test_the_same_event_books_once_and_another_amount_is_a_conflict(both: World) -> None:
    agent = await an_agent(both)
    replies: list[OperationResult] = []

    async def once() -> None:
        replies.append(await bid(both, agent, "placed", "10"))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(once)
    assert sorted(r.status for r in replies) == [200] * 7 + [201]
    assert {r.body["reserved"] for r in replies} == {"10.000000"}
    assert (await bid(both, agent, "placed", "11")).body["error"] == "conflict"
    assert (await bid(both, agent, "placed", "1", seq=2)).body["reserved"] == "11.000000"


async def test_a_release_above_what_the_bid_holds_is_refused(world: World) -> None:
    agent = await an_agent(world)
    await bid(world, agent, "placed", "100", bid_id="b10")
    await bid(world, agent, "placed", "10", bid_id="b1")
    reply = await bid(world, agent, "closed", "10.000001", bid_id="b1")
    assert (reply.status, reply.body["error"]) == (409, "conflict")
    assert reply.body["remaining"] == {"reserved": "10.000000"}
    assert (await bid(world, agent, "closed", "10", bid_id="b1")).status == 201
    assert (await bid(world, agent, "closed", "0.000001", 2, bid_id="b1")).status == 409


async def test_only_the_house_books_and_only_for_agents_that_are_there(world: World) -> None:
    agent = await an_agent(world)
    reply = await bid(world, Caller("agent", "u_nobody"), "placed", "1")
    assert reply.body["error"] == "not_found"
    given = {"agent_id": agent.user_id, "bid_id": "b1", "event": "placed", "amount": "1", "seq": 1}
    assert await world.error("keeper_auction_event", agent, **given) == "forbidden"
    for wrong, code in (
        ({"bid_id": "a:b"}, "invalid_request"),
        ({"amount": "0"}, "invalid_number"),
    ):
        assert await world.error("keeper_auction_event", KEEPER, **given | wrong) == code
