"""The generated clients: built out of the document, typed, and one story with each against a running service."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

from tests import npm
from tests.surfaces.conftest import Service, service  # noqa: F401 - fixtures
from tests.waiting import STUCK_S
from tests.world import CHAIN_ID

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "clients"
NODE = [
    pytest.mark.node,
    pytest.mark.slow,
    pytest.mark.skipif(bool(npm.missing()), reason=npm.missing() or "can run"),
]


def test_money_is_one_type_in_the_python_client() -> None:
    models = (built("python") / "wallet_client" / "models.py").read_text()
    assert "RootModel" not in models
    made = imported("wallet_client", built("python")).models
    assert (
        made.RemainingNow.model_validate_json(
            '{"value": "1.000000", "binding": {"clause": 2, "key": "per_action"}, "blocked_by": null, "retry_at": null}'
        ).value
        == "1.000000"
    )


def imported(name: str, folder: Path) -> ModuleType:
    """A module that is no part of the service."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def built(name: str) -> Path:
    """The folder of a client, built if its sources changed."""
    folder: Path = imported("generate", CLIENTS).build(name)
    return folder


@cache
def compiled() -> Path:
    """The folder of the TypeScript client, with its stories as JavaScript. Where its sources did not
    change, the compiler goes by what it wrote down of them the last time.
    """
    folder = built("typescript")
    command = ["node", "node_modules/typescript/bin/tsc", "-p", ".", "--incremental"]
    subprocess.run(command, cwd=folder, check=True, timeout=STUCK_S)
    return folder


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The generator over a document and a client of its own, whose builds are counted."""
    generate = imported("generate", CLIENTS)
    (tmp_path / "python" / "node_modules").mkdir(parents=True)
    (tmp_path / "python" / "README.md").write_text("by hand")
    (tmp_path / "openapi.json").write_text("{}")

    def written(folder: Path) -> None:
        with (tmp_path / "builds").open("a") as builds:
            builds.write("one ")
        if (tmp_path / "broken").exists():
            raise OSError("broken")
        (folder / "client.py").write_text(generate.DOCUMENT.read_text())

    monkeypatch.setattr(generate, "HERE", tmp_path)
    monkeypatch.setattr(generate, "BUILD", tmp_path / "build")
    monkeypatch.setattr(generate, "DOCUMENT", tmp_path / "openapi.json")
    monkeypatch.setattr(generate, "CLIENTS", {"python": written})
    return generate


def test_a_client_is_built_once_and_again_where_its_sources_change(
    apart: ModuleType, tmp_path: Path
) -> None:
    def builds() -> int:
        return (tmp_path / "builds").read_text().count("one")

    with ThreadPoolExecutor(4) as threads:
        folders = set(threads.map(apart.build, ["python"] * 4))
    assert folders == {tmp_path / "build" / "python"}
    assert builds() == 1
    (tmp_path / "python" / "node_modules" / "left").write_text("by a tool")
    apart.build("python")
    assert builds() == 1
    apart.DOCUMENT.write_text('{"openapi": "3.1.0"}')
    folder = apart.build("python")
    assert builds() == 2
    assert (folder / "client.py").read_text() == '{"openapi": "3.1.0"}'
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "client.py"]


def test_a_build_that_failed_is_done_again(apart: ModuleType, tmp_path: Path) -> None:
    apart.build("python")
    first = apart.DOCUMENT.read_text()
    apart.DOCUMENT.write_text("[]")
    (tmp_path / "broken").touch()
    with pytest.raises(OSError, match="broken"):
        apart.build("python")
    (tmp_path / "broken").unlink()
    apart.DOCUMENT.write_text(first)
    assert (apart.build("python") / "client.py").read_text() == first


@pytest.mark.slow
def test_the_python_client_is_typed() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--explicit-package-bases"]
    done = subprocess.run(
        [*command, "wallet_client"],
        cwd=built("python"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout


class TestTypeScript:
    pytestmark = NODE

    @pytest.mark.play  # one more language, in which test_paying.py pays
    @pytest.mark.anyio
    async def test_both_clients_see_the_same_story(self, service: Service) -> None:  # noqa: F811
        folder = await anyio.to_thread.run_sync(compiled)
        command = ["node", "build/story/story.js", *told_of(service)]
        done = await anyio.run_process(command, cwd=folder)
        assert json.loads(done.stdout) == await story(service)


def told_of(service: Service) -> list[str]:  # noqa: F811
    """Base, key, mandate, target and calldata of the story."""
    m, world = service.mandate, service.world
    data = world.deposit_data(m.vault or "", "101")
    return [service.base, service.key, m.id, world.evm.market, data]


async def story(service: Service) -> dict[str, Any]:  # noqa: F811
    """Who am I, what may I do, act over the cap, report, read."""
    wallet_client = imported("wallet_client", await anyio.to_thread.run_sync(built, "python"))
    base, key, public_id, target, data = told_of(service)
    async with wallet_client.WalletClient(base, agent_key=key) as wallet:
        me = await wallet.agents_me()
        limits = await wallet.mandate_limits(public_id=public_id)
        with pytest.raises(wallet_client.Refused) as refused:
            await wallet.mandate_execute_call(
                public_id=public_id, target=target, data=data, approve_amount="101"
            )
        reported = await wallet.mandate_report_event(
            public_id=public_id, kind="note", payload={"text": "hello"}
        )
        read = await wallet.mandate_get(public_id=public_id, parts="progress,events")
    left = limits.limits.remaining
    return {
        "agent": me.name,
        "possible": getattr(left.value, "root", left.value),
        "binding": left.binding.key,
        "refused": refused.value.refusal.error,
        "status": refused.value.status,
        "flagged": reported.violation,
        "worth": getattr(read.progress.worth_est, "root", read.progress.worth_est),
        "newest": read.events[0].payload.text,
    }


@pytest.mark.parametrize(
    "example",
    [CLIENTS / "python" / "example.py", CLIENTS / "typescript" / "story" / "example.ts"],
    ids=lambda p: p.name,
)
def test_a_readme_shows_the_example_that_is_tested(example: Path) -> None:
    readme = (CLIENTS / example.relative_to(CLIENTS).parts[0] / "README.md").read_text()
    assert example.read_text() in readme


@pytest.mark.anyio
async def test_the_example_in_python_gets_its_calldata(service: Service) -> None:  # noqa: F811
    act = imported("example", await anyio.to_thread.run_sync(built, "python")).act
    base, key, public_id, target, _ = told_of(service)
    data = service.world.deposit_data(service.mandate.vault or "", "25")
    told = await act(base, key, public_id, target, data)
    assert told.startswith(f"sign and send on chain {CHAIN_ID}, to 0x")


@pytest.mark.anyio
async def test_the_python_client_plays_the_story(service: Service) -> None:  # noqa: F811
    told = await story(service)
    assert told["refused"] == "over_per_tx_cap"
    assert (told["status"], told["flagged"], told["newest"]) == (409, False, "hello")
    assert told["possible"].count(".") == told["worth"].count(".") == 1
