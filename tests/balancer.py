"""A round-robin balancer of HTTP: each request goes to the next process that takes its connection."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from weakref import WeakSet

from tests.ports import free_port

_HEAD_MOST: Final = 64 * 1024


@dataclass
class Balancer:
    """Sits on `port` before the processes on `backends`; `sent` counts what each was sent."""

    port: int
    backends: list[int]
    sent: Counter[int] = field(default_factory=Counter)
    _turns: count[int] = field(default_factory=count)
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: WeakSet[asyncio.StreamWriter] = field(default_factory=WeakSet)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection: its head is read, so that the answer may be a stream."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        pipes: list[asyncio.Task[None]] = []
        writers = [writer]
        self._writers.add(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            upstream, upwriter = await self._next()
            writers.append(upwriter)
            self._writers.add(upwriter)
            upwriter.write(_closing(head))
            pipes = [
                asyncio.ensure_future(_pipe(reader, upwriter)),
                asyncio.ensure_future(_pipe(upstream, writer)),
            ]
            # The answer ends the exchange; a client that leaves ends it too.
            await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
            if pipes[0].done() and not pipes[1].done() and not reader.at_eof():
                await pipes[1]
        except (ConnectionError, asyncio.IncompleteReadError, OSError):
            pass
        finally:
            for pipe in pipes:
                pipe.cancel()
            await asyncio.gather(*pipes, return_exceptions=True)
            for one in writers:
                one.close()
            for one in writers:
                with suppress(ConnectionError, OSError):
                    await one.wait_closed()

    async def end(self) -> None:
        """Let go of every connection."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        for writer in list(self._writers):
            writer.transport.abort()
        # A transport lets go of its socket in the loop's next turns.
        await asyncio.sleep(0.05)

    async def _next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The next process that listens. Errors: ConnectionError where none does."""
        turn = next(self._turns)
        for n in range(len(self.backends)):
            port = self.backends[(turn + n) % len(self.backends)]
            try:
                connection = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            self.sent[port] += 1
            return connection
        raise ConnectionError("no process takes a connection")


def _closing(head: bytes) -> bytes:
    """The request's head with `Connection: close`, so that the next request has its own turn."""
    lines = [x for x in head.split(b"\r\n") if not x.lower().startswith(b"connection:")]
    return b"\r\n".join([lines[0], b"Connection: close", *lines[1:]])


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, OSError):
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()


@asynccontextmanager
async def balancing(backends: list[int]) -> AsyncIterator[Balancer]:
    """Run it."""
    balancer = Balancer(free_port(), backends)
    server = await asyncio.start_server(
        balancer.serve, "127.0.0.1", balancer.port, limit=_HEAD_MOST
    )
    try:
        yield balancer
    finally:
        server.close()
        await balancer.end()
