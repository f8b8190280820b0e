"""Transactions: what is answered is committed, what failed left nothing, nothing is lost between two writers."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from domain.refusals import Refused
from storage.errors import Unavailable
from storage.sqlite_files import connect_sqlite
from storage.store import TURN_MS, SqliteStore, Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.databases import PATIENT
from tests.storage import material as m
from tests.storage.batched import needs, row
from tests.waiting import STUCK_S
from tools.model.telemetry import current_log_context, log_context

pytestmark = pytest.mark.anyio


@pytest.fixture
async def sqlite_store(sqlite_url: str) -> AsyncIterator[SqliteStore]:
    store = await open_store(sqlite_url, PATIENT)
    assert isinstance(store, SqliteStore)
    try:
        yield store
    finally:
        await store.close()


def _switch(uow: UnitOfWork, name: str) -> str:
    uow.switches.set(name, "on", m.NOW, "test")
    return name


async def _names(store: Store) -> set[str]:
    return set(await store.read(lambda uow: uow.switches.all()))


async def test_a_failing_handler_takes_nothing_and_nobody_along(store: Store) -> None:
    def fails(uow: UnitOfWork) -> str:
        _switch(uow, "lost")
        raise LookupError("on purpose")

    works = [
        store.write(fails if n % 5 == 2 else (lambda uow, n=n: _switch(uow, f"s{n}")))
        for n in range(40)
    ]
    answers = await asyncio.gather(*works, return_exceptions=True)
    failed = [n for n, a in enumerate(answers) if isinstance(a, LookupError)]
    assert failed == [n for n in range(40) if n % 5 == 2]
    assert await _names(store) == {f"s{n}" for n in range(40) if n % 5 != 2}


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(Exception, match=r"(?i)read-?only"):
        await store.read(lambda uow: _switch(uow, "sneaked"))
    assert await _names(store) == set()


async def test_a_cancelled_caller_does_not_undo_the_write(store: Store) -> None:
    with anyio.move_on_after(0):
        await store.write(lambda uow: _switch(uow, "kept"))
    with anyio.fail_after(STUCK_S):
        while await _names(store) != {"kept"}:
            await anyio.sleep(0)


async def test_closing_finishes_what_was_asked(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.engine.postgres.LAST_MS", PATIENT.wait_ms)
    store = await open_store(database_url, PATIENT)
    tasks = [
        asyncio.create_task(store.write(lambda uow, n=n: _switch(uow, f"s{n}"))) for n in range(50)
    ]
    await asyncio.sleep(0)
    await store.close()
    assert len(await asyncio.gather(*tasks)) == 50
    with pytest.raises(RuntimeError, match="closed"):
        await store.write(lambda uow: _switch(uow, "late"))
    store = await open_store(database_url, PATIENT)
    assert len(await _names(store)) == 50
    await store.close()


async def test_a_failed_commit_fails_everybody_in_the_batch(sqlite_store: SqliteStore) -> None:
    def breaks_the_commit(uow: UnitOfWork) -> None:
        uow.sql.run("PRAGMA defer_foreign_keys = ON")
        uow.sql.run("INSERT INTO child (parent) VALUES (1)")

    def tables(uow: UnitOfWork) -> None:
        uow.sql.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        uow.sql.run(
            "CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)"
        )

    await sqlite_store.write(tables)
    answers = await asyncio.gather(
        *(sqlite_store.write(lambda uow, n=n: _switch(uow, f"s{n}")) for n in range(5)),
        sqlite_store.write(breaks_the_commit),
        return_exceptions=True,
    )
    kept = await _names(sqlite_store)
    answered = {a for a in answers if isinstance(a, str)}
    assert kept == answered
    assert isinstance(answers[-1], sqlite3.IntegrityError)
    assert await sqlite_store.write(lambda uow: _switch(uow, "after")) == "after"


async def test_writes_asked_together_share_commits(sqlite_store: SqliteStore) -> None:
    commits: list[str] = []
    connection_of: list[sqlite3.Connection] = []

    def watch(uow: UnitOfWork) -> None:
        connection = uow.sql._connection  # type: ignore[attr-defined]  # the commits themselves are what is looked at
        connection_of.append(connection)
        connection.set_trace_callback(
            lambda text: commits.append(text) if text == "COMMIT" else None
        )

    await sqlite_store.write(watch)
    commits.clear()
    await asyncio.gather(
        *(sqlite_store.write(lambda uow, n=n: _switch(uow, f"s{n}")) for n in range(256))
    )
    connection_of[0].set_trace_callback(None)
    assert 1 <= len(commits) < 64
    assert len(await _names(sqlite_store)) == 256


async def test_the_file_is_durable_and_shared(sqlite_store: SqliteStore) -> None:
    def pragmas(uow: UnitOfWork) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers")
        return [uow.sql.rows(f"PRAGMA {name}")[0][0] for name in names]  # type: ignore[index]  # a sqlite3.Row by place

    assert await sqlite_store.write(pragmas) == ["wal", 2, 1, 1]


async def test_the_loop_goes_on_while_another_process_holds_the_lock(
    sqlite_store: SqliteStore,
) -> None:
    other = connect_sqlite(sqlite_store.url.removeprefix("sqlite:///"))
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(sqlite_store.write(lambda uow: _switch(uow, "waited")))
    with anyio.fail_after(STUCK_S):
        for _ in range(20):
            assert await _names(sqlite_store) == set()
            await anyio.sleep(0.002)
        assert not waiting.done()
        other.execute("COMMIT")
        assert await waiting == "waited"
    other.close()


async def test_a_long_batch_lets_others_on_the_loop_have_their_turn(
    sqlite_store: SqliteStore,
) -> None:
    turns: list[int] = []
    done = [0]

    def slow(uow: UnitOfWork) -> None:
        time.sleep(TURN_MS / 500)
        done[0] += 1

    async def others() -> None:
        while done[0] < 8:
            turns.append(done[0])
            await asyncio.sleep(0)

    await asyncio.gather(*(sqlite_store.write(slow) for _ in range(8)), others())
    assert set(turns) >= {1, 4, 7}


async def test_a_lost_update_is_refused(store: Store) -> None:
    await store.write(lambda uow: uow.mandates.add(m.mandate()))

    def changes(uow: UnitOfWork) -> None:
        stale = uow.mandates.get("m_1")
        assert stale is not None
        uow.sql.run("UPDATE mandates SET version = version + 1 WHERE public_id = 'm_1'")
        uow.mandates.save(replace(stale, purpose="mine"))

    with pytest.raises(Refused) as refused:
        await store.write(changes)
    assert refused.value.code == "conflict"
    kept = await store.read(lambda uow: uow.mandates.get("m_1"))
    assert kept is not None
    assert kept.purpose == ""


async def test_increments_under_a_lock_add_up(store: Store) -> None:
    await store.write(lambda uow: uow.mandates.add(m.mandate(purpose="0")))

    def increment(uow: UnitOfWork) -> None:
        now = uow.mandates.get("m_1", lock=True)
        assert now is not None
        uow.mandates.save(replace(now, purpose=str(int(now.purpose) + 1)))

    await asyncio.gather(*(store.write(increment) for _ in range(32)))
    kept = await store.read(lambda uow: uow.mandates.get("m_1"))
    assert kept is not None
    assert kept.purpose == "32"


@pytest.mark.pg
async def test_a_deadlock_is_tried_again(pg_url: str) -> None:
    store = await open_store(pg_url, PATIENT)
    await store.write(lambda uow: [uow.mandates.add(m.mandate(f"m_{n}")) for n in (1, 2)])
    runs: list[str] = []
    hold: set[str] = set()

    def crosswise(first: str, second: str) -> Callable[[UnitOfWork], None]:
        def work(uow: UnitOfWork) -> None:
            runs.append(first)
            uow.mandates.get(first, lock=True)
            hold.add(first)
            while len(hold) < 2:
                uow.sql.rows("SELECT pg_sleep(0.01)")
            uow.mandates.get(second, lock=True)
            _switch(uow, f"{first}{second}")

        return work

    try:
        with anyio.fail_after(STUCK_S):
            await asyncio.gather(
                store.write(crosswise("m_1", "m_2")), store.write(crosswise("m_2", "m_1"))
            )
        assert len(runs) > 2
        assert await _names(store) == {"m_1m_2", "m_2m_1"}
    finally:
        await store.close()


async def test_other_urls_are_refused() -> None:
    for url in ("mysql://x/y", "sqlite://", "wallet.sqlite"):
        with pytest.raises(ValueError, match="database URL"):
            await open_store(url)


async def test_switching_a_file_to_wal_waits_for_whoever_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "fresh.sqlite"
    held = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    held.execute("CREATE TABLE t (x)")
    held.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.1, held.rollback)
    release.start()
    connection = await anyio.to_thread.run_sync(connect_sqlite, str(path))
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    connection.close()
    release.join()
    held.close()


def _stick_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next batch end as if neither its commit nor its rollback had worked."""
    commit = SqliteStore._commit

    async def stuck(self: SqliteStore, connection: sqlite3.Connection, batch: list[Any]) -> None:
        monkeypatch.setattr(SqliteStore, "_commit", commit)
        connection.execute("BEGIN IMMEDIATE")
        for job in batch:
            job.error = OSError("the disk is gone")

    monkeypatch.setattr(SqliteStore, "_commit", stuck)


async def test_a_rollback_that_fails_does_not_stop_the_writer(
    sqlite_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stick_once(monkeypatch)
    with pytest.raises(OSError, match="disk"):
        await sqlite_store.write(lambda uow: _switch(uow, "lost"))
    with anyio.fail_after(STUCK_S):
        assert await sqlite_store.write(lambda uow: _switch(uow, "kept")) == "kept"
    assert await _names(sqlite_store) == {"kept"}


async def test_a_file_that_does_not_open_again_is_tried_with_every_write(
    sqlite_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    _stick_once(monkeypatch)
    with monkeypatch.context() as gone:
        gone.setattr("storage.store.connect_sqlite", closed)
        works = [
            asyncio.create_task(sqlite_store.write(lambda uow, n=n: _switch(uow, f"s{n}")))
            for n in range(5)
        ]
        with anyio.fail_after(STUCK_S):
            answers = await asyncio.gather(*works, return_exceptions=True)
            assert all(isinstance(a, OSError | Unavailable) for a in answers)
            with pytest.raises(Unavailable, match="does not open"):
                await sqlite_store.write(lambda uow: _switch(uow, "late"))
    assert await sqlite_store.write(lambda uow: _switch(uow, "back")) == "back"
    assert await _names(sqlite_store) == {"back"}


async def test_a_handler_runs_in_the_context_of_who_asked_for_it(store: Store) -> None:
    """Its log lines name its own call, also where it is committed with others."""
    await store.write(lambda uow: uow.mandates.add(m.mandate("m_1")))
    seen: dict[str, str | None] = {}

    async def one(n: int) -> None:
        def work(uow: UnitOfWork) -> object:
            seen[f"r_{n}"] = current_log_context().get("request")
            return row(n)(uow)

        with log_context(request=f"r_{n}"):
            await store.write(work, needs(n, "m_1"))

    async with anyio.create_task_group() as group:
        for n in range(8):
            group.start_soon(one, n)
    assert seen == {f"r_{n}": f"r_{n}" for n in range(8)}
