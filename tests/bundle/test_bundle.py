"""What other people's tools say of our bundle and registry entry; and the wheel in a clean environment."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import zipfile
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests import npm
from tests.waiting import STUCK_S

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
NODE = pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run")


def staged(folder: Path) -> Path:
    subprocess.run([sys.executable, ROOT / "mcpb" / "stage.py", folder], check=True)
    return folder


def mcpb(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = npm.node("@anthropic-ai/mcpb/dist/cli/cli.js", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.node
@pytest.mark.slow
@NODE
def test_the_bundle_is_valid_and_packs(tmp_path: Path) -> None:
    npm.install()
    folder = staged(tmp_path / "bundle")
    told = mcpb("validate", str(folder / "manifest.json"))
    assert told.returncode == 0, told.stdout + told.stderr
    target = tmp_path / "wallet.mcpb"
    told = mcpb("pack", str(folder), str(target))
    assert told.returncode == 0, told.stdout + told.stderr
    with zipfile.ZipFile(target) as bundle:
        names = set(bundle.namelist())
    assert {
        "manifest.json",
        "pyproject.toml",
        "server/mcp_api/proxy.py",
        "http_shim/identity.py",
    } <= names
    assert not any(n.endswith((".pyc", ".sqlite")) for n in names)


def test_the_registry_entry_says_what_the_project_is() -> None:
    told = json.loads((ROOT / "server.json").read_text())
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", told["name"])
    assert len(told["description"]) <= 100
    (package,) = told["packages"]
    assert told["version"] == package["version"] == PROJECT["version"]
    assert package["identifier"] == PROJECT["name"]
    (remote,) = told["remotes"]
    assert set(re.findall(r"{(\w+)}", remote["url"])) == set(remote["variables"])
    secrets = [*package["environmentVariables"], *remote["headers"]]
    assert all(s["isSecret"] and "value" not in s for s in secrets)


def linted(folder: Path, entry: dict[str, object]) -> list[dict[str, str]]:
    """What skillsaw finds in a registry entry, against the released schema that it names and what
    the registry's publisher asks beyond it.
    """
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps(entry))
    command = [sys.executable, "-m", "skillsaw", "lint", "--format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=STUCK_S, check=False)  # fmt: skip
    told = json.loads(done.stdout)
    assert told
    return list(told["violations"])


@pytest.mark.slow
def test_the_registry_entry_keeps_to_the_registry_s_schema(tmp_path: Path) -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    assert linted(tmp_path / "ours", entry) == []
    assert linted(tmp_path / "long", entry | {"description": "d" * 101})
    assert linted(tmp_path / "latest", entry | {"version": "latest"})
    (package,) = entry["packages"]
    assert linted(tmp_path / "kind", entry | {"packages": [package | {"transport": {}}]})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built here."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]  # fmt: skip
    subprocess.run(build, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def serves(command: list[str], folder: Path, env: dict[str, str]) -> Any:
    """What a service of its own process group answers at /healthz."""
    with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:  # fmt: skip
        assert process.stderr is not None
        try:
            lines = (line for line in process.stderr if "serving on" in line)
            service = HTTPConnection(next(lines).rpartition("/")[2].strip(), timeout=STUCK_S)
            with closing(service):
                service.request("GET", "/healthz")
                return json.load(service.getresponse())
        finally:
            os.killpg(process.pid, signal.SIGTERM)


@pytest.mark.play  # ten seconds of an installer; what the wheel holds: tests/deploy/test_release.py
# What the wheel holds and starts is in deploy/test_release.py, what it needs in house/test_dependencies.py, and the sentence
# without the extra in server/test_development_commands.py.
@pytest.mark.play
@pytest.mark.slow
def test_the_wheel_runs_by_what_people_run_tools_with(wheel: Path, tmp_path: Path) -> None:
    """In an environment of the runner's own making, of the versions that the lock has."""
    versions = re.findall(r"(?m)^[\w.-]+==[^ ;\\]+", (ROOT / "locks" / "dev.txt").read_text())
    (tmp_path / "versions").write_text("\n".join(versions) + "\n")
    command = [str(Path(sys.executable).parent / "uvx"), "--from", str(wheel), "wallet"]
    # How packages are reached is the machine's; nothing else of it is known there.
    reach = ("UV_", "PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    env = {n: v for n, v in os.environ.items() if n.upper().startswith(reach)}
    env |= {"PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
    env["UV_CONSTRAINT"] = str(tmp_path / "versions")
    env["WALLET_DATABASE_URL"] = f"sqlite:///{tmp_path / 'w.sqlite'}"

    def wallet(*arguments: str, text: str = "") -> str:
        done = subprocess.run([*command, *arguments], cwd=tmp_path, env=env, input=text, capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr[-3_000:]
        return done.stdout

    assert PROJECT["version"] in wallet("--version")
    wallet("db", "upgrade")
    answer = json.loads(wallet("mcp", text=json.dumps(HELLO) + "\n").splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "delegated-spending-wallet"
    assert serves([*command, "serve", "--port", "0"], tmp_path, env) == {"ok": True}
    without = subprocess.run([*command, "demo"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)  # fmt: skip
    assert without.returncode == 1
    assert without.stderr.endswith("pip install 'mandate-wallet[demo]'\n")
