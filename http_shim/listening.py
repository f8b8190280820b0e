"""Listening on a port: what never becomes a request is answered in the one shape too, and nobody
holds a place by waiting.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from domain.refusals import Refused, invalid, refusal
from http_shim.application import SECURITY_HEADERS, answer
from tools.call.operation import Reply
from tools.call.run import refused_reply

log = logging.getLogger("wallet.http")

# Calldata travels in the query of execute-call, so that a request line is longer than elsewhere.
MAX_LINE: Final = 160 * 1024
SHUTDOWN_S: Final = 1
HEAD_S: Final = 20
LINGER_S: Final = 1
# aiohttp's own access log; ours is written where the route is known.
QUIET: Final[dict[str, Any]] = {"access_log": None}


class Connection(RequestHandler):
    """A connection that answers malformed HTTP with a refusal, and gives a first request only so
    long to arrive.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the first request."""
        super().connection_made(transport)
        self._late = asyncio.get_running_loop().call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the clock."""
        if self._late is not None:
            self._late.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self._request_count == 0:
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
        if status >= 500:
            reply = refused_reply(Refused(refusal("internal")))
        else:
            told = refused_reply(invalid("request", "it is not well-formed HTTP"))
            reply = Reply(status, told.body)
        response = answer(reply)
        response.headers.update(SECURITY_HEADERS)
        response.headers["Server"] = "wallet"
        response.force_close()
        return response


class _Site(web.TCPSite):
    """A TCP site whose connections are ours."""

    def __init__(self, runner: web.AppRunner, host: str, port: int):
        super().__init__(runner, host, port)
        self._where = host, port

    async def start(self) -> None:
        """Open the port."""
        await web.BaseSite.start(self)
        server, loop = self._runner.server, asyncio.get_running_loop()
        if server is None:
            raise RuntimeError("the runner is not set up")

        def connection() -> Connection:
            return Connection(
                server, loop=loop, max_line_size=MAX_LINE, lingering_time=LINGER_S, **QUIET
            )

        self._server = await loop.create_server(connection, *self._where, backlog=1_024)


async def listen(app: web.Application, host: str, port: int) -> web.AppRunner:
    """Serve an application; the caller cleans the runner up. Errors: OSError where the port is not
    to be had.
    """
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=SHUTDOWN_S, access_log=None)
    await runner.setup()
    try:
        await _Site(runner, host, port).start()
    except BaseException:
        await runner.cleanup()
        raise
    return runner
