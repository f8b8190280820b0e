"""A real server that is killed between a ledger row and its delivery: after its restart the notice
comes, at least once, under one id, and is then at rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import web

from chain.adapter import ChainConfig
from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.settings import Config
from server.system import SystemClock, SystemIds
from storage.store import Store, open_store
from tests.databases import PATIENT
from tests.ports import free_port
from tests.server.test_notices import OWNER, Receiver, deliveries, hooked, receiving
from tests.server.test_process import WALLET, environment
from tests.waiting import STUCK_S, Heard
from tests.world import CHAIN_ID
from tools.model.operation import Deps
from tools.model.webhook_signing import WebhookSigning

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("sqlite_url")]
KEY = "k" * 32


@contextmanager
def serving(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The server as an operator runs it, killed at the end."""
    port = free_port()
    env = environment(folder, WALLET_WEBHOOK_KEY=KEY, WALLET_WEBHOOK_ALLOW_PRIVATE="on",
                      WALLET_BASE_URL=f"http://127.0.0.1:{port}")  # fmt: skip
    process = subprocess.Popen(
        [*WALLET, "serve", "--port", str(port)], env=env, cwd=folder, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    heard = Heard(process)
    try:
        heard.until("serving on")
        yield process
    finally:
        killed(process)
        heard.whole()


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


@dataclass
class Kept:
    """The database beside the server, and an owner's webhook in it."""

    deps: Deps
    hook: dict[str, Any]

    @property
    def store(self) -> Store:
        return self.deps.store

    async def pauses(self) -> None:
        """The chain's reader has found that the owner paused."""
        row = NewEvent(kind=LedgerKind.NOTE, reported_by=Reporter.CHAIN, occurred_at=datetime.now(UTC), amount_usdc=None,
                       chain_id=CHAIN_ID, payload={"control": {"what": "paused"}})  # fmt: skip
        await self.store.write(
            lambda uow: uow.ledger.append("m_aaaaaaaaaa", row, event_id="ev_aaaaaaaaaa", now=row.occurred_at)
        )  # fmt: skip

    async def has_read(self) -> None:
        """Wait until the server has found its place in the record."""
        await until(lambda: self.store.read(lambda uow: uow.webhooks.read_upto() is not None))

    def later(self) -> None:
        """A minute passes: what a dead process had claimed is free again."""
        with contextlib.closing(
            sqlite3.connect(self.store.url.removeprefix("sqlite:///"))
        ) as there:
            there.execute("UPDATE webhooks SET busy_until = busy_until - 60000000")
            there.execute("UPDATE work_claims SET until_at = until_at - 60000000")
            there.commit()

    async def at_rest(self) -> None:
        """Wait until nothing is left to deliver."""

        async def ended() -> bool:
            told = await deliveries(self.deps, self.hook)
            return bool(told) and all(d["status"] == "delivered" for d in told)

        await until(ended)


async def until(holds: Callable[[], Any]) -> None:
    with anyio.fail_after(STUCK_S):
        while not await holds():
            await anyio.sleep(0.05)


@asynccontextmanager
async def kept(folder: Path, url: str) -> AsyncIterator[Kept]:
    database = f"sqlite:///{folder / 'wallet.sqlite'}"
    store = await open_store(database, PATIENT)
    chains, clock = EvmChains([ChainConfig(CHAIN_ID)]), SystemClock()
    deps = Deps(store, chains, clock, SystemIds(), Config(webhook_allow_private=True), SiweSignIn(),
                webhooks=WebhookSigning(KEY.encode()))  # fmt: skip
    hook = await hooked(deps, url)
    m = Mandate(
        public_id="m_aaaaaaaaaa", owner_id="u_owner", owner_address=OWNER.address or "", budget_usdc=Usdc.parse("500"),
        per_tx_cap_usdc=Usdc.parse("100"), daily_cap_usdc=Usdc.parse("100"), horizon_days=30, stop_floor_bps=2000,
        created_at=clock.now(), status=Status.WORKING,
    )  # fmt: skip
    await store.write(lambda uow: uow.mandates.add(m))
    try:
        yield Kept(deps, hook)
    finally:
        await chains.close()
        await store.close()


async def came(receiver: Receiver, times: int) -> None:
    with anyio.fail_after(STUCK_S):
        while len(receiver.got) < times:
            await anyio.sleep(0.02)


def ids(receiver: Receiver) -> list[str]:
    return [headers["webhook-id"] for headers, _ in receiver.got]


async def test_a_row_whose_server_was_killed_before_it_read_it_is_told_once(
    tmp_path: Path,
) -> None:
    async with receiving(lambda _: 204) as receiver, kept(tmp_path, receiver.url) as there:
        with serving(tmp_path) as process:
            await there.has_read()
            os.kill(process.pid, signal.SIGSTOP)  # it reads nothing from here on
            await there.pauses()
            killed(process)
        assert receiver.got == []
        there.later()
        with serving(tmp_path):
            await came(receiver, 1)
            await there.at_rest()
        assert json.loads(receiver.got[0][1])["type"] == "mandate.paused"
        assert len(receiver.got) == 1


async def test_a_delivery_whose_server_was_killed_in_the_middle_comes_again_under_its_id(
    tmp_path: Path,
) -> None:
    hangs = anyio.Event()

    async def first_hangs() -> web.Response:
        if not hangs.is_set():
            hangs.set()
            await anyio.sleep_forever()
        return web.Response(status=204)

    with contextlib.suppress(anyio.get_cancelled_exc_class()):
        async with receiving(lambda _: first_hangs()) as receiver, kept(tmp_path, receiver.url) as there:  # fmt: skip
            with serving(tmp_path) as process:
                await there.has_read()
                await there.pauses()
                await came(receiver, 1)  # called, and not answered
                killed(process)
            there.later()
            with serving(tmp_path):
                await came(receiver, 2)
                await there.at_rest()
            assert len(set(ids(receiver))) == 1
            assert len(receiver.got) == 2
