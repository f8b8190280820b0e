"""What every test may use."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.databases"]

# No test says how fast something is: a busy machine is no finding. Speed is measured in bench/.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the service does."""
    return "asyncio"
