"""Opening a database, and running handlers in transactions on it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

from domain.spans import current_span, span_in, spans_in
from storage.engine.blocking_worker import BlockingWorker
from storage.engine.job import BATCH, TURN_MS, Job, OnBatch, fail, ignore_batch
from storage.errors import (
    DatabaseTimeouts,
    Unavailable,
    is_locked,
    is_read_only_error,
    sqlite_faults,
    sqlite_trouble,
)
from storage.prefetch.read_set import ReadSet
from storage.repositories.state_cache import StateCache
from storage.sql import SqliteSql
from storage.sqlite_files import MOVED, connect_sqlite, file_at, sqlite_path
from storage.statement_spans import statement, traced
from storage.unit_of_work import UnitOfWork

log = logging.getLogger("wallet.storage")

T = TypeVar("T")
StoreWork = Callable[[UnitOfWork], T]
LEAST_WAIT_MS: Final = 100
LOCK_ASK_MS: Final = 10


class Store(Protocol):
    """A database that runs handlers; each in one transaction."""

    url: str

    async def read(self, work: StoreWork[T], *, single: bool = False) -> T:
        """Run on one snapshot; a write inside fails. `single`: it runs one statement, which is a
        snapshot by itself. Errors: `Unavailable`.
        """
        ...

    async def prefetch(self, read_set: ReadSet) -> Store:
        """A store whose reads find what was named at hand, all of it as of one moment from now on;
        other reads, and writes, are as those of this one. Errors: `Unavailable`.
        """
        ...

    async def write(self, work: StoreWork[T], read_set: ReadSet | None = None) -> T:
        """Run in one transaction and answer after its commit; an exception leaves nothing behind,
        but an `Unavailable` that says so itself. Where the handler names its `read_set`, it may be
        run together with others, and again where another transaction was quicker.
        """
        ...

    def leave(self) -> None:
        """Prepare for shutdown: from now on no lock of another process is waited for long."""
        ...

    async def close(self) -> None:
        """Finish what runs, then let go of the database."""
        ...


async def open_store(
    url: str, patience: DatabaseTimeouts | None = None, on_batch: OnBatch = ignore_batch
) -> Store:
    """Open `sqlite:///path` or `postgresql://…`; the schema must be there already
    (`storage.schema.migrate`).

    Errors: ValueError for any other URL; `Unavailable` where a file does not open.
    """
    patience = patience or DatabaseTimeouts()
    if url.startswith("sqlite:///"):
        with sqlite_faults():
            return SqliteStore(url, patience, on_batch)
    if url.startswith(("postgresql://", "postgres://")):
        # What talks to PostgreSQL is loaded where it is needed: a start on SQLite is quicker.
        from storage.engine.postgres import PostgresStore

        return PostgresStore(url, patience, on_batch)
    raise ValueError("the database URL starts with sqlite:/// or postgresql://")


@dataclass(slots=True, eq=False)
class _Queued(Job):
    """A handler, and since when it waits."""

    since_ms: int = field(kw_only=True)


class SqliteStore:
    """One writer connection with group commit, one reader connection; both belong to the event
    loop that opened the store.

    A queued handler runs in a savepoint: its exception undoes it alone, and the batch commits
    once. Handlers are short and bounded, so they run on the loop, as they do on PostgreSQL; what
    waits for the disk or for another process (the commit, a lock that is taken) waits in a thread.
    """

    def __init__(self, url: str, patience: DatabaseTimeouts, on_batch: OnBatch = ignore_batch):
        self.url, self._on_batch = url, on_batch
        self._patience = patience
        self._path = sqlite_path(url)
        self._cache = StateCache()
        self._loop = asyncio.get_running_loop()
        self._jobs: deque[_Queued] = deque()
        wait_ms = patience.wait_ms
        self._reader = connect_sqlite(self._path, reads_only=True, wait_ms=wait_ms)
        self._reader.execute("PRAGMA busy_timeout = 0")
        self._writer: sqlite3.Connection | None = connect_sqlite(self._path, wait_ms=wait_ms)
        self._writer.execute("PRAGMA busy_timeout = 0")
        self._file = file_at(self._path)
        self._thread = BlockingWorker(self._loop, "sqlite-writer")
        self._writing: asyncio.Task[None] | None = None
        self._closed = self._leaving = False

    def leave(self) -> None:
        """From now on a lock that another process holds is not waited for."""
        self._leaving = True

    async def prefetch(self, read_set: ReadSet) -> Store:
        """The store itself: everything is at hand."""
        return self

    async def read(self, work: StoreWork[T], *, single: bool = False) -> T:
        """Run on one snapshot. Errors: `Unavailable`."""
        until = self._now_ms() + self._patience.wait_ms
        while True:
            try:
                return self._shown(work)
            except sqlite3.Error as error:
                if is_locked(error) and self._now_ms() < until and not self._leaving:
                    await asyncio.sleep(LOCK_ASK_MS / 1_000)
                    continue
                why = sqlite_trouble(error)
                # The reader takes no writes: one that tries is a mistake of ours.
                if why is None or is_read_only_error(error):
                    raise
                raise Unavailable(why) from error

    def _shown(self, work: StoreWork[T]) -> T:
        self._reader.execute("BEGIN")
        try:
            sql = traced(SqliteSql(self._reader), current_span())
            return work(UnitOfWork(sql, self._cache))
        finally:
            with suppress(sqlite3.Error):  # a fault may have ended the transaction already
                self._reader.execute("ROLLBACK")

    async def write(self, work: StoreWork[T], read_set: ReadSet | None = None) -> T:
        """Queue the handler; answered after the commit. Errors: `Unavailable`."""
        if self._closed:
            raise RuntimeError("the store is closed")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.append(_Queued(work, future, since_ms=self._now_ms()))
        if self._writing is None:
            self._writing = self._loop.create_task(self._write_all())
        # A caller that is cancelled takes its future with it, and not the write.
        return await future

    async def close(self) -> None:
        """Let queued writes finish, then close."""
        if self._closed:
            return
        self._closed = self._leaving = True
        if self._writing is not None:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._writing)
        await self._thread.close()
        if self._writer is not None:
            self._writer.close()
        self._reader.close()

    async def _write_all(self) -> None:
        """Work the queue off, a batch at a time; ends when it is empty."""
        try:
            while self._jobs:
                batch = [self._jobs.popleft() for _ in range(min(BATCH, len(self._jobs)))]
                try:
                    if self._writer is None:
                        self._writer = await self._opened()
                    await self._commit(self._writer, batch)
                except sqlite3.Error as error:
                    fail(batch, Unavailable(sqlite_trouble(error) or "its file does not open"))
                    continue
                except BaseException:
                    fail(batch, RuntimeError("the loop of the store ended"))
                    raise
                self._on_batch(len(batch))
                for job in batch:
                    job.settle()
                if self._writer.in_transaction:  # not even the rollback worked: start over
                    self._writer.close()
                    self._writer = None
        finally:
            self._writing = None

    async def _opened(self) -> sqlite3.Connection:
        connect = partial(connect_sqlite, self._path, wait_ms=self._patience.wait_ms)
        connection = await self._thread.run(connect)
        connection.execute("PRAGMA busy_timeout = 0")
        return connection

    async def _commit(self, connection: sqlite3.Connection, batch: list[_Queued]) -> None:
        sent = False
        try:
            # SQLite would go on in a file that has no name any more, and all of it would be lost.
            if file_at(self._path) != self._file:
                raise Unavailable(MOVED)
            spans = spans_in(job.context for job in batch)
            with statement("BEGIN IMMEDIATE", SqliteSql.dialect, spans):
                await self._begin(connection, batch[0].since_ms + self._patience.wait_ms)
            turn = self._loop.time()
            if len(batch) == 1:
                self._run(connection, batch[0])
            else:
                for job in batch:
                    self._run_apart(connection, job)
                    if (
                        self._loop.time() - turn
                    ) * 1_000 > TURN_MS:  # others on the loop have their turn; the lock stays ours
                        await asyncio.sleep(0)
                        turn = self._loop.time()
            if all(job.error is not None for job in batch):
                connection.execute("ROLLBACK")
                return
            sent = True
            with statement("COMMIT", SqliteSql.dialect, spans):
                await self._thread.run(partial(connection.execute, "COMMIT"))
        except BaseException as error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            unavailable = _blamed(error, sent=sent)
            for job in batch:
                job.error = job.error or unavailable
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _begin(self, connection: sqlite3.Connection, until: int) -> None:
        """Take the write lock; where another process has it, ask again until then."""
        until = max(until, self._now_ms() + LEAST_WAIT_MS)
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not is_locked(error) or self._leaving or self._now_ms() >= until:
                    raise
                await asyncio.sleep(LOCK_ASK_MS / 1_000)
            else:
                return

    def _now_ms(self) -> int:
        return int(self._loop.time() * 1_000)

    def _run(self, connection: sqlite3.Connection, job: _Queued) -> None:
        try:
            sql = traced(SqliteSql(connection), span_in(job.context))
            job.result = job.run(UnitOfWork(sql, self._cache))
        except BaseException as error:
            why = sqlite_trouble(error)
            job.error = error if why is None else Unavailable(why)

    def _run_apart(self, connection: sqlite3.Connection, job: _Queued) -> None:
        """One of several: what it wrote goes with its error, and no other's."""
        connection.execute("SAVEPOINT one")
        self._run(connection, job)
        if job.error is not None:
            connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")


def _blamed(error: BaseException, *, sent: bool) -> BaseException:
    """The error of a batch whose statement failed outside its handlers: the database's doing. A
    commit whose disk failed may stand in the log whole, and be there after a crash.
    """
    if not isinstance(error, sqlite3.OperationalError):
        return error
    on_disk = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
    return Unavailable(sqlite_trouble(error) or "its transaction ended", unknown=sent and on_disk)
