"""The service under test: its processes, on one database, and what callers need to use it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import ClientError, ClientSession

from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from storage.repositories.identities import Agent
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests.ports import free_port
from tests.server.test_process import WALLET, environment
from tests.waiting import STUCK_S, starved_s
from tools.agents.transfer_reports import WAITING_AN_AGENT
from tools.context.credentials import hashed

KEY = "ak_" + "c" * 43
AGENT, OWNER = "u_campaignaa", "u_campaignbb"
MANDATES = tuple(f"m_campaign{a}{b}" for a in "ab" for b in "ab")
ROOT = Path(__file__).parents[2]


def seeded(seed: object) -> random.Random:
    """What decides a play: the same seed, the same play."""
    return random.Random(str(seed))  # noqa: S311 - nothing secret comes of it


async def fill(url: str) -> None:
    """One agent with its key, and mandates that it works on."""
    now = datetime.now(UTC)
    agent = Agent(AGENT, OWNER, "Campaign", "0x" + "11" * 20, now)

    def work(uow: UnitOfWork) -> None:
        uow.identities.person("0x" + "22" * 20, new_id=OWNER, now=now)
        uow.identities.add_agent(agent)
        uow.identities.add_key("k_campaign", AGENT, hashed(KEY), now)
        for public_id in MANDATES:
            uow.mandates.add(mandate(public_id, now))

    store = await open_store(url)
    await store.write(work)
    await store.close()


def mandate(public_id: str, now: datetime) -> Mandate:
    """A working mandate; its caps are never reached."""
    return Mandate(
        public_id, OWNER, "0x" + "22" * 20, Usdc.parse("1000000"), 30, 2000, now, agent_id=AGENT, agent_address="0x" + "11" * 20,
        per_tx_cap_usdc=Usdc.parse("100000"), daily_cap_usdc=Usdc.parse("1000000"), status=Status.WORKING, signed_at=now,
        accepted_at=now, ends_at=now + timedelta(days=30),
    )  # fmt: skip


@dataclass
class Server:
    """One process; its port stays the same over restarts."""

    house: House
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start, and wait until it answers."""
        with self.house.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.campaign.server", "serve", *self.house.arguments, "--port", str(self.port)],
                env=self.house.environment(), cwd=self.house.folder, stdout=log, stderr=log,
            )  # fmt: skip
        async with ClientSession() as http, asyncio.timeout(STUCK_S):
            while True:
                assert self.process.poll() is None, (
                    "it ended at its start: " + self.house.last_lines()
                )
                try:
                    async with http.get(self.base + "/healthz") as r:
                        if r.status == 200:
                            return
                except (ClientError, OSError):
                    await asyncio.sleep(0.05)

    def kill(self) -> None:
        """End it at once."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    async def terminate(self) -> tuple[int, float]:
        """Ask it to end; its exit code, and the seconds it took that were not the machine's doing."""
        assert self.process is not None
        started, ours, theirs = time.monotonic(), starved_s(), starved_s(self.process.pid)
        self.process.send_signal(signal.SIGTERM)
        waited = 0.0
        async with asyncio.timeout(STUCK_S):
            while (code := self.process.poll()) is None:
                waited = max(waited, starved_s(self.process.pid) - theirs)
                await asyncio.sleep(0.01)
        return code, time.monotonic() - started - waited - (starved_s() - ours)


@dataclass
class House:
    """Everything of one play. `url` is where the servers find the database, `own_url` where the audit does."""

    folder: Path
    url: str
    own_url: str
    more: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ("--no-keeper",)
    servers: list[Server] = field(default_factory=list)
    offsets: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0)])
    # No chain answers, and so many reports of an agent may wait for one at once, over all acts.
    transfers_left: int = WAITING_AN_AGENT // 2

    @property
    def log(self) -> Path:
        return self.folder / "servers.log"

    @property
    def _clock(self) -> Path:
        return self.folder / "clock"

    def push_clock(self, seconds: float) -> None:
        """Let the servers' clock be this far off the machine's, from now on."""
        self.offsets.append((time.time(), seconds))
        new = self._clock.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self._clock)

    def environment(self) -> dict[str, str]:
        return environment(
            self.folder, WALLET_DATABASE_URL=self.url, CAMPAIGN_CLOCK=str(self._clock), PYTHONPATH=str(ROOT), WALLET_RATE_WRITES="0",
            WALLET_RATE_READS="0", WALLET_DATABASE_WAIT_MS="2000", WALLET_DATABASE_STATEMENT_MS="4000", WALLET_BASE_URL="http://127.0.0.1",
        ) | self.more  # fmt: skip

    def last_lines(self) -> str:
        return self.log.read_text(errors="replace")[-3_000:] if self.log.exists() else ""

    def wallet(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One of the operator's commands."""
        env = self.environment() | {"WALLET_DATABASE_URL": self.own_url, "PATH": os.defpath}
        return subprocess.run(
            [*WALLET, *arguments], env=env, cwd=self.folder, capture_output=True, text=True, timeout=STUCK_S, check=False
        )  # fmt: skip


@asynccontextmanager
async def housed(house: House, servers: int) -> AsyncIterator[House]:
    """Fill the database, and run some servers on it."""
    await fill(house.own_url)
    house.push_clock(0)
    house.servers = [Server(house, free_port()) for _ in range(servers)]
    try:
        await asyncio.gather(*(server.start() for server in house.servers))
        yield house
    finally:
        for server in house.servers:
            if server.process is not None and server.process.poll() is None:
                server.process.send_signal(signal.SIGCONT)
                server.kill()
