"""A recorded play: an agent does its whole task by `mandate_act`, and how much it calls and reads for that."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from http_shim.application import build
from http_shim.http_server import listen
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from tests.hosted import hosted, signing
from tests.surfaces.small import by_key, connected
from tests.waiting import STUCK_S
from tests.world import Evm, Mandated, World, a_world
from tools.catalogue import OPERATIONS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CALLS_MOST, CHARACTERS_MOST = 20, 30_000


@asynccontextmanager
async def served(world: World) -> AsyncIterator[str]:
    server, _ = build_server(world.deps, OPERATIONS)
    app = build(world.deps, OPERATIONS, mcp=mcp_app(server, world.deps.config.base_url))
    runner = await listen(app, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await drain(server)
        await runner.cleanup()


class Play:
    """An agent that counts what it calls, and every character that comes back."""

    def __init__(self, client: Any, m: Mandated):
        self.client, self.m, self.calls, self.characters = client, m, 0, 0

    async def listed(self) -> None:
        tools = (await self.client.list_tools()).tools
        self.calls += 1
        self.characters += sum(len(t.model_dump_json(exclude_none=True)) for t in tools)

    async def call(self, tool: str, **arguments: Any) -> Any:
        told = await self.client.call_tool(tool, arguments)
        self.calls += 1
        self.characters += sum(len(part.text) for part in told.content)
        # A text that is short points at what is structured, which a host shows in its place.
        structured = json.dumps(told.structured_content, separators=(",", ":"))
        if structured != told.content[0].text:
            self.characters += len(structured)
        body = told.structured_content
        return body["refusal"] if told.is_error else body

    async def act(self, key: str, **action: Any) -> Any:
        asked = {"public_id": self.m.id, "action": action, "idempotency_key": key}
        return await self.call("mandate_act", **asked)

    async def enter(self, key: str, amount: str) -> Any:
        return await self.act(key, kind="enter", market="test-market", amount_usdc=amount)


async def test_the_whole_task_takes_few_calls_and_little_to_read(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with a_world(sqlite_url, evm) as world, signing(world, tmp_path):
        terms = {"per_tx_cap_usdc": "60", "daily_cap_usdc": "150", "approval_above_usdc": "50"}
        m = await hosted(world, accepted=False, **terms)
        key = await world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        headers = by_key(key["key"]) | {"X-Wallet-Toolsets": "core"}
        async with served(world) as base, connected("streamable-2026", base, headers) as client:
            with anyio.fail_after(STUCK_S):
                play = Play(client, m)
                await whole_task(play)
    print(f"{play.calls} calls, {play.characters} characters")
    assert play.calls <= CALLS_MOST
    assert play.characters <= CHARACTERS_MOST


async def whole_task(play: Play) -> None:
    m, world = play.m, play.m.world
    await play.listed()
    offers = await play.call("agent_offers")
    assert offers["items"][0]["mandate"]["public_id"] == m.id
    await play.call("mandate_accept", public_id=m.id)
    read = await play.call("mandate_get", public_id=m.id, parts="mandate")
    assert read["mandate"]["allowed_targets"]
    first = await play.enter("in-1", "40")
    assert first["outcome"] == "landed"
    again = await play.enter("in-1", "40")  # a lost answer, asked by the same key
    assert again["tx_hash"] == first["tx_hash"]
    over = await play.enter("in-2", "61")
    assert (over["error"], over["next"][0]["tool"]) == ("over_per_tx_cap", "mandate_act")
    held = await play.enter("in-3", "55")
    assert held["outcome"] == "held"
    item = {"approval_id": held["approval"]["approval_id"], "decision": "approve"}
    assert (await m.as_owner("owner_approval_decide", **item)).status == 200
    second, third = await play.enter("in-3", "55"), await play.enter("in-4", "50")
    assert [told["outcome"] for told in (second, third)] == ["landed", "landed"]
    assert (await play.enter("in-5", "20"))["error"] == "over_daily_cap"
    foreign = {"target": world.evm.usdc, "data": world.deposit_data(m.vault, "1")}
    assert (await play.act("c-1", kind="call", **foreign))["error"] == "target_not_allowed"
    pause: Any = (await m.as_owner("owner_pause_call")).body
    await world.mined(m.owner_wallet, pause["call"])
    assert (await play.enter("in-6", "1"))["error"] == "mandate_paused"
    resume: Any = (await m.as_owner("owner_resume_call")).body
    await world.mined(m.owner_wallet, resume["call"])
    out = await play.act("out-1", kind="exit", market="test-market", amount_usdc="45")
    assert (out["outcome"], out["event"]["kind"]) == ("landed", "sell")
    for landed in (first, second, third, out):
        await m.as_owner("owner_vault_tx", tx_hash=landed["tx_hash"])
    end = await play.call("mandate_get", public_id=m.id, parts="progress,fees")
    assert end["progress"]["worth_est"] == "500.000000"
