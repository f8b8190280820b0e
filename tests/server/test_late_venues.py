"""A process that speaks MCP on stdio reaches the venue, and loads nothing for it before it is asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from devtools.devvenue import DevVenue, serve
from domain.trading.venue_account import milliseconds
from server.settings import Settings
from server.system import SystemClock
from server.wiring import build_runtime
from tests.waiting import STUCK_S
from tests.world import BY_NAME
from tools.dispatch.run import run
from tools.model.operation import ANONYMOUS

LOADED = "import sys, server.runtime.stdio; print([m for m in ('msgpack', 'aiohttp', 'venue.networks') if m in sys.modules])"


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


@pytest.mark.slow
def test_nothing_of_the_venue_is_loaded_before_it_is_asked() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=STUCK_S, check=True
    )
    assert "venue.networks" not in done.stdout
