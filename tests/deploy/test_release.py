"""The release: what is in it, that two builds are equal, and that it serves wherever it is installed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from server.__main__ import main
from tests.bundle.test_bundle import serves
from tests.house.sources import PACKAGES, PROJECT, ROOT
from tests.waiting import STUCK_S

pytestmark = pytest.mark.slow
HERE = Path(sys.executable).parent
EXTRA_ONLY = "py-evm"
# What an operator needs beside the packages, in the sdist.
SHIPPED = (
    "deploy",
    "docs/operating",
    "Containerfile",
    ".dockerignore",
    "compose.yaml",
    "locks/run.txt",
    "locks/otel.txt",
    "locks/build.txt",
)


def released(folder: Path) -> Path:
    command = [sys.executable, ROOT / "deploy" / "release.py", folder]
    subprocess.run(command, check=True, timeout=STUCK_S, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp("release") / "dist")


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def tracked(*folders: str) -> set[str]:
    command = ["git", "ls-files", "-z", *folders]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {name for name in done.stdout.split("\0") if name}


@pytest.mark.play  # a second build; what the first one holds is told below
def test_two_builds_of_one_commit_are_equal(dist: Path, tmp_path: Path) -> None:
    again = released(tmp_path / "again")
    names = sorted(path.name for path in dist.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    assert [n for n in names if (dist / n).read_bytes() != (again / n).read_bytes()] == []


def test_the_wheel_holds_the_packages_with_their_data_and_nothing_else(dist: Path) -> None:
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        names = {n for n in wheel.namelist() if ".dist-info/" not in n}
        (metadata,) = (n for n in wheel.namelist() if n.endswith("/METADATA"))
        told = message_from_bytes(wheel.read(metadata))
        (listed,) = (n for n in wheel.namelist() if n.endswith("/entry_points.txt"))
        commands = wheel.read(listed).decode()
    assert names == {n for n in tracked(*PACKAGES) if not n.startswith("app/vendor/")}
    assert (told["Name"], told["Version"]) == (PROJECT["project"]["name"], PROJECT["project"]["version"])  # fmt: skip
    assert commands.split() == ["[console_scripts]", "wallet", "=", "server.__main__:main"]
    assert EntryPoint("wallet", commands.split()[-1], "console_scripts").load() is main
    # What the development tools stand on comes with their extra alone.
    needs = [r for r in told.get_all("Requires-Dist", []) if r.startswith(EXTRA_ONLY)]
    assert needs
    assert all('extra == "demo"' in r.replace("'", '"') for r in needs)


def test_the_sdist_holds_what_the_wheel_is_made_of_and_no_tests(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert tracked(*PACKAGES, *SHIPPED) - tracked("app/vendor") <= names  # fmt: skip
    assert not [n for n in names if n.startswith(("tests/", "bench/", "app/vendor/"))]


def test_what_is_installed_with_it_is_the_lock(dist: Path) -> None:
    lock, traces = ((ROOT / "locks" / name).read_text() for name in ("run.txt", "otel.txt"))
    assert (dist / "requirements.txt").read_text().endswith("\n" + lock)
    assert (dist / "requirements-otel.txt").read_text() == traces
    pinned = re.findall(r"(?m)^[\w.-]+==[^ \n]+", (dist / "constraints.txt").read_text())
    assert pinned == list(dict.fromkeys(re.findall(r"(?m)^[\w.-]+==[^ \n]+", lock + traces)))
    # One version of each, and all that the extra names.
    names = [pin.partition("==")[0] for pin in pinned]
    assert len(names) == len(set(names))
    extra = PROJECT["project"]["optional-dependencies"]["otel"]
    assert {re.split("[<>=]", n)[0] for n in extra} <= set(re.findall(r"(?m)^([\w.-]+)==", traces))
    assert not [p for p in pinned if p.startswith(EXTRA_ONLY)]
    sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())  # fmt: skip
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in dist.iterdir()
        if path.name != "SHA256SUMS"
    }


def elsewhere(home: Path) -> dict[str, str]:
    """An environment of this machine's ways to packages, and of nothing else."""
    reach = ("UV_", "PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    env = {n: v for n, v in os.environ.items() if n.upper().startswith(reach)}
    base = Path(sys.base_prefix) / "bin"
    return env | {"PATH": f"{base}:/usr/bin:/bin", "HOME": str(home)}


BY = {
    "pip": "python3 -m venv {home}/v && {home}/v/bin/pip install -q --require-hashes -r requirements.txt -r requirements-otel.txt && ln -s {home}/v/bin {home}/bin",
    "uv": "UV_TOOL_DIR={home}/tools UV_TOOL_BIN_DIR={home}/bin {here}/uv tool install -q --constraints constraints.txt ./*.whl",
    "pipx": "PIPX_HOME={home}/tools PIPX_BIN_DIR={home}/bin {here}/uvx -q pipx==1.18.4 install --pip-args='-c {dist}/constraints.txt' ./*.whl",
}


@pytest.mark.campaign  # `make deploy-check`; each fetches all that a service needs
@pytest.mark.parametrize("way", BY)
def test_it_serves_wherever_it_is_installed(way: str, dist: Path, tmp_path: Path) -> None:
    """An empty folder and an empty environment: the lock's versions, no tests, no EVM."""
    env, work = elsewhere(tmp_path), tmp_path / "work"
    work.mkdir()
    command = BY[way].format(home=tmp_path, here=HERE, dist=dist)
    done = subprocess.run(command, shell=True, cwd=dist, env=env, capture_output=True, text=True, timeout=600, check=False)  # noqa: S602  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    wallet = str(tmp_path / "bin" / "wallet")
    bare = {"PATH": "/usr/bin:/bin", "WALLET_DATABASE_URL": "sqlite:///w.sqlite"}

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([wallet, *arguments], cwd=work, env=bare, capture_output=True, text=True, timeout=STUCK_S, check=False)  # fmt: skip

    for arguments in (["db", "upgrade"], ["db", "verify"], ["openapi"], ["counts"]):
        assert ran(*arguments).returncode == 0, arguments
    assert PROJECT["project"]["version"] in ran("--version").stdout
    assert serves([wallet, "serve", "--port", "0"], work, bare) == {"ok": True}
    bare["WALLET_TRACES"] = "on"
    traced = ran("counts")
    assert (traced.returncode == 0) == (way == "pip"), traced.stderr
    assert ("pip install 'mandate-wallet[otel]'" in traced.stderr) == (way != "pip"), traced.stderr
    del bare["WALLET_TRACES"]
    assert ran("demo").stderr.endswith("pip install 'mandate-wallet[demo]'\n")

    python = Path(wallet).resolve().parent / "python"
    listing = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    there = json.loads(subprocess.run([python, "-c", listing], check=True, capture_output=True, text=True, cwd=work, env=bare).stdout)  # fmt: skip
    pins = dict(re.findall(r"(?m)^([\w.-]+)==([^ \n]+)", (dist / "constraints.txt").read_text()))
    plain = {re.sub(r"[-_.]+", "-", n).lower(): v for n, v in there.items()}
    ours = plain.keys() - {"pip", "setuptools", PROJECT["project"]["name"]}
    assert ours <= pins.keys()
    assert {n: plain[n] for n in ours} == {n: pins[n] for n in ours}
