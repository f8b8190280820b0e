"""A desk for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.figures.desk import Agent, Desk, a_desk
from tests.world import Evm


@pytest.fixture
async def desk(sqlite_url: str, evm: Evm) -> AsyncIterator[Desk]:
    async with a_desk(sqlite_url, evm) as opened:
        yield opened


@pytest.fixture
async def agent(desk: Desk) -> Agent:
    return await desk.agent()
