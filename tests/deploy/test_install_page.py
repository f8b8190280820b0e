"""The page about installing calls commands, files and settings that there are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from server.settings import Settings
from tests.deploy.commands import understood, unknown_settings
from tests.house.sources import ROOT

PAGE = (ROOT / "docs" / "operating" / "install.md").read_text()
SHELL = "\n".join(re.findall(r"(?ms)^```sh\n(.*?)^```", PAGE))


def test_every_file_of_deploy_that_it_names_is_there() -> None:
    named = set(re.findall(r"deploy/[\w./-]*\w", PAGE))
    assert named
    assert [n for n in named if not (ROOT / n).exists()] == []
    shipped = {p.relative_to(ROOT).as_posix() for p in (ROOT / "deploy").glob("*/*") if p.suffix != ".service"}  # fmt: skip
    assert {n for n in shipped if n not in PAGE and str(Path(n).parent) not in named} == set()


def test_every_command_and_setting_that_it_names_is_there() -> None:
    called = re.findall(r"/opt/wallet/bin/wallet ([a-z ]+?) *(?:&&|;|$)", SHELL)
    assert [understood(c.split()) for c in called] == ["db upgrade", "doctor"]
    units = set(re.findall(r"wallet-(\w+)(?:@\d+)?", " ".join(re.findall(r"enable --now (.*)", SHELL))))  # fmt: skip
    there = {p.stem.removeprefix("wallet-").rstrip("@") for p in (ROOT / "deploy" / "systemd").glob("*.service")}  # fmt: skip
    assert units == there
    assert unknown_settings(PAGE) == set()


def test_its_settings_file_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = re.findall(r"(?ms)^```toml\n(.*?)^```", PAGE)
    monkeypatch.chdir(tmp_path)
    Path("wallet.toml").write_text(text)
    Path("state-keys").write_text("0f" * 32)
    settings, told = Settings(), tomllib.loads(text)
    assert told.keys() <= Settings.model_fields.keys()
    assert settings.database_url == told["database_url"]
    assert settings.chains[84532].rpc_url == told["chains"]["84532"]["rpc_url"]
