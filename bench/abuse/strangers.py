"""Strangers who mean no good, each from an address of its own on this machine, bounded in number and
pace: `python -m bench.abuse.strangers BASE SECONDS KIND …`.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

CONNECTIONS: Final = 16
# Requests a second of one stranger, whatever the service lets pass.
PACE: Final = 200
WAIT_S: Final = 5.0
HEAD: Final = b"Host: localhost\r\nConnection: keep-alive\r\n"
JSON: Final = b"Content-Type: application/json\r\n"

Round = Callable[["Stranger", int], Awaitable[None]]


class Stranger:
    """One address, what it does, and what it was answered."""

    def __init__(self, base: str, source: str, until: float):
        parts = urlsplit(base)
        self.host, self.port, self.source = parts.hostname or "", parts.port or 80, source
        self.until, self.answers = until, Counter[str]()
        self._next = time.monotonic()

    async def turn(self) -> bool:
        """Wait for the next request's turn; False at the end."""
        self._next = max(self._next + 1 / PACE, time.monotonic() - 1)
        await asyncio.sleep(max(0.0, self._next - time.monotonic()))
        return time.monotonic() < self.until

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection from this stranger's address."""
        return await asyncio.wait_for(
            asyncio.open_connection(self.host, self.port, local_addr=(self.source, 0)), WAIT_S
        )

    async def send(self, *requests: bytes) -> None:
        """Send requests on one connection as long as it is kept, and count the answers."""
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            reader, writer = await self.open()
            try:
                for request in requests:
                    if not await self.turn():
                        return
                    writer.write(request)
                    status, vault_keeps_approvals = await asyncio.wait_for(answered(reader), WAIT_S)
                    self.answers[status] += 1
                    if not vault_keeps_approvals:
                        return
            finally:
                writer.close()
            return
        self.answers["cut"] += 1


async def answered(reader: asyncio.StreamReader) -> tuple[str, bool]:
    """(status, whether the connection is kept) of one answer, read to its end."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines[1:])}
    await reader.readexactly(int(headers.get("content-length", "0")))
    streams = "content-length" not in headers
    return lines[0].split()[1], headers.get("connection", "").lower() != "close" and not streams


def post(path: str, body: bytes, headers: bytes = JSON) -> bytes:
    """A POST as it is sent."""
    length = b"Content-Length: %d\r\n" % len(body)
    return b"POST %s HTTP/1.1\r\n" % path.encode() + HEAD + headers + length + b"\r\n" + body


def get(path: str, headers: bytes = b"") -> bytes:
    """A GET as it is sent."""
    return b"GET %s HTTP/1.1\r\n" % path.encode() + HEAD + headers + b"\r\n"


async def long_paths(me: Stranger, n: int) -> None:
    """Paths of many segments: as long as a request line may be, and much longer."""
    paths = ("/wallet/" + "a/" * 7_000, "/app/" + "/" * 15_000, "/wallet" + "/" * 150_000)
    await me.send(get(paths[n % 3]))


async def slow_bodies(me: Stranger, n: int) -> None:
    """Bodies that come a byte a second."""
    with suppress(OSError, TimeoutError):
        reader, writer = await me.open()
        path = ("/wallet/mandates/draft", "/mcp", "/app/session")[n % 3]
        writer.write(post(path, b"")[:-4].replace(b"Length: 0", b"Length: 90000") + b"\r\n\r\n")
        while time.monotonic() < me.until and not reader.at_eof():
            writer.write(b"{")
            with suppress(TimeoutError):
                me.answers[(await asyncio.wait_for(reader.read(300), 1))[9:12].decode()] += 1
                break
        writer.close()
    await me.turn()


async def big_bodies(me: Stranger, n: int) -> None:
    """Bodies of 250 kB in which one name comes twice."""
    names = ",".join(f'"n{i % 20_000}": 1' for i in range(20_001))
    await me.send(*[post(("/wallet/mandates/draft", "/mcp")[n % 2], b"{%s}" % names.encode())] * 50)


BOMB: Final = gzip.compress(b"0" * 50_000_000)


async def gzip_bombs(me: Stranger, n: int) -> None:
    """Bodies of 50 kB that unpack to 50 MB."""
    paths = ("/wallet/mandates/draft", "/mcp", "/app/session", "/nowhere")
    await me.send(post(paths[n % 4], BOMB, JSON + b"Content-Encoding: gzip\r\n"))


async def many_connections(me: Stranger, n: int) -> None:
    """Connections on which nothing is said, forty at a time on each of a stranger's hands."""
    with suppress(OSError, TimeoutError):
        opened = [(await me.open(), await me.turn())[0] for _ in range(40)]
        await asyncio.sleep(0.5)
        for _, writer in opened:
            writer.close()


async def endless_heads(me: Stranger, n: int) -> None:
    """Heads that never end, and what is no HTTP at all."""
    if n % 2:
        await me.send(b"NOT HTTP AT ALL\r\n\r\n")
        return
    with suppress(OSError, TimeoutError):
        _, writer = await me.open()
        for _ in range(5):
            writer.write(b"GET / HTTP/1.1\r\nX: ")
            await asyncio.sleep(0.2)
        writer.close()


def rpc(method: str, **params: object) -> bytes:
    """A message of MCP."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


HELLO: Final = rpc(
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "stranger", "version": "1"},
)
TAKES: Final = JSON + b"Accept: application/json, text/event-stream\r\n"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "stranger", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN: Final = (
    b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: hall_list\r\n"
)


async def mcp_flood(me: Stranger, n: int) -> None:
    """Sessions, lists and calls without a key."""
    call = rpc("tools/call", name="hall_list", arguments={}, _meta=META)
    modern = TAKES + MODERN
    await me.send(*[post("/mcp", HELLO, TAKES), post("/mcp", call, modern)] * 25)


async def sign_in_flood(me: Stranger, n: int) -> None:
    """Challenges, and signatures that are none."""
    request = {"address": f"0x{n:040x}", "chain_id": 84532}
    forged = {"message": "x" * 500, "signature": "0x" + "11" * 65}
    await me.send(
        *[post("/wallet/auth/challenge", json.dumps(request).encode())] * 5,
        *[post("/wallet/auth/session", json.dumps(forged).encode())] * 20,
    )


async def sse_places(me: Stranger, n: int) -> None:
    """Streams that are opened and held."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        reader, writer = await me.open()
        writer.write(get("/sse", b"Accept: text/event-stream\r\n"))
        me.answers[(await asyncio.wait_for(reader.read(2_000), WAIT_S))[9:12].decode()] += 1
        await asyncio.sleep(min(2, max(0, me.until - time.monotonic())))
        writer.close()
    await me.turn()


async def wrong_keys(me: Stranger, n: int) -> None:
    """Keys that are none, on whatever there is."""
    key = b"X-Service-User-Key: ak_%043d\r\n" % n
    pages = ("/wallet/hall", "/nothing", "/openapi.json", "/app", "/app/sign-in")
    await me.send(*[get(page, key) for page in pages] * 10)


async def foreign_origins(me: Stranger, n: int) -> None:
    """Pages of another site that try the transports of MCP."""
    await me.send(get("/sse", b"Origin: https://evil.example\r\n"))


KINDS: Final[dict[str, Round]] = {
    f.__name__: f
    for f in (
        long_paths, slow_bodies, big_bodies, gzip_bombs, many_connections, endless_heads, mcp_flood,
        sign_in_flood, sse_places, wrong_keys, foreign_origins,
    )
}  # fmt: skip


async def abuse(base: str, seconds: float, kind: str, source: str) -> Counter[str]:
    """One stranger at work; what it was answered, by status."""
    me, numbers = Stranger(base, source, time.monotonic() + seconds), itertools.count()

    async def work() -> None:
        while time.monotonic() < me.until:
            await KINDS[kind](me, next(numbers))

    await asyncio.gather(*[work() for _ in range(CONNECTIONS)])
    return me.answers


async def main(base: str, seconds: float, kinds: list[str]) -> None:
    """All kinds at once, each from another address; print what they were answered."""
    sources = [f"127.0.1.{list(KINDS).index(kind) + 1}" for kind in kinds]
    told = await asyncio.gather(
        *[abuse(base, seconds, kind, source) for kind, source in zip(kinds, sources, strict=True)]
    )
    print(json.dumps(dict(zip(kinds, told, strict=True))))


if __name__ == "__main__":
    # The machine is shared with the service, as strangers' machines are not.
    os.nice(19)
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
