"""A session's stream of notices in a process that did not give the session."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Final

import anyio
from mcp.server.subscriptions import ServerEvent, ToolsListChanged
from sse_starlette.sse import EventSourceResponse
from starlette.types import Receive, Scope, Send

SESSION: Final = "mcp-session-id"
UPDATED: Final = "notifications/resources/updated"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"


class SessionStream:
    """One GET stream. What changes while a frame is on its way is written behind it, once."""

    def __init__(self, session_id: str):
        self._session_id = session_id
        self._frames: dict[str, None] = {}
        self._is_closed, self._woken = False, anyio.Event()

    async def deliver(self, uri: str) -> None:
        """Tell of a resource that changed."""
        self._put({"method": UPDATED, "params": {"uri": uri}})

    def tell(self, event: ServerEvent) -> None:
        """Tell of what concerns every session."""
        if isinstance(event, ToolsListChanged):
            self._put({"method": TOOLS_CHANGED})

    def close(self) -> None:
        """End the stream."""
        self._is_closed = True
        self._woken.set()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until the stream is closed or its client has gone."""
        headers = {"Cache-Control": "no-cache, no-transform", SESSION: self._session_id}
        await EventSourceResponse(self._written(), headers=headers)(scope, receive, send)

    def _put(self, notification: dict[str, object]) -> None:
        self._frames[json.dumps({"jsonrpc": "2.0", **notification})] = None
        self._woken.set()

    async def _written(self) -> AsyncIterator[dict[str, str]]:
        while not self._is_closed:
            while self._frames:
                frame = next(iter(self._frames))
                del self._frames[frame]
                yield {"event": "message", "data": frame}
            await self._woken.wait()
            self._woken = anyio.Event()
