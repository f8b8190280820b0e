"""A database that was never upgraded: every command says so in one sentence, and none makes one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from server.cli.main import main
from storage.schema.revision import latest
from tests.databases import database_of_development

COMMANDS: Final = {
    "verify": ("db", "verify"),
    "backup": ("db", "backup", "copy"),
    "export": ("db", "export", "lines"),
    "counts": ("counts",),
    "keys": ("keys", "list"),
    "a new key": ("keys", "create", "--role", "admin"),
    "switches": ("switch", "list"),
    "a switch": ("switch", "set", "door", "on"),
    "allowlist": ("allowlist", "list"),
    "limits": ("limits", "u_x", "--surface", "door", "--per-day", "1", "--why", "x"),
    "unlink": ("unlink", "0x" + "11" * 20, "--network", "testnet", "--why", "x"),
}


def _said(folder: Path, *command: str) -> Result:
    return CliRunner().invoke(
        main, list(command), env={"WALLET_DATABASE_URL": f"sqlite:///{folder / 'w.sqlite'}"}
    )


def _files(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_size for p in folder.iterdir()}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("state", ["missing", "empty"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_database_that_is_not_there_is_one_sentence(
    tmp_path: Path, name: str, state: str
) -> None:
    if state == "empty":
        (tmp_path / "w.sqlite").touch()
    before = _files(tmp_path)
    told = _said(tmp_path, *COMMANDS[name])
    assert told.exit_code == 2, told.output
    assert told.output == (
        f"Error: The database sqlite:///{tmp_path / 'w.sqlite'} is missing or empty: "
        "run `wallet db upgrade` first.\n"
    )
    assert _files(tmp_path) == before


# Those that copy or judge what is stored take any revision that they know the end of.
OF_ANY_REVISION: Final = ("backup", "export", "verify")


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in OF_ANY_REVISION])
def test_a_database_of_the_development_is_one_sentence(tmp_path: Path, name: str) -> None:
    database_of_development(f"sqlite:///{tmp_path / 'w.sqlite'}")
    told = _said(tmp_path, *COMMANDS[name])
    assert told.exit_code == 2, told.output
    assert (
        f"is at revision 0012, of a development version from which no upgrade leads to {latest()}"
        in told.output
    )
    assert told.output.count("\n") == 1
    assert [*_files(tmp_path)] == ["w.sqlite"]


def test_a_database_of_the_development_can_be_copied(tmp_path: Path) -> None:
    database_of_development(f"sqlite:///{tmp_path / 'w.sqlite'}")
    told = _said(tmp_path, "db", "backup", "copy")
    assert (told.exit_code, told.output) == (0, "wallet: wrote copy\n")
    assert (tmp_path / "copy").stat().st_size


@pytest.mark.parametrize("state", ["missing", "empty", "old", "damaged"])
def test_the_doctor_writes_nothing(tmp_path: Path, state: str) -> None:
    path = tmp_path / "w.sqlite"
    if state == "old":
        database_of_development(f"sqlite:///{path}")
    elif state != "missing":
        path.write_bytes(b"no database" * 100 if state == "damaged" else b"")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    told = CliRunner().invoke(
        main,
        ["doctor"],
        env={
            "WALLET_DATABASE_URL": f"sqlite:///{path}",
            "WALLET_VENUE_MAINNET_URL": "http://127.0.0.1:9",
            "WALLET_VENUE_TESTNET_URL": "http://127.0.0.1:9",
        },
    )
    assert told.exit_code == 1, told.output
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
