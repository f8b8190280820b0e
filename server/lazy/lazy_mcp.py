"""MCP over HTTP for a process that serves other doors too: its library is loaded, in a thread, by
the first request that speaks it, or by `server.runtime.serve` once it serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import anyio

from http_shim.asgi_bridge import Message
from tools.model.operation import Deps

if TYPE_CHECKING:
    from server.mcp_api.http_app import McpApp
    from server.mcp_api.server import Tools, WalletServer

log = logging.getLogger("wallet.mcp")
DOOR_WATCH_S: Final = 1

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class LazyMcpApp:
    """The ASGI application behind /mcp, /sse and /messages/, with its lifespan."""

    def __init__(self, deps: Deps):
        self._deps = deps
        self._server: WalletServer | None = None
        self._requested = asyncio.Event()
        self._app: asyncio.Future[McpApp] = asyncio.get_running_loop().create_future()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or run from start-up to shutdown."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app = await self.load()
        await app(scope, receive, send)

    async def load(self) -> McpApp:
        """The application behind it. Errors: whatever keeps it from being loaded."""
        self._requested.set()
        # One that gives up waiting must not take the others' application along.
        return await asyncio.shield(self._app)

    async def drain(self) -> None:
        """End the open streams, where there can be any."""
        if self._server is not None:
            from server.mcp_api.http_app import drain

            await drain(self._server)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        ended = asyncio.ensure_future(receive())
        requested = asyncio.ensure_future(self._requested.wait())
        await asyncio.wait({ended, requested}, return_when=asyncio.FIRST_COMPLETED)
        requested.cancel()
        if not ended.done():
            await self._run(ended)
        await send({"type": "lifespan.shutdown.complete"})

    async def _run(self, ended: asyncio.Future[Message]) -> None:
        try:
            server, tools, app = await anyio.to_thread.run_sync(self._loaded)
        except Exception as error:
            self._app.set_exception(error)
            await ended
            return
        self._server = server
        from server.mcp_api.http_app import running

        async with running(server), anyio.create_task_group() as group:
            group.start_soon(_watch_door, tools)
            self._app.set_result(app)
            await ended
            group.cancel_scope.cancel()

    def _loaded(self) -> tuple[WalletServer, Tools, McpApp]:
        from server.mcp_api.http_app import mcp_app
        from server.mcp_api.server import build_server

        server, tools = build_server(self._deps)
        return server, tools, mcp_app(server, self._deps.config.base_url)


async def _watch_door(tools: Tools) -> None:
    while True:
        await anyio.sleep(DOOR_WATCH_S)
        with contextlib.suppress(Exception):
            await tools.watch()
