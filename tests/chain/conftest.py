"""A chain for chain tests."""

from collections.abc import AsyncIterator

import pytest

from chain.chains import EvmChains
from tests.world import Evm


@pytest.fixture
async def chains(evm: Evm) -> AsyncIterator[EvmChains]:
    snapshot = evm.chain.snapshot()
    opened = EvmChains([evm.facts()])
    yield opened
    await opened.close()
    evm.chain.revert(snapshot)
