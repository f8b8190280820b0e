"""A command that meets a database or a file that it cannot work with ends with one sentence, and leaves no half of a file."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.cli.main import main
from storage.sqlite_files import sqlite_path
from tests.databases import _run as run
from tests.databases import _sql as statements
from tests.releases import restored
from tests.waiting import STUCK_S

DAMAGED = "its file is damaged."
PAGE = 4096


def told(url: str, *command: str, wait_ms: int = 5_000) -> Result:
    env = {"WALLET_DATABASE_URL": url, "WALLET_DATABASE_WAIT_MS": str(wait_ms)}
    return CliRunner().invoke(main, command, env=env)


def refused(done: Result, status: int) -> str:
    """The one sentence of a refusal."""
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == status, done.output
    (sentence,) = done.output.splitlines()
    assert sentence.startswith("Error: ")
    return sentence


@pytest.fixture
def damaged(upgraded: str) -> str:
    """A database whose first pages are whole, and a part of whose ledger is not."""
    path = Path(sqlite_path(upgraded))
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode = DELETE")
        (root,) = file.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'ledger_events'"
        ).fetchone()
    whole = bytearray(path.read_bytes())
    for place in range((root - 1) * PAGE, root * PAGE):
        whole[place] ^= 0x5A
    path.write_bytes(whole)
    return upgraded


def test_a_damaged_database_is_one_sentence_for_every_command(damaged: str, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    for command in (
        ("db", "verify"),
        ("db", "export", str(tmp_path / "export")),
        ("keeper", "--once"),
    ):
        assert refused(told(damaged, *command), 2).endswith(DAMAGED), command
    copied = told(damaged, "db", "backup", str(tmp_path / "copy"))
    assert refused(copied, 1) == f"Error: no copy was made: {DAMAGED[:-1]}"
    source = sqlite_path(damaged)
    back = told(f"sqlite:///{tmp_path / 'back.sqlite'}", "db", "restore", source)
    assert refused(back, 1) == f"Error: no copy was made: {DAMAGED[:-1]}"
    left = {path for path in set(tmp_path.iterdir()) - before if not path.name.endswith(("-wal", "-shm"))}  # fmt: skip
    assert left == set()


def test_a_schema_that_is_no_text_is_a_damaged_file(sqlite_url: str) -> None:
    path = Path(sqlite_path(sqlite_url))
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode = DELETE")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"house_keys", b"house_\xaa\xbbys"))
    assert refused(told(sqlite_url, "db", "verify"), 2).endswith(DAMAGED)


def written(url: str, statement: str) -> None:
    """What somebody does who can write the file."""
    with closing(sqlite3.connect(sqlite_path(url), isolation_level=None)) as file:
        for (trigger,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            file.execute(f"DROP TRIGGER {trigger}")
        assert file.execute(statement).rowcount == 1


@pytest.fixture
def upgraded(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'w.sqlite'}"
    asyncio.run(restored(url))
    assert told(url, "db", "upgrade").exit_code == 0
    return url


def test_a_row_that_is_no_row_is_a_finding_and_blames_no_file_of_heads(
    upgraded: str, tmp_path: Path
) -> None:
    heads = tmp_path / "heads"
    assert told(upgraded, "db", "heads", str(heads)).exit_code == 0
    written(upgraded, "UPDATE ledger_events SET created_at = 'x' WHERE seq = 9")
    done = told(upgraded, "db", "verify", "--against", str(heads))
    assert done.exit_code == 1
    assert "the row cannot be read" in done.output, done.output
    heads.write_text('{"public_id": "m_1", "seq": 1e400, "row_hash": "x"}')
    none = told(upgraded, "db", "verify", "--against", str(heads))
    assert refused(none, 1) == f"Error: {heads}: line 1 is no head of a ledger"
    heads.write_bytes(bytes(range(128, 192)))
    none = told(upgraded, "db", "verify", "--against", str(heads))
    assert refused(none, 1) == f"Error: {heads}: it holds no text"


def test_a_text_that_is_none_is_a_damaged_file(upgraded: str, tmp_path: Path) -> None:
    written(upgraded, "UPDATE ledger_events SET kind = CAST(X'FF00FF' AS TEXT) WHERE seq = 9")
    assert refused(told(upgraded, "db", "verify"), 2).endswith(DAMAGED)
    assert refused(told(upgraded, "db", "export", str(tmp_path / "export")), 2).endswith(DAMAGED)
    assert not (tmp_path / "export").exists()


def test_a_row_that_is_no_row_ends_a_round_of_the_keeper_in_one_sentence(upgraded: str) -> None:
    written(upgraded, "UPDATE ledger_events SET created_at = 'x' WHERE seq = 9")
    said = refused(told(upgraded, "keeper", "--once"), 2)
    assert said.endswith("a row of a ledger cannot be read; `wallet db verify` says which.")


@pytest.mark.pg
def test_a_role_without_rights_is_one_sentence_for_every_command(
    pg_url: str, empty_pg_url: str
) -> None:
    role = "lacking_rights"
    run(statements(pg_url, f"CREATE ROLE {role} LOGIN", f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"))  # fmt: skip
    try:
        for url, command in (
            (empty_pg_url, ("db", "upgrade")),
            (empty_pg_url, ("serve", "--port", "0")),
            (pg_url, ("keys", "create", "--role", "admin")),
            (pg_url, ("keeper", "--once")),
        ):
            lesser = url.replace("postgres@", f"{role}@")
            said = refused(told(lesser, *command), 2)
            assert "its user lacks the rights for that." in said, command
        seen = told(pg_url.replace("postgres@", f"{role}@"), "doctor")
        assert seen.exit_code == 1
        assert "its user lacks the rights for that" in seen.output
    finally:
        run(statements(pg_url, f"DROP OWNED BY {role}", f"DROP ROLE {role}"))


@pytest.mark.pg
def test_a_database_without_room_for_every_letter_is_refused(pg_server: str) -> None:
    name = "of_latin_letters"
    made = f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0"
    run(statements(f"{pg_server}/postgres", made))
    try:
        said = refused(told(f"{pg_server}/{name}", "db", "upgrade"), 2)
    finally:
        run(statements(f"{pg_server}/postgres", f"DROP DATABASE {name}"))
    assert "its encoding is LATIN1, which lacks letters" in said
    assert said.endswith("`createdb --template=template0 --encoding=UTF8 --locale=C`.")


@pytest.fixture
def held(sqlite_url: str) -> Iterator[str]:
    """A database that somebody else writes to, and does not end."""
    with closing(sqlite3.connect(sqlite_path(sqlite_url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield sqlite_url
        other.execute("ROLLBACK")


def test_a_database_that_takes_no_write_is_one_sentence_and_a_fault_of_the_doctor(
    held: str,
) -> None:
    done = told(held, "switch", "set", "live_door", "off", wait_ms=100)
    assert refused(done, 2).endswith("is not usable: another process holds its lock.")
    seen = told(held, "doctor", "--json", wait_ms=100)
    assert seen.exit_code == 1
    assert "another process holds its lock" in seen.output, seen.output
    assert "nothing can be written" in seen.output


@pytest.mark.parametrize("command", [("db", "upgrade"), ("serve", "--port", "0")])
def test_an_upgrade_without_room_is_one_sentence_and_can_be_tried_again(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    url = f"sqlite:///{tmp_path / 'w.sqlite'}"

    def run(room: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "server", *command],
            env={"WALLET_DATABASE_URL": url},
            capture_output=True,
            text=True,
            check=False,
            timeout=STUCK_S,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        )

    done = run(100_000)
    assert done.returncode == 2, done.stderr
    sentence = done.stderr.splitlines()[-1]
    assert sentence.startswith(f"Error: The database {url} was not upgraded: its disk ")
    assert sentence.endswith("It is as it was; run it again.")
    assert "Traceback" not in done.stderr
    assert told(url, "db", "upgrade").exit_code == 0


@pytest.mark.parametrize("kind", ["folder", "binary", "open", "absent", "short"])
def test_a_key_file_of_the_deployer_that_is_none_is_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    match kind:
        case "folder":
            path.mkdir()
        case "binary":
            path.write_bytes(bytes(range(128, 228)))
        case "open":
            path.write_text("0x" + "11" * 32)
            path.chmod(0o644)
        case "short":
            path.write_text("0x01")
    if kind not in ("open", "absent", "folder"):
        path.chmod(0o600)
    done = CliRunner().invoke(
        main, ["contracts", "deploy", "--chain", "84532", "--key-file", str(path)]
    )
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 2
    assert "Invalid value for '--key-file': " in done.output


def test_addresses_that_cannot_be_told_are_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["contracts", "addresses", "--chain"]
    no_keeper = CliRunner().invoke(main, [*asked, "84532"])
    assert "not set up for a keeper address" in refused(no_keeper, 1)
    no_usdc = CliRunner().invoke(main, [*asked, "99", "--keeper-address", "0x" + "11" * 20])
    assert "USDC of chain 99" in refused(no_usdc, 1)
