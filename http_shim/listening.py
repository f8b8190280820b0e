"""Listening on a port: what never becomes a request is answered in the one shape too, and nobody
holds a place by waiting.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
from typing import Any, Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from domain.ports import Ids
from domain.refusals import Refused, invalid, refusal
from http_shim.about import DEPS
from http_shim.application import LEAVING, SECURITY_HEADERS, answer
from http_shim.identity import request_id
from tools.call.operation import Reply

log = logging.getLogger("wallet.http")

# Calldata travels in the query of execute-call, so that a request line is longer than elsewhere.
MAX_LINE: Final = 160 * 1024
SHUTDOWN_S: Final = 1
FAREWELL_S: Final = 0.3
HEAD_S: Final = 20
LINGER_S: Final = 1
KEPT_S: Final = 75  # a connection on which nothing is asked
BACKLOG: Final = 1_024
SAID_MAX: Final = 8 * 1024
REQUEST_ID_LINE: Final = re.compile(
    rb"^X-Request-Id:[ \t]*([A-Za-z0-9._-]{1,64})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
NO_HTTP: Final = "it is not well-formed HTTP"
# aiohttp's own access log; ours is written where the route is known.
QUIET: Final[dict[str, Any]] = {"access_log": None}


class Connection(RequestHandler):
    """A connection that answers malformed HTTP with a refusal, and gives the head of each request
    only so long to arrive.
    """

    ids: Ids | None = None
    _late: asyncio.TimerHandle | None = None
    _waits_for: int = -1
    _since: float = 0
    _said: bytes = b""
    _before: int = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Start the clock of a further request at its first byte."""
        if self._current_request is None and not self._messages:
            if self._waits_for != self._request_count:
                self._said, self._before = b"", self._request_count
            self._said = (self._said + data)[:SAID_MAX]
        super().data_received(data)
        idle = self._current_request is None and not self._messages
        if idle and self._waits_for != self._request_count:
            self._wait()

    def _wait(self) -> None:
        """From now on; one timer a connection runs on from request to request."""
        loop = asyncio.get_running_loop()
        self._waits_for, self._since = self._request_count, loop.time()
        if self._late is None:
            self._late = loop.call_at(self._since + HEAD_S, self._give_up)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the clock."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self._late = None
        if self._request_count != self._waits_for:
            return
        loop, due = asyncio.get_running_loop(), self._since + HEAD_S
        if loop.time() < due:
            self._late = loop.call_at(due, self._give_up)
        else:
            self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what no route saw. Errors: ConnectionError where an answer is on its way
        already.
        """
        log.info("a request that is no HTTP: %s", type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("half an answer is sent already")
        fault = Refused(refusal("internal")) if status >= 500 else invalid("request", NO_HTTP)
        response = answer(Reply(status, fault.refusal.as_json("nobody")))
        response.headers.update(SECURITY_HEADERS)
        response.headers["Server"] = "wallet"
        if self.ids is not None:
            response.headers["X-Request-Id"] = request_id(self._asked_id(request), self.ids)
        response.force_close()
        return response

    def _asked_id(self, request: web.BaseRequest) -> str:
        """The id that a request came with; of one that is no HTTP no header was read."""
        alone = self._request_count - self._before == 1
        if request.headers or not alone:
            return request.headers.get("X-Request-Id", "")
        found: list[bytes] = REQUEST_ID_LINE.findall(self._said.partition(b"\r\n\r\n")[0])
        return found[0].decode() if len(found) == 1 else ""


class _Site(web.SockSite):
    """A site whose connections are ours."""

    def __init__(self, runner: web.AppRunner, sock: socket.socket):
        super().__init__(runner, sock)
        self._ids = runner.app[DEPS].ids if DEPS in runner.app else None

    async def start(self) -> None:
        """Open the port."""
        await web.BaseSite.start(self)
        server, loop = self._runner.server, asyncio.get_running_loop()
        if server is None:
            raise RuntimeError("the runner is not set up")

        def connection() -> Connection:
            made = Connection(
                server,
                loop=loop,
                max_line_size=MAX_LINE,
                lingering_time=LINGER_S,
                keepalive_timeout=KEPT_S,
                **QUIET,
            )
            made.ids = self._ids
            return made

        self._server = await loop.create_server(connection, sock=self._sock, backlog=BACKLOG)


def bound(host: str, port: int) -> socket.socket:
    """Take the port; nobody is answered on it yet. Errors: OSError where it is not to be had."""
    family, kind, _, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    sock = socket.socket(family, kind)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(where)
    except BaseException:
        sock.close()
        raise
    return sock


def address_of(sock: socket.socket) -> str:
    """The address at which this machine reaches what is bound; loopback stands for "every one"."""
    host, port = sock.getsockname()[:2]
    inside = ipaddress.ip_address(host)
    if inside.is_unspecified:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def listen(app: web.Application, host: str, port: int) -> web.AppRunner:
    """Serve an application; the caller cleans the runner up. Errors: OSError where the port is not
    to be had.
    """
    return await listen_on(app, bound(host, port))


async def listen_on(app: web.Application, sock: socket.socket) -> web.AppRunner:
    """Serve an application on a port that is taken already; the caller cleans the runner up."""
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=SHUTDOWN_S, access_log=None)
    await runner.setup()
    try:
        await _Site(runner, sock).start()
    except BaseException:
        await runner.cleanup()
        raise
    return runner


async def farewell(runner: web.AppRunner) -> None:
    """Take no new connection, and for a moment answer what comes on the kept ones with
    `Connection: close` (RFC 9112 9.6): a client that is asking meets no connection that was closed
    between two of its requests.
    """
    for site in list(runner.sites):
        await site.stop()
    runner.app[LEAVING].set()
    await asyncio.sleep(FAREWELL_S)
