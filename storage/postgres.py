"""Handlers in transactions on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.util import greenlet_spawn

from storage.connections import Connection, Connections, Talk
from storage.faults import Patience
from storage.rows.books import StateCache
from storage.sql import PostgresSql
from storage.unit_of_work import UnitOfWork

T = TypeVar("T")
Work = Callable[[UnitOfWork], T]


class PostgresStore:
    """Handlers are plain functions, and asyncpg is asynchronous: each runs in a greenlet that lets
    the loop go on while the server answers. Several processes may share the database.
    """

    def __init__(self, url: str, patience: Patience):
        self.url = url
        self._cache = StateCache()
        self._connections = Connections(url, patience)
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        """Run on one snapshot. Errors: `Unavailable`."""
        return await self._connections.use(partial(self._shown, work))

    async def write(self, work: Work[T]) -> T:
        """Run in one transaction; a deadlock or serialization failure is tried again.

        Errors: `Unavailable`, which says whether the commit had been sent.
        """
        if self._closed:
            raise RuntimeError("the store is closed")
        task = asyncio.create_task(self._connections.use(partial(self._committed, work)))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def _shown(self, work: Work[T], talk: Talk) -> T:
        talk.reads = True
        async with talk.connection.transaction(isolation="repeatable_read", readonly=True):
            return await self._run(work, talk.connection)

    async def _committed(self, work: Work[T], talk: Talk) -> T:
        transaction = talk.connection.transaction()
        await transaction.start()
        try:
            result = await self._run(work, talk.connection)
        except Exception:
            if not talk.connection.is_closed():
                await transaction.rollback()
            raise
        talk.sent = True
        await transaction.commit()
        return result

    async def _run(self, work: Work[T], connection: Connection) -> T:
        return await greenlet_spawn(work, UnitOfWork(PostgresSql(connection), self._cache))

    async def close(self) -> None:
        """Let running writes finish, then let the connections go."""
        self._closed = True
        await asyncio.gather(*self._writes, return_exceptions=True)
        await self._connections.close()
