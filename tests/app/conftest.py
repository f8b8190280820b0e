"""A site on a real service: real store, real chain, nobody signed in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.app.site import Site, a_site
from tests.world import Evm, a_world


@pytest.fixture
async def site(sqlite_url: str, evm: Evm) -> AsyncIterator[Site]:
    async with a_world(sqlite_url, evm) as world, a_site(world) as found:
        yield found
