"""MCP over HTTP: streamable HTTP at /mcp, and the older SSE pair at /sse and /messages/."""

from __future__ import annotations

import hashlib
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.sse import SseServerTransport
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.mcp_api.sdk_log_filter import install_log_filter
from server.mcp_api.server import WalletServer
from server.mcp_api.session_limits import HOLDER, KEYED, MODERN, STRANGERS_SESSIONS, SessionGuard

# Each holds memory, and ending them takes time at shutdown. The guard is stricter.
MAX_SESSIONS: Final = KEYED.all + STRANGERS_SESSIONS.all + 50
IDLE_S: Final = 600
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
# sse-starlette looks every half second whether to end.
DRAIN_S: Final = 0.8


class KeyBackend(AuthenticationBackend):
    """Binds an MCP session to the key that opened it: another key on its session id is answered
    404.

    It proves nothing; every call resolves its own key. Only a hash of the key is kept.
    """

    async def authenticate(
        self, conn: HTTPConnection
    ) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        """Name the session's user by a hash of the credential, the same in whichever header it
        comes.
        """
        key = (
            conn.headers.get("x-service-user-key")
            or conn.headers.get("authorization", "").partition(" ")[2]
        )
        key = key.strip()
        if not key and not conn.scope.get(HOLDER):
            return None
        digest = conn.scope.get(HOLDER) or hashlib.sha256(key.encode()).hexdigest()
        return AuthCredentials([]), AuthenticatedUser(
            AccessToken(token=digest, client_id=digest, scopes=[])
        )


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
        request, is_replayed = await receive(), False

        async def again() -> Message:
            nonlocal is_replayed
            if is_replayed:
                return await receive()
            is_replayed = True
            return request

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            if not request.get("more_body", False):
                group.start_soon(watch)
            await self._app(scope, again, send)
            group.cancel_scope.cancel()


class _Open:
    """Counts the requests and streams that are open, so that draining waits no longer than it has
    to.
    """

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
        session_idle_timeout=IDLE_S,
    )
    transport = SseServerTransport("/messages/", security_settings=checks)
    AppStatus.should_exit = False
    return Starlette(
        routes=[
            Route("/sse", endpoint=_Sse(server, transport)),
            Mount("/messages/", app=transport.handle_post_message),
            *streamable.routes,
        ],
        middleware=[
            Middleware(_Open, server=server),
            Middleware(SessionGuard, deps=server.deps, idle_s=IDLE_S),
            Middleware(_Leaving),
            Middleware(AuthenticationMiddleware, backend=KeyBackend()),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lambda app: server.session_manager.run(),
    )


async def drain(server: WalletServer) -> None:
    """End open streams: 2026 listeners get their last frame, SSE connections are told to close."""
    listening: Any = server.get_request_handler("subscriptions/listen")
    if listening is not None:
        listening.handler.close()
    AppStatus.should_exit = True
    with anyio.move_on_after(DRAIN_S):
        while server.open_requests:
            await anyio.sleep(0.01)
