"""What is committed is what the sources give: bytecode, pins, sizes, gas."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import npm
from tests.contracts.harness import FOLDERS, ROOT, USD, World, artifact, selector

CONTRACTS = ROOT / "contracts"
GAS_FILE = CONTRACTS / "gas.json"
SHIPPED = (
    "MandateVault",
    "MandateVaultFactory",
    "Purse",
    "PurseHub",
    "PurseHubDeployer",
    "ShareValue",
    "SigCheck",
    "TestMarket",
    "TestUSDC",
    "VaultLens",
)


def measured(world: World) -> dict[str, int]:
    """Gas of each step of a mandate's life, the first in a fresh world. The hostile target stands for a cheap market."""
    w, found = world, {}
    two, one, no = w.calls()[:2], w.probes()[:1], list[Any]()
    lists = (
        ("no rules", no, no),
        ("2 calls, 1 probe", two, one),
        ("14 calls, 3 probes", w.calls(), w.probes()),
    )
    for name, calls, probes in lists:
        t = w.terms(calls, probes)
        data = w.create_data(t, calls, probes)
        told = w.factory.send(w.owner, "create", *data)
        found[f"create, {name}"] = told.gas
        found[f"create again, {name}"] = w.factory.send(w.owner, "create", *data).gas
    calls = [*two, (w.hostile.address, selector("give(uint256)"), 0)]
    vault = w.create(w.terms(calls, one), calls, one)
    found["deposit, first"] = w.deposit(vault, 500 * USD).gas
    found["deposit, later"] = w.deposit(vault, 500 * USD).gas
    found["execute invest, first"] = w.invest(vault, 50 * USD).gas
    found["execute invest, later"] = w.invest(vault, 50 * USD).gas
    found["execute redeem"] = w.redeem(vault, 50 * USD).gas
    found["execute give"] = w.give(vault, 20 * USD).gas
    found["mark"] = vault.send(w.keeper, "mark").gas
    found["record"] = vault.send(w.keeper, "record").gas
    found["revokeAgent"] = vault.send(w.owner, "revokeAgent").gas
    found["setAgent"] = vault.send(w.owner, "setAgent", w.agent).gas
    found["stop"] = vault.send(w.owner, "stop").gas
    found["unwind by the keeper"] = w.unwind(
        vault, w.keeper, w.market, "redeem", 50 * USD, vault.address, vault.address
    ).gas
    found["settle"] = vault.send(w.keeper, "settle").gas
    found["payAgent"] = vault.send(w.keeper, "payAgent").gas
    found["withdrawAll, settled"] = vault.send(w.owner, "withdrawAll").gas
    found["withdrawAll, from a working mandate"] = (
        w.vault(calls=calls, probes=one).send(w.owner, "withdrawAll").gas
    )
    return found | measured_purse(World(approvals_on_chain=True))


def measured_purse(world: World) -> dict[str, int]:
    """Gas of a purse's life: the vault has one value probe; the plain hub; a bill is settled by somebody else."""
    w, found = world, {}
    hub = w.hub()
    calls = [(hub.address, selector("fund(uint256)"), 0), (hub.address, selector("drain()"), 0)]
    vault = w.vault(calls=calls, probes=w.probes()[:1], approvalAbove=100 * USD)
    found["fund, first"] = w.act(vault, hub, "fund", 50 * USD, approve=50 * USD).gas
    found["fund, later"] = w.act(vault, hub, "fund", 50 * USD, approve=50 * USD).gas
    purse = w.purse(hub, vault)
    first, second = w.bill(purse, w.friend, 2 * USD, 1), w.bill(purse, w.friend, 2 * USD, 2)
    found["pay, first to this payee"] = w.settle_bill(purse, first).gas
    found["pay, later"] = w.settle_bill(purse, second).gas
    third = w.bill(purse, w.friend, 2 * USD, 3)
    checked = (w.bill_hash(purse, third), w.signed_bill(purse, third))
    found["isValidSignature, as a transaction"] = purse.send(
        w.stranger, "isValidSignature", *checked
    ).gas
    found["void"] = purse.send(w.owner, "void").gas
    found["drain"] = w.act(vault, hub, "drain").gas
    w.act(vault, hub, "fund", 50 * USD, approve=50 * USD)
    vault.send(w.owner, "withdrawAll")
    found["sweep"] = hub.send(w.stranger, "sweep", vault.address).gas
    return found


def test_gas_is_as_committed() -> None:
    """Exact on the embedded EVM; after a wanted change run this module as a program."""
    assert measured(World()) == json.loads(GAS_FILE.read_text())["ours"]


def test_a_deposit_in_an_erc_4626_market_costs_no_more_gas_than_was_promised() -> None:
    told = json.loads(GAS_FILE.read_text())
    assert (
        told["ours"]["execute invest, later"] <= told["limits"]["execute invest, later"] == 122_000
    )


def test_the_vault_stays_short_enough_to_be_read_whole() -> None:
    assert len((CONTRACTS / "src" / "MandateVault.sol").read_text().splitlines()) < 500


def test_there_is_no_admin_no_upgrade_and_no_delegatecall() -> None:
    for path in (CONTRACTS / "src").glob("*.sol"):
        code = "\n".join(line.split("//")[0] for line in path.read_text().splitlines())
        assert not [
            w
            for w in (
                "delegatecall",
                "selfdestruct",
                "Ownable",
                "Initializable",
                "UUPS",
                "AccessControl",
            )
            if w in code
        ]
    changing = {
        e["name"]
        for e in artifact("MandateVaultFactory")["abi"]
        if e.get("stateMutability") == "nonpayable" and "name" in e
    }
    assert changing == {"create"}


def test_an_action_needs_less_than_the_600k_gas_that_it_is_sent_with(world: World) -> None:
    vault = world.vault()  # three probes
    told = world.act(
        vault, world.market, "deposit", 50 * USD, vault.address, approve=50 * USD, gas=600_000
    )
    assert told.one("Executed")["spent"] == 50 * USD


@pytest.mark.parametrize("name", SHIPPED)
def test_artifacts_hold_what_callers_need(name: str) -> None:
    found = artifact(name)
    assert set(found) == {"abi", "bytecode", "contract", "deployedBytecode", "source"}
    assert found["contract"] == name
    assert len(found["deployedBytecode"]) // 2 <= 24_576
    assert len(found["bytecode"]) // 2 <= 49_152


def test_libraries_are_pinned_exactly_and_the_lock_names_no_registry() -> None:
    package = json.loads((CONTRACTS / "package.json").read_text())
    lock = json.loads((CONTRACTS / "package-lock.json").read_text())
    assert package["devDependencies"] == {"@openzeppelin/contracts": "5.7.0", "solc": "0.8.37"}
    for name, entry in lock["packages"].items():
        assert "resolved" not in entry
        assert name == "" or entry["integrity"].startswith("sha512-")
    assert "http" not in "".join(
        json.dumps({k: v for k, v in e.items() if k != "funding"})
        for e in lock["packages"].values()
    )


def test_no_artifact_or_page_names_a_machine() -> None:
    pages = [p for folder in FOLDERS for p in folder.glob("*.json")] + [
        CONTRACTS / "SECURITY.md",
        GAS_FILE,
    ]
    for page in pages:
        assert not [
            x
            for x in (str(Path(__file__).parents[2]), "/home/", "/root/", "/usr/")
            if x in page.read_text()
        ], page.name


FROZEN = "USDC that the vault holds when Circle freezes the vault stays there."  # Circle's to prove


def test_every_claim_of_the_security_page_names_tests_and_proofs_that_exist() -> None:
    tests = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    elsewhere = (ROOT / "tests/server/test_record_marks.py").read_text()
    proofs = "".join(p.read_text() for p in (CONTRACTS / "prove").glob("*.sol"))
    page = (CONTRACTS / "SECURITY.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 60
    known = set(re.findall(r"(?:def|function) (test_\w+)\(", tests + elsewhere + proofs))
    assert not named - known
    shown = set(re.findall(r"`((?:check|invariant)_\w+)`", page))
    assert shown == set(re.findall(r"function ((?:check|invariant)_\w+)\(", proofs))
    proven = {
        line.split("(")[0].removeprefix("def ")
        for line in tests.splitlines()
        if line.startswith("def test_threat_")
    }
    assert not proven - named


def test_every_promise_and_every_threat_of_the_security_page_bears_a_proof() -> None:
    page = (CONTRACTS / "SECURITY.md").read_text()
    promise = page.split("## The promise")[1].split("\n## ")[0]
    claims = re.split(r"\n(?=\d+\. )", promise)[1:]
    rows = [
        r for r in page.split("## Threats")[1].split("\n## ")[0].splitlines() if r.startswith("| ")
    ][1:]
    assert len(claims) >= 6
    assert len(rows) > 30
    left = page.split("## Left over")[1].split("\n## ")[0].split("\n- ")[1:]
    assert len(left) >= 10
    unproven = [c for c in (*claims, *rows, *left) if not re.search(r"`(test|check|invariant)_", c)]
    assert [c.split("\n")[0] for c in unproven] == [FROZEN]


def test_the_figures_of_the_security_page_are_those_of_the_sources() -> None:
    source = "".join(p.read_text() for p in (CONTRACTS / "src").glob("*.sol"))
    found = re.findall(r"constant (\w+) = ([\de_]+)( days)?;", source)
    figures = {n: int(float(v.replace("_", ""))) * (86_400 if d else 1) for n, v, d in found}
    page = " ".join((CONTRACTS / "SECURITY.md").read_text().split())
    probe_gas, loss_bps = figures["PROBE_GAS"], figures["MAX_EXIT_LOSS_BPS"]
    told = (
        f"{100 - loss_bps // 100}%, {figures['UNWIND_WINDOW'] // 86400} days, {figures['DUST'] // USD} USDC, "
        f"{figures['MAX_AGENT_FEE_BPS'] // 100}%, {probe_gas // 1000}k gas a probe, {figures['MAX_HORIZON_DAYS']} days"
    )
    assert f"Constants ({told})" in page
    assert "PROBE_GAS + PROBE_GAS / 16" in source
    assert f"{(probe_gas + probe_gas // 16) // 1000}k must be left before each probe" in page


# In make test forge compares the same bytes, with the same compiler.
@pytest.mark.campaign
def test_the_sources_give_the_committed_files() -> None:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    npm.install(CONTRACTS)
    done = subprocess.run(
        [node, "build.mjs", "--check"], cwd=CONTRACTS, capture_output=True, text=True, timeout=900
    )
    assert (done.returncode, done.stderr) == (0, "")


if __name__ == "__main__":
    GAS_FILE.write_text(
        json.dumps(json.loads(GAS_FILE.read_text()) | {"ours": measured(World())}, indent=1) + "\n"
    )
    sys.exit(0)
