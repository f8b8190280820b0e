"""`mandate_pay` over HTTP and over MCP: an official client pays, and what is too large is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.surfaces.conftest import Service, running
from tests.tools.paying import PAYEE, balance, paying, required, settled
from tests.waiting import STUCK_S
from tests.world import Evm, Mandated

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
async def paid(database_url: str, evm: Evm) -> AsyncIterator[tuple[Service, Mandated, str]]:
    async with running(database_url, evm, purses=True) as service:
        m = await paying(service.world)
        key = await service.world.ok("owner_agent_key_add", m.owner, agent_id=m.agent.user_id)
        yield service, m, key["key"]


async def test_an_official_client_pays_over_mcp(paid: tuple[Service, Mandated, str]) -> None:
    service, m, key = paid
    asked = {"public_id": m.id, "payment_required": required(service.world, "0.25")}
    asked |= {"max_amount": "0.25", "why": "data", "idempotency_key": "b-1"}
    headers = {"X-Service-User-Key": key, "X-Wallet-Toolsets": "pay"}
    with anyio.fail_after(STUCK_S):
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{service.base}/mcp", http_client=http)) as client,
        ):
            assert "mandate_pay" in {t.name for t in (await client.list_tools()).tools}
            made: Any = (await client.call_tool("mandate_pay", asked)).structured_content
            signature = m.agent_wallet.sign_typed(made["typed_data"])
            told: Any = (
                await client.call_tool("mandate_pay", asked | {"signature": signature})
            ).structured_content
            low: Any = await client.call_tool("mandate_pay", asked | {"max_amount": "0.2"})
    assert await settled(service.world, told["payment_payload"])
    assert str(balance(service.world, PAYEE)) == "0.250000"
    assert low.is_error
    assert low.structured_content["refusal"]["error"] == "idempotency_key_reused"


async def test_a_402_of_a_megabyte_is_refused_before_it_is_read(
    paid: tuple[Service, Mandated, str],
) -> None:
    service, m, key = paid
    asked = required(service.world, "0.25") | {"extensions": {"x": "y" * 1_000_000}}
    body = json.dumps({"payment_required": asked, "max_amount": "1", "why": "data"})
    headers = {"X-Service-User-Key": key, "content-type": "application/json"}
    async with httpx2.AsyncClient(headers=headers) as http:
        told = await http.post(f"{service.base}/wallet/mandates/{m.id}/pay", content=body)
    assert (told.status_code, told.json()["error"]) == (413, "body_too_large")
    page = await service.world.store.read(lambda uow: uow.bills.page(m.id, after=None, limit=5))
    assert page == []
