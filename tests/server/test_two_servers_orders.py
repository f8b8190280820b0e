"""Two server processes on one database: what may be ordered a day is taken once, by whichever is first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession, TCPConnector

from tests.ports import free_port
from tests.tools.trading.conftest import Desk, a_desk
from tests.tools.trading.orders import Trader, day_use, trader
from tests.waiting import PATIENTLY, STUCK_S, Heard
from tests.world import Clock
from tools.context.credentials import hashed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
TOKEN = "ws_" + "t" * 43
CAP = 6
A_MINUTE = 10  # what the throttle of one process lets through
ORDER = {
    "product": "BTC", "side": "buy", "type": "limit", "limit_px": "50000", "size": "0.0004",
    "mode_seen": "live",
}  # fmt: skip


class Now(Clock):
    """The machine's clock, by which the two servers live."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def _served(url: str, ingest_context: Desk, t: Trader) -> tuple[subprocess.Popen[str], str]:
    port = free_port()
    env = PATIENTLY | {
        "PATH": os.defpath, "PYTHONPATH": str(ROOT), "WALLET_DATABASE_URL": url,
        "WALLET_LOG_LEVEL": "WARNING", "WALLET_BASE_URL": f"http://127.0.0.1:{port}",
        "WALLET_VENUE_MAINNET_URL": ingest_context.urls[0], "WALLET_VENUE_TESTNET_URL": ingest_context.urls[1],
        "WALLET_LIVE_TERMINAL": "on", "WALLET_TRADE_ALLOWLIST": t.person.wallet.address,
        "WALLET_ORDER_CAP_PER_DAY_USDC": str(CAP * 20),
    }  # fmt: skip
    command = [sys.executable, "-m", "server", "serve", "--port", str(port)]
    process = subprocess.Popen(command, env=env, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    return process, f"http://127.0.0.1:{port}"


@asynccontextmanager
async def two(url: str, desk: Desk, t: Trader) -> AsyncIterator[list[str]]:
    started = [_served(url, desk, t) for _ in range(2)]
    heard = [Heard(process) for process, _ in started]
    try:
        for one in heard:
            await anyio.to_thread.run_sync(one.until, "serving on")
        yield [base for _, base in started]
    finally:
        for process, _ in started:
            process.terminate()
        for process, _ in started:
            process.wait(STUCK_S)


async def test_abuse_24_fifty_parallel_orders_over_two_processes_end_exactly_at_the_cap(
    processes_url: str,
) -> None:
    """Orders of 20 USDC against a day of six of them; what the throttle lets through races."""
    async with a_desk(processes_url, clock=Now()) as desk:
        t = await trader(desk)
        user, now = str(t.caller.user_id), desk.clock.now()
        until = now + timedelta(hours=1)
        await desk.store.write(
            lambda uow: uow.identities.add_session(hashed(TOKEN), user, now, until, until)
        )
        found: list[str] = []
        async with two(processes_url, desk, t) as bases, anyio.create_task_group() as group:
            http = ClientSession(
                connector=TCPConnector(limit=100), headers={"Authorization": f"Bearer {TOKEN}"}
            )

            async def one(base: str) -> None:
                async with http.post(base + "/wallet/order", json=ORDER) as answer:
                    told: dict[str, Any] = await answer.json()
                    found.append(str(told.get("error", answer.status)))

            async with http, anyio.create_task_group() as calls:
                for _, base in zip(range(50), cycle(bases), strict=False):
                    calls.start_soon(one, base)
            group.cancel_scope.cancel()
        assert Counter(found) == {
            "201": CAP,
            "wallet_over_cap": 2 * A_MINUTE - CAP,
            "wallet_rate_limited": 50 - 2 * A_MINUTE,
        }
        assert set((await day_use(desk)).values()) == {(0, CAP * 20_000_000)}
