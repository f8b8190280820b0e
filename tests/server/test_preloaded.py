"""A start of the product out of the process that has loaded it is one by `exec` in all that a test can see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.server.test_process import environment
from tests.waiting import STUCK_S, Heard

ROOT = Path(__file__).parents[2]
WALLET = [sys.executable, "-m", "server"]
# An interpreter option of its own is for `exec` alone.
EXECUTED = {"PYTHONHASHSEED": "0"}


def said(folder: Path, *arguments: str, **env: str) -> tuple[int, str, str]:
    how: Any = {"cwd": folder, "timeout": STUCK_S, "check": False, "capture_output": True}
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)} | env
    done = subprocess.run([*WALLET, *arguments], env=env, text=True, **how)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", ["--help", "serve --port no", "db verify"])
def test_it_says_and_returns_the_same(tmp_path: Path, arguments: str) -> None:
    forked, executed = (said(tmp_path, *arguments.split(), **more) for more in ({}, EXECUTED))
    assert forked == executed
    assert forked[1] or forked[2]


def test_it_has_the_folder_and_the_environment_that_it_was_given_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "WALLET_DATABASE_URL"
    monkeypatch.setenv(name, "sqlite:///callers.sqlite")
    assert "sqlite:///wallet.sqlite is missing" in said(tmp_path, "db", "verify")[2]
    told = said(tmp_path, "db", "verify", **{name: "sqlite:///own.sqlite"})[2]
    assert "sqlite:///own.sqlite is missing" in told
    how: Any = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    told = subprocess.run([*WALLET, "db", "verify"], **how).stderr
    assert "sqlite:///callers.sqlite is missing" in told
    (tmp_path / "wallet.toml").write_text("database_url = 'sqlite:///folders.sqlite'")
    assert "sqlite:///folders.sqlite is missing" in said(tmp_path, "db", "verify")[2]


@pytest.mark.parametrize(
    ("end", "alone"), [(signal.SIGTERM, True), (signal.SIGINT, False), (signal.SIGKILL, False)]
)
def test_it_is_a_child_that_ends_by_signals(
    sqlite_url: str, tmp_path: Path, end: signal.Signals, alone: bool
) -> None:
    command = [*WALLET, "serve", "--no-keeper", "--port", str(free_port())]
    process = subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=alone)  # fmt: skip
    heard = Heard(process)
    heard.until("serving on")
    assert Path(f"/proc/{process.pid}/cwd").resolve() == tmp_path
    assert f"\nPPid:\t{os.getpid()}\n" in Path(f"/proc/{process.pid}/status").read_text()
    assert (os.getsid(process.pid) == process.pid) == alone
    process.send_signal(end)
    assert process.wait(STUCK_S) == (-end if end == signal.SIGKILL else 0)
    heard.whole()
