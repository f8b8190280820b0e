"""A market is left by its name over every surface: by a query, by a JSON body, and by a tool."""

from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces.conftest import running
from tests.surfaces.small import modern
from tests.world import Evm, config_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize("name", ["execute-call", "unwind-call"])
async def test_a_query_a_body_and_a_tool_say_the_same(sqlite_url: str, evm: Evm, name: str) -> None:
    async with running(sqlite_url, evm, markets=config_of(evm).markets) as service:
        m, path = service.mandate, f"/wallet/mandates/{service.mandate.id}/{name}"
        told = await m.execute("40")
        await m.recorded(m.agent_wallet, told.body)
        if name == "unwind-call":
            stop: Any = (await m.as_owner("owner_stop_call")).body
            await m.recorded(m.owner_wallet, stop["call"])
        portion = {"market": "test-market", "share_bps": 2_500}
        by_body = await service.post(path, service.key, json=portion)
        assert (by_body.status, by_body.body["exit"]["value_est"]) == (200, "10.000000")
        by_query = await service.get(path, service.key, params=portion | {"share_bps": "2500"})
        assert by_query.body["exit"] == by_body.body["exit"]
        tool = f"mandate_{name.replace('-', '_')}"
        call = modern("tools/call", name=tool, arguments=portion | {"public_id": m.id})
        call["headers"] |= {"Mcp-Name": tool}
        result = (await service.post("/mcp", service.key, **call)).body["result"]
        assert result["structuredContent"]["exit"] == by_body.body["exit"]
        for wrong in ({"share_bps": 10_001}, {"amount_usdc": "1"}, {"data": "0x"}):
            refused = await service.post(path, service.key, json=portion | wrong)
            assert (refused.status, refused.body["error"]) == (400, "invalid_request"), wrong
        amount = {"market": "test-market", "amount_usdc": "40.000001"}
        over = await service.post(path, service.key, json=amount)
        assert (over.status, over.body["error"]) == (409, "would_revert")
