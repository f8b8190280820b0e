"""Opening a database, and running handlers in transactions on it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from storage.rows.books import StateCache
from storage.sql import PostgresSql, SqliteSql
from storage.unit_of_work import UnitOfWork

log = logging.getLogger("wallet.storage")

T = TypeVar("T")
Work = Callable[[UnitOfWork], T]
BATCH: Final = 64
BUSY_MS: Final = 30_000
TURN_MS: Final = 5
WAL_WAIT_MS: Final = 20
PG_POOL: Final = 16
PG_TRIES: Final = 8
_RETRY_STATES: Final = frozenset({"40001", "40P01"})


class Store(Protocol):
    """A database that runs handlers; each in one transaction."""

    url: str

    async def read(self, work: Work[T]) -> T:
        """Run on one snapshot; a write inside fails."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run in one transaction and answer after its commit; an exception leaves nothing
        behind.
        """
        ...

    async def close(self) -> None:
        """Finish what runs, then let go of the database."""
        ...


async def open_store(url: str) -> Store:
    """Open `sqlite:///path` or `postgresql://…`; the schema must be there (`storage.migrate`).

    Errors: ValueError for any other URL.
    """
    if url.startswith("sqlite:///"):
        return SqliteStore(url)
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresStore(url)
    raise ValueError("the database URL starts with sqlite:/// or postgresql://")


def sqlite_path(url: str) -> str:
    """The file behind a sqlite URL."""
    return url.removeprefix("sqlite:///")


def connect_sqlite(path: str, *, reads_only: bool = False) -> sqlite3.Connection:
    """One connection with the settings every process uses: WAL, full durability, foreign keys."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=512
    )
    connection.row_factory = sqlite3.Row
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # Without it INSERT OR REPLACE deletes past the triggers that keep the ledger append-only.
    connection.execute("PRAGMA recursive_triggers = ON")
    if reads_only:
        connection.execute("PRAGMA query_only = ON")
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; the first switch of a file does not wait for a second process by itself."""
    tries = BUSY_MS // WAL_WAIT_MS
    for attempt in range(tries):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == tries - 1:
                raise
            time.sleep(WAL_WAIT_MS / 1_000)
        else:
            return


@dataclass(slots=True)
class _Job:
    """One queued handler and where its answer goes."""

    work: Callable[[UnitOfWork], Any]
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return
        if isinstance(self.error, StopIteration):  # a future takes any exception but this one
            self.future.set_exception(RuntimeError("the handler raised StopIteration"))
        elif self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class SqliteStore:
    """One writer connection with group commit, one reader connection; both belong to the event
    loop that opened the store.

    A queued handler runs in a savepoint: its exception undoes it alone, and the batch commits
    once. Handlers are short and bounded, so they run on the loop, as they do on PostgreSQL; what
    waits for the disk or for another process (the commit, a lock that is taken) waits in a thread.
    """

    def __init__(self, url: str):
        self.url = url
        self._path = sqlite_path(url)
        self._cache = StateCache()
        self._loop = asyncio.get_running_loop()
        self._jobs: deque[_Job] = deque()
        self._reader = connect_sqlite(self._path, reads_only=True)
        self._writer: sqlite3.Connection | None = connect_sqlite(self._path)
        self._writer.execute("PRAGMA busy_timeout = 0")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._writing: asyncio.Task[None] | None = None
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        """Run on one snapshot."""
        connection = self._reader
        connection.execute("BEGIN")
        try:
            return work(UnitOfWork(SqliteSql(connection), self._cache))
        finally:
            connection.execute("ROLLBACK")

    async def write(self, work: Work[T]) -> T:
        """Queue the handler; answered after the commit."""
        if self._closed or self._writer is None:
            raise RuntimeError("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.append(_Job(work, future))
        if self._writing is None:
            self._writing = self._loop.create_task(self._write_all())
        # A caller that is cancelled must not take the answer of a write that happens anyway.
        return await asyncio.shield(future)

    async def close(self) -> None:
        """Let queued writes finish, then close."""
        if self._closed:
            return
        self._closed = True
        if self._writing is not None:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._writing)
        await asyncio.to_thread(self._thread.shutdown)
        if self._writer is not None:
            self._writer.close()
        self._reader.close()

    async def _write_all(self) -> None:
        """Work the queue off, a batch at a time; ends when it is empty."""
        try:
            while self._jobs and self._writer is not None:
                batch = [self._jobs.popleft() for _ in range(min(BATCH, len(self._jobs)))]
                try:
                    await self._commit(self._writer, batch)
                except BaseException:
                    _fail(batch, RuntimeError("the loop of the store ended"))
                    raise
                for job in batch:
                    job.settle()
                if self._writer.in_transaction:  # not even the rollback worked: start over
                    self._writer = await self._reopened(self._writer)
        finally:
            self._writing = None
            if self._writer is None:  # nobody waits for a writer that is gone
                _fail(self._jobs, RuntimeError("the store's writer ended"))

    async def _reopened(self, broken: sqlite3.Connection) -> sqlite3.Connection | None:
        broken.close()
        try:
            connection = await self._loop.run_in_executor(self._thread, connect_sqlite, self._path)
            connection.execute("PRAGMA busy_timeout = 0")
        except sqlite3.Error:
            log.exception("the writer of %s ends: the database does not open again", self._path)
            return None
        return connection

    async def _commit(self, connection: sqlite3.Connection, batch: list[_Job]) -> None:
        try:
            await self._begin(connection)
            turn = self._loop.time()
            for job in batch:
                self._run(connection, job)
                if (
                    self._loop.time() - turn
                ) * 1_000 > TURN_MS:  # others on the loop have their turn; the lock stays ours
                    await asyncio.sleep(0)
                    turn = self._loop.time()
            await self._loop.run_in_executor(self._thread, connection.execute, "COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            for job in batch:
                job.error = job.error or error
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _begin(self, connection: sqlite3.Connection) -> None:
        """Take the write lock; where another process has it, wait in the thread."""
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            await self._loop.run_in_executor(self._thread, _begin_patiently, connection)

    def _run(self, connection: sqlite3.Connection, job: _Job) -> None:
        connection.execute("SAVEPOINT one")
        try:
            job.result = job.work(UnitOfWork(SqliteSql(connection), self._cache))
        except BaseException as error:
            job.error = error
            connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")


def _begin_patiently(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.execute("PRAGMA busy_timeout = 0")


def _fail(jobs: Iterable[_Job], error: Exception) -> None:
    for job in jobs:
        job.error = error
        job.settle()


class PostgresStore:
    """Handlers run through `run_sync` on a pool of asyncpg connections; several processes may
    share the database.
    """

    def __init__(self, url: str):
        self.url = url
        from sqlalchemy.ext.asyncio import create_async_engine

        plain = "postgresql+asyncpg://" + url.partition("://")[2]
        self._engine = create_async_engine(plain, pool_size=PG_POOL, max_overflow=0)
        self._cache = StateCache()
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        """Run on one snapshot."""
        engine = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        async with engine.begin() as connection:
            return await connection.run_sync(
                lambda c: work(UnitOfWork(PostgresSql(c), self._cache))
            )

    async def write(self, work: Work[T]) -> T:
        """Run in one transaction; a deadlock or serialization failure is tried again."""
        if self._closed:
            raise RuntimeError("the store is closed")
        task = asyncio.create_task(self._written(work))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def _written(self, work: Work[T]) -> T:
        from sqlalchemy.exc import DBAPIError

        for attempt in range(PG_TRIES):
            try:
                async with self._engine.begin() as connection:
                    return await connection.run_sync(
                        lambda c: work(UnitOfWork(PostgresSql(c), self._cache))
                    )
            except DBAPIError as error:
                state = getattr(error.orig, "sqlstate", None)
                if state not in _RETRY_STATES or attempt == PG_TRIES - 1:
                    raise
                await asyncio.sleep(2**attempt / 200)
        raise AssertionError("the loop returns or raises")

    async def close(self) -> None:
        """Let running writes finish, then close the pool."""
        self._closed = True
        await asyncio.gather(*self._writes, return_exceptions=True)
        await self._engine.dispose()
