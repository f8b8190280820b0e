"""What every test may use."""

from __future__ import annotations

import gc
import importlib.util
import os
from collections.abc import AsyncIterator, Generator, Iterator
from typing import TYPE_CHECKING

import pytest
import stamina
from eth_hash.auto import keccak
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.world import Evm, World

pytest_plugins = ["tests.stalls", "tests.databases", "tests.preloaded", "tests.reports"]

# No test says how fast something is: a busy machine is no finding. Speed is measured in bench/.
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A property that names no number of examples of its own gets these; `make deep` asks for many more.
settings.register_profile("house", QUIET, max_examples=40)
settings.register_profile("deep", QUIET, max_examples=1_000)
settings.load_profile(os.environ.get("EXAMPLES", "house"))

if importlib.util.find_spec("sha3"):
    os.environ["ETH_HASH_BACKEND"] = "pysha3"
    keccak(b"")  # it is read once; processes of other environments are not told
    del os.environ["ETH_HASH_BACKEND"]

# What is imported and collected lives as long as the process: looking through it for garbage, over
# and over while it grows, is a quarter of what collecting costs, and a part of every later search.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever drives the embedded chain costs tenths of a second: the quick tier does without it."""
    for item in items:
        if not {"evm", "deployed"}.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("evm")


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, in what the tests themselves make, and not after every 700
    objects: that is one part in thirty of the processor.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """What a module leaves behind is kept for good (set-ups, caches, what it imported): later
    searches for garbage pass over it. Over a million objects one search stops the process, and
    with it every service that a test has in it, for a second.
    """
    yield
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the service does."""
    return "asyncio"


@pytest.fixture
def no_backoff() -> Iterator[None]:
    """A node or a venue is tried again as often as ever, and at once."""
    with stamina.set_testing(True, attempts=99, cap=True):
        yield


@pytest.fixture(scope="session")
def evm() -> Iterator[Evm]:
    """The development chain with our contracts; every test leaves it as it was."""
    from tests.world import running_evm  # what it loads takes seconds, and not every run needs it

    with running_evm() as running:
        yield running


@pytest.fixture
async def world(sqlite_url: str, evm: Evm, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A world on SQLite, as the module's `WORLD` wants it."""
    from tests.world import a_world

    async with a_world(sqlite_url, evm, **getattr(request.module, "WORLD", {})) as opened:
        yield opened
