"""A serving process that is asked to end while an act waits: the agent is told to repeat it, through every door, and
the repeat is the same transaction. Real processes on PostgreSQL.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import anyio
import pytest
from aiohttp import ClientSession

from tests.server.test_act_killed import Stage, evm, stage
from tests.surfaces.small import connected
from tests.tools.acting.test_act import sent_by
from tests.waiting import STUCK_S, terminated

__all__ = ["evm", "stage"]
pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.pg]
WITHIN_S = 2.0
DOORS = ("http", "streamable-2026", "streamable-2025", "sse-2025")


async def _over(door: str, stage: Stage, key: str) -> dict[str, Any]:
    """The answer of an act, or the refusal; a connection that is cut is an error."""
    if door == "http":
        async with ClientSession() as http:
            return cast("dict[str, Any]", await stage.act(http, key))
    world = stage.m.world
    data = world.deposit_data(stage.m.vault, "10")
    action = {"kind": "call", "target": world.evm.market, "data": data, "approve_amount": "10"}
    arguments = {"public_id": stage.m.id, "action": action, "why": "as planned", "idempotency_key": key}  # fmt: skip
    told: dict[str, Any] = {}
    headers = {"X-Service-User-Key": stage.key}
    try:
        async with connected(door, stage.service.base, headers) as client:
            result = await client.call_tool("mandate_act", arguments)
            told = cast("dict[str, Any]", result.structured_content)
    except BaseExceptionGroup:
        # The client's own way out of a stream that ended; what it was told by then counts.
        if not told:
            raise
    return cast("dict[str, Any]", told.get("refusal", told))


async def _told_at_the_end(stage: Stage, door: str, key: str) -> tuple[dict[str, Any], float]:
    """What the agent is told whose act waits for a node while the process ends, and the seconds that it took to."""
    stage.node.asked, stage.node.after = asyncio.Event(), True
    stage.node.at = "eth_getTransactionReceipt"
    told: dict[str, Any] = {}

    async def ask() -> None:
        told.update(await _over(door, stage, key))

    with anyio.fail_after(STUCK_S):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await stage.node.asked.wait()
            code, took = await terminated(stage.service.process)
    assert code == 0, stage.service.heard.whole()[-2_000:]
    stage.node.at = ""
    return told, took


async def test_an_act_that_waits_while_its_process_ends_is_told_to_be_repeated(
    stage: Stage,
) -> None:
    async with ClientSession() as http:
        for number, door in enumerate(DOORS, 1):
            told, took = await _told_at_the_end(stage, door, door)
            assert (told["error"], told["retry_safe"]) == ("storage_unavailable", True), (
                door,
                told,
            )
            assert took < WITHIN_S, door
            await asyncio.to_thread(stage.service.start)
            again = await stage.act(http, door)
            assert again["outcome"] == "landed", (door, again)
            assert await sent_by(stage.m) == number, door


async def test_what_asks_the_chain_while_its_process_ends_is_told_to_be_repeated(
    stage: Stage,
) -> None:
    """A node that does not answer: nothing has happened yet, and the connection is not cut under the agent."""
    m, told = stage.m, dict[str, Any]()
    stage.node.asked, stage.node.at = asyncio.Event(), "eth_call"
    url = f"{stage.service.base}/wallet/mandates/{m.id}/execute-call"
    data = m.world.deposit_data(m.vault, "10")
    body = {"target": m.world.evm.market, "data": data, "approve_amount": "10"}

    async def ask() -> None:
        headers = {"X-Service-User-Key": stage.key}
        async with ClientSession() as http, http.post(url, json=body, headers=headers) as reply:
            told.update(await reply.json())

    with anyio.fail_after(STUCK_S):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await stage.node.asked.wait()
            code, took = await terminated(stage.service.process)
    assert code == 0, stage.service.heard.whole()[-2_000:]
    assert (told["error"], told["retry_safe"]) == ("storage_unavailable", True), told
    assert took < WITHIN_S
    stage.node.at = ""
    await asyncio.to_thread(stage.service.start)
