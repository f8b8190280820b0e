"""Two server processes on one database: every limit holds for both together, and races have one outcome."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import anyio
import pytest
from aiohttp import ClientSession, TCPConnector

from tests.ports import free_port
from tests.waiting import PATIENTLY, STUCK_S, Heard
from tests.world import CHAIN_ID, Evm, Mandated, World, a_world, drafted, working
from tools.context.credentials import hashed
from tools.model.operation import Caller

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
Answer = tuple[int, dict[str, Any]]


@dataclass
class Pair:
    """The same service twice, and clients that take turns between the two."""

    world: World
    bases: list[str]
    http: ClientSession
    processes: list[subprocess.Popen[str]]

    async def key_of(self, agent: Caller) -> dict[str, str]:
        key = self.world.deps.ids.token("ak_")
        at, name = self.world.clock.now(), self.world.deps.ids.short("k_")
        await self.world.store.write(
            lambda uow: uow.identities.add_key(name, agent.user_id or "", hashed(key), at)
        )
        return {"X-Service-User-Key": key}

    async def session_of(self, owner: Caller) -> dict[str, str]:
        token, at = self.world.deps.ids.token("ws_"), datetime.now(UTC)
        until = at + timedelta(hours=12)
        await self.world.store.write(
            lambda uow: uow.identities.add_session(
                hashed(token), owner.user_id or "", at, until, until
            )
        )
        return {"Authorization": f"Bearer {token}"}

    async def together(self, calls: list[tuple[str, str, dict[str, Any]]]) -> list[Answer]:
        """(method, path, request) all at once, every other one to the other process."""
        answers: list[Answer] = []

        async def one(base: str, method: str, path: str, told: dict[str, Any]) -> None:
            async with self.http.request(method, base + path, **told) as r:
                answers.append((r.status, await r.json()))

        async with anyio.create_task_group() as group:
            for base, call in zip(cycle(self.bases), calls, strict=False):
                group.start_soon(one, base, *call)
        return answers


def _served(url: str, evm: Evm, more: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
    port = free_port()
    chain = f"WALLET_CHAINS__{CHAIN_ID}__"
    env = PATIENTLY | {
        "PATH": os.defpath, "PYTHONPATH": str(ROOT), "WALLET_DATABASE_URL": url, "WALLET_DOOR": "on", "WALLET_LOG_LEVEL": "WARNING",
        "WALLET_BASE_URL": f"http://127.0.0.1:{port}", "WALLET_DEFAULT_CHAIN_ID": str(CHAIN_ID), f"{chain}RPC_URL": evm.url,
        f"{chain}USDC": evm.usdc, f"{chain}FACTORY": evm.factory, f"{chain}LENS": evm.lens, f"{chain}CONFIRMATIONS": "0",
    } | more  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "serve", "--port", str(port)],
        env=env,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, f"http://127.0.0.1:{port}"


@asynccontextmanager
async def pair(url: str, evm: Evm, **more: str) -> AsyncIterator[Pair]:
    """Both serve; `more` are settings of theirs."""
    async with a_world(url, evm) as world:
        # The two servers live by the machine's clock.
        evm.clock.at = max(evm.clock.at, datetime.now(UTC))
        started = [_served(url, evm, more) for _ in range(2)]
        heard = [Heard(process) for process, _ in started]
        try:
            for one in heard:
                await anyio.to_thread.run_sync(one.until, "serving on")
            async with ClientSession(connector=TCPConnector(limit=100)) as http:
                yield Pair(world, [base for _, base in started], http, [p for p, _ in started])
        finally:
            for process, _ in started:
                process.terminate()
            for process, _ in started:
                process.wait(STUCK_S)


async def _verified(url: str) -> int:
    """What `wallet db verify` says of the database."""
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "WALLET_DATABASE_URL": url}
    done = await anyio.run_process(
        [sys.executable, "-m", "server", "db", "verify"], env=env, cwd=ROOT, check=False
    )
    return done.returncode


def _codes(answers: list[Answer]) -> Counter[tuple[int, str | None]]:
    return Counter((status, body.get("error")) for status, body in answers)


async def test_the_limits_and_the_races_of_one_mandate_hold_over_two_servers(
    processes_url: str, evm: Evm
) -> None:
    async with pair(processes_url, evm) as two:
        await limits_hold(two)
        await races_have_one_outcome(two)
    assert await _verified(processes_url) == 0


async def limits_hold(two: Pair) -> None:
    m = await working(two.world, per_tx_cap_usdc="30", daily_cap_usdc="100")
    agent, owner = await two.key_of(m.agent), await two.session_of(m.owner)
    path = f"/wallet/mandates/{m.id}"

    same = {
        "headers": agent | {"Idempotency-Key": "same"},
        "json": {"kind": "note", "payload": {"text": "once"}},
    }
    answers = await two.together([("POST", path + "/events", same)] * 32)
    assert _codes(answers) == {(201, None): 32}
    assert len({a["event"]["event_id"] for _, a in answers}) == 1

    answers = await two.together(
        [("GET", path + "/execute-call", _action(m, f"9.{n:06d}", agent)) for n in range(50)]
    )
    assert _codes(answers) == {(200, None): 11, (409, "over_daily_cap"): 39}

    told = {"headers": agent, "json": {"reason": "server_guard"}}
    answers = await two.together([("POST", path + "/refusals", told)] * 70)
    assert _codes(answers) == {(201, None): 60, (429, "rate_limited"): 10}

    async with two.http.get(two.bases[0] + path, headers=owner) as r:
        read = await r.json()
    # 9 + 9.000001 + … is all that eleven of them may come to.
    assert 99 < float(read["limits"]["used"]["per_day"]["reserved"]) <= 100


async def races_have_one_outcome(two: Pair) -> None:
    m = await working(two.world, approval_above_usdc="1")
    agent, owner = await two.key_of(m.agent), await two.session_of(m.owner)
    path = f"/wallet/mandates/{m.id}"
    answers = await two.together(
        [("GET", path + "/execute-call", _action(m, f"2.{n:06d}", agent)) for n in range(25)]
    )
    assert _codes(answers) == {(202, None): 10, (429, "rate_limited"): 15}

    for item in [a["approval"]["approval_id"] for status, a in answers if status == 202]:
        decisions = [
            {"headers": owner, "json": {"decision": what}}
            for what in ("approve", "decline", "approve", "decline")
        ]
        decided = await two.together([("POST", f"{path}/approvals/{item}", d) for d in decisions])
        assert _codes(decided) == {(200, None): 2, (409, "conflict"): 2}
        assert len({a["approval"]["status"] for status, a in decided if status == 200}) == 1

    offer = await drafted(two.world, agent_id=None, open_board=True)
    rivals = [await two.key_of(a) for a in (offer.agent, (await two.world.agent(offer.owner))[0])]
    answers = await two.together(
        [
            ("POST", f"/wallet/mandates/{offer.id}/accept", {"headers": r, "json": {}})
            for r in rivals
        ]
    )
    assert _codes(answers) == {(200, None): 1, (409, "conflict"): 1}


def _action(m: Mandated, amount: str, headers: dict[str, str]) -> dict[str, Any]:
    world = m.world
    query = {
        "target": world.evm.market,
        "data": world.deposit_data(m.vault, amount),
        "approve_amount": amount,
    }
    return {"headers": headers, "params": query}
