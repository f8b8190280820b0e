"""What every test may use."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.databases"]


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio, as the service does."""
    return "asyncio"
