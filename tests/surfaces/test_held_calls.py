"""A held call, as each client hears of it: plain, on a card, by an address to open, as a task."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import mcp.types as t
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from server.mcp_api.held_calls import APP_TYPE, APPS, CARD_META, CARD_URI, TASKS
from tests.surfaces.conftest import Service
from tests.surfaces.small import META, modern
from tests.world import Mandated, working
from tools.context.credentials import hashed

pytestmark = pytest.mark.anyio
OTHER = "ak_" + "o" * 43
WHY = "the market pays more today"


async def asking(service: Service) -> Mandated:
    """A mandate that asks above 10, whose agent has the service's key."""
    world = service.world
    m = await working(world, approval_above_usdc="10")
    agent_id = m.agent.user_id or ""
    await world.store.write(
        lambda uow: uow.identities.add_key("k_held", agent_id, hashed(OTHER), world.clock.now())
    )
    return m


def action(m: Mandated) -> dict[str, Any]:
    data = m.world.deposit_data(m.vault, "20")
    target = m.world.evm.market
    return {"public_id": m.id, "target": target, "data": data, "approve_amount": "20", "why": WHY}


async def decided(m: Mandated, item: str, decision: str) -> None:
    told = await m.as_owner("owner_approval_decide", approval_id=item, decision=decision)
    assert told.status == 200, told.body


async def asked(
    service: Service, method: str, capabilities: Mapping[str, Any], **params: Any
) -> dict[str, Any]:
    """One request of the newer era by a client that declares these capabilities."""
    sent = modern(method, **params)
    meta = META | {"io.modelcontextprotocol/clientCapabilities": dict(capabilities)}
    sent["json"]["params"]["_meta"] = meta
    body: dict[str, Any] = (await service.post("/mcp", OTHER, **sent)).body
    return body


async def called(service: Service, m: Mandated, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    told = await asked(
        service, "tools/call", capabilities, name="mandate_execute_call", arguments=action(m)
    )
    result: dict[str, Any] = told["result"]
    return result


def says_all(m: Mandated, body: Mapping[str, Any], base: str) -> str:
    """The plain answer has all that a card shows; the id of the item."""
    item = body["approval"]
    assert body["status"] == "pending_approval"
    page = f"{base}/app/mandates/{m.id}/approvals/{item['approval_id']}"
    assert body["approval_url"] == page
    assert body["expires_at"] == item["expires_at"]
    assert body["asked_by"] == {"agent_id": m.agent.user_id, "agent_name": "Scout"}
    assert (item["why"], item["approve_amount_usdc"]) == (WHY, "20.000000")
    assert item["target"]["address"].lower() == m.world.evm.market.lower()
    assert [step["tool"] for step in body["next"]] == ["mandate_approvals"]
    return str(item["approval_id"])


async def test_the_plain_answer_has_all_that_a_card_shows(service: Service) -> None:
    m = await asking(service)
    base = service.world.deps.config.base_url
    path = f"/wallet/mandates/{m.id}/execute-call"
    over_http = await service.get(
        path, OTHER, params={k: v for k, v in action(m).items() if k != "public_id"}
    )
    assert over_http.status == 202
    says_all(m, over_http.body, base)
    result = await called(service, m, {})
    assert result["structuredContent"] == over_http.body
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["resultType"] == "complete"


async def test_a_card_is_offered_to_whoever_shows_one(service: Service) -> None:
    shows = {"extensions": {APPS: {"mimeTypes": [APP_TYPE]}}}
    listed = (await asked(service, "tools/list", shows))["result"]["tools"]
    (tool,) = [tool for tool in listed if tool["name"] == "mandate_execute_call"]
    assert tool["_meta"]["ui"] == {"resourceUri": CARD_URI, "visibility": ["model"]}
    for other in ({}, {"extensions": {APPS: {"mimeTypes": ["text/html"]}}}):
        plain = (await asked(service, "tools/list", other))["result"]["tools"]
        assert not any("_meta" in tool for tool in plain)
        resources = (await asked(service, "resources/list", other))["result"]["resources"]
        assert CARD_URI not in [r["uri"] for r in resources]
    resources = (await asked(service, "resources/list", shows))["result"]["resources"]
    (entry,) = [r for r in resources if r["uri"] == CARD_URI]
    read = modern("resources/read", uri=CARD_URI)
    read["headers"] |= {"Mcp-Name": CARD_URI}
    (contents,) = (await service.post("/mcp", OTHER, **read)).body["result"]["contents"]
    assert entry["_meta"] == contents["_meta"] == CARD_META
    assert entry["mimeType"] == contents["mimeType"] == APP_TYPE
    assert "src=" not in contents["text"]
    assert "tools/call" not in contents["text"]


@asynccontextmanager
async def opening(
    service: Service, opened: list[t.ElicitRequestURLParams], key: str = OTHER
) -> AsyncIterator[Client]:
    """The official client, which opens addresses."""

    async def opens(ctx: Any, params: Any) -> t.ElicitResult:
        opened.append(params)
        return t.ElicitResult(action="accept")

    async with (
        create_mcp_http_client(headers={"X-Service-User-Key": key}) as inner,
        Client(
            streamable_http_client(service.base + "/mcp", http_client=inner),
            elicitation_callback=opens,
        ) as client,
    ):
        yield client


async def test_a_client_that_opens_addresses_is_asked_once(service: Service) -> None:
    m, opened = await asking(service), list[t.ElicitRequestURLParams]()
    async with opening(service, opened) as client:
        told = await client.call_tool("mandate_execute_call", action(m))
        body = told.structured_content or {}
        item = says_all(m, body, service.world.deps.config.base_url)
        (params,) = opened
        assert (params.mode, params.url) == ("url", body["approval_url"])
        assert OTHER not in params.url
        await decided(m, item, "approve")
        told = await client.call_tool("mandate_execute_call", action(m))
        assert (told.structured_content or {})["approval_id"] == item
        assert len(opened) == 1


async def test_a_client_that_takes_forms_alone_is_answered_plainly(service: Service) -> None:
    m = await asking(service)
    result = await called(service, m, {"elicitation": {"form": {}}})
    assert result["structuredContent"]["status"] == "pending_approval"


FOLLOWS = {"extensions": {TASKS: {}}}


async def followed(
    service: Service, task_id: str, more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    told = await asked(service, "tasks/get", FOLLOWS | (more or {}), taskId=task_id)
    result: dict[str, Any] = told["result"]
    return result


async def test_a_task_is_the_held_call_until_its_calldata(service: Service) -> None:
    m = await asking(service)
    task = await called(service, m, FOLLOWS)
    assert (task["resultType"], task["status"]) == ("task", "working")
    assert (task["ttlMs"], task["pollIntervalMs"]) == (25 * 3_600_000, 5_000)
    waiting = await followed(service, task["taskId"])
    assert (waiting["resultType"], waiting["status"]) == ("complete", "working")
    opens = await followed(service, task["taskId"], {"elicitation": {"url": {}}})
    assert opens["status"] == "input_required"
    assert opens["inputRequests"]["approve"]["params"]["url"].endswith(task["taskId"])
    await decided(m, task["taskId"], "approve")
    done = await followed(service, task["taskId"])
    assert done["status"] == "completed"
    call = done["result"]["structuredContent"]
    assert call["approval_id"] == task["taskId"]
    ok, _ = await m.world.mined(m.agent_wallet, call)
    assert ok
    m.world.clock.forward(hours=1)
    again = await followed(service, task["taskId"])
    assert again["result"]["structuredContent"] == call


@pytest.mark.parametrize(
    ("decision", "error"), [("decline", "owner_declined"), (None, "approval_expired")]
)
async def test_a_task_that_no_owner_approved_ends_with_the_refusal(
    service: Service, decision: str | None, error: str
) -> None:
    m = await asking(service)
    task = await called(service, m, FOLLOWS)
    if decision:
        await decided(m, task["taskId"], decision)
    m.world.clock.forward(hours=25)
    for _ in range(2):
        done = await followed(service, task["taskId"])
        assert (done["status"], done["result"]["isError"]) == ("completed", True)
        assert done["result"]["structuredContent"]["refusal"]["error"] == error


async def test_a_task_of_another_agent_is_unknown(service: Service) -> None:
    m = await asking(service)
    task = await called(service, m, FOLLOWS)
    stranger = replace(service, key="")
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        for key, task_id in (
            (service.key, task["taskId"]),
            (OTHER, "ap_aaaaaaaaaa"),
            ("", task["taskId"]),
        ):
            sent = modern(method, taskId=task_id)
            told = (await stranger.post("/mcp", key or None, **sent)).body["error"]
            assert (told["code"], told["message"]) == (t.INVALID_PARAMS, "Unknown task")
    assert (await asked(service, "tasks/cancel", FOLLOWS, taskId=task["taskId"]))["result"]
    assert (await followed(service, task["taskId"]))["status"] == "working"
