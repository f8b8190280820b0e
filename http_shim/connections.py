"""Connections: errors before a request get the usual block, and an idle connection loses its
place.
"""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import struct
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from domain.refusals import Refused, invalid, refusal
from http_shim.application import SECURITY_HEADERS, answer
from http_shim.identity import request_id
from http_shim.metrics import Metrics
from http_shim.seldom import Seldom
from tools.dispatch.rate_charging import charge_stranger, counted_address, is_proxy
from tools.model.operation import Deps, OperationResult

log = logging.getLogger("wallet.http")

HEAD_S: Final = 20
FIRST_BYTE_S: Final = 5
DRAIN_S: Final = 10  # in which a client takes something of what is sent to it
SAID_MAX: Final = 8 * 1024
MAX_FILES: Final = 1_000_000
FILES_KEPT: Final = 200  # files that the process needs for itself
REQUEST_ID_LINE: Final = re.compile(
    rb"^X-Request-Id:[ \t]*([A-Za-z0-9._-]{1,64})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
NO_HTTP: Final = "it is not well-formed HTTP"


def connection_limit() -> int:
    """The number of connections that the file limit allows."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_FILES if files == resource.RLIM_INFINITY else max(FILES_KEPT, files - FILES_KEPT)


class Crowd:
    """All connections of a listener, by the address that they come from, the longest idle first.

    An address has so many idle ones, and all together have as many as there are files for. Of one
    too many the longest idle goes; one that is being answered never does, unless its client does
    not read: that one waits too. A connection counts until its file is closed.
    """

    def __init__(self, deps: Deps | None, metrics: Metrics | None = None):
        self.deps = deps
        self.each = 0 if deps is None else deps.config.connections_per_address
        self._most = connection_limit()
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._all = 0
        self._metrics, self._seldom, self._faults = metrics, Seldom(), Seldom()

    def count(self, error: BaseException | None, *, ours: bool) -> None:
        """Count bytes that are no HTTP, and log it once a minute: their sender has no name, behind
        a proxy not even an address. A fault of `ours` is logged with its place, as often.
        """
        if ours:
            if self._faults.count():
                log.error("a request failed before any route saw it", exc_info=error)
            return
        if self._metrics is not None:
            self._metrics.malformed.inc()
        if number := self._seldom.count():
            log.info("%d requests that are no HTTP, now a %s", number, type(error).__name__)

    def enter(self, connection: Connection) -> bool:
        """Count a connection in, at the cost of an idle one where there are too many; False where
        there is no place for it.
        """
        alike = self._by_address.setdefault(connection.address, {})
        alike[connection] = None
        self._all += 1
        if self.each and not connection.is_proxy:
            idle = [one for one in alike if one.is_idle()] if len(alike) > self.each else []
            if len(idle) > self.each:
                idle[0].leave()
        if self._all <= self._most:
            return True
        for address in sorted(self._by_address, key=lambda a: -len(self._by_address[a])):
            for one in self._by_address[address]:
                if one.is_idle() and one is not connection:
                    one.leave()
                    return True
        return False

    def used(self, connection: Connection) -> None:
        """It is the last now to be the longest idle."""
        alike = self._by_address.get(connection.address, {})
        if connection in alike:
            del alike[connection]
            alike[connection] = None

    def expects_first(self) -> bool:
        """Whether a connection was taken of which no byte has come yet."""
        return any(one.is_unheard for alike in self._by_address.values() for one in alike)

    def left(self, connection: Connection) -> None:
        """Count it out."""
        alike = self._by_address.get(connection.address, {})
        if connection in alike:
            del alike[connection]
            self._all -= 1
        if not alike:
            self._by_address.pop(connection.address, None)


def _let_go(error: BaseException | None) -> None:
    """Take the frames from an error of the parser, and from those behind it: what came in refers
    to the error, and they to what came in, so that both would be there until the collector comes.
    """
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


class Connection(RequestHandler):
    """A connection that answers malformed HTTP with a refusal, and gives the head of each request
    only so long to arrive.
    """

    address: str = ""
    is_proxy: bool = False
    _late: asyncio.TimerHandle | None = None
    _waits_for: int = -1
    _since: float = 0
    _said: bytes = b""
    _before: int = 0
    _heard: bool = False
    _socket: asyncio.Transport | None = None
    _unread: asyncio.TimerHandle | None = None
    _evicted: bool = False

    def __init__(self, crowd: Crowd, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._crowd = crowd

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock of the first request."""
        super().connection_made(transport)
        self._socket = cast(asyncio.Transport, transport)
        # "Paused" is then any answer of which a part is not sent.
        self._socket.set_write_buffer_limits(high=0)
        peer = transport.get_extra_info("peername")
        if self._crowd.deps is not None and peer:
            self.address = counted_address(self._crowd.deps, peer[0], ()) or ""
            self.is_proxy = is_proxy(self._crowd.deps, peer[0])
        if self._crowd.enter(self):
            self._wait()
        else:
            self.leave()

    @property
    def is_unheard(self) -> bool:
        """Whether no byte has come yet."""
        return not self._heard and not self._evicted

    def is_idle(self) -> bool:
        """Whether it waits for its client: for a request, or until an answer is read."""
        return not self._evicted and (self._unread is not None or not self._is_answering())

    def _is_answering(self) -> bool:
        return self._current_request is not None or bool(self._messages)

    def leave(self) -> None:
        """Close it at once, and drop what is not sent: closing would wait until that is read."""
        self._evicted = True
        self.force_close()
        if self._socket is None:
            return
        if self._unread is not None:
            # The system too would wait, with what it holds, until the client reads.
            reset = struct.pack("ii", 1, 0)
            self._socket.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, reset)
        self._socket.abort()

    def pause_writing(self) -> None:
        """Start the clock of the client, which has to read."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """Stop the clock: everything is sent."""
        super().resume_writing()
        self._stop_expecting()

    def _expect_reading(self) -> None:
        if self._socket is not None:
            loop, unsent = asyncio.get_running_loop(), self._socket.get_write_buffer_size()
            self._unread = loop.call_later(DRAIN_S, self._check_reading, unsent)

    def _check_reading(self, unsent: int) -> None:
        if self._socket is not None and self._socket.get_write_buffer_size() < unsent:
            self._expect_reading()
        else:
            self.leave()

    def _stop_expecting(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def data_received(self, data: bytes) -> None:
        """Start the clock of a further request at its first byte."""
        if not self._is_answering():
            if self._waits_for != self._request_count:
                self._said, self._before = b"", self._request_count
            self._said = (self._said + data)[:SAID_MAX]
        super().data_received(data)
        for message, _ in self._messages:
            _let_go(getattr(message, "exc", None))
        self._heard = True
        if self._is_answering():
            self._crowd.used(self)
        elif self._waits_for != self._request_count:
            self._wait()

    def _wait(self) -> None:
        """From now on; one timer a connection runs on from request to request."""
        loop = asyncio.get_running_loop()
        self._waits_for, self._since = self._request_count, loop.time()
        if self._late is None:
            self._late = loop.call_at(self._since + self._patience(), self._give_up)

    def _patience(self) -> float:
        """The time that a head may take; shorter while no byte of it has come."""
        return HEAD_S if self._heard else min(FIRST_BYTE_S, HEAD_S)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop the clock."""
        if self._late is not None:
            self._late.cancel()
        self._stop_expecting()
        self._crowd.left(self)
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self._late = None
        if self._request_count != self._waits_for:
            return
        loop, due = asyncio.get_running_loop(), self._since + self._patience()
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
        """Answer what no route saw, and close. Its address pays for it, unless that is a proxy's:
        all who come through it would be refused, and where it gets no answer it takes this server
        for dead. What is no HTTP costs no more than a request that is refused as one too many.

        Errors: ConnectionError where an answer is on its way already.
        """
        if request.writer.output_size > 0:
            raise ConnectionError("half an answer is sent already")
        self._crowd.count(exc, ours=status >= 500)
        if not self._pays():
            self.force_close()  # what is answered below reaches nobody
        fault = Refused(refusal("internal")) if status >= 500 else invalid("request", NO_HTTP)
        response = answer(OperationResult(status, fault.refusal.as_json("nobody")))
        response.headers.update(SECURITY_HEADERS)
        response.headers["Server"] = "wallet"
        if self._crowd.deps is not None:
            ids = self._crowd.deps.ids
            response.headers["X-Request-Id"] = request_id(self._asked_id(request), ids)
        response.force_close()
        return response

    def _pays(self) -> bool:
        """Charge the address that it comes from; False for one request too many."""
        if self._crowd.deps is None or self.is_proxy:
            return True
        try:
            charge_stranger(self._crowd.deps, self.address)
        except Refused:
            return False
        return True

    def _asked_id(self, request: web.BaseRequest) -> str:
        """The id that a request came with; of one that is no HTTP no header was read."""
        alone = self._request_count - self._before == 1
        if request.headers or not alone:
            return request.headers.get("X-Request-Id", "")
        ids: list[bytes] = REQUEST_ID_LINE.findall(self._said.partition(b"\r\n\r\n")[0])
        return ids[0].decode() if len(ids) == 1 else ""
