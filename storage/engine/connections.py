"""PostgreSQL connections: a bounded pool, and the outcome of a call whose connection breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import asyncpg
from asyncpg.exceptions import (
    DataError,
    InterfaceError,
    InternalClientError,
    InvalidCachedStatementError,
    PostgresError,
)

from domain.spans import Span
from storage.errors import (
    DatabaseTimeouts,
    Unavailable,
    is_read_only_error,
    postgres_trouble,
    refusal_of,
    sqlstate,
)
from storage.statement_spans import statement

T = TypeVar("T")
Connection: TypeAlias = Any
"""asyncpg's, whose methods have no types."""

# A plan is made once for any values, and kept while the tables grow: with arrays of keys the server
# would plan each call anew, which costs more than to run it. Of a table of one page it would read
# every row, and would go on so when there are a million.
PLANS: Final[Mapping[str, str]] = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "jit": "off",
}

TRIES: Final = 8
# Connections that stood in the pool while the server went away all fail; a new one is made after.
RECONNECTS: Final = 2
# Beyond a statement's own time: what the server needs to tell that it was stopped.
GRACE_MS: Final = 1_000
# Of a process that ends: a server that does not say goodbye is left without.
FAREWELL_MS: Final = 300
_RETRY_STATES: Final = frozenset({"40001", "40P01"})
# What the driver raises. Its own two say that connection and server are no longer at one: the
# server's farewell was heard and its end not yet, or an operation did not end.
_TROUBLE: Final = (PostgresError, InterfaceError, InternalClientError, OSError)


@dataclass(slots=True)
class ConnectionUse:
    """One use of a connection. `sent`: from now on the server may have stored what was asked.
    `reads`: nothing is to be stored at all. `spans`: what it is done for, where that is traced.
    """

    connection: Connection
    sent: bool = False
    reads: bool = False
    spans: Sequence[Span] = ()

    @asynccontextmanager
    async def transaction(
        self, *, isolation: str | None = None, readonly: bool = False
    ) -> AsyncIterator[None]:
        """A transaction, committed at the end. Where its time is over in the middle, nothing more
        is asked: a server that is silent keeps a rollback waiting past every limit.
        """
        transaction = self.connection.transaction(isolation=isolation, readonly=readonly)
        with statement("BEGIN", "postgresql", self.spans):
            await transaction.start()
        try:
            yield
        except Exception:
            if not self.connection.is_closed():
                await transaction.rollback()
            raise
        except BaseException:
            self.connection.terminate()
            raise
        self.sent = not self.reads
        with statement("COMMIT", "postgresql", self.spans):
            await transaction.commit()

    async def fetch(self, text: str, *values: object) -> Any:
        """Run a statement; its rows."""
        with statement(text, "postgresql", self.spans):
            return await self.connection.fetch(text, *values)


class Connections:
    """A bounded pool of asyncpg connections; it belongs to the event loop that made it. Every wait
    ends: the server stops a statement and a wait for a lock, and where the server itself is silent
    the connection is dropped here. A use leaves no session state behind, so that nothing is reset
    between two, as asyncpg's own pool does by a statement.
    """

    def __init__(self, url: str, patience: DatabaseTimeouts):
        self._patience = patience
        self._places = asyncio.Semaphore(patience.pool)
        self._idle: list[Connection] = []
        self._opening: set[asyncio.Future[Connection]] = set()
        self._limits: set[asyncio.Timeout] = set()
        self._ends_ms: int | None = None
        self._closed = False
        self._connect = partial(
            asyncpg.connect,
            url,
            timeout=patience.wait_ms / 1_000,
            statement_cache_size=patience.statement_cache,
            server_settings={
                "application_name": "wallet",
                **PLANS,
                "statement_timeout": str(patience.statement_ms),
                "lock_timeout": str(patience.wait_ms),
                "idle_in_transaction_session_timeout": str(patience.statement_ms),
            },
        )

    def leave(self, last_ms: int) -> None:
        """Prepare for shutdown: whatever runs, waits for a lock or a place, or begins later gets
        the same deadline, the first one given.
        """
        if self._ends_ms is None:
            self._ends_ms = _now_ms() + last_ms
            last = self._ends_ms / 1_000
            for limit in self._limits:
                limit.reschedule(min(limit.when() or last, last))

    @asynccontextmanager
    async def _within(self, ms: int) -> AsyncIterator[None]:
        """A time for a step; less where the process ends. Errors: TimeoutError."""
        until = _now_ms() + ms
        if self._ends_ms is not None:
            until = min(until, self._ends_ms)
        async with asyncio.timeout_at(until / 1_000) as limit:
            self._limits.add(limit)
            try:
                yield
            finally:
                self._limits.discard(limit)

    async def use(self, talk: Callable[[ConnectionUse], Awaitable[T]]) -> T:
        """Retry while another connection's write is in the way. A lost try leaves nothing stored.

        Errors: `Unavailable`, which says whether what was asked may be stored all the same.
        """
        reconnects = 0
        for attempt in range(TRIES):
            try:
                return await self._once(talk)
            except _RetryableLoss as lost:
                if lost.gone and reconnects < RECONNECTS:
                    reconnects += 1
                elif lost.gone or attempt == TRIES - 1:
                    raise Unavailable(lost.why) from lost.__cause__
                else:
                    await asyncio.sleep(2**attempt / 200)
        raise AssertionError("the loop returns or raises")

    async def _once(self, talk: Callable[[ConnectionUse], Awaitable[T]]) -> T:
        async with self._connected() as connection:
            telling = ConnectionUse(connection)
            try:
                async with self._within(self._patience.statement_ms + GRACE_MS):
                    return await talk(telling)
            except _TROUBLE as error:
                raise self._blamed(telling, error) from error

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        try:
            async with self._within(self._patience.wait_ms):
                await self._places.acquire()
        except TimeoutError as error:
            raise Unavailable("all its connections are in use") from error
        try:
            connection = await self._taken()
            try:
                yield connection
            except BaseException as error:
                # Whoever leaves in the middle of a talk leaves nobody the rest of it.
                if not isinstance(error, Exception) or _in_the_middle(connection):
                    connection.terminate()
                raise
            finally:
                if self._closed:
                    connection.terminate()
                elif not connection.is_closed():
                    self._idle.append(connection)
        finally:
            self._places.release()

    async def _taken(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        try:
            async with self._within(self._patience.wait_ms):
                return await self._opened()
        except InternalClientError as error:
            raise Unavailable("it cannot be reached") from error
        except PostgresError as error:
            raise Unavailable(refusal_of(error)) from error
        except OSError as error:
            raise Unavailable(postgres_trouble(error) or "it cannot be reached") from error

    async def _opened(self) -> Connection:
        """A new connection. Who leaves before it is there leaves it to be opened and dropped:
        asyncpg tells the end of one that is cut off in its first moments to nobody, so that the
        event loop reports it as an error.
        """
        opening = asyncio.ensure_future(self._connect())
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_drop)
            raise

    def _blamed(self, telling: ConnectionUse, error: Exception) -> Exception:
        """Translate an error: a lost try, `Unavailable`, or the error unchanged where it is a
        mistake of this code.
        """
        why, state = postgres_trouble(error), sqlstate(error)
        is_stale = isinstance(error, InvalidCachedStatementError)
        if is_stale:
            # An upgrade changed a table, and the driver has forgotten what it knew of all of them.
            why = "its tables have changed"
        gone = telling.connection.is_closed() or _is_the_last_word(error)
        if gone:
            self._let_go(telling.connection)
        if (why is None and not gone) or (telling.reads and is_read_only_error(error)):
            return error
        why = why or "its connection broke"
        # The server's own refusal of a commit says that nothing was stored; silence does not.
        if telling.sent and (gone or state is None or state.startswith(("08", "57"))):
            return Unavailable(why, unknown=True)
        if is_stale or state in _RETRY_STATES or (gone and not isinstance(error, TimeoutError)):
            return _RetryableLoss(why, gone=gone)
        return Unavailable(why)

    def _let_go(self, connection: Connection) -> None:
        """Return a connection; where it is broken, close the idle ones too, because they go to the
        same server. A connection that met its deadline says nothing of the others.
        """
        if self._ends_ms is not None:
            connection.terminate()
            return
        for one in (connection, *self._idle):
            one.terminate()
        self._idle.clear()

    async def close(self) -> None:
        """Close those that stand by; one that is still in use is when it no longer is."""
        self._closed = True
        if self._opening:
            await asyncio.wait(self._opening, timeout=FAREWELL_MS / 1_000)
        idle, self._idle = self._idle, []
        farewells = (connection.close(timeout=FAREWELL_MS / 1_000) for connection in idle)
        for error in await asyncio.gather(*farewells, return_exceptions=True):
            if isinstance(error, BaseException) and not isinstance(error, _TROUBLE):
                raise error


def _drop(opened: asyncio.Future[Connection]) -> None:
    """Close a connection that nobody waits for any more."""
    if not opened.cancelled() and opened.exception() is None:
        opened.result().terminate()


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1_000)


def _is_the_last_word(error: Exception) -> bool:
    """Whether nothing more can be had of a connection. A value that the driver cannot encode is a
    mistake of ours, and was not sent.
    """
    if isinstance(error, DataError):
        return False
    if isinstance(error, PostgresError):
        return getattr(error, "severity_en", None) in {"FATAL", "PANIC"}
    return True


def _in_the_middle(connection: Connection) -> bool:
    return not connection.is_closed() and bool(connection.is_in_transaction())


class _RetryableLoss(Exception):
    """A try that left nothing behind: others wrote the same rows, or the connection was gone."""

    def __init__(self, reason: str, *, gone: bool):
        super().__init__(reason)
        self.why, self.gone = reason, gone
