"""A process that speaks MCP on stdio reaches the venue."""

from __future__ import annotations

import pytest

from devtools.devvenue import DevVenue, serve
from domain.trading.venue_account import milliseconds
from server.settings import Settings
from server.system import SystemClock
from server.wiring import build_runtime
from tests.world import BY_NAME
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS


@pytest.mark.anyio
async def test_an_agent_over_stdio_reads_the_products(sqlite_url: str) -> None:
    clock = SystemClock()
    runner, address = await serve(DevVenue(lambda: milliseconds(clock.now()), mainnet=True))
    settings = Settings(
        database_url=sqlite_url, venue_mainnet_url=address, venue_testnet_url=address
    )
    try:
        async with build_runtime(settings) as parts:
            deps = parts.deps
            reply = await run(BY_NAME["trade_products"], deps, ANONYMOUS, {}, transport="mcp")
            assert reply.status == 200
            assert reply.body["products"]
            assert deps.venues is not None
            assert deps.venues.unknown_counts() == {}
    finally:
        await runner.cleanup()
