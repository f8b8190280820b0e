"""The official MCP conformance suite: our HTTP front takes nothing away, and our own server passes what needs no fixtures."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import anyio
import pytest
from aiohttp.test_utils import TestServer

from chain.chains import EvmChains
from chain.contracts.sign_in import SiweSignIn
from domain.settings import Config, Switches
from http_shim.application import build
from server.mcp_api.http_app import drain, mcp_app
from server.mcp_api.server import build_server
from server.system import SystemClock, SystemIds
from storage.store import open_store
from tests import npm
from tests.conformance.everything import ROOT, fetched
from tests.databases import PATIENT
from tests.ports import free_port
from tests.waiting import STUCK_S
from tools.catalogue import OPERATIONS
from tools.model.operation import Deps

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.node,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run"),
]
SUITE = "@modelcontextprotocol/conformance/dist/index.js"
OLD, NEW = "2025-11-25", "2026-07-28"
# What the locked suite finds at the locked SDK's own server.
DIRECTLY = {OLD: 84, NEW: 152}
# A scenario that wants tools, prompts or resources of the suite's own making tells nothing of a server with others.
OURS = {
    OLD: ("server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "dns-rebinding-protection"),
    NEW: ("tools-list", "http-header-validation", "dns-rebinding-protection", "sep-2164-resource-not-found",
          "sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory"),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    npm.install()


async def score(
    url: str, revision: str, scenario: str | None = None, *, patient: bool = False
) -> tuple[int, int, str]:
    """(passed, failed, what was printed)."""
    which = ["--scenario", scenario, "--force"] if scenario else ["--suite", "all"]
    options = ["--url", url, "--spec-version", revision, "--timeout", "600000", *which]
    node, *suite = npm.node(SUITE, "server", *options)
    given = ["--import", str(npm.FOLDER / "patience.mjs")] if patient else []
    with anyio.fail_after(1_200):
        done = await anyio.run_process(
            [node, *given, *suite], check=False, cwd=ROOT / "build", stderr=subprocess.STDOUT
        )
    told = done.stdout.decode()
    found = re.findall(r"(?:Total|Passed): (\d+)(?: passed,|/\d+,) (\d+) failed", told)
    assert found, told[-3_000:]
    return int(found[-1][0]), int(found[-1][1]), told


async def judged(url: str, revision: str) -> int:
    """How many checks of all are passed. A scenario in which one failed is played once more, by itself and given time:
    the suite gives a server half a second for some, and a busy machine takes longer.
    """
    passed, failed, told = await score(url, revision)
    for name, good, bad in re.findall(r"(?m)^\S*\W ?([\w-]+): (\d+) passed, (\d+) failed", told):
        if int(bad):
            again, wrong, why = await score(url, revision, name, patient=True)
            assert wrong == 0, why[-3_000:]
            passed, failed = passed + again - int(good), failed - int(bad)
    assert failed == 0, told[-3_000:]
    return passed


@contextmanager
def everything(how: str) -> Iterator[str]:
    """The SDK's everything-server in a process of its own."""
    fetched()
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.everything", how, str(port)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"http://localhost:{port}/mcp"
    finally:
        process.kill()
        process.wait()


async def listening(url: str) -> None:
    host, _, port = url.removeprefix("http://").removesuffix("/mcp").partition(":")
    with anyio.fail_after(STUCK_S):
        while True:
            try:
                await (await anyio.connect_tcp(host, int(port))).aclose()
            except OSError:
                await anyio.sleep(0.05)
            else:
                return


async def scored(how: str, revision: str) -> int:
    """How many checks the everything-server passes; none fails."""
    with everything(how) as url:
        await listening(url)
        return await judged(url, revision)


@pytest.mark.slow
async def test_behind_our_front_a_server_passes_what_it_passes_directly() -> None:
    assert await scored("bridge", NEW) == DIRECTLY[NEW]


@pytest.mark.campaign
@pytest.mark.parametrize("revision", [OLD, NEW])
async def test_behind_our_front_a_server_scores_what_it_scores_directly(revision: str) -> None:
    assert await scored("direct", revision) == DIRECTLY[revision]
    assert await scored("bridge", revision) == DIRECTLY[revision]


@pytest.fixture
async def ours(sqlite_url: str) -> AsyncIterator[str]:
    """The whole catalogue on a port."""
    store = await open_store(sqlite_url, PATIENT)
    deps = Deps(
        store,
        EvmChains([]),
        SystemClock(),
        SystemIds(),
        Config(),
        SiweSignIn(),
        Switches(door=True),
    )
    server, _ = build_server(deps, OPERATIONS)
    listening = TestServer(build(deps, OPERATIONS, mcp=mcp_app(server, deps.config.base_url)))
    await listening.start_server()
    try:
        yield f"http://localhost:{listening.port}/mcp"
    finally:
        await drain(server)
        await listening.close()
        await store.close()


@pytest.mark.parametrize(
    ("revision", "scenario"), [(r, s) for r, names in OURS.items() for s in names]
)
async def test_our_server_passes_what_needs_no_fixtures(
    ours: str, revision: str, scenario: str
) -> None:
    passed, failed, told = await score(ours, revision, scenario, patient=True)
    assert passed > 0
    assert failed == 0, told[-3_000:]
