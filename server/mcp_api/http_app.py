"""MCP over HTTP: streamable HTTP at /mcp, and the older SSE pair at /sse and /messages/."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.mcp_api.connect_door import ConnectDoor
from server.mcp_api.peer_sessions import PeerSessions
from server.mcp_api.sdk_log_filter import install_log_filter
from server.mcp_api.server import WalletServer
from server.mcp_api.session_limits import (
    KEYED,
    MODERN,
    STRANGERS_SESSIONS,
    SessionGuard,
    replayed,
)
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

    def __init__(self, server: WalletServer, transport: SseServerTransport):
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
    """Ends a request of the 2026 era when its caller goes: that is how a call is cancelled there,
    and the SDK does not look where it answers in JSON. A write that has begun is finished.
    """

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "POST"
            or Headers(scope=scope).get("mcp-protocol-version") not in MODERN
        ):
            await self._app(scope, receive, send)
            return
        request, loop = await receive(), asyncio.get_running_loop()
        watching: list[asyncio.Task[None]] = []
        with anyio.CancelScope() as scope_of_call:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                scope_of_call.cancel()

            def begin() -> None:
                watching.append(loop.create_task(watch()))

            # Most calls are over before anybody could have left.
            timer = None if request.get("more_body") else loop.call_later(LOOK_S, begin)
            try:
                await self._app(scope, replayed(request, receive), send)
            finally:
                if timer is not None:
                    timer.cancel()
                for task in watching:
                    task.cancel()


class _ToolsetPath:
    """Reads `/mcp/x/{sets}` as `/mcp` with the sets in the header, for hosts that send none."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(TOOLSETS_PATH):
            sets = scope["path"].removeprefix(TOOLSETS_PATH).encode()
            headers = [(n, v) for n, v in scope["headers"] if n != TOOLSETS_HEADER]
            scope = {**scope, "path": "/mcp", "raw_path": b"/mcp"}
            scope["headers"] = [*headers, (TOOLSETS_HEADER, sets)]
        await self._app(scope, receive, send)


class _Open:
    """Counts open requests and streams, so that draining waits no longer than it has to."""

    def __init__(self, app: ASGIApp, server: WalletServer):
        self._app, self._server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        counted = scope["type"] == "http"
        self._server.open_requests += counted
        try:
            await self._app(scope, receive, send)
        finally:
            self._server.open_requests -= counted


def mcp_app(server: WalletServer, base_url: str) -> Starlette:
    """The ASGI application behind the three paths."""
    install_log_filter()
    checks = security(base_url)
    streamable = server.streamable_http_app(
        json_response=True,
        transport_security=checks,
        max_sessions=MAX_SESSIONS,
        # The guard looks first, and answers in the place of one that is about to end.
        session_idle_timeout=IDLE_S + 1,
    )
    transport = SseServerTransport("/messages/", security_settings=checks)
    if server.deps.has_peers:
        server.guests = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, security_settings=checks
        )
        server.peers = PeerSessions(
            server.deps, transport, server.guests, checks, server.resources.serve_session
        )
        subscriptions = server.resources.share(server.peers.process)
        server.middleware.append(subscriptions.note_session)
    AppStatus.should_exit = False
    return Starlette(
        routes=[
            Route("/sse", endpoint=_Sse(server, transport)),
            Mount("/messages/", app=transport.handle_post_message),
            *streamable.routes,
        ],
        middleware=[
            Middleware(_Open, server=server),
            Middleware(_ToolsetPath),
            Middleware(ConnectDoor, deps=server.deps, scope_of=server.tools.needed_scope),
            Middleware(SessionGuard, deps=server.deps, idle_s=IDLE_S, peers=server.peers),
            Middleware(_Leaving),
        ],
        lifespan=lambda app: running(server),
    )


@asynccontextmanager
async def running(server: WalletServer) -> AsyncIterator[None]:
    """The sessions of a server, and what it does for those of other processes."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(server.session_manager.run())
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
