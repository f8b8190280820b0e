"""The end-to-end tests' chain, as Anvil runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import npm
from tests.anvil.chains import running_anvil
from tests.world import Evm


@pytest.fixture(scope="session")
def evm() -> Iterator[Evm]:
    """Anvil with our contracts."""
    if npm.missing():
        pytest.skip(npm.missing())
    with running_anvil() as running:
        yield running
