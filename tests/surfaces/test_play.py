"""The whole task of an agent, played over MCP with one call an action: what it calls, and what it reads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from http_shim.application import build
from http_shim.http_server import listen
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from tests.hosted import hosted, signing
from tests.surfaces.small import by_key, connected
from tests.world import Evm, Mandated, a_world, config_of
from tools.catalogue import OPERATIONS
from tools.context.credentials import hashed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
KEY = "ak_" + "p" * 43
CALLS, CHARACTERS = 20, 30_000


@asynccontextmanager
async def playing(url: str, evm: Evm, folder: Path) -> AsyncIterator[tuple[Mandated, str]]:
    """A mandate whose agent's key the service holds, and the address of the service."""
    async with a_world(url, evm, config=config_of(evm)) as world, signing(world, folder):
        m = await hosted(world, approval_above_usdc="60")
        agent_id = m.agent.user_id or ""
        await world.store.write(
            lambda uow: uow.identities.add_key("k_p", agent_id, hashed(KEY), world.clock.now())
        )
        server, _ = build_server(world.deps, OPERATIONS)
        app = build(world.deps, OPERATIONS, mcp=mcp_app(server, world.deps.config.base_url))
        runner = await listen(app, "127.0.0.1", 0)
        try:
            yield m, f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await drain(server)
            await runner.cleanup()


class Player:
    """A model that calls tools: counted is each call, and what it is shown of each answer."""

    def __init__(self, client: Client, public_id: str):
        self._client, self._public_id = client, public_id
        self.read: list[tuple[str, int]] = []

    async def list(self) -> set[str]:
        told = await self._client.list_tools()
        self.read.append(
            ("tools/list", len(told.model_dump_json(by_alias=True, exclude_none=True)))
        )
        return {tool.name for tool in told.tools}

    async def call(self, name: str, *, heard: bool = True, **arguments: Any) -> Any:
        """One call of a tool; an answer that is not `heard` is lost and read by nobody."""
        told = await self._client.call_tool(name, arguments)
        body = told.structured_content or {}
        text = told.content[0].text  # type: ignore[union-attr]
        whole = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
        shown = len(whole) + (0 if text.startswith("{") else len(text))
        self.read.append((name, shown if heard else 0))
        return body.get("refusal", body) if heard else None

    async def act(self, key: str, *, heard: bool = True, **action: Any) -> Any:
        named = {"public_id": self._public_id, "idempotency_key": key}
        return await self.call("mandate_act", heard=heard, action=action, **named)

    async def enter(self, key: str, amount: str, *, heard: bool = True) -> Any:
        at = {"market": "test-market", "amount_usdc": amount}
        return await self.act(key, heard=heard, kind="enter", **at)


async def paused(m: Mandated, kind: str) -> None:
    call: Any = (await m.as_owner(f"owner_{kind}_call")).body
    ok, tx = await m.world.mined(m.owner_wallet, call["call"])
    assert ok
    assert (await m.as_owner("owner_vault_tx", tx_hash=tx)).status == 200


async def test_the_whole_task_is_twenty_calls_and_thirty_thousand_characters(
    sqlite_url: str, evm: Evm, tmp_path: Path
) -> None:
    async with (
        playing(sqlite_url, evm, tmp_path) as (m, base),
        connected("streamable-2026", base, {"X-Wallet-Toolsets": "core"} | by_key(KEY)) as client,
    ):
        player = Player(client, m.id)
        assert "mandate_act" in await player.list()
        me = await player.call("agents_me")
        assert [one["public_id"] for one in me["mandates"]] == [m.id]
        await player.call("mandate_accept", public_id=m.id)
        limits = await player.call("mandate_limits", public_id=m.id)
        assert limits["limits"]["remaining"]["value"] == "100.000000"
        await _spends_the_day(player, m)
        await _meets_the_owner_and_a_lost_answer(player, m)
        out = await player.act("out-1", kind="exit", market="test-market", amount_usdc="15")
        assert (out["outcome"], out["event"]["kind"]) == ("landed", "sell")
        end = await player.call("mandate_get", public_id=m.id, parts="progress,fees")
        assert end["progress"]["worth_est"] == "500.000000"
        assert end["fees"]
    total = sum(size for _, size in player.read)
    table = "\n".join(f"{size:6} {told}" for told, size in player.read)
    print(f"{len(player.read)} calls, {total} characters\n{table}")
    assert len(player.read) <= CALLS, table
    assert total <= CHARACTERS, f"{total}\n{table}"


async def _spends_the_day(player: Player, m: Mandated) -> None:
    """In steps, one of which asks the owner; refused above a cap, above the day, and elsewhere."""
    assert (await player.enter("in-1", "60"))["outcome"] == "landed"
    assert (await player.enter("in-1", "60"))["outcome"] == "landed"
    assert (await player.enter("in-2", "101"))["error"] == "over_per_tx_cap"
    foreign = {"target": "0x" + "11" * 20, "data": "0x6e553f65", "approve_amount": "1"}
    assert (await player.act("in-3", kind="call", **foreign))["error"] == "target_not_allowed"
    held = await player.enter("in-4", "80")
    assert (held["outcome"], held["next"][0]["tool"]) == ("held", "mandate_approvals")
    item = held["approval"]["approval_id"]
    decided = await m.as_owner("owner_approval_decide", approval_id=item, decision="approve")
    assert decided.status == 200
    assert (await player.enter("in-4", "80"))["outcome"] == "landed"
    assert (await player.enter("in-5", "50"))["outcome"] == "landed"
    refused = await player.enter("in-6", "61")
    assert (refused["error"], refused["remaining"]["value"]) == ("over_daily_cap", "60.000000")


async def _meets_the_owner_and_a_lost_answer(player: Player, m: Mandated) -> None:
    """Paused, and resumed; an act whose answer is lost is asked by its key and done once."""
    await paused(m, "pause")
    assert (await player.enter("in-7", "20"))["error"] == "mandate_paused"
    await paused(m, "resume")
    await player.enter("in-8", "20", heard=False)
    found = await player.call("mandate_reconcile", public_id=m.id, idempotency_key="in-8")
    assert (found["outcome"], found["retry_safe"]) == ("landed", False)
    assert (await player.enter("in-8", "20"))["tx_hash"] == found["tx_hash"]
    limits = await player.call("mandate_limits", public_id=m.id)
    assert limits["limits"]["used"]["per_day"]["value"] == "210.000000"
