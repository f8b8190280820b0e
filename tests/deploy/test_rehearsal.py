"""The rehearsal from an empty machine: its commands name what there is, and its last two do what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.commands import understood
from tests.house.sources import ROOT
from tests.ports import free_port
from tests.server.test_process import WALLET, environment, wallet
from tests.waiting import STUCK_S, Heard

PAGE = (ROOT / "docs" / "operating" / "rehearsal.md").read_text()
(SHELL,) = re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE)


def test_it_is_fifteen_commands_about_files_that_there_are() -> None:
    assert len(SHELL.splitlines()) <= 15
    named = set(re.findall(r"(?:deploy|docs/examples)/[\w./-]*\w", PAGE))
    assert named
    assert [n for n in named if not (ROOT / n).exists()] == []
    (parts,) = re.findall(r"for part in '([^']+)' '([^']+)' (\w+);", SHELL)
    called = [*re.findall(r"bin/wallet ((?:db|switch|devnet)[^>&|\n]*)", SHELL), *parts]
    assert {understood(c.split()) for c in called} == {"devnet", "db upgrade", "switch set", "serve", "keeper"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.play
def test_an_owner_fills_a_vault_and_the_agent_puts_money_into_a_market(tmp_path: Path) -> None:
    owner, agent = SHELL.splitlines()[-2:]
    base, here = f"http://127.0.0.1:{free_port()}", environment(tmp_path)
    net = subprocess.Popen(
        [*WALLET, "devnet", "--port", "0", "--markets", "markets.toml"],
        env=here | {"PYTHONUNBUFFERED": "1"}, cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for line in net.stdout or ():
            if line.startswith("market:"):
                break
            name, _, value = line.strip().partition("=")
            here[name] = value
        assert "WALLET_MARKETS_FILE" in here
        assert wallet(tmp_path, "db", "upgrade").returncode == 0
        serving = subprocess.Popen(
            [*WALLET, "serve", "--port", base.rpartition(":")[2]],
            env=here | {"WALLET_BASE_URL": base}, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        heard = Heard(serving)
        try:
            heard.until("serving on")
            (node,) = [v for k, v in here.items() if k.endswith("__RPC_URL")]
            commands = f"{owner}\n{agent}".replace("/opt/wallet/bin/python", sys.executable)
            commands = commands.replace("https://wallet.example", base).replace("http://127.0.0.1:8545", node)  # fmt: skip
            commands = re.sub(r"export SSL_CERT_FILE=\S+ && ", "", commands)
            assert sys.executable in commands
            done = subprocess.run(
                ["bash", "-c", commands], env=here, cwd=ROOT, capture_output=True, text=True, timeout=STUCK_S, check=False,
            )  # fmt: skip
            assert re.fullmatch(r"landed: 0x[0-9a-f]{64}\n", done.stdout), done.stderr
        finally:
            serving.kill()
            serving.wait()
            heard.whole()
    finally:
        net.kill()
        net.communicate()
