"""A database that no process can use: each command says so in one sentence, ends with 2, and makes or changes none."""

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
from storage.sqlite_files import sqlite_path
from tests.databases import _run, _sql, database_of_development
from tests.ports import free_port

COMMANDS: Final = {
    "verify": ("db", "verify"),
    "backup": ("db", "backup", "copy"),
    "export": ("db", "export", "lines"),
    "heads": ("db", "heads", "lines"),
    "counts": ("counts",),
    "keys": ("keys", "list"),
    "a new key": ("keys", "create", "--role", "admin"),
    "switches": ("switch", "list"),
    "a switch": ("switch", "set", "door", "on"),
    "allowlist": ("allowlist", "list"),
    "limits": ("limits", "u_x", "--surface", "door", "--per-day", "1", "--why", "x"),
    "unlink": ("unlink", "0x" + "11" * 20, "--network", "testnet", "--why", "x"),
}
STARTING: Final = {
    "serve": ("serve", "--port", "0"),
    "keeper": ("keeper", "--once"),
    "mcp": ("mcp",),
    "upgrade": ("db", "upgrade"),
    "check": ("db", "upgrade", "--check"),
}
ALL: Final = COMMANDS | STARTING
# Those that copy or judge what is stored take any revision that they know the end of.
OF_ANY_REVISION: Final = ("backup", "export", "verify")
NO_NETWORK: Final = {
    f"WALLET_VENUE_{network}_URL": "http://127.0.0.1:9" for network in ("MAINNET", "TESTNET")
}
ELSE: Final = "it holds tables of something else, or only a part of this service's."


def _told(url: str, *command: str, **env: str) -> Result:
    return CliRunner().invoke(main, list(command), env={"WALLET_DATABASE_URL": url} | env)


def _answer(url: str, *command: str) -> tuple[int, str]:
    told = _told(url, *command)
    return told.exit_code, told.output


def _files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def _changed(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "w.sqlite")) as connection, connection:
        connection.execute(statement)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ALL)
def test_a_server_that_nobody_reaches_is_one_sentence_without_its_password(name: str) -> None:
    where = f"127.0.0.1:{free_port()}/wallet"
    told = _told(f"postgresql://wallet:pa55word@{where}", *ALL[name])
    said = f"Error: The database {where} is not usable: it cannot be reached.\n"
    assert (told.exit_code, told.output) == (2, said)
    told = _told("mysql://wallet:pa55word@127.0.0.1/wallet", *ALL[name])
    said = "Error: WALLET_DATABASE_URL: it begins with sqlite:/// or postgresql://.\n"
    assert (told.exit_code, told.output) == (2, said)


def test_a_schema_of_the_development_is_one_sentence(empty_url: str) -> None:
    database_of_development(empty_url)
    said = f"is at revision 0012, of a development version from which no upgrade leads to {latest()}: begin with an empty one.\n"
    answer = (2, f"Error: The database {database_name(empty_url)} {said}")
    named = [n for n in ALL if n not in OF_ANY_REVISION]
    assert {n: _answer(empty_url, *ALL[n]) for n in named} == dict.fromkeys(named, answer)


def test_a_database_of_the_development_can_be_copied(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'w.sqlite'}"
    database_of_development(url)
    told = _told(url, "db", "backup", "copy")
    assert (told.exit_code, told.output) == (0, "wallet: wrote copy\n")
    assert (tmp_path / "copy").stat().st_size


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


STATES: Final = {
    "missing": ("", "is missing or empty: run `wallet db upgrade` first."),
    "empty": ("", "is missing or empty: run `wallet db upgrade` first."),
    "newer": (
        "UPDATE alembic_version SET version_num = '9999'",
        f"is at revision 9999, and this version knows none behind {latest()}: run the version that upgraded it.",
    ),
    "tables": ("CREATE TABLE agents (x INTEGER)", f"is not usable: {ELSE}"),
    "no version": (
        "CREATE TABLE alembic_version (version_num TEXT)",
        f"is not usable: {ELSE}",
    ),
    "a version alone": (
        f"CREATE TABLE alembic_version AS SELECT '{latest()}' AS version_num",
        f"is not usable: {ELSE}",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_file_that_is_no_database_of_this_version_is_one_sentence_and_stays_as_it_is(
    tmp_path: Path, state: str
) -> None:
    url, (statement, said) = f"sqlite:///{tmp_path / 'w.sqlite'}", STATES[state]
    if state == "empty":
        (tmp_path / "w.sqlite").touch()
    if state == "newer":
        migrate.upgrade(url)
    if statement:
        _changed(tmp_path, statement)
    before, answer = _files(tmp_path), (2, f"Error: The database {url} {said}\n")
    for name, command in (COMMANDS if state in ("missing", "empty") else ALL).items():
        assert _answer(url, *command) == answer, name
        assert _files(tmp_path) == before, name


def test_tables_of_another_build_at_the_same_revision_are_one_sentence(
    database_url: str,
) -> None:
    where = database_name(database_url)
    said = f"Error: The database {where} does not have the tables of this version, though it is at its revision: "
    lost = {
        "switches": "switches",
        "verify": "ledger_heads",
        "heads": "ledger_heads",
        "a new key": "house_keys",
    }
    for name, table in lost.items():
        _sql_on(database_url, f"ALTER TABLE {table} RENAME TO {table}_before")
        told = _told(database_url, *COMMANDS[name])
        _sql_on(database_url, f"ALTER TABLE {table}_before RENAME TO {table}")
        assert (told.exit_code, told.output.count("\n")) == (2, 1), (name, told.output)
        assert told.output.startswith(said), name
        assert table in told.output, name


def _sql_on(url: str, statement: str) -> None:
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(sqlite_path(url))) as connection, connection:
            connection.execute(statement)
    else:
        _run(_sql(url, statement))


@pytest.mark.parametrize("state", ["missing", "empty", "old", "damaged"])
def test_the_doctor_writes_nothing(tmp_path: Path, state: str) -> None:
    path = tmp_path / "w.sqlite"
    if state == "old":
        database_of_development(f"sqlite:///{path}")
    elif state != "missing":
        path.write_bytes(b"no database" * 100 if state == "damaged" else b"")
    before = _files(tmp_path)
    told = _told(f"sqlite:///{path}", "doctor", **NO_NETWORK)
    assert told.exit_code == 1, told.output
    assert _files(tmp_path) == before
