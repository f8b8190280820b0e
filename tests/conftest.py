"""What every test may use."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.databases"]

# No test says how fast something is: a busy machine is no finding. Speed is measured in bench/.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# What is imported and collected lives as long as the process: looking through it for garbage, over
# and over while it grows, is a quarter of what collecting costs, and a part of every later search.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, in what the tests themselves make."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the service does."""
    return "asyncio"
