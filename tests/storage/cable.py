"""A cable to a real PostgreSQL server that can go silent, be cut, or be cut in the middle of a commit, or behind a
statement that holds some bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Cable:
    """What lies between a client and the server behind `url`."""

    url: str
    host: str
    port: int
    silent: asyncio.Event = field(default_factory=asyncio.Event)
    refuses: bool = False
    cut_at_commit: bool = False
    cut_at: bytes | None = None
    hides_the_end: bool = False
    # Told of everything that is held back while it is silent.
    holds: Callable[[], object] | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    commits: int = 0
    opened: list[asyncio.StreamWriter] = field(default_factory=list)
    _talks: set[asyncio.Task[None]] = field(default_factory=set)
    _served: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.silent.set()  # what passes waits for this

    def go_silent(self) -> None:
        """Nothing passes any more; nobody is told."""
        self.silent.clear()

    def speak(self) -> None:
        """Pass everything again."""
        self.silent.set()

    def cut(self) -> None:
        """Break every connection; new ones work."""
        for writer in self.opened:
            writer.transport.abort()
        self.opened.clear()

    async def take_up(self) -> None:
        """Cut it for good."""
        self.refuses = True
        self.speak()
        self.cut()
        if self._served:
            await asyncio.wait(self._served)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection."""
        if self.refuses:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        if task is not None:
            self._served.add(task)
            task.add_done_callback(self._served.discard)
        try:
            back_reader, back_writer = await asyncio.open_connection(self.host, self.port)
        except OSError:  # nobody is there now
            writer.transport.abort()
            return
        self.opened += [writer, back_writer]
        out = asyncio.create_task(self._carry(reader, back_writer, outward=True))
        back = asyncio.create_task(self._carry(back_reader, writer, outward=False))
        self._talks |= {out, back}
        await asyncio.wait({out, back}, return_when=asyncio.FIRST_COMPLETED)
        if self.hides_the_end and back.done():
            # What the server said last has come through; that it hung up is still on its way.
            self.ended.set()
            await asyncio.wait({out})
        writer.transport.abort()
        back_writer.transport.abort()

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, outward: bool
    ) -> None:
        writes = False
        with suppress(OSError):
            while told := await source.read(65_536):
                if self.holds is not None and not self.silent.is_set():
                    self.holds()
                await self.silent.wait()
                if b"BEGIN" in told:
                    writes = b"READ ONLY" not in told
                if outward and self.cut_at is not None and self.cut_at in told:
                    self.cut_at = None
                    sink.write(told)
                    await sink.drain()
                    return  # the server does as it is told, and its answer finds nobody
                if outward and writes and b"COMMIT;" in told and self.cut_at_commit:
                    self.cut_at_commit = False
                    self.commits += 1
                    sink.write(told)
                    await sink.drain()
                    return  # the server commits, and its answer finds nobody
                sink.write(told)
                await sink.drain()


@asynccontextmanager
async def cable(url: str) -> AsyncIterator[Cable]:
    """Lay it to the database of `url`."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    laid = Cable("", parts.hostname, parts.port)
    server = await asyncio.start_server(laid.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    laid.url = f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"
    try:
        yield laid
    finally:
        server.close()
        await laid.take_up()
