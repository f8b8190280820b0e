"""The example's seller and its facilitator, as processes of their own (docs/examples/paid_api)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE

from tests.fetched import python_of
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID, Evm

SELLER = Path(__file__).parents[2] / "docs" / "examples" / "paid_api" / "seller.py"


@contextmanager
def selling(evm: Evm, pay_to: str, gas_key: str) -> Iterator[str]:
    """Start both on the chain; the seller's address. Both are gone at the end."""
    command = [python_of("x402"), str(SELLER), "--rpc-url", evm.url, "--chain-id", str(CHAIN_ID)]
    command += ["--usdc", evm.usdc, "--pay-to", pay_to, "--port", "0"]
    env = {"PATH": os.defpath, "FACILITATOR_KEY": gas_key}
    with subprocess.Popen(command, env=env, text=True, stdout=PIPE, stderr=PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            # The pipe of errors ends when nobody holds it any more, the facilitator included.
            process.communicate(timeout=STUCK_S)
