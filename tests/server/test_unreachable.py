"""A database that no process can use: each command says so in one sentence, and ends with 2."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from server.cli.main import main
from storage.schema import migrate
from storage.schema.revision import database_name, latest
from tests.databases import database_of_development
from tests.ports import free_port
from tests.server.test_never_upgraded import COMMANDS, OF_ANY_REVISION

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


@pytest.mark.parametrize("name", [n for n in ALL if n not in OF_ANY_REVISION])
def test_a_schema_of_the_development_is_one_sentence(empty_url: str, name: str) -> None:
    database_of_development(empty_url)
    told = _told(empty_url, *ALL[name])
    assert (told.exit_code, told.output) == (
        2,
        f"Error: The database {database_name(empty_url)} is at revision 0012, of a development version from "
        f"which no upgrade leads to {latest()}: begin with an empty one.\n",
    )


SECRET: Final = "Mark3dSecr3t"
QUOTED: Final = {
    "option": f"postgresql://u@127.0.0.1:1/db?password={SECRET}",
    "unknown option": f"postgresql://u@127.0.0.1:1/db?{SECRET}",
    "question mark": f"postgresql://u:pa?{SECRET}@127.0.0.1:1/db",
    "slash": f"postgresql://u:5/{SECRET}@127.0.0.1:1/db",
    "hash": f"postgresql://u:5#{SECRET}@127.0.0.1:1/db",
    "at": f"postgresql://u:{SECRET}@x@127.0.0.1:1/db",
    "at before": f"postgresql://u:x@{SECRET}@127.0.0.1:1/db",
    "bracket": f"postgresql://u:[{SECRET}@127.0.0.1:1/db",
    "port": f"postgresql://u:{SECRET}@127.0.0.1:99999/db",
    "port of letters": f"postgresql://u:5@127.0.0.1:{SECRET}/db",
    "options with @": f"postgresql://u:5@127.0.0.1:1/db?password=a@{SECRET}",
}


@pytest.mark.parametrize("name", ["counts", "serve", "upgrade", "keeper", "mcp"])
@pytest.mark.parametrize("of", QUOTED)
def test_no_part_of_an_address_that_may_be_a_password_is_shown(name: str, of: str) -> None:
    told = _told(QUOTED[of], *ALL[name])
    assert told.exit_code == 2, told.output
    assert SECRET not in told.output + repr(told.exception)
    assert told.output.startswith("Error: The database ")
    assert told.output.count("\n") == 1


@pytest.mark.parametrize("name", ALL)
def test_a_schema_that_only_a_newer_version_knows_is_one_sentence(
    tmp_path: Path, name: str
) -> None:
    url = f"sqlite:///{tmp_path / 'w.sqlite'}"
    migrate.upgrade(url)
    _changed(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    before = (tmp_path / "w.sqlite").read_bytes()
    told = _told(url, *ALL[name])
    assert (told.exit_code, told.output) == (
        2,
        f"Error: The database {url} is at revision 9999, and this version knows none behind "
        f"{latest()}: run the version that upgraded it.\n",
    )
    assert (tmp_path / "w.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    "tables",
    [
        "CREATE TABLE agents (x INTEGER)",
        "CREATE TABLE alembic_version (version_num TEXT)",
        f"CREATE TABLE alembic_version AS SELECT '{latest()}' AS version_num",
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_a_file_of_something_else_is_one_sentence(tmp_path: Path, name: str, tables: str) -> None:
    _changed(tmp_path, tables)
    before = (tmp_path / "w.sqlite").read_bytes()
    url = f"sqlite:///{tmp_path / 'w.sqlite'}"
    told = _told(url, *ALL[name])
    assert (told.exit_code, told.output) == (
        2,
        f"Error: The database {url} is not usable: it holds tables of something else, or only a "
        "part of this service's.\n",
    )
    assert (tmp_path / "w.sqlite").read_bytes() == before


def _changed(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "w.sqlite")) as connection, connection:
        connection.execute(statement)
