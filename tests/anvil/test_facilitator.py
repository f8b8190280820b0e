"""The official x402 facilitator (`@x402/evm`) verifies and settles payments of a purse on Anvil."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests import npm
from tests.contracts.harness import ROOT
from tests.ports import free_port
from tests.waiting import STUCK_S

pytestmark = [pytest.mark.anvil, pytest.mark.node, pytest.mark.slow]

PAID = {
    "a payment, verified": "valid",
    "a payment, settled": "settled",
    "the same again": "refused",
    "a foreign key": "refused",
    "the owner's key": "refused",
    "above the approval amount, bare": "refused",
    "above the approval amount, approved by the agent": "refused",
    "above the approval amount, approved by the owner": "valid",
    "the approved one, settled": "settled",
    "the approved one again": "refused",
    "over the cap": "refused",
    "more than is inside": "refused",
    "two hours": "refused",
    "an hour in all": "valid",
    "to the vault": "refused",
    "signed before void()": "refused",
    "of the new epoch": "valid",
    "while paused": "refused",
    "resumed": "valid",
    "drained": "refused",
    "returned": "24750000",  # 40 put in, 0.25 and 15 paid
    "funded again": "valid",
    "stopped": "refused",
    "the seller has": "15250000",
    "the owner has": "984750000",
    "the purse has": "0",
}


def test_the_official_facilitator_settles_what_a_purse_agrees_to_and_nothing_else() -> None:
    if npm.missing():
        pytest.skip(npm.missing())
    npm.install()
    told = ["facilitator.mjs", str(npm.ANVIL), str(free_port()), str(ROOT / "chain" / "abi")]
    done = subprocess.run(
        ["node", *told], cwd=npm.FOLDER, capture_output=True, text=True, timeout=STUCK_S
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert json.loads(done.stdout) == PAID
