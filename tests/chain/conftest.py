"""A chain for chain tests."""

from collections.abc import AsyncIterator, Iterator

import pytest

from chain.evm import EvmChains
from tests.world import Evm, running_evm


@pytest.fixture(scope="session")
def evm() -> Iterator[Evm]:
    with running_evm() as running:
        yield running


@pytest.fixture
async def chains(evm: Evm) -> AsyncIterator[EvmChains]:
    snapshot = evm.chain.snapshot()
    opened = EvmChains([evm.facts()])
    yield opened
    await opened.close()
    evm.chain.revert(snapshot)
