"""Shared subscriptions: those of the older era's sessions, whichever process was asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult

from server.mcp_api.listeners import ChangeListener
from server.mcp_api.session_stream import SessionStream
from tools.context.credentials import hashed
from tools.model.operation import Deps

if TYPE_CHECKING:
    from starlette.requests import Request

MOST: Final = 32  # resources of one session
# The listener of a session that this process gave, whose streams the transport holds.
ListenerOf = Callable[[Connection, "Request | None"], ChangeListener]
Learn = Callable[[ChangeListener, Mapping[str, str]], None]


class SharedSubscriptions:
    """Rows of all processes, and the sessions that are told here: those whose stream is open here,
    in the transport or, where another process gave them, beside it.
    """

    def __init__(self, deps: Deps, process: str, listener_of: ListenerOf, learn: Learn):
        self._deps, self._process = deps, process
        self._listener_of, self._learn = listener_of, learn
        self._own: dict[str, tuple[Connection, Request | None]] = {}
        self.guests: dict[SessionStream, tuple[str, ChangeListener]] = {}

    async def note_session(
        self, ctx: ServerRequestContext[object, Request], call_next: CallNext
    ) -> HandlerResult:
        """A middleware: remember who opens a session here, until it ends."""
        connection = ctx.session._connection
        if ctx.method == "initialize" and connection.session_id is not None:
            name = hashed(connection.session_id)
            self._own[name] = connection, ctx.request
            connection.exit_stack.callback(self._own.pop, name, None)
        return await call_next(ctx)

    async def add(self, session_id: str, uri: str, version: str) -> bool:
        """Subscribe a session; False where it has as many as it can have."""
        name = hashed(session_id)
        return await self._deps.store.write(
            lambda uow: uow.mcp.subscribe(name, uri, version, limit=MOST)
        )

    async def remove(self, session_id: str, uri: str) -> None:
        """Unsubscribe a session."""
        name = hashed(session_id)
        await self._deps.store.write(lambda uow: uow.mcp.unsubscribe(name, uri))

    async def refresh(self) -> None:
        """Follow what was subscribed to since, in any process. Errors: `Unavailable`."""
        elsewhere = {name for name, _ in self.guests.values()}
        if not elsewhere and not self._own:
            return
        now, read = self._deps.clock.now(), self._deps.store.read
        rows = await read(lambda uow: uow.mcp.subscriptions(self._process, elsewhere, now))
        for name, (connection, request) in list(self._own.items()):
            if name in rows:
                self._learn(self._listener_of(connection, request), rows[name])
        for stream, (name, listener) in list(self.guests.items()):
            if name in rows:
                self._learn(listener, rows[name])
            else:
                stream.close()

    async def serve(
        self, session_id: str, request: Request, run: Callable[[SessionStream], Awaitable[None]]
    ) -> None:
        """Hold a stream of a session that another process gave."""
        stream = SessionStream(session_id)
        listener = ChangeListener(request, stream.deliver)
        self.guests[stream] = hashed(session_id), listener
        try:
            await run(stream)
        finally:
            del self.guests[stream]
