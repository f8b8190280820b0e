"""Handlers in transactions on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from sqlalchemy.util import greenlet_spawn

from domain.spans import current_span, spans_in
from storage.engine.connections import Connections, ConnectionUse
from storage.engine.job import OnBatch, ignore_batch
from storage.engine.lane import JobQueue
from storage.engine.write_batches import WriteBatcher
from storage.errors import DatabaseTimeouts
from storage.prefetch.prefetch_query import (
    PrefetchedSql,
    QueryRows,
    prefetch_query,
    queries_of,
    rows_by_query,
)
from storage.prefetch.read_set import ReadSet
from storage.repositories.state_cache import StateCache
from storage.sql import PostgresSql, PrefetchMiss, SingleQuery
from storage.statement_spans import traced
from storage.unit_of_work import UnitOfWork

T = TypeVar("T")
StoreWork = Callable[[UnitOfWork], T]
_ReadJob: TypeAlias = tuple[ReadSet, asyncio.Future[QueryRows], Context]
# Statements that read for waiting handlers at the same time.
READ_LANES: Final = 2
# How long what runs may take when the process ends, which has two seconds in all.
LAST_MS: Final = 700


class PostgresStore:
    """Handlers are plain functions, and asyncpg is asynchronous: each runs in a greenlet that lets
    the loop go on while the server answers. Several processes may share the database.
    """

    def __init__(self, url: str, patience: DatabaseTimeouts, on_batch: OnBatch = ignore_batch):
        self.url, self._on_batch = url, on_batch
        self._cache = StateCache()
        self._connections = Connections(url, patience)
        self._batches = WriteBatcher(self._connections, self._cache, self._alone, on_batch)
        self._reads: JobQueue[_ReadJob] = JobQueue(self._prefetch, at_once=READ_LANES)
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def read(self, work: StoreWork[T], *, single: bool = False) -> T:
        """Run on one snapshot; one statement is one by itself. Errors: `Unavailable`."""
        if single:
            with suppress(PrefetchMiss):
                return await self._connections.use(partial(self._single, work))
        return await self._connections.use(partial(self._read, work))

    async def prefetch(self, read_set: ReadSet) -> PrefetchedStore:
        """Read the rows that some handlers declared, by one statement. Errors: `Unavailable`."""
        future: asyncio.Future[QueryRows] = asyncio.get_running_loop().create_future()
        self._reads.add((read_set, future, copy_context()))
        return PrefetchedStore(self, await future, self._cache)

    async def write(self, work: StoreWork[T], read_set: ReadSet | None = None) -> T:
        """Run in one transaction; a deadlock or serialization failure is tried again. Where the
        handler says what it needs of one mandate, it runs in a batch.

        Errors: `Unavailable`, which says whether the commit had been sent.
        """
        if self._closed:
            raise RuntimeError("the store is closed")
        if read_set is not None and len(read_set.mandates) == 1:
            future: asyncio.Future[T] = self._batches.queued(work, read_set)
            # A caller that is cancelled takes its future with it, and not the write.
            return await future
        task = asyncio.create_task(self._alone(work))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def _alone(self, work: StoreWork[T]) -> T:
        return await self._connections.use(partial(self._committed, work))

    async def _prefetch(self, jobs: list[_ReadJob]) -> None:
        """Run the queries of some handlers that read, by one statement."""
        queries, text, values = prefetch_query(
            query
            for read_set, _, _ in jobs
            for query in queries_of(read_set, self._cache, writes=False)
        )

        spans = spans_in(context for _, _, context in jobs)

        async def fetch(connection: ConnectionUse) -> QueryRows:
            connection.reads, connection.spans = True, spans
            return rows_by_query(queries, await connection.fetch(text, *values))

        task = asyncio.ensure_future(self._connections.use(fetch))
        await asyncio.wait([task])
        for _, future, _ in jobs:
            if future.done():
                continue
            if task.cancelled():
                future.cancel()
            elif (error := task.exception()) is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

    async def _single(self, work: StoreWork[T], connection: ConnectionUse) -> T:
        connection.reads = True
        sql = SingleQuery(traced(PostgresSql(connection.connection), current_span()))
        return await greenlet_spawn(work, UnitOfWork(sql, self._cache))

    async def _read(self, work: StoreWork[T], connection: ConnectionUse) -> T:
        connection.reads = True
        return await self._run(work, connection, isolation="repeatable_read", readonly=True)

    async def _committed(self, work: StoreWork[T], connection: ConnectionUse) -> T:
        result = await self._run(work, connection)
        self._on_batch(1)
        return result

    async def _run(self, work: StoreWork[T], connection: ConnectionUse, **kind: Any) -> T:
        span = current_span()
        connection.spans = () if span is None else (span,)
        async with connection.transaction(**kind):
            sql = traced(PostgresSql(connection.connection), span)
            return await greenlet_spawn(work, UnitOfWork(sql, self._cache))

    def leave(self) -> None:
        """Prepare for shutdown: from now on a lock of another process is waited for a moment only,
        no more.
        """
        self._connections.leave(LAST_MS)

    async def close(self) -> None:
        """Let running writes finish, then close the pool; a write that waits for another's lock is
        rolled back.
        """
        self._closed = True
        self._connections.leave(LAST_MS)
        # Both kinds of writes have the same time, and not one after the other.
        drained = asyncio.create_task(self._batches.drained())
        _, waiting = await asyncio.wait({drained, *self._writes}, timeout=LAST_MS / 1_000)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await self._connections.close()


class PrefetchedStore:
    """A store whose reads find in memory what was brought for them; everything else is the store's
    own doing.
    """

    def __init__(self, store: PostgresStore, prefetched: QueryRows, cache: StateCache):
        self.url = store.url
        self._store, self._prefetched, self._cache = store, prefetched, cache

    async def read(self, work: StoreWork[T], *, single: bool = False) -> T:
        """Run on what was brought; where that is not enough, on a snapshot of the database."""
        try:
            return work(UnitOfWork(PrefetchedSql(self._prefetched), self._cache))
        except PrefetchMiss:
            return await self._store.read(work, single=single)

    async def prefetch(self, read_set: ReadSet) -> PrefetchedStore:
        """Bring anew."""
        return await self._store.prefetch(read_set)

    async def write(self, work: StoreWork[T], read_set: ReadSet | None = None) -> T:
        """Run one transaction; see `Store.write`."""
        return await self._store.write(work, read_set)

    def leave(self) -> None:
        """Give the connections back; see `Store`."""
        self._store.leave()

    async def close(self) -> None:
        """Do nothing: this transaction owns no connection."""
