"""Long reads, each on a connection of its own: rows stream past while loop and writers go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import aiosqlite
from anyio import to_thread

from storage.sql import Row, numbered
from storage.sqlite_files import connect_sqlite, sqlite_path

if TYPE_CHECKING:
    import asyncpg

# Rows between two turns of the loop: what is done with one costs about 0.1 ms at most.
ROWS_A_TURN: Final = 64


class LongReader(Protocol):
    """A connection that only reads; for one task at a time."""

    dialect: str

    def snapshot(self) -> AbstractAsyncContextManager[None]:
        """Show what is read inside as it was at the first statement."""
        ...

    def rows(self, text: str, /, **values: object) -> AsyncIterator[Row]:
        """Run a query inside a snapshot; rows come as they are needed, never all at once."""
        ...

    def pages(self, text: str, limit: int, /, **values: object) -> AsyncIterator[list[Row]]:
        """Yield rows in pages, for very long reads: as plain mappings, because the drivers' own
        rows look up their columns by name anew each time.
        """
        ...


@asynccontextmanager
async def long_reader(url: str) -> AsyncIterator[LongReader]:
    """Open a connection of its own for long reads, and close it in the end.

    Errors: ValueError for a URL that is of neither database.
    """
    if url.startswith("sqlite:///"):
        async with sqlite_on_thread(sqlite_path(url), reads_only=True) as connection:
            yield SqliteReader(connection)
    elif url.startswith(("postgresql://", "postgres://")):
        import asyncpg  # which a process on SQLite never loads

        from storage.engine.connections import FAREWELL_MS

        # No statement outlives its transaction: behind a pooler the next one may be elsewhere.
        opened = await asyncpg.connect(url, statement_cache_size=0)
        try:
            yield PostgresReader(opened)
        finally:
            with suppress(TimeoutError):  # a server that is silent is left without
                await opened.close(timeout=FAREWELL_MS / 1_000)
    else:
        raise ValueError("the database URL starts with sqlite:/// or postgresql://")


@asynccontextmanager
async def sqlite_on_thread(path: str, *, reads_only: bool) -> AsyncIterator[aiosqlite.Connection]:
    """A SQLite connection whose statements run in a thread of its own.

    It is opened before aiosqlite gets it: where opening fails inside its thread, the thread
    outlives the error.
    """
    opened = await to_thread.run_sync(partial(connect_sqlite, path, reads_only=reads_only))
    async with aiosqlite.Connection(lambda: opened, ROWS_A_TURN) as connection:
        yield connection


class SqliteReader:
    """On aiosqlite: the statements run in a thread, rows come over in chunks."""

    dialect = "sqlite"

    def __init__(self, connection: aiosqlite.Connection):
        self._connection = connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        """Hold one read transaction; a writer never waits for it."""
        await self._connection.execute("BEGIN")
        try:
            yield
        finally:
            await self._connection.execute("ROLLBACK")

    async def rows(self, text: str, /, **values: object) -> AsyncIterator[Row]:
        """Run a query."""
        async with self._connection.execute(text, values) as cursor:
            async for row in cursor:
                yield row  # type: ignore[misc]  # a sqlite3.Row is read like a mapping

    async def pages(self, text: str, limit: int, /, **values: object) -> AsyncIterator[list[Row]]:
        """Run a query; its rows, so many at once."""
        async with self._connection.execute(text, values) as cursor:
            names = [column[0] for column in cursor.description]
            while page := await cursor.fetchmany(limit):
                yield [dict(zip(names, row, strict=True)) for row in page]


class PostgresReader:
    """On asyncpg, with a cursor in the server."""

    dialect = "postgresql"

    def __init__(self, connection: asyncpg.Connection):
        self._connection, self._opened = connection, 0

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        """Hold one read-only transaction."""
        from storage.engine.connections import ConnectionUse

        connection = ConnectionUse(self._connection, reads=True)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            yield

    async def rows(self, text: str, /, **values: object) -> AsyncIterator[Row]:
        """Run a query."""
        async for page in self._fetched(text, ROWS_A_TURN, values):
            for row in page:
                yield row

    async def pages(self, text: str, limit: int, /, **values: object) -> AsyncIterator[list[Row]]:
        """Run a query; its rows, so many at once."""
        async for page in self._fetched(text, limit, values):
            names = [*page[0].keys()]
            yield [dict(zip(names, row.values(), strict=True)) for row in page]

    async def _fetched(self, text: str, limit: int, values: Row) -> AsyncIterator[Sequence[Row]]:
        statement, names = numbered(text)
        parameters = [values[name] for name in names]
        self._opened += 1
        cursor = f"long_rows_{self._opened}"
        await self._connection.execute(
            f"DECLARE {cursor} NO SCROLL CURSOR FOR {statement}", *parameters
        )
        while page := await self._connection.fetch(f"FETCH {limit} FROM {cursor}"):
            yield page
        await self._connection.execute(f"CLOSE {cursor}")
