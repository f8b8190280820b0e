"""A database that fails says so in one word, in bounded time, and never leaves half a write behind."""

from __future__ import annotations

import asyncio
import gc
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import asyncpg
import pytest

from storage.engine.connections import Connections, ConnectionUse
from storage.errors import DatabaseTimeouts, Unavailable
from storage.sqlite_files import sqlite_path
from storage.store import SqliteStore, Store, open_store
from storage.unit_of_work import UnitOfWork
from tests.storage import batched
from tests.storage import material as m
from tests.storage.cable import Cable, cable
from tests.storage.patience import impatient_for_locks
from tests.waiting import STUCK_S, LoopClock

pytestmark = pytest.mark.anyio

# SQLite is waited for on the loop's clock and only where somebody holds it.
SHORT = DatabaseTimeouts(wait_ms=300)
PATIENT = DatabaseTimeouts(wait_ms=60_000, statement_ms=60_000, pool=2)
OUTLASTS_S = 62  # every wait of `PATIENT`


def _switch(uow: UnitOfWork, name: str) -> str:
    uow.switches.set(name, "on", m.NOW, "test")
    return name


async def _names(store: Store) -> set[str]:
    return set(await store.read(lambda uow: uow.switches.all()))


@asynccontextmanager
async def _opened(url: str, patience: DatabaseTimeouts = PATIENT) -> AsyncIterator[Store]:
    store = await open_store(url, patience)
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def _held(url: str) -> Iterator[sqlite3.Connection]:
    """Another process's write lock."""
    other = sqlite3.connect(sqlite_path(url), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


async def _unavailable(store: Store, works: int, name: str) -> list[Unavailable]:
    writes = [store.write(lambda uow, n=n: _switch(uow, f"{name}{n}")) for n in range(works)]
    answers = await asyncio.gather(*writes, return_exceptions=True)
    found = [a for a in answers if isinstance(a, Unavailable)]
    assert len(found) == works, answers
    return found


# -- SQLite --------------------------------------------------------------------------------------------------------


async def test_a_foreign_lock_is_waited_for_a_moment_and_then_named(sqlite_url: str) -> None:
    async with _opened(sqlite_url, SHORT) as store:
        with _held(sqlite_url):
            # More than a batch: those behind it do not wait for the whole time once again.
            for trouble in await _unavailable(store, 130, "s"):
                assert not trouble.unknown
                assert trouble.why == "another process holds its lock"
        assert await store.write(lambda uow: _switch(uow, "after")) == "after"
        assert await _names(store) == {"after"}


async def test_a_foreign_lock_does_not_hold_the_loop_nor_the_end(sqlite_url: str) -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    turning = asyncio.create_task(turn())
    with _held(sqlite_url):
        store = await open_store(sqlite_url, DatabaseTimeouts(wait_ms=1_000 * STUCK_S * 2))
        write = asyncio.create_task(store.write(lambda uow: _switch(uow, "late")))
        with anyio.fail_after(STUCK_S):  # half of what it waits for the lock
            while turns < 100:
                await asyncio.sleep(0.01)
            assert not write.done()
            await store.close()
            with pytest.raises(Unavailable):
                await write
    turning.cancel()


async def test_a_full_disk_takes_nothing_and_is_named(sqlite_url: str) -> None:
    async with _opened(sqlite_url) as store:
        assert isinstance(store, SqliteStore)
        assert store._writer is not None
        await store.write(lambda uow: _switch(uow, "before"))
        pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
        store._writer.execute(f"PRAGMA max_page_count = {pages}")

        def large(uow: UnitOfWork) -> None:
            for n in range(200):
                uow.switches.set(f"large{n}", "x" * 4_000, m.NOW, "test")

        small = store.write(lambda uow: _switch(uow, "small"))
        answers = await asyncio.gather(small, store.write(large), return_exceptions=True)
        trouble = answers[1]
        assert isinstance(trouble, Unavailable)
        assert trouble.why == "its disk is full"
        # The one beside it is stored whole, or refused whole: what it was told is what is there.
        told = {"small"} if answers[0] == "small" else set()
        assert told or isinstance(answers[0], Unavailable)
        assert await _names(store) == {"before"} | told
        store._writer.execute("PRAGMA max_page_count = 1000000")
        await store.write(large)
        assert len(await _names(store)) == 201 + len(told)


async def test_a_file_that_somebody_keeps_for_himself_does_not_open(sqlite_url: str) -> None:
    other = sqlite3.connect(sqlite_path(sqlite_url), isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(Unavailable, match="lock"):
            await open_store(sqlite_url, SHORT)
    finally:
        other.close()


async def test_a_file_that_was_moved_or_replaced_takes_no_more_writes(
    sqlite_url: str, sqlite_template: Path
) -> None:
    path = Path(sqlite_path(sqlite_url))
    away = path.with_name("away.sqlite")
    async with _opened(sqlite_url) as store:
        await store.write(lambda uow: _switch(uow, "before"))
        path.rename(away)
        with pytest.raises(Unavailable, match="its file was moved or replaced"):
            await store.write(lambda uow: _switch(uow, "lost"))
        shutil.copyfile(sqlite_template, path)
        with pytest.raises(Unavailable, match="its file was moved or replaced"):
            await store.write(lambda uow: _switch(uow, "lost too"))
        path.unlink()
        away.rename(path)
        await store.write(lambda uow: _switch(uow, "after"))
        assert await _names(store) == {"before", "after"}


async def test_a_reader_that_is_locked_out_asks_again(sqlite_url: str) -> None:
    async with _opened(sqlite_url) as store:
        tries = 0

        def locked_at_first(uow: UnitOfWork) -> dict[str, str]:
            nonlocal tries
            tries += 1
            if tries < 3:
                busy = sqlite3.OperationalError("database is locked")
                busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise busy
            return uow.switches.all()

        assert await store.read(locked_at_first) == {}
        assert tries == 3


# -- PostgreSQL ----------------------------------------------------------------------------------------------------


@pytest.mark.pg
async def test_a_silent_server_is_given_up(pg_url: str) -> None:
    async with cable(pg_url) as line, _opened(line.url) as store:
        assert await store.write(lambda uow: _switch(uow, "before")) == "before"
        clock = LoopClock()
        line.holds = lambda: clock.forward(OUTLASTS_S)
        line.go_silent()
        for _ in range(3):
            with pytest.raises(Unavailable) as silent:
                await store.read(lambda uow: uow.switches.all())
            assert not silent.value.unknown
        line.speak()
        assert await store.write(lambda uow: _switch(uow, "after")) == "after"
        assert await _names(store) == {"before", "after"}


@pytest.mark.pg
@pytest.mark.parametrize("way", ["read", "write", "locked batch"])
async def test_a_server_that_goes_silent_in_the_middle_is_given_up(pg_url: str, way: str) -> None:
    async with cable(pg_url) as line, _opened(line.url) as store:
        await store.write(lambda uow: uow.mandates.add(m.mandate("m_1")))
        await batched.write(store, 1)
        store._batches._contend({"m_1"})  # type: ignore[attr-defined]
        clock, held = LoopClock(), list[int]()

        def hold() -> None:
            if not held:
                clock.forward(OUTLASTS_S)
            held.append(1)

        def silenced(uow: UnitOfWork) -> object:
            uow.mandates.get("m_1")
            line.holds = hold
            line.go_silent()
            return uow.mandates.get("m_1") if way == "read" else batched.row(2)(uow)

        asked = {
            "read": lambda: store.read(silenced),
            "write": lambda: store.write(silenced),
            "locked batch": lambda: store.write(silenced, batched.needs(2, "m_1")),
        }[way]
        with anyio.fail_after(STUCK_S), pytest.raises(Unavailable) as silent:
            await asked()
        assert silent.value.unknown == (way == "locked batch")  # its one statement was sent
        line.holds = None
        line.speak()
        assert (await batched.write(store, 3)).new


@pytest.mark.pg
async def test_a_server_that_is_silent_does_not_hold_the_end(pg_url: str) -> None:
    async with cable(pg_url) as line:
        store = await open_store(line.url, replace(PATIENT, wait_ms=2_000 * STUCK_S, pool=8))
        held = [store.read(lambda uow: uow.sql.rows("SELECT pg_sleep(0.05)")) for _ in range(8)]
        await asyncio.gather(*held)
        line.go_silent()
        with anyio.fail_after(STUCK_S):  # of each of them half of its patience
            await store.close()


@pytest.mark.pg
async def test_a_restart_of_the_server_is_not_even_noticed(pg_url: str) -> None:
    async with cable(pg_url) as line, _opened(line.url) as store:
        await asyncio.gather(*(store.write(lambda uow, n=n: _switch(uow, f"a{n}")) for n in (1, 2)))
        line.cut()
        assert await store.write(lambda uow: _switch(uow, "b")) == "b"
        line.cut()
        assert await _names(store) == {"a1", "a2", "b"}


@pytest.mark.pg
async def test_a_server_that_is_gone_is_unavailable_and_not_a_client_that_left(pg_url: str) -> None:
    async with cable(pg_url) as line, _opened(line.url) as store:
        line.refuses = True
        for trouble in await _unavailable(store, 8, "s"):
            assert not trouble.unknown
        line.refuses = False
        assert await store.write(lambda uow: _switch(uow, "after")) == "after"


async def _said_farewell(line: Cable, own: asyncpg.Connection) -> None:
    """The server ends every connection; its clients heard why, and not yet that it hung up."""
    line.hides_the_end = True
    line.ended.clear()
    await own.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with anyio.fail_after(STUCK_S):
        await line.ended.wait()
    await own.fetchval("SELECT 1")  # the loop reads what lies on its sockets meanwhile


@pytest.mark.pg
async def test_a_server_that_refuses_connections_is_unavailable_until_it_takes_them_again(
    pg_url: str,
) -> None:
    address, _, name = pg_url.rpartition("/")
    beside = await asyncpg.connect(f"{address}/postgres")
    try:
        async with _opened(pg_url) as store:
            await store.write(lambda uow: _switch(uow, "before"))
            await beside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            ended = (
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1"
            )
            await beside.fetch(ended, name)
            with pytest.raises(Unavailable, match="it refuses the connection"):
                await store.write(lambda uow: _switch(uow, "lost"))
            await beside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            await store.write(lambda uow: _switch(uow, "after"))
            assert await _names(store) == {"before", "after"}
    finally:
        await beside.close()


@pytest.mark.pg
async def test_a_connection_that_was_told_farewell_is_not_used_again(pg_url: str) -> None:
    own = await asyncpg.connect(pg_url)
    try:
        async with cable(pg_url) as line, _opened(line.url) as store:
            assert await store.write(lambda uow: _switch(uow, "a")) == "a"
            await _said_farewell(line, own)
            assert await store.write(lambda uow: _switch(uow, "b")) == "b"
            await _said_farewell(line, own)
            assert await _names(store) == {"a", "b"}
    finally:
        await own.close()


@pytest.mark.pg
async def test_a_farewell_at_a_commit_is_unknown(pg_url: str) -> None:
    own = await asyncpg.connect(pg_url)
    try:
        async with cable(pg_url) as line, _opened(line.url) as store:
            told: list[str] = []

            async def farewell_before_the_commit(connection: ConnectionUse) -> None:
                async with connection.connection.transaction():
                    told.append(await connection.connection.fetchval("SELECT 'asked'"))
                    await _said_farewell(line, own)
                    connection.sent = True

            with pytest.raises(Unavailable) as lost:
                await store._connections.use(farewell_before_the_commit)
            assert lost.value.unknown
            assert told == ["asked"]
            assert await store.write(lambda uow: _switch(uow, "after")) == "after"
    finally:
        await own.close()


@pytest.mark.pg
async def test_a_connection_whose_operation_did_not_end_is_never_given_back(pg_url: str) -> None:
    async with _opened(pg_url, replace(PATIENT, pool=1)) as store:
        begun: list[asyncio.Task[object]] = []

        async def two_at_once(connection: ConnectionUse) -> None:
            begun.append(asyncio.create_task(connection.connection.fetch("SELECT pg_sleep(10)")))
            await asyncio.sleep(0)
            await connection.connection.fetch("SELECT 1")

        with pytest.raises(Unavailable):
            await store._connections.use(two_at_once)
        assert await store.write(lambda uow: _switch(uow, "after")) == "after"
        ended = await asyncio.gather(*begun, return_exceptions=True)
        assert all(isinstance(one, Exception) for one in ended)


@pytest.mark.pg
async def test_a_value_that_does_not_fit_is_a_mistake_of_ours(pg_url: str) -> None:
    async with _opened(pg_url) as store:
        with pytest.raises(asyncpg.DataError):
            await store.read(lambda uow: uow.sql.rows("SELECT :n::bigint", n="no number"))
        assert await _names(store) == set()


@pytest.mark.pg
async def test_a_commit_whose_answer_is_lost_is_unknown(pg_url: str) -> None:
    async with cable(pg_url) as line, _opened(line.url) as store:
        line.cut_at_commit = True
        with pytest.raises(Unavailable) as lost:
            await store.write(lambda uow: _switch(uow, "perhaps"))
        assert line.commits == 1
        assert lost.value.unknown
        with anyio.fail_after(STUCK_S):  # a busy server commits after its client has gone
            while await _names(store) != {"perhaps"}:
                await asyncio.sleep(0.01)


@asynccontextmanager
async def _holding(store: Store, row: str) -> AsyncIterator[None]:
    """One write of a store that holds a mandate's row until the end."""
    held, go, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()

    def hold(uow: UnitOfWork) -> None:
        uow.mandates.get(row, lock=True)
        loop.call_soon(held.set)
        while not go.is_set():
            uow.sql.rows("SELECT pg_sleep(0.02)")

    holding = asyncio.create_task(store.write(hold))
    try:
        await held.wait()
        yield
    finally:
        go.set()
        await holding


@pytest.mark.pg
async def test_nobody_waits_for_a_lock_for_ever(pg_url: str) -> None:
    async with _opened(pg_url) as other, impatient_for_locks(pg_url) as store:
        await other.write(lambda uow: uow.mandates.add(m.mandate()))
        async with _holding(other, "m_1"):
            with pytest.raises(Unavailable, match="lock"):
                await store.write(lambda uow: uow.mandates.get("m_1", lock=True))
        await store.write(lambda uow: uow.mandates.get("m_1", lock=True))


@pytest.mark.pg
async def test_nobody_waits_for_a_place_in_the_pool_for_ever(pg_url: str) -> None:
    async with _opened(pg_url, replace(PATIENT, statement_ms=600_000)) as store:
        await store.write(lambda uow: [uow.mandates.add(m.mandate(n)) for n in ("m_1", "m_2")])
        async with _holding(store, "m_1"), _holding(store, "m_2"):
            third = asyncio.create_task(store.read(lambda uow: uow.switches.all()))
            await asyncio.sleep(0)
            LoopClock().forward(OUTLASTS_S)
            with pytest.raises(Unavailable, match="all its connections are in use"):
                await third
        assert await _names(store) == set()


@pytest.mark.pg
async def test_the_server_stops_a_statement_that_takes_too_long(pg_url: str) -> None:
    async with _opened(pg_url, DatabaseTimeouts(wait_ms=60_000, statement_ms=500)) as store:
        with pytest.raises(Unavailable, match="it takes too long"):
            await store.read(lambda uow: uow.sql.rows("SELECT pg_sleep(60)"))


@pytest.mark.pg
async def test_who_leaves_while_a_connection_is_opened_leaves_no_error_to_the_loop(
    pg_url: str,
) -> None:
    """At every turn of the loop that the first moments of a connection take."""
    loop, told = asyncio.get_running_loop(), list[object]()
    connections = Connections(pg_url, PATIENT)
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: told.append(context))
    try:
        for turns in range(1, 30):
            leaving = asyncio.ensure_future(connections.use(_waits))
            for _ in range(turns):
                await asyncio.sleep(0)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
        await connections.close()
        for _ in range(3):
            await asyncio.sleep(0)
            gc.collect()
    finally:
        loop.set_exception_handler(before)
    assert told == []


async def _waits(use: ConnectionUse) -> None:
    await asyncio.Event().wait()
