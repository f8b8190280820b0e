"""One deployed world for all tests here; each test gets it fresh by a snapshot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.harness import World


@pytest.fixture(scope="session")
def deployed() -> World:
    return World()


@pytest.fixture
def world(deployed: World) -> Iterator[World]:
    """The deployed world, put back afterwards."""
    before, time = deployed.evm.chain.snapshot(), deployed.evm.time
    yield deployed
    deployed.evm.chain.revert(before)
    deployed.evm.time, deployed.mandates = time, 0
