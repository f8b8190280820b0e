"""Connections are bounded: who only waits gives way, who is being answered never does."""

from __future__ import annotations

import errno
import logging
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession

from http_shim import connections
from http_shim.seldom import SAID_EVERY_S
from server.runtime.open_files import _Short
from tests.ports import free_port
from tests.surfaces.small import ALICE, small
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio

TCP_ESTABLISHED = 1  # the first byte of Linux's tcp_info


def opened(stack: ExitStack, base: str, number: int) -> list[socket.socket]:
    """Connections on which nothing is said."""
    host, _, port = base.removeprefix("http://").partition(":")
    found = [
        stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(number)
    ]
    for one in found:
        one.setblocking(False)
    return found


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(STUCK_S):
        while not holds():
            await anyio.sleep(0.01)


async def test_of_too_many_idle_connections_of_an_address_the_oldest_go(sqlite_url: str) -> None:
    async with small(sqlite_url, connections_per_address=4) as s:
        with ExitStack() as stack:
            idle = opened(stack, s.base, 10)
            await until(lambda: [is_closed(one) for one in idle] == [True] * 6 + [False] * 4)
            assert await s.statuses(1, "/wallet/who") == [200]


async def test_who_is_being_answered_does_not_give_way(sqlite_url: str) -> None:
    told: list[int] = []
    async with small(sqlite_url, connections_per_address=2) as s:
        with ExitStack() as stack:
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    told.append((await s.post("/wallet/slow/n", ALICE, json={})).status)

                group.start_soon(ask)
                with anyio.fail_after(STUCK_S):
                    await s.gate.entered.wait()
                idle = opened(stack, s.base, 8)
                await until(lambda: sum(map(is_closed, idle)) >= 6)
                s.gate.opened.set()
    assert told == [201]


def unreading(stack: ExitStack, base: str, number: int) -> list[socket.socket]:
    """Connections that ask for much and read nothing."""
    host, _, port = base.removeprefix("http://").partition(":")
    found = []
    for _ in range(number):
        one = stack.enter_context(socket.socket())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
        one.connect((host, int(port)))
        one.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 8)
        found.append(one)
    return found


def is_reset(one: socket.socket) -> bool:
    """Whether the far end is closed; nothing is read."""
    info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    return info[0] != TCP_ESTABLISHED


def long_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is longer than what the system holds of an answer."""
    monkeypatch.setattr("http_shim.service_routes.document", lambda *_, **__: " " * 8_000_000)


async def test_who_does_not_read_its_answers_gives_way_as_who_asks_nothing(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_answers(monkeypatch)
    monkeypatch.setattr(connections, "DRAIN_S", STUCK_S)  # that they do not read is not the reason
    async with small(sqlite_url, connections_per_address=4) as s:
        with ExitStack() as stack:
            silent = unreading(stack, s.base, 10)
            # They give way to whoever comes once their answers wait.
            with anyio.fail_after(STUCK_S / 2):
                while not all(map(is_reset, silent)):
                    opened(stack, s.base, 1)
                    await anyio.sleep(0.05)
            assert await s.statuses(1, "/wallet/who") == [200]


async def test_an_answer_that_nobody_reads_is_dropped(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_answers(monkeypatch)
    monkeypatch.setattr(connections, "DRAIN_S", 0.2)
    async with small(sqlite_url) as s:
        with ExitStack() as stack:
            silent = unreading(stack, s.base, 3)
            await until(lambda: all(map(is_reset, silent)))


@pytest.mark.slow
async def test_two_thousand_idle_connections_shut_nobody_out(tmp_path: Path) -> None:
    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, 1_024))

    port, log = free_port(), tmp_path / "log"
    env = {"WALLET_DATABASE_URL": f"sqlite:///{tmp_path / 'w.sqlite'}"}
    command = [sys.executable, "-m", "server", "serve", "--no-keeper", "--port", str(port)]
    with log.open("w") as out, ExitStack() as stack:
        process = subprocess.Popen(command, stderr=out, env=env, preexec_fn=few_files)
        try:
            await until(lambda: "serving on" in log.read_text())
            base = f"http://127.0.0.1:{port}"
            for _ in range(20):
                opened(stack, base, 100)
                async with ClientSession() as http, http.get(base + "/wallet/markets") as r:
                    assert r.status == 200
        finally:
            process.terminate()
            process.wait(STUCK_S)
    assert "Traceback" not in log.read_text()
    assert len(log.read_text()) < 10_000


def test_being_short_of_files_is_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    at = 0.0
    loop, short = None, _Short(lambda: at)
    for _ in range(500):
        short(loop, {"exception": OSError(errno.EMFILE, "Too many open files")})  # type: ignore[arg-type]
    at += SAID_EVERY_S
    short(loop, {"exception": OSError(errno.EMFILE, "Too many open files")})  # type: ignore[arg-type]
    said = [r.getMessage() for r in caplog.records]
    assert [s.split(":")[1].split()[0] for s in said] == ["1", "500"]
