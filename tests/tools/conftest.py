"""Worlds for operation tests."""

from collections.abc import AsyncIterator

import pytest

from tests.world import Evm, World, a_world


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm) as opened:
        yield opened


@pytest.fixture
async def both(database_url: str, evm: Evm) -> AsyncIterator[World]:
    """The same world on SQLite and on PostgreSQL."""
    async with a_world(database_url, evm) as opened:
        yield opened
