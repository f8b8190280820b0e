"""The units: well-formed by systemd's own judge, and shut in as far as what they do allows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.deploy.commands import understood, unknown_settings
from tests.house.sources import ROOT
from tests.waiting import STUCK_S

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
ANALYZE = shutil.which("systemd-analyze")
judged = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze: Debian's package systemd")
# Tenths of systemd's exposure level, 0 to 100; what is left is the network that a service lives by.
MOST_EXPOSED = 20
INSTALLED = "/opt/wallet/bin/wallet"
names = pytest.mark.parametrize("unit", UNITS, ids=lambda u: u.name)


def parsed(unit: Path) -> dict[str, list[str]]:
    """Its settings, each with all its values."""
    told: dict[str, list[str]] = defaultdict(list)
    for line in unit.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            told[name].append(value)
    return told


def installed(unit: Path, folder: Path) -> Path:
    """The unit as on a machine on which the command is there."""
    copy = folder / unit.name.replace("@.", "@8402.")
    wallet = Path(sys.executable).parent / "wallet"
    copy.write_text(unit.read_text().replace(INSTALLED, str(wallet)))
    return copy


def analyzed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ANALYZE), "--no-pager", *words], capture_output=True, text=True, timeout=STUCK_S, check=False)  # fmt: skip


@judged
@pytest.mark.slow
@names
def test_systemd_finds_no_fault_in_it(unit: Path, tmp_path: Path) -> None:
    copy = installed(unit, tmp_path)
    done = analyzed("verify", str(copy))
    assert (done.returncode, done.stderr) == (0, "")
    copy.write_text(copy.read_text().replace("Restart=always", "Restart=perhaps"))
    assert "perhaps" in analyzed("verify", str(copy)).stderr


@judged
@pytest.mark.slow
@names
def test_systemd_calls_it_little_exposed(unit: Path, tmp_path: Path) -> None:
    copy = installed(unit, tmp_path)
    words = ("security", "--offline=true", f"--threshold={MOST_EXPOSED}")
    done = analyzed(*words, str(copy))
    assert done.returncode == 0, done.stdout
    copy.write_text(re.sub(r"(?m)^(Protect|Restrict|Private|SystemCall).*\n", "", copy.read_text()))
    assert analyzed(*words, str(copy)).returncode != 0


@judged
@pytest.mark.slow
def test_systemd_makes_both_users(tmp_path: Path) -> None:
    """By its own tool, in a root of its own."""
    tool = shutil.which("systemd-sysusers")
    assert tool is not None
    (tmp_path / "etc").mkdir()
    file = ROOT / "deploy" / "systemd" / "wallet.sysusers"
    subprocess.run([tool, f"--root={tmp_path}", str(file)], check=True, capture_output=True, timeout=STUCK_S)  # fmt: skip
    made = {n.split(":")[0] for n in (tmp_path / "etc" / "passwd").read_text().splitlines()}
    assert {u for unit in UNITS for u in parsed(unit)["User"]} <= made


def test_each_calls_a_command_with_settings_that_there_are() -> None:
    called = {}
    for unit in UNITS:
        (line,) = parsed(unit)["ExecStart"]
        command, *words = line.replace("%i", "8402").split()
        assert command == INSTALLED
        called[unit.stem] = understood(words)
        assert unknown_settings(unit.read_text()) == set()
    assert called == {"wallet-serve@": "serve", "wallet-keeper": "keeper", "wallet-signer": "signer"}  # fmt: skip


def test_the_signer_has_a_user_and_folders_of_its_own() -> None:
    signer, *services = sorted(map(parsed, UNITS), key=lambda u: "signer" not in u["ExecStart"][0])
    assert {u["User"][0] for u in services} == {"wallet"}
    assert signer["User"] == ["wallet-signer"]
    assert {u["WorkingDirectory"][0] for u in services} == {"/etc/wallet"}
    assert signer["WorkingDirectory"] == ["/var/lib/wallet-signer"]
    # It gives its socket away, and so it keeps one right; the others have none.
    assert {tuple(u["CapabilityBoundingSet"]) for u in services} == {("",)}
    assert signer["CapabilityBoundingSet"] == signer["AmbientCapabilities"] == ["CAP_CHOWN"]
    told = dict(e.split("=", 1) for e in signer["Environment"] if e.startswith("WALLET_"))
    assert told["WALLET_SIGNER_SOCKET"].startswith(f"/run/{signer['RuntimeDirectory'][0]}/")
    folders = [f"/var/lib/{n}" for n in signer["StateDirectory"][0].split()]
    assert told["WALLET_SIGNER_KEYS"] in folders
    assert signer["StateDirectoryMode"] == ["0700"]
