"""The ERC-7730 descriptor of the terms: each of the seventeen values, in words a device can show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.words.descriptor import descriptor
from app.words.fields import FIELDS
from domain.mandates.terms import FIELDS as TYPES
from tests.app.site import Site
from tests.world import CHAIN_ID

FILE = Path(__file__).parents[2] / "docs" / "erc7730" / "eip712-mandate-terms.json"
LABEL_MOST = 20


def formats(told: dict[str, Any]) -> list[dict[str, Any]]:
    return list(told["display"]["formats"]["MandateTerms"]["fields"])


DEVNET = ((CHAIN_ID, "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"),)
"""The factory that `wallet devnet` deploys, always at the same address."""


def test_the_file_is_what_a_service_on_the_development_chain_hands_out() -> None:
    assert json.loads(FILE.read_text()) == descriptor(DEVNET)


def test_every_signed_value_has_one_short_line_in_its_order() -> None:
    shown = formats(descriptor())
    assert [f["path"] for f in shown] == [name for name, _ in TYPES["2"]] == list(FIELDS)
    labels = [f["label"] for f in shown]
    assert len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= LABEL_MOST


def test_amounts_shares_and_times_are_shown_in_their_own_units() -> None:
    units = {f["path"]: f.get("params", {}) for f in formats(descriptor())}
    for name in ("budgetUsdc", "perTxCap", "dailyCap", "stopFloor", "approvalAbove"):
        assert units[name] == {"base": "USDC", "decimals": 6}
    assert units["stopFloorBps"] == units["agentFeeBps"] == {"base": "%", "decimals": 2}
    assert units["endsAt"] == units["issuedAt"] == {"encoding": "timestamp"}
    assert descriptor()["metadata"]["enums"]["onFloor"].keys() == {"0", "1"}  # type: ignore[index]


@pytest.mark.anyio
async def test_the_service_hands_it_out_for_its_own_factory(site: Site) -> None:
    page = await site.browser().get("/app/erc7730.json")
    assert (page.status, page.headers["Content-Type"].partition(";")[0]) == (
        200,
        "application/json",
    )
    bound = json.loads(page.words)["context"]["eip712"]
    assert bound["deployments"] == [{"chainId": CHAIN_ID, "address": site.world.evm.factory}]
    assert DEVNET[0][1] == site.world.evm.factory


@pytest.mark.skipif("ERC7730" not in os.environ, reason="`make descriptor` runs the public checker")
def test_the_public_checker_finds_nothing_wrong() -> None:
    checker = os.environ["ERC7730"]
    subprocess.run([checker, "lint", str(FILE)], check=True, timeout=120)
    told = subprocess.run(
        [checker, "resolve", str(FILE)], check=True, timeout=120, capture_output=True
    )
    assert len(formats(json.loads(told.stdout))) == len(FIELDS)


if __name__ == "__main__":
    sys.stdout.write(f"wrote {FILE.relative_to(Path.cwd())}\n")
    FILE.write_text(json.dumps(descriptor(DEVNET), indent=1, ensure_ascii=False) + "\n")
