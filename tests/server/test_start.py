"""The start of a serving process: what anybody reads is there at once, all else is loaded by the first request for it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from yarl import URL

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.settings import Config, Switches
from http_shim.application import build
from http_shim.asgi_bridge import Message
from http_shim.http_server import address_of, bound, listen_on
from http_shim.lazy_routes import REST, LazyRoutes
from http_shim.metrics import METHODS
from server.application import SCREENS, application
from server.lazy.lazy_mcp import Receive, Send
from server.runtime import serve
from server.settings import Settings
from server.system import SystemIds
from storage.store import Store, open_store
from tests.databases import PATIENT
from tests.server.test_process import WALLET, environment
from tests.waiting import STUCK_S, Heard
from tests.world import Clock
from tools.catalogue import OPERATIONS
from tools.model.operation import Deps

pytestmark = pytest.mark.anyio
TEXTS = ["/", "/docs", "/llms.txt", "/openapi.json", "/healthz", "/wallet/refusals.md", "/wallet/door", "/wallet/skill.md", "/wallet/mcp-tools"]  # fmt: skip
PATHS = [op.route[1].replace("{", "").replace("}", "") for op in OPERATIONS if op.route]


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    opened = await open_store(sqlite_url, PATIENT)
    try:
        yield opened
    finally:
        await opened.close()


async def silent(scope: Message, receive: Receive, send: Send) -> None:
    """An application behind /mcp that is not asked."""


async def way(app: web.Application, method: str, path: str) -> tuple[str, str | None, set[str]]:
    """Where a request is led: the path and name of its route, else the methods that there are."""
    # What a router looks at; a whole request costs a hundred times as much.
    request: Any = SimpleNamespace(method=method, rel_url=URL(path))
    match = await web.UrlDispatcher.resolve(app.router, request)
    allowed = getattr(match.http_exception, "allowed_methods", set())
    resource = match.route.resource
    return (resource.canonical, resource.name, allowed) if resource else ("", None, allowed)


async def test_a_request_is_led_where_it_belongs_though_its_route_is_loaded_late(
    store: Store,
) -> None:
    deps = Deps(store, EvmChains([]), Clock(), SystemIds(), Config(), SiweSignIn(), Switches())
    whole, lazy = build(deps, OPERATIONS, mcp=silent), application(deps, silent)
    ends = ["/wallet/nothing", "/nothing", "/wallet/mandates/m/n/o"]
    wrong = [
        (method, path, there, here)
        for path in [*PATHS, *TEXTS, *ends, "/mcp"]
        for method in sorted(METHODS)
        if (there := await way(whole, method, path)) != (here := await way(lazy, method, path))
    ]
    assert wrong == []


async def answered(_: web.Request) -> web.Response:
    return web.Response()


async def test_those_that_come_first_wait_for_one_loading() -> None:
    loadings = []

    def fill(router: web.UrlDispatcher) -> None:
        loadings.append(len(loadings))
        time.sleep(0.05)
        router.add_get("/late", answered)

    routes, found = LazyRoutes(REST, fill), []

    async def ask() -> None:
        match, _ = await routes.resolve(make_mocked_request("GET", "/late"))
        found.append(match.route.resource.canonical)

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)
    assert (found, loadings) == (["/late"] * 20, [0])


async def test_a_process_that_nobody_asks_loads_its_routes_by_itself(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, loaded, stop = LazyRoutes.load, list[str](), anyio.Event()

    async def noted(self: LazyRoutes) -> web.UrlDispatcher:
        router = await load(self)
        loaded.append(self.canonical)
        return router

    async def ended() -> None:
        while len(loaded) < 2:
            await anyio.sleep(0.01)
        stop.set()

    monkeypatch.setattr(LazyRoutes, "load", noted)
    monkeypatch.setattr(serve, "HEAD_START_S", 0)
    monkeypatch.setattr(serve, "freeze_startup_objects", lambda: None)  # the tests go on
    settings = Settings(database_url=sqlite_url)
    with anyio.fail_after(STUCK_S), bound("127.0.0.1", 0) as sock:
        async with anyio.create_task_group() as group:
            group.start_soon(ended)
            await serve.serve_until(settings, sock, stop, keeper=False, ready=lambda _: None)
    assert loaded == [REST, SCREENS]


async def test_a_port_that_another_took_meanwhile_is_named_and_a_host_may_have_brackets() -> None:
    with bound("127.0.0.1", 0) as first, bound("127.0.0.1", first.getsockname()[1]) as second:
        runner = await listen_on(web.Application(), first)
        port = first.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} of 127.0.0.1: Address already in use"):
            await listen_on(web.Application(), second)
        await runner.cleanup()
    with bound("[::1]", 0) as sock:
        assert address_of(sock).startswith("http://[::1]:")


def test_a_process_drains_as_its_terminal_closes_and_outlives_it_where_it_was_asked_to(
    tmp_path: Path,
) -> None:
    for ignored, ends in ((False, signal.SIGHUP), (True, signal.SIGTERM)):
        process = subprocess.Popen(
            [*WALLET, "serve", "--port", "0"],
            env=environment(tmp_path),
            stderr=subprocess.PIPE,
            text=True,
            # Said of both: these tests may have been started by nohup, which is inherited.
            preexec_fn=partial(
                signal.signal, signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL
            ),
        )
        heard = Heard(process)
        heard.until("serving on")
        process.send_signal(signal.SIGHUP)
        process.send_signal(ends)
        assert process.wait(STUCK_S) == 0, heard.whole()


COMMANDS = "server.cli.main"
SERVING = f"{COMMANDS}, server.runtime.serve, server.application"
LATE = {"tools.catalogue", "tools.mandates.reads.mandate_reads", "tools.actions", "domain.reads.limits"}  # fmt: skip


@pytest.mark.parametrize(
    ("start", "late"), [(SERVING, LATE), (COMMANDS, {"storage.unit_of_work", "aiohttp"})]
)
def test_a_start_loads_nothing_that_its_first_answers_do_without(
    start: str, late: set[str]
) -> None:
    code = f"import sys, {start}; print({late!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# All that a process loads which serves HTTP and MCP, by either transport, and keeps.
LOADED = """
import sys
import app.screens, server.application, server.cli.main, server.lazy.lazy_mcp, server.mcp_api.http_app
import server.runtime.keeper_process, server.runtime.serve, server.runtime.stdio, server.wiring, tools.catalogue
from server.settings import Settings
from server.tracing import tracer_of
assert tracer_of(Settings()) is None
print(*sys.modules)
"""
# What opens keys, the exporter of traces, the library of OAuth, and the venue before it is asked.
NEVER = {
    "venue.keystore", "server.signer.daemon", "opentelemetry.sdk", "opentelemetry.exporter", "google.protobuf", "authlib",
    "joserfc", "venue.networks",
}  # fmt: skip


@pytest.mark.slow
def test_no_serving_process_loads_at_its_start_what_few_need() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=STUCK_S)  # fmt: skip
    loaded = done.stdout.split()
    assert "server.runtime.serve" in loaded
    assert [m for m in loaded if any(f"{m}.".startswith(f"{name}.") for name in NEVER)] == []
