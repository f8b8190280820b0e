"""Listening on a port."""

from __future__ import annotations

import asyncio
import ctypes
import ipaddress
import logging
import socket
import struct
import sys
from contextlib import ExitStack, suppress
from typing import Final

import anyio
from aiohttp import web

from http_shim.application import LEAVING
from http_shim.connections import Connection, Crowd
from http_shim.service_routes import DEPS, METRICS

log = logging.getLogger("wallet.http")

MAX_LINE: Final = 16 * 1024
SHUTDOWN_S: Final = 1
FAREWELL_S: Final = 0.3
FIRST_S: Final = 1
LOOK_S: Final = 0.02
LINGER_S: Final = 1
KEPT_S: Final = 75  # a connection on which nothing is asked
BACKLOG: Final = 1_024
ACCEPTS: Final = 64
HANDSHAKE_S: Final = 0.05
# Of the loop: those that empty a full queue, and one to accept and one to attach the last of it.
TURNS: Final = BACKLOG // ACCEPTS + 2
SO_ATTACH_FILTER: Final = 26  # of Linux; the socket module does not name it
# Classic BPF over a TCP header: load its flags, drop what has SYN set, keep all else.
NO_SYN: Final = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
# aiohttp's own access log; ours is written where the route is known.
QUIET: Final[dict[str, object]] = {"access_log": None}


class _Site(web.SockSite):
    """A site whose connections are ours."""

    def __init__(self, runner: web.AppRunner, sock: socket.socket):
        super().__init__(runner, sock)
        self.crowd = Crowd(runner.app.get(DEPS), runner.app.get(METRICS))

    async def start(self) -> None:
        """Open the port."""
        await web.BaseSite.start(self)
        server, loop = self._runner.server, asyncio.get_running_loop()
        if server is None:
            raise RuntimeError("the runner is not set up")

        def connection() -> Connection:
            return Connection(
                self.crowd,
                server,
                loop=loop,
                max_line_size=MAX_LINE,
                # What comes compressed is refused; it would be unpacked before anybody is asked.
                auto_decompress=False,
                lingering_time=LINGER_S,
                keepalive_timeout=KEPT_S,
                **QUIET,
            )

        self._server = await loop.create_server(connection, sock=self._sock, backlog=ACCEPTS)
        # The system's queue is longer than what is taken out of it in one go.
        self._sock.listen(BACKLOG)

    def turn_away(self) -> None:
        """Let no further connection begin; those that did are still accepted. A client that begins
        one now tries again by itself a second later, and is refused then, which a balancer takes to
        another process. Systems other than Linux have no means for it, and some kernels allow it
        to root alone: there one that begins at that moment may be cut off.
        """
        if sys.platform != "linux":
            return
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *x) for x in NO_SYN))
        where = struct.pack("HP", len(NO_SYN), ctypes.addressof(program))
        with suppress(PermissionError):
            self._sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, where)


def bound(host: str, port: int) -> socket.socket:
    """Bind the port without accepting requests yet; the host may stand in brackets, as in a URL.
    Errors: OSError, naming both, where it is not to be had.
    """
    with ExitStack() as undone:
        try:
            family, kind, _, _, where = socket.getaddrinfo(
                host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            sock = undone.enter_context(socket.socket(family, kind))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(where)
        except OSError as error:
            raise _not_to_be_had(host, port, error) from None
        undone.pop_all()
    return sock


def _not_to_be_had(host: str, port: int, error: OSError) -> OSError:
    return OSError(error.errno, f"port {port} of {host}: {error.strerror}")


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
    """Serve an application on a port that is bound already; the caller cleans the runner up.
    Errors: OSError, naming host and port, where another listens on it: a port is bound by two until
    one listens.
    """
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=SHUTDOWN_S, access_log=None)
    await runner.setup()
    try:
        await _Site(runner, sock).start()
    except BaseException as error:
        await runner.cleanup()
        if isinstance(error, OSError):
            host, port = sock.getsockname()[:2]
            raise _not_to_be_had(host, port, error) from None
        raise
    return runner


async def drain_connections(runner: web.AppRunner) -> None:
    """Take no new connection, and for a moment answer what comes on the kept ones with
    `Connection: close` (RFC 9112 9.6): a client that is asking meets no connection that was closed
    between two of its requests. A connection that was taken a moment ago is waited for longer: its
    request is on its way, and a balancer does not send that to another process.
    """
    sites = [site for site in runner.sites if isinstance(site, _Site)]
    # Closing a port resets what began on it and was not attached to the server: that comes first.
    for site in sites:
        site.turn_away()
    await asyncio.sleep(HANDSHAKE_S)
    for _ in range(TURNS):
        await asyncio.sleep(0)
    for site in sites:
        await site.stop()
    runner.app[LEAVING].set()
    await asyncio.sleep(FAREWELL_S)
    with anyio.move_on_after(FIRST_S):
        while any(site.crowd.expects_first() for site in sites):
            await asyncio.sleep(LOOK_S)
