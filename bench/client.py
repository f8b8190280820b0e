"""A client that costs the machine little, so that what is measured on two cores is the services."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer: HTTP status and body."""

    status: int
    body: bytes


class Client:
    """HTTP/1.1 to one service: kept connections, as many as are asked at once."""

    def __init__(self, base: str, headers: Mapping[str, str]):
        address = urlsplit(base)
        self._host, self._port = address.hostname or "", address.port or 80
        self._idle: list[_Connection] = []
        self._every: set[_Connection] = set()
        raw = {"Host": address.netloc, **headers}
        self._same = "".join(f"{name}: {value}\r\n" for name, value in raw.items())

    async def get(self, path: str) -> Answered:
        """Read a path. Errors: ConnectionError where the service ends the connection first."""
        return await self._asked(f"GET {path} HTTP/1.1\r\n{self._same}\r\n".encode())

    async def post(self, path: str, body: object, headers: Mapping[str, str]) -> Answered:
        """Send JSON to a path. Errors: as `get`."""
        sent = orjson.dumps(body)
        own = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = (
            f"POST {path} HTTP/1.1\r\n{self._same}{own}"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        return await self._asked(head.encode() + sent)

    async def _asked(self, request: bytes) -> Answered:
        connection = await self._connected()
        answered = await connection.ask(request)
        self._idle.append(connection)
        return answered

    async def _connected(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
            self._every.discard(connection)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, self._host, self._port)
        self._every.add(connection)
        return connection

    async def aclose(self) -> None:
        """End the connections."""
        for connection in self._every:
            connection.close()


class _Connection(asyncio.Protocol):
    """One request at a time; answers that say how long they are."""

    def __init__(self) -> None:
        self.closed = False
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answered] | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError(transport)
        self._transport = transport

    def ask(self, request: bytes) -> asyncio.Future[Answered]:
        """Send a request; the future has its answer."""
        if self._transport is None or self.closed:
            raise ConnectionResetError("the service ended the connection")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        """Put an answer together."""
        self._received += data
        head, end, body = self._received.partition(_END)
        if end and len(body) >= (length := _length(head)):
            self._received = b""
            if self._waiting is None or len(body) > length:
                raise ValueError("more came than was asked for")
            waiting, self._waiting = self._waiting, None
            if not waiting.done():
                waiting.set_result(Answered(int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending request."""
        self.closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionResetError("the service hung up"))

    def close(self) -> None:
        """End it."""
        if self._transport is not None:
            self._transport.close()


def _length(head: bytes) -> int:
    """Bytes of the body behind a head. Errors: ValueError where it does not say."""
    _, name, rest = head.lower().partition(b"\r\ncontent-length:")
    if not name:
        raise ValueError("an answer without Content-Length")
    return int(rest.partition(b"\r\n")[0])
