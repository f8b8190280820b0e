"""The official clients through a round-robin balancer before two processes on PostgreSQL: every call is answered."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from aiohttp import ClientSession

from storage.repositories.identities import Agent
from storage.store import open_store
from storage.unit_of_work import UnitOfWork
from tests import npm
from tests.balancer import Balancer, balancing
from tests.databases import PATIENT
from tests.ports import free_port
from tests.surfaces.small import ALICE, WAYS, by_key, connected
from tests.waiting import PATIENTLY, STUCK_S, Heard
from tests.world import START
from tools.context.credentials import hashed

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.pg]
ROOT: Final = Path(__file__).parents[2]
# The short form, within the whole suite, in which each process stops once; BALANCER_CALLS=500 is the long one.
CALLS: Final = int(os.environ.get("BALANCER_CALLS", "100"))
IS_LONG: Final = CALLS > 100
WHILE_ALL_RUN: Final = CALLS if IS_LONG else 40
# Between the calls of a client while processes stop and start, so that they last as long as that.
PAUSE_S: Final = 0.25
CLIENTS: Final = 2


@dataclass
class Pair:
    """Two processes on their ports, behind the balancer."""

    url: str
    ports: list[int]
    balancer: Balancer
    settings: Mapping[str, str] = field(default_factory=dict)
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    async def start(self, port: int) -> None:
        env = PATIENTLY | {
            "PATH": os.defpath, "PYTHONPATH": str(ROOT), "WALLET_DATABASE_URL": self.url, "WALLET_DOOR": "on",
            "WALLET_LOG_LEVEL": "WARNING", "WALLET_STATE_KEYS": "k" * 32, "WALLET_BASE_URL": self.balancer.base,
            **self.settings,
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--no-keeper", "--port", str(port)],
            env=env, cwd=ROOT, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.running[port] = process
        await anyio.to_thread.run_sync(Heard(process).until, "serving on")

    async def stop(self, port: int) -> None:
        process = self.running.pop(port)
        process.terminate()
        await anyio.to_thread.run_sync(process.wait, STUCK_S)


async def person(url: str) -> None:
    def add(uow: UnitOfWork) -> None:
        owner = uow.identities.person("0x" + "11" * 20, new_id="u_owner", now=START)
        uow.identities.add_agent(Agent("u_alice", owner.user_id, "alice", None, START))
        uow.identities.add_key("k_alice", "u_alice", hashed(ALICE), START)

    store = await open_store(url, PATIENT)
    try:
        await store.write(add)
    finally:
        await store.close()


@asynccontextmanager
async def pair(url: str, **settings: str) -> AsyncIterator[Pair]:
    await person(url)
    ports = [free_port(), free_port()]
    async with balancing(ports) as balancer:
        two = Pair(url, ports, balancer, settings)
        try:
            async with anyio.create_task_group() as group:
                for port in ports:
                    group.start_soon(two.start, port)
            yield two
        finally:
            for port in list(two.running):
                await two.stop(port)


@dataclass
class Tally:
    """Answers, and errors by what they say."""

    answered: int = 0
    errors: Counter[str] = field(default_factory=Counter)


class RetrySafe(Exception):
    """A refusal that says itself that the call may be repeated."""


async def call(client: Any) -> None:
    result = await client.call_tool("agents_me", {})
    refused = result.structured_content.get("refusal", {"retry_safe": False})
    if refused["retry_safe"]:
        raise RetrySafe(refused["error"])
    assert not result.is_error, result
    assert result.structured_content["agent_id"] == "u_alice"


async def calls(two: Pair, way: str, tally: Tally, times: int, pause_s: float = 0) -> None:
    """So many calls by one client, which connects anew where its connection broke."""
    done = 0
    while done < times:
        try:
            async with connected(way, two.balancer.base, by_key(ALICE)) as client:
                while done < times:
                    with anyio.fail_after(STUCK_S):
                        await call(client)
                    done += 1
                    tally.answered += 1
                    await anyio.sleep(pause_s)
        except AssertionError:
            raise
        except Exception as error:
            tally.errors[_cause(error)] += 1
            assert sum(tally.errors.values()) < max(50, CALLS), tally
            await anyio.sleep(0.1)


def _cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def python_calls(two: Pair, times: int, pause_s: float = 0) -> dict[str, Tally]:
    """So many calls by the official Python clients of each way, all at the same time."""
    tallies = {way: Tally() for way in WAYS}
    async with anyio.create_task_group() as group:
        for way, tally in tallies.items():
            for _ in range(CLIENTS):
                group.start_soon(calls, two, way, tally, times // CLIENTS, pause_s)
    return tallies


async def test_every_call_through_the_balancer_is_answered(pg_url: str) -> None:
    async with pair(pg_url) as two:
        answered = await python_calls(two, WHILE_ALL_RUN)
    assert answered == dict.fromkeys(WAYS, Tally(WHILE_ALL_RUN))
    shares = [two.balancer.sent[port] for port in two.ports]
    assert min(shares) > 0.4 * sum(shares)


class Turns:
    """The two processes stop and start in turns, each once; in the long form until the callers are through."""

    def __init__(self) -> None:
        self.n, self.over = 0, anyio.Event()

    async def run(self, two: Pair) -> None:
        while self.n < 2 or (IS_LONG and not self.over.is_set()):
            port = two.ports[self.n % 2]
            await two.stop(port)
            await anyio.sleep(0.3)
            await two.start(port)
            self.n += 1


def assert_retry_safe(tallies: Mapping[str, Tally], turns: int, over: str) -> None:
    """All calls were answered. A stream ends with its process, once for each of its clients, and
    says so by `over`; what is noticed besides is a refusal that says that a repeat is safe.
    """
    for way, tally in tallies.items():
        assert tally.answered == CALLS
        for error in tally.errors:
            is_over = "sse" in way and re.search(over, error)
            assert is_over or error.startswith("RetrySafe"), (way, tally)
        assert tally.errors.total() <= CLIENTS * turns


@pytest.mark.play  # as long as two processes take to stop and start
async def test_a_process_that_stops_and_starts_costs_an_error_that_is_safe_to_retry_at_most(
    pg_url: str,
) -> None:
    turns = Turns()
    async with pair(pg_url) as two, anyio.create_task_group() as group:
        group.start_soon(turns.run, two)
        tallies = await python_calls(two, CALLS, PAUSE_S)
        turns.over.set()
    assert_retry_safe(tallies, turns.n, "MCPError: Connection closed")


async def test_a_caller_who_alternates_has_one_limit_in_both_processes(pg_url: str) -> None:
    limit, calls = 120, 350
    settings = {"WALLET_RATE_READS": str(limit), "WALLET_RATE_ANONYMOUS": str(limit)}

    async def call(
        http: ClientSession, ports: Iterator[int], who: str | None, answers: list[int]
    ) -> None:
        for port in ports:
            url = f"http://127.0.0.1:{port}/wallet/agents/me"
            async with http.get(url, headers=by_key(who)) as reply:
                answers.append(reply.status)

    async with pair(pg_url, **settings) as two, ClientSession() as http:
        # Whoever has no key is refused, and pays for that too.
        for who, status, cost in ((ALICE, 200, 1), (None, 401, 2)):
            ports, began, answers = iter(two.ports * (calls // 2)), time.monotonic(), list[int]()
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(call, http, ports, who, answers)
            minutes = (time.monotonic() - began) / 60
            assert set(answers) == {status, 429}
            # What is paid off meanwhile, and a slice and a call that the other has not heard of.
            counted = answers.count(status) * cost
            assert limit <= counted <= limit * (1 + minutes + 1 / 16) + 8


TYPESCRIPT: Final = ["streamable-2026", "streamable-2025", "sse-2025"]
needs_node: Final = pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")


async def typescript_calls(two: Pair, pause_s: float = 0) -> dict[str, Tally]:
    """The same by the official TypeScript clients."""
    await anyio.to_thread.run_sync(npm.install)
    tallies: dict[str, Tally] = {}

    async def play(way: str) -> None:
        asked = {
            "url": two.balancer.base, "way": way, "key": ALICE, "tool": "agents_me", "clients": CLIENTS, "calls": CALLS,
            "pauseMs": 1_000 * pause_s,
        }  # fmt: skip
        done = await anyio.run_process(
            npm.node("../calls.mjs"), input=json.dumps(asked).encode(), check=False, cwd=npm.FOLDER,
            env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()[-3_000:]
        said = json.loads(done.stdout)
        tallies[way] = Tally(said["answered"], Counter(said["errors"]))

    with anyio.fail_after(3 * STUCK_S * max(1, CALLS // 100)):
        async with anyio.create_task_group() as group:
            for way in TYPESCRIPT:
                group.start_soon(play, way)
    return tallies


@pytest.mark.play  # the ways of the Python clients, by another's
@pytest.mark.node
@needs_node
async def test_every_call_of_the_typescript_client_is_answered(pg_url: str) -> None:
    async with pair(pg_url) as two:
        assert await typescript_calls(two) == dict.fromkeys(TYPESCRIPT, Tally(CALLS))
    shares = [two.balancer.sent[port] for port in two.ports]
    assert min(shares) > 0.4 * sum(shares)


@pytest.mark.play  # as long as two processes take to stop and start
@pytest.mark.node
@needs_node
async def test_a_process_that_stops_and_starts_costs_the_typescript_client_no_more(
    pg_url: str,
) -> None:
    turns = Turns()
    async with pair(pg_url) as two, anyio.create_task_group() as group:
        group.start_soon(turns.run, two)
        tallies = await typescript_calls(two, PAUSE_S)
        turns.over.set()
    # This client opens its stream anew by itself, where it hears that its session is over; for the
    # answer to a call that it made on the stream before it waits for as long as it waits for any.
    assert_retry_safe(tallies, turns.n, "HTTP 404|Request timed out")
