"""MCP over HTTP: streamable HTTP at /mcp, and the older SSE pair at /sse and /messages/."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from http_shim.admission import MODERN
from server.mcp_api.connect_door import ConnectDoor
from server.mcp_api.peer_sessions import PeerSessions
from server.mcp_api.sdk_log_filter import install_log_filter
from server.mcp_api.server import WalletServer
from server.mcp_api.session_limits import (
    KEYED,
    STRANGERS_SESSIONS,
    SessionGuard,
    headers_of,
    replayed,
)
from server.mcp_api.sse_transport import SseTransport
from tools.model.toolsets import HEADER

# Each holds memory, and ending them takes time at shutdown. The guard is stricter.
MAX_SESSIONS: Final = KEYED.all + STRANGERS_SESSIONS.all + 50
IDLE_S: Final = 600
TOOLSETS_PATH: Final = "/mcp/x/"
TOOLSETS_HEADER: Final = HEADER.lower().encode()
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
# sse-starlette looks every half second whether to end.
DRAIN_S: Final = 0.8
LOOK_S: Final = 0.1


def security(base_url: str) -> TransportSecuritySettings:
    """Host and Origin checks: loopback and the service's own address."""
    own = urlsplit(base_url)
    hosts = [f"{h}:*" for h in LOOPBACK] + list(LOOPBACK) + [own.netloc]
    origins = [f"{s}://{h}:*" for s in ("http", "https") for h in LOOPBACK] + [
        f"{own.scheme}://{own.netloc}"
    ]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins
    )


class _Sse:
    """One SSE connection: the server runs on it until the client goes."""

    def __init__(self, server: WalletServer, transport: SseTransport):
        self._server, self._transport = server, transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def heard(message: Message) -> None:
            nonlocal refused
            refused |= message["type"] == "http.response.start" and message["status"] >= 400
            await send(message)

        try:
            async with self._transport.connect_sse(scope, receive, heard) as (read, write):
                await self._server.run(read, write, self._server.create_initialization_options())
        except ValueError:
            # It refuses a foreign Host or Origin, and then raises.
            if not refused:
                raise


class _Leaving:
    """Ends a call of the 2026 era when its caller goes: that is how a call is cancelled there,
    and the SDK does not look where it answers in JSON. A write that has begun is finished.
    Only calls that are still open at the next look are watched: most are over before that.
    """

    def __init__(self, app: ASGIApp):
        self._app = app
        self._open: dict[anyio.CancelScope, Receive] = {}
        self._watching: dict[anyio.CancelScope, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST" or (
            headers_of(scope).get("mcp-protocol-version") not in MODERN
        ):
            await self._app(scope, receive, send)
            return
        request = await receive()
        with anyio.CancelScope() as call:
            if not request.get("more_body"):
                self._open[call] = receive
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)
            try:
                await self._app(scope, replayed(request, receive), send)
            finally:
                self._open.pop(call, None)
                if (watching := self._watching.pop(call, None)) is not None:
                    watching.cancel()

    def _look(self) -> None:
        """Watch what is open, and look again as long as there was something."""
        loop, self._timer = asyncio.get_running_loop(), None
        if self._open:
            for call, receive in self._open.items():
                self._watching[call] = loop.create_task(_cancel_when_gone(call, receive))
            self._open.clear()
            self._timer = loop.call_later(LOOK_S, self._look)


async def _cancel_when_gone(call: anyio.CancelScope, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    call.cancel()


class McpApp:
    """The ASGI application behind the three paths: each request passes the door of apps, the guard
    and what ends calls, and comes to the SDK's endpoint of its path. The HTTP service routes before
    it and dresses errors after it, so that it has no framework of its own.
    """

    def __init__(self, server: WalletServer, base_url: str):
        checks = security(base_url)
        self._server = server
        self._messages = SseTransport("/messages/", security_settings=checks)
        self._sse = _Sse(server, self._messages)
        server.sessions = StreamableHTTPSessionManager(
            server,
            json_response=True,
            security_settings=checks,
            max_sessions=MAX_SESSIONS,
            # The guard looks first, and answers in the place of one that is about to end.
            session_idle_timeout=IDLE_S + 1,
        )
        # Both behind their bound of a body, which the guard has read already and holds to a smaller
        # one.
        self._sessions = server.sessions.asgi_app.app
        self._post_message = self._messages._post_message_app.app
        if server.deps.has_peers:
            server.guests = StreamableHTTPSessionManager(
                server, json_response=True, stateless=True, security_settings=checks
            )
            server.peers = PeerSessions(
                server.deps,
                self._messages,
                server.guests,
                checks,
                server.resources.serve_session,
            )
            subscriptions = server.resources.share(server.peers.process)
            server.middleware.append(subscriptions.note_session)
        guard = SessionGuard(
            _Leaving(self._endpoint), deps=server.deps, idle_s=IDLE_S, peers=server.peers
        )
        self._door = ConnectDoor(guard, deps=server.deps, scope_of=server.tools.needed_scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or run from start-up to shutdown. Open requests are counted, so that
        draining waits no longer than it has to.
        """
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["path"].startswith(TOOLSETS_PATH):
            scope = _with_toolsets(scope)
        self._server.open_requests += 1
        try:
            await self._door(scope, receive, send)
        finally:
            self._server.open_requests -= 1

    async def _endpoint(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/mcp":
            await self._sessions(scope, receive, send)
        elif scope["path"] == "/sse":
            await self._sse(scope, receive, send)
        else:
            await self._post_message(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with running(self._server):
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _with_toolsets(scope: Scope) -> Scope:
    """`/mcp/x/{sets}` as `/mcp` with the sets in the header, for hosts that send none."""
    sets = scope["path"].removeprefix(TOOLSETS_PATH).encode()
    headers = [(n, v) for n, v in scope["headers"] if n != TOOLSETS_HEADER]
    return {
        **scope,
        "path": "/mcp",
        "raw_path": b"/mcp",
        "headers": [*headers, (TOOLSETS_HEADER, sets)],
    }


def mcp_app(server: WalletServer, base_url: str) -> McpApp:
    """The ASGI application behind the three paths."""
    install_log_filter()
    AppStatus.should_exit = False
    return McpApp(server, base_url)


@asynccontextmanager
async def running(server: WalletServer) -> AsyncIterator[None]:
    """The sessions of a server, and what it does for those of other processes."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(server.sessions.run())
        if server.guests is not None:
            await stack.enter_async_context(server.guests.run())
        group = await stack.enter_async_context(anyio.create_task_group())
        group.start_soon(server.resources.run)
        if server.peers is not None:
            group.start_soon(server.peers.run)
        yield
        group.cancel_scope.cancel()


async def drain(server: WalletServer) -> None:
    """End open streams: 2026 listeners get their last frame, SSE connections are told to close."""
    listening: Any = server.get_request_handler("subscriptions/listen")
    if listening is not None:
        listening.handler.close()
    AppStatus.should_exit = True
    with anyio.move_on_after(DRAIN_S):
        while server.open_requests:
            await anyio.sleep(0.01)
