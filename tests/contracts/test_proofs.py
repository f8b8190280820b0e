"""The other compiler and the campaign: forge builds the committed bytes, runs the purse's tests, and a short campaign holds what
the owner signed.

The long forms are commands: `make invariants`, `make prove`, `make mutants`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import npm
from tests.contracts import mutants
from tests.contracts.harness import FOLDERS, ROOT

CONTRACTS = ROOT / "contracts"
RUNS = 48


@dataclass(frozen=True)
class Forged:
    """What one run of forge built and said."""

    out: Path
    code: int
    text: str


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Forged:
    if npm.missing():
        pytest.skip(npm.missing())
    npm.install()
    npm.install(CONTRACTS)
    folder = tmp_path_factory.mktemp("forge")
    told = {
        "FOUNDRY_OUT": str(folder / "out"),
        "FOUNDRY_CACHE_PATH": str(folder / "cache"),
        "FOUNDRY_INVARIANT_RUNS": str(RUNS),
    }
    # Not every contract of ours is one that the campaign needs.
    for command in (["build", "src", "mocks"], ["test"]):
        done = subprocess.run(
            [npm.FORGE, *command], cwd=CONTRACTS, env=os.environ | told, capture_output=True, text=True, timeout=900
        )  # fmt: skip
        if done.returncode:
            break
    return Forged(folder / "out", done.returncode, done.stdout + done.stderr)


@pytest.mark.play  # another compiler builds all contracts twice: that is most of a minute
@pytest.mark.node
def test_forge_builds_what_is_committed(forged: Forged) -> None:
    """Bytes and interface of every contract of ours; `build.mjs --check` looks at the files' text too."""
    committed = [json.loads(p.read_text()) for folder in FOLDERS for p in folder.glob("*.json")]
    ours = [c for c in committed if str(c.get("source")).startswith(("src/", "mocks/"))]
    assert {c["contract"] for c in ours} > {"MandateVault", "MandateVaultFactory", "VaultLens"}
    for one in ours:
        built = json.loads(
            (forged.out / Path(one["source"]).name / f"{one['contract']}.json").read_text()
        )
        assert built["bytecode"]["object"] == one["bytecode"], one["contract"]
        assert built["deployedBytecode"]["object"] == one["deployedBytecode"], one["contract"]
        assert entries(built["abi"]) == entries(one["abi"]), one["contract"]


def entries(abi: list[Any]) -> list[str]:
    """Of an interface, in one order."""
    return sorted(json.dumps(entry, sort_keys=True) for entry in abi)


@pytest.mark.play
@pytest.mark.node
def test_a_hostile_campaign_and_every_attack_on_the_purse_break_nothing_signed(
    forged: Forged,
) -> None:
    assert forged.code == 0, forged.text[-4_000:]
    for suite, least in (("PurseTest", 36), ("PursePolicyTest", 4)):
        told = re.search(
            rf":{suite}\n(?:\[PASS\].*\n)+Suite result: ok\. (\d+) passed", forged.text
        )
        assert told is not None
        assert int(told[1]) >= least
    assert f"[PASS] invariant_WhatTheOwnerSignedHolds() (runs: {RUNS}," in forged.text


def test_the_mutation_run_changes_what_decides_and_knows_only_survivors_that_exist() -> None:
    names = {m.name for file in mutants.SOURCES for m in mutants.mutants_of(file)}
    assert len(names) > 400
    known = [line.split(" # ") for line in mutants.KNOWN.read_text().splitlines()]
    assert all(len(parts) == 2 and parts[0] in names for parts in known)
    for change in (
        "MandateVault.sol sync: uint256 surplus = USDC.balanceOf(address(this)) - cash; => uint256 surplus = USDC.balanceOf(address(this)) + cash;",
        "MandateVaultFactory.sol: uint256 public constant MAX_PROBES = 8; => uint256 public constant MAX_PROBES = 9;",
        "MandateVault.sol settle: function settle() external nonReentrant { => function settle() external {",
    ):
        assert change in names
