"""Handlers in transactions on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from storage.faults import Patience, Unavailable, is_refused_write, postgres_trouble, sqlstate
from storage.rows.books import StateCache
from storage.sql import PostgresSql
from storage.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")
Work = Callable[[UnitOfWork], T]
TRIES: Final = 8
# Connections that stood in the pool while the server went away all fail; a new one is made after.
RECONNECTS: Final = 2
# Beyond a statement's own time: what the server needs to tell that it was stopped.
GRACE_MS: Final = 1_000
_RETRY_STATES: Final = frozenset({"40001", "40P01"})


def told_nobody(_: int) -> None:
    """What a store tells of its batches until somebody counts them."""


class PostgresStore:
    """Handlers run through `run_sync` on a pool of asyncpg connections; several processes may
    share the database.

    Nobody waits for ever: the server stops a statement and a wait for a lock, and where the server
    itself is silent the transaction ends here.
    """

    def __init__(self, url: str, patience: Patience):
        self.url = url
        self.on_batch: Callable[[int], object] = told_nobody
        self._patience = patience
        self._cache = StateCache()
        self._engine = _engine(url, patience)
        # Made once: options that come with every call make SQLAlchemy compile anew.
        self._reads = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        """Run on one snapshot. Errors: `Unavailable`."""
        return await self._again_where_others_won(self._reads, work)

    async def write(self, work: Work[T]) -> T:
        """Run in one transaction; a deadlock or serialization failure is tried again.

        Errors: `Unavailable`, which says whether the commit had been sent.
        """
        if self._closed:
            raise RuntimeError("the store is closed")
        task = asyncio.create_task(self._again_where_others_won(self._engine, work))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def _again_where_others_won(self, engine: AsyncEngine, work: Work[T]) -> T:
        """Run until nobody else's write is in the way. Nothing of a lost try is stored."""
        reconnects = 0
        for attempt in range(TRIES):
            try:
                return await self._once(engine, work)
            except _Lost as lost:
                if lost.gone and reconnects < RECONNECTS:
                    reconnects += 1
                elif lost.gone or attempt == TRIES - 1:
                    raise Unavailable(lost.why) from lost.__cause__
                else:
                    await asyncio.sleep(2**attempt / 200)
        raise AssertionError("the loop returns or raises")

    async def _once(self, engine: AsyncEngine, work: Work[T]) -> T:
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.exc import TimeoutError as PoolIsEmpty

        sent = False
        try:
            async with engine.connect() as connection:
                async with asyncio.timeout((self._patience.statement_ms + GRACE_MS) / 1_000):
                    result = await connection.run_sync(
                        lambda c: work(UnitOfWork(PostgresSql(c), self._cache))
                    )
                    sent = engine is not self._reads
                    await connection.commit()
                    if sent:
                        self.on_batch(1)
                    return result
        except PoolIsEmpty as error:
            raise Unavailable("all its connections are in use") from error
        except (DBAPIError, OSError) as error:
            why = postgres_trouble(error)
            gone = isinstance(error, DBAPIError) and error.connection_invalidated
            if (why is None and not gone) or (engine is self._reads and is_refused_write(error)):
                raise
            why = why or "its connection broke"
            state = sqlstate(error)
            # The server's own refusal of a commit says that nothing was stored; silence does not.
            if sent and (gone or state is None or state.startswith(("08", "57"))):
                raise Unavailable(why, unknown=True) from error
            if gone or state in _RETRY_STATES:
                raise _Lost(why, gone=gone) from error
            raise Unavailable(why) from error

    async def close(self) -> None:
        """Let running writes finish, then close the pool."""
        self._closed = True
        await asyncio.gather(*self._writes, return_exceptions=True)
        await self._engine.dispose()


class _Lost(Exception):
    """A try that left nothing behind: others wrote the same rows, or the connection was gone."""

    def __init__(self, why: str, *, gone: bool):
        super().__init__(why)
        self.why, self.gone = why, gone


def _engine(url: str, patience: Patience) -> AsyncEngine:
    from sqlalchemy.ext.asyncio import create_async_engine

    wait_s = patience.wait_ms / 1_000
    return create_async_engine(
        "postgresql+asyncpg://" + url.partition("://")[2],
        pool_size=patience.pool,
        max_overflow=0,
        pool_timeout=wait_s,
        connect_args={
            "timeout": wait_s,
            **_statements(patience.statement_cache),
            "server_settings": {
                "application_name": "wallet",
                "statement_timeout": str(patience.statement_ms),
                "lock_timeout": str(patience.wait_ms),
                "idle_in_transaction_session_timeout": str(patience.statement_ms),
            },
        },
    )


def _statements(kept: int) -> dict[str, Any]:
    """How statements are prepared: kept under a name, or parsed anew each time under none."""
    sizes = {"statement_cache_size": kept, "prepared_statement_cache_size": kept}
    return sizes if kept else {**sizes, "prepared_statement_name_func": str}
