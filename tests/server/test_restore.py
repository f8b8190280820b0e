"""A database comes back from a backup: nothing is overwritten, the reader goes on by itself, the record verifies, and nothing is sent twice."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import asyncpg
import pytest
from click.testing import CliRunner, Result

from domain.ledger.state.measured import MeasuredBook
from server.cli.main import main
from storage.errors import NoBackup
from storage.integrity.backup import backup, restored
from storage.integrity.ledger_check import verify
from storage.schema import migrate
from storage.schema.revision import latest
from storage.sqlite_files import sqlite_path
from storage.store import open_store
from tests.databases import (
    _QUICK,
    PATIENT,
    _binaries,
    _run,
    _sql,
    _started,
    _stop,
    database_of_development,
    running_postgres,
)
from tests.server.test_keeping import keeper, rounds, sent, spend
from tests.waiting import STUCK_S
from tests.world import Evm, World, a_world, own_evm, working

evm = own_evm
pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def told(url: str, *command: str) -> Result:
    return CliRunner().invoke(main, ["db", *command], env={"WALLET_DATABASE_URL": url})


def said(done: Result) -> tuple[int, str]:
    return done.exit_code, done.output


# -- the command --------------------------------------------------------------------------------------------------


def test_a_restore_makes_the_database_and_holds_real_orders_back(
    sqlite_url: str, tmp_path: Path
) -> None:
    assert told(sqlite_url, "backup", str(tmp_path / "copy")).exit_code == 0
    before, url = (tmp_path / "copy").read_bytes(), f"sqlite:///{tmp_path / 'new' / 'w.sqlite'}"
    done = told(url, "restore", str(tmp_path / "copy"))
    assert (done.exit_code, "live_door is off" in done.output) == (0, True), done.output
    path = Path(sqlite_path(url))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["w.sqlite"], "one file, and no part of it"
    assert (tmp_path / "copy").read_bytes() == before
    switches = CliRunner().invoke(main, ["switch", "list"], env={"WALLET_DATABASE_URL": url})
    values = {name: s["value"] for name, s in json.loads(switches.stdout).items()}
    assert (values["live_terminal"], values["live_door"], values["stop_line_dry_run"]) == (
        "off",
        "off",
        "on",
    )
    assert told(url, "verify").exit_code == 0


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_restore_never_replaces_a_database_nor_takes_its_journal(
    sqlite_url: str, tmp_path: Path, end: str
) -> None:
    told(sqlite_url, "backup", str(tmp_path / "copy"))
    there = tmp_path / f"w.sqlite{end}"
    there.write_text("somebody's")
    done = told(f"sqlite:///{tmp_path / 'w.sqlite'}", "restore", str(tmp_path / "copy"))
    assert (done.exit_code, f"{there} is there already" in done.output) == (1, True), done.output
    assert there.read_text() == "somebody's"
    assert not list(tmp_path.glob("*.part"))


def test_what_is_no_backup_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    url, source = f"sqlite:///{tmp_path / 'w.sqlite'}", tmp_path / "copy"
    assert said(told(url, "restore", str(source))) == (
        1,
        f"Error: there is no backup at {source}\n",
    )
    source.touch()
    assert said(told(url, "restore", str(source))) == (
        1,
        f"Error: there is no backup at {source}\n",
    )
    source.write_bytes(b"no database" * 100)
    damaged = f"Error: The database sqlite:///{source} is not usable: its file is damaged.\n"
    assert said(told(url, "restore", str(source))) == (2, damaged)
    source.unlink()
    database_of_development(f"sqlite:///{source}")
    assert "of a development version" in told(url, "restore", str(source)).output
    source.unlink()
    migrate.upgrade(f"sqlite:///{source}")
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "run the version that upgraded it" in told(url, "restore", str(source)).output
    tool = told("postgresql://127.0.0.1:1/wallet", "restore", "none").output
    assert tool.startswith("Error: PostgreSQL is restored by its own tool: pg_restore")
    assert not list(tmp_path.glob("w.sqlite*"))


async def test_of_two_that_restore_at_once_one_does(sqlite_url: str, tmp_path: Path) -> None:
    source, url = tmp_path / "copy", f"sqlite:///{tmp_path / 'w.sqlite'}"
    await backup(sqlite_url, source)
    together = asyncio.Barrier(2)

    async def restore() -> None:
        async with restored(source, url):
            await together.wait()

    ends = await asyncio.gather(restore(), restore(), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["NoBackup", "NoneType"]
    assert (await verify(url)).ok
    assert not list(tmp_path.glob("*.part*"))


async def test_two_backups_to_one_file_write_into_none_of_each_other(
    sqlite_url: str, tmp_path: Path
) -> None:
    target = tmp_path / "copy"
    ends = await asyncio.gather(*(backup(sqlite_url, target) for _ in range(4)), return_exceptions=True)  # fmt: skip
    assert [end for end in ends if end is not None and not isinstance(end, NoBackup)] == []
    assert ends.count(None) == 1
    assert (await verify(f"sqlite:///{target}")).ok
    assert not list(tmp_path.glob("*.part*"))


# -- upgrade --check ----------------------------------------------------------------------------------------------


def test_the_check_of_an_upgrade_says_what_is_due_and_writes_nothing(empty_url: str) -> None:
    due = told(empty_url, "upgrade", "--check")
    assert (due.exit_code, "is missing or empty: `wallet db upgrade` brings it there." in due.output) == (1, True)  # fmt: skip
    assert told(empty_url, "upgrade", "--check").exit_code == 1
    assert told(empty_url, "upgrade").exit_code == 0
    done = told(empty_url, "upgrade", "--check")
    assert (done.exit_code, f"is at revision {latest()}, as" in done.output) == (0, True)


# -- the chain goes on --------------------------------------------------------------------------------------------


@pytest.fixture
async def world(sqlite_url: str, evm: Evm) -> AsyncIterator[World]:
    async with a_world(sqlite_url, evm, stop_line_dry_run=False) as opened:
        yield opened


async def measured(world: World, public_id: str) -> MeasuredBook:
    return (await world.store.read(lambda uow: uow.ledger.state(public_id))).measured


def sums(book: MeasuredBook) -> tuple[int, ...]:
    return book.deposits, book.spent, book.received, book.trades, book.payouts


async def test_after_a_restore_the_reader_goes_on_and_nothing_is_sent_twice(
    world: World, tmp_path: Path
) -> None:
    kept, ended = await working(world), await working(world)
    await spend(world, kept, "40")
    await rounds(world, keeper(world), 2)
    copy, heads = tmp_path / "copy", tmp_path / "heads"
    await backup(world.store.url, copy)
    # What the backup does not know: a second buy, and the end of a mandate that the house settles.
    await spend(world, kept, "25")
    await world.mined(ended.owner_wallet, (await ended.as_owner("owner_stop_call")).body["call"])
    await rounds(world, keeper(world), 3)
    assert (await ended.read())["mandate"]["status"] == "settled"
    was, before = await measured(world, kept.id), await sent(world)
    assert was.spent == 65_000_000
    assert (await asyncio.to_thread(told, world.store.url, "heads", str(heads))).exit_code == 0

    url = f"sqlite:///{tmp_path / 'again.sqlite'}"
    done = await asyncio.to_thread(told, url, "restore", str(copy))
    assert done.exit_code == 0, done.output
    store = await open_store(url, PATIENT)
    try:
        world.store, world.deps = store, replace(world.deps, store=store)
        assert (await measured(world, kept.id)).spent == 40_000_000
        await rounds(world, keeper(world), 4)
        now = await measured(world, kept.id)
        assert sums(now) == sums(was)
        assert (await ended.read())["mandate"]["status"] == "settled"
        assert await sent(world) == before, "the house paid for nothing again"
        assert (await verify(url)).ok
    finally:
        await store.close()
    # What agents and the house wrote since the backup is lost, and the anchored heads say where.
    lost = json.loads(
        (await asyncio.to_thread(told, url, "verify", "--against", str(heads))).stdout
    )
    assert lost["ok"] is False
    assert {f["what"] for f in lost["findings"]} == {"no row has the anchored number and hash"}


# -- heads --------------------------------------------------------------------------------------------------------


async def test_a_record_that_was_written_anew_is_found_by_its_anchored_heads(
    world: World, tmp_path: Path
) -> None:
    m = await working(world)
    url, heads = world.store.url, tmp_path / "heads"
    told_of = json.loads((await asyncio.to_thread(told, url, "heads", str(heads))).stdout)
    assert told_of["ledgers"] >= 1
    assert heads.stat().st_mode & 0o777 == 0o600
    await spend(world, m, "40")
    await rounds(world, keeper(world), 2)
    good = await asyncio.to_thread(told, url, "verify", "--against", str(heads))
    assert (good.exit_code, json.loads(good.stdout)["anchors"]) == (0, told_of["ledgers"])
    lines = [json.loads(line) for line in heads.read_text().splitlines()]
    for change, what in (
        ({"row_hash": "0" * 64}, "no row has the anchored number and hash"),
        ({"seq": 999}, "no row has the anchored number and hash"),
        ({"public_id": "m_gone"}, "the anchored ledger is not here"),
    ):
        heads.write_text("\n".join(json.dumps(line | change) for line in lines))
        bad = await asyncio.to_thread(told, url, "verify", "--against", str(heads))
        assert (bad.exit_code, {f["what"] for f in json.loads(bad.stdout)["findings"]}) == (
            1,
            {what},
        )
    heads.write_text("no head\n")
    bad = await asyncio.to_thread(told, url, "verify", "--against", str(heads))
    assert said(bad) == (1, f"Error: {heads}: line 1 is no head of a ledger\n")
    again = await asyncio.to_thread(told, url, "heads", str(heads))
    assert (again.exit_code, "Traceback" in again.output) == (1, False)


# -- PostgreSQL ---------------------------------------------------------------------------------------------------


@pytest.mark.pg
async def test_a_dump_of_postgresql_comes_back_with_its_record(
    pg_url: str, empty_pg_url: str, evm: Evm, tmp_path: Path
) -> None:
    folder = _binaries()
    if folder is None or not (folder / "pg_dump").exists():
        pytest.skip("no pg_dump")
    dump = tmp_path / "wallet.dump"
    async with a_world(pg_url, evm, stop_line_dry_run=False) as world:
        m = await working(world)
        await spend(world, m, "40")
        await rounds(world, keeper(world), 2)
        await _tool(folder / "pg_dump", "--format=custom", f"--file={dump}", pg_url)
        await spend(world, m, "25")
        await rounds(world, keeper(world), 2)
        was, before = await measured(world, m.id), await sent(world)
        back = ("--exit-on-error", "--single-transaction", f"--dbname={empty_pg_url}", str(dump))
        await _tool(folder / "pg_restore", *back)
        store = await open_store(empty_pg_url, PATIENT)
        first = world.store
        try:
            world.store, world.deps = store, replace(world.deps, store=store)
            await rounds(world, keeper(world), 3)
            now = await measured(world, m.id)
            assert sums(now) == sums(was)
            assert await sent(world) == before
            assert (await verify(empty_pg_url)).ok
        finally:
            await store.close()
            world.store = first


@pytest.fixture
def archiving() -> Iterator[tuple[Path, Path, str]]:
    """A PostgreSQL that keeps its log in an archive: its programs, a folder, its URL."""
    programs = _binaries()
    if programs is None or not (programs / "pg_basebackup").exists():
        pytest.skip("no pg_basebackup")
    home = Path(tempfile.mkdtemp(prefix="wallet-archive-"))
    home.chmod(0o777)
    for made in (home / "archive", home / "again"):
        made.mkdir()
        made.chmod(0o777)
    copies = f"archive_command=cp %p {home / 'archive'}/%f"
    try:
        keeps = (*_QUICK, "wal_level=replica", "archive_mode=on", copies)
        with running_postgres(programs, keeps) as server:
            _run(_sql(f"{server}/postgres", "CREATE DATABASE wallet"))
            migrate.upgrade(f"{server}/wallet")
            yield programs, home, server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.pg
async def test_postgresql_comes_back_as_it_was_before_a_mistake(
    archiving: tuple[Path, Path, str], evm: Evm
) -> None:
    """The drill of docs/operating.md: a base backup, the archive, a time; then the table is back, and the reader goes on."""
    programs, home, server = archiving
    url, data = f"{server}/wallet", home / "again" / "data"
    async with a_world(url, evm, stop_line_dry_run=False) as world:
        m, first = await working(world), world.store
        await spend(world, m, "40")
        await rounds(world, keeper(world), 2)
        await _tool(programs / "pg_basebackup", f"--pgdata={data}", "--checkpoint=fast", "--wal-method=none", f"--dbname={server}/postgres")  # fmt: skip
        await spend(world, m, "25")
        await rounds(world, keeper(world), 2)
        was, before = await measured(world, m.id), await sent(world)
        at = await _value(url, "SELECT clock_timestamp()::text")
        await _sql(url, "DROP TABLE ledger_checkpoints CASCADE")
        await _archived(url)
        again, back = await asyncio.to_thread(_recovered, programs, data, home / "archive", at)
        try:
            store = await open_store(f"{back}/wallet", PATIENT)
            try:
                world.store, world.deps = store, replace(world.deps, store=store)
                assert sums(await measured(world, m.id)) == sums(was)
                await rounds(world, keeper(world), 3)
                assert sums(await measured(world, m.id)) == sums(was)
                assert await sent(world) == before
                assert (await verify(f"{back}/wallet")).ok
            finally:
                await store.close()
                world.store = first
        finally:
            _stop(again)


async def _archived(url: str) -> None:
    """Wait until everything up to now is in the archive."""
    wal = await _value(url, "SELECT pg_walfile_name(pg_switch_wal())")
    with anyio.fail_after(STUCK_S):
        while (await _value(url, "SELECT last_archived_wal FROM pg_stat_archiver") or "") < wal:
            await anyio.sleep(0.05)


def _recovered(
    folder: Path, data: Path, archive: Path, at: str
) -> tuple[subprocess.Popen[bytes], str]:
    """A server on a base backup that plays the archive up to a time, and goes on from there."""
    (data / "recovery.signal").touch()
    if os.geteuid() == 0:
        for path in (data.parent, data, *data.rglob("*")):
            shutil.chown(path, user="nobody")
    data.chmod(0o700)
    target = (f"recovery_target_time={at}", "recovery_target_action=promote")
    server, url = _started(folder, data, (*_QUICK, f"restore_command=cp {archive}/%f %p", *target))
    until = time.monotonic() + STUCK_S
    while asyncio.run(_value(f"{url}/postgres", "SELECT pg_is_in_recovery()")):
        assert time.monotonic() < until, (data.parent / "server.log").read_text()
        time.sleep(0.05)
    return server, url


async def _value(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def _tool(program: Path, *arguments: str) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
