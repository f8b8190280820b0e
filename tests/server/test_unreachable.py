"""A database that no process can use: each command says so in one sentence, and ends with 2."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from server.cli.main import main
from storage.schema import migrate
from storage.schema.revision import latest
from tests.ports import free_port
from tests.server.test_never_upgraded import COMMANDS

STARTING: Final = {
    "serve": ("serve", "--port", "0"),
    "keeper": ("keeper", "--once"),
    "mcp": ("mcp",),
    "upgrade": ("db", "upgrade"),
}
ALL: Final = COMMANDS | STARTING


def _told(url: str, *command: str) -> Result:
    return CliRunner().invoke(main, list(command), env={"WALLET_DATABASE_URL": url})


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ALL)
def test_a_server_that_nobody_reaches_is_one_sentence_without_its_password(name: str) -> None:
    where = f"127.0.0.1:{free_port()}/wallet"
    told = _told(f"postgresql://wallet:pa55word@{where}", *ALL[name])
    assert (told.exit_code, told.output) == (
        2,
        f"Error: The database {where} is not usable: it cannot be reached.\n",
    )


@pytest.mark.parametrize("name", ALL)
def test_an_address_of_neither_kind_is_one_sentence(name: str) -> None:
    told = _told("mysql://wallet:pa55word@127.0.0.1/wallet", *ALL[name])
    said = "Error: WALLET_DATABASE_URL: it begins with sqlite:/// or postgresql://.\n"
    assert (told.exit_code, told.output) == (2, said)


@pytest.mark.pg
@pytest.mark.parametrize(
    "name", [n for n in ALL if n not in ("upgrade", "export", "backup", "verify")]
)
def test_an_older_schema_on_a_server_is_one_sentence(empty_pg_url: str, name: str) -> None:
    migrate.upgrade(empty_pg_url, "0001")
    told = _told(empty_pg_url, *ALL[name])
    assert told.exit_code == 2, told.output
    assert f"is at revision 0001, and {latest()} is needed: run `wallet db upgrade`" in told.output
    assert "Traceback" not in told.output
    assert told.output.count("\n") == 1
