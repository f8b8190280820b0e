"""The reference agent of the docs, run as its reader would run it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest

from tests.surfaces.conftest import Service
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio
AGENT = Path(__file__).parents[2] / "docs" / "examples" / "agent.py"


async def test_the_example_acts_within_the_limits_and_reports(service: Service) -> None:
    m = service.mandate
    key = next(
        service.world.evm.key(n)
        for n in range(10)
        if _address(service, n) == m.agent_wallet.address
    )
    env = {
        "PATH": os.defpath, "WALLET_BASE": service.base, "WALLET_KEY": service.key, "AGENT_PRIVATE_KEY": key,
        "RPC_URL": service.world.evm.url,
    }  # fmt: skip
    with anyio.fail_after(STUCK_S):
        done = await anyio.run_process(
            [sys.executable, str(AGENT), service.world.evm.market, "150"], env=env, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.decode()
    assert "150.00 USDC is above the limit per action, 100.00 USDC" in told
    assert "done: 100.000000 USDC" in told
    assert "violation: False" in told
    assert len(AGENT.read_text().splitlines()) < 150


def _address(service: Service, n: int) -> str:
    from chain.tx_sender import address_of

    return address_of(service.world.evm.key(n))
