"""The same scenario over HTTP and over MCP, on every transport, in both protocol eras."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.surfaces.conftest import Door, Service, opened
from tests.surfaces.small import modern
from tools.model.toolsets import HEADER as SETS

pytestmark = pytest.mark.anyio


@pytest.mark.slow
async def test_an_agent_acts_reports_and_is_refused_the_same_way_everywhere(door: Door) -> None:
    m = door.service.mandate
    market, world = m.world.evm.market, m.world
    status, me = await door.call("agents_me")
    assert (status, me["agent_id"]) == (200, m.agent.user_id)

    async def deposit(amount: str) -> tuple[int, dict[str, Any]]:
        data = world.deposit_data(m.vault, amount)
        call = {"target": market, "data": data, "approve_amount": amount}
        return await door.call("mandate_execute_call", public_id=m.id, **call)

    async def buy(amount: str, **more: Any) -> tuple[int, dict[str, Any]]:
        report = {"public_id": m.id, "kind": "buy", "amount_usdc": amount}
        return await door.call("mandate_report_event", **report, **more)

    status, told = await deposit("10")
    assert (status, told["to"], told["from"]) == (200, m.vault, m.agent_wallet.address)
    status, block = await deposit("101")
    assert (status, block["error"], block["who_fixes"]) == (409, "over_per_tx_cap", "agent")
    assert block["remaining"]["value"] == "100.000000"
    first = await buy("10", key="one")
    assert (first[0], door.replayed) == (201, False)
    assert (await buy("10", key="one"), door.replayed) == (first, True)
    status, flagged = await buy("101", key="two")
    assert (status, flagged["violation"]) == (202, True)
    assert "over_per_tx_cap" in flagged["event"]["payload"]["violation"]["codes"]
    status, block = await door.call("mandate_get", public_id="m_zzzzzzzzzz")
    assert (status, block["error"]) == (404, "not_found")
    for written in ("1.0000001", "1.", ".5", " 1 ", "1.0000000", "+1", "01"):
        status, block = await buy(written)
        assert (status, block["error"]) == (400, "invalid_number"), written
    status, block = await buy("1", surprise=1)
    assert (status, block["error"]) == (400, "invalid_request")


READS: list[tuple[str, dict[str, Any]]] = [
    ("agents_me", {}), ("markets_list", {}), ("mandate_list", {}), ("mandate_get", {"public_id": "M", "parts": "progress,limits,events,steps"}),
    ("mandate_events", {"public_id": "M", "limit": 2}), ("mandate_steps", {"public_id": "M"}), ("mandate_approvals", {"public_id": "M"}),
    ("agent_policy", {"agent_id": "A"}), ("agent_balances", {"agent_id": "A"}), ("agent_offers", {"agent_id": "A"}),
    ("mandate_reconcile", {"public_id": "M", "tx_hash": "0x" + "00" * 32}), ("mandate_get", {"public_id": "m_aaaaaaaaaa"}),
    ("mandate_reconcile", {"public_id": "M", "idempotency_key": "one"}),
]  # fmt: skip


async def test_every_read_is_equal_over_mcp_and_http_and_fits_its_schema(service: Service) -> None:
    names = {"M": service.mandate.id, "A": service.mandate.agent.user_id}
    async with opened("http", service) as http, opened("streamable-2026", service) as mcp:
        assert mcp.client is not None
        tools = {t.name: t for t in (await mcp.client.list_tools()).tools}
        for name, raw in READS:
            arguments = {k: names.get(v, v) if isinstance(v, str) else v for k, v in raw.items()}
            assert await http.call(name, **arguments) == await mcp.call(name, **arguments), name
            result = await mcp.client.call_tool(name, arguments)
            assert tools[name].output_schema is not None
            jsonschema.validate(result.structured_content, tools[name].output_schema)


async def test_the_switch_acts_on_the_next_request(service: Service) -> None:
    world = service.world
    async with opened("streamable-2025", service) as door:
        assert door.client is not None
        listed = {t.name for t in (await door.client.list_tools()).tools}
        assert "mandate_get" in listed
        await world.store.write(
            lambda uow: uow.switches.set("door", "off", world.clock.now(), "test")
        )
        listed = {t.name for t in (await door.client.list_tools()).tools}
        assert not any(n.startswith("mandate_") for n in listed)
        assert "agents_me" in listed
        status, block = await door.call("mandate_get", public_id=service.mandate.id)
        assert (status, block["error"]) == (404, "door_off")
    async with opened("http", service) as http:
        assert (await http.call("mandate_get", public_id=service.mandate.id))[0] == 200


async def test_a_read_only_header_hides_writes(service: Service) -> None:
    headers = {"X-Service-User-Key": service.key, "X-Wallet-Readonly": "1"}
    async with (
        create_mcp_http_client(headers=headers) as inner,
        Client(streamable_http_client(service.base + "/mcp", http_client=inner)) as client,
    ):
        assert all(
            t.annotations and t.annotations.read_only_hint
            for t in (await client.list_tools()).tools
        )
        result = await client.call_tool("mandate_accept", {"public_id": service.mandate.id})
        assert (result.structured_content or {})["refusal"]["error"] == "forbidden"


CORE_SEEN = {"mandate_get", "mandate_reconcile", "agents_me"}


@pytest.mark.parametrize(
    ("path", "header", "seen", "unseen"),
    [
        ("/mcp", None, CORE_SEEN, {"order_prepare", "mandate_steps", "hall_list"}),
        ("/mcp", "trading, public", {"order_prepare", "hall_list"}, {"mandate_get"}),
        ("/mcp", "ALL", CORE_SEEN | {"order_prepare", "mandate_steps"}, set()),
        ("/mcp/x/core,trading", None, CORE_SEEN | {"order_prepare"}, {"hall_list"}),
        ("/mcp/x/propose", "core", {"mandate_propose"}, {"mandate_get"}),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_sees_the_sets_that_it_asks_for_and_may_call_any_tool(
    service: Service, path: str, header: str | None, seen: set[str], unseen: set[str], mode: str
) -> None:
    headers = {"X-Service-User-Key": service.key} | ({} if header is None else {SETS: header})
    async with (
        create_mcp_http_client(headers=headers) as inner,
        Client(streamable_http_client(service.base + path, http_client=inner), mode=mode) as client,
    ):
        listed = {t.name for t in (await client.list_tools()).tools}
        assert seen <= listed
        assert not unseen & listed
        told = await client.call_tool("mandate_steps", {"public_id": service.mandate.id})
        assert "items" in (told.structured_content or {})


@pytest.mark.parametrize(("sets", "more"), [("core", 2), ("core,trading,public", 0)])
async def test_the_official_client_lists_anew_for_each_call_of_a_tool_that_no_list_shows(
    service: Service, monkeypatch: pytest.MonkeyPatch, sets: str, more: int
) -> None:
    """It looks for the schema of the answer; a host that names the set is spared that."""
    headers = {"X-Service-User-Key": service.key, SETS: sets}
    async with (
        create_mcp_http_client(headers=headers) as inner,
        Client(streamable_http_client(service.base + "/mcp", http_client=inner)) as client,
    ):
        await client.list_tools()
        lists, ask = list[int](), client.session.list_tools

        async def counted(**named: Any) -> Any:
            lists.append(1)
            return await ask(**named)

        monkeypatch.setattr(client.session, "list_tools", counted)
        for _ in range(2):
            assert not (await client.call_tool("hall_list", {})).is_error
        assert len(lists) == more


async def test_a_set_that_there_is_not_is_refused_where_the_list_is_asked(service: Service) -> None:
    for path, header in (("/mcp", "core,nothing"), ("/mcp/x/nothing", "core")):
        asked = modern("tools/list")
        headers = asked.pop("headers") | {SETS: header}
        told = await service.post(path, service.key, headers=headers, **asked)
        error = told.body["error"]
        assert error["data"]["refusal"]["detail"]["fields"][0]["loc"] == "toolsets"


async def test_no_key_and_a_wrong_key_are_refusals(service: Service) -> None:
    for key, name in (("", "agents_me"), ("ak_wrong", "agents_me"), ("ak_wrong", "markets_list")):
        other = Service(service.base, service.world, service.mandate, key)
        async with opened("streamable-2026", other) as door:
            status, block = await door.call(name)
            assert (status, block["error"]) == (401, "unauthenticated")


@pytest.mark.parametrize("way", ["sse-2025", "streamable-2025", "streamable-2026"])
async def test_a_revoked_key_stops_at_once(service: Service, way: str) -> None:
    agent = service.mandate.agent.user_id or ""
    async with opened(way, service) as door:
        assert (await door.call("agents_me"))[0] == 200
        await service.world.store.write(
            lambda uow: uow.identities.revoke_key(agent, "k_test", service.world.clock.now())
        )
        assert (await door.call("agents_me"))[0] == 401
