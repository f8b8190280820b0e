"""A port that closes: what began on it is answered, and what begins then is refused and not reset."""

from __future__ import annotations

import asyncio
import socket
import sys

import anyio
import pytest
from aiohttp import web

from http_shim.application import LEAVING
from http_shim.http_server import ACCEPTS, drain_connections, listen
from tests.ports import free_port
from tests.waiting import STUCK_S

pytestmark = pytest.mark.anyio
# More than the server takes out of the system's queue at once.
MANY = 3 * ACCEPTS
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def serving(host: str, port: int) -> web.AppRunner:
    async def answered(_: web.Request) -> web.Response:
        return web.Response(text="answered")

    app = web.Application()
    app[LEAVING] = asyncio.Event()
    app.router.add_get("/", answered)
    return await listen(app, host, port)


def asked(host: str, port: int) -> socket.socket:
    client = socket.create_connection((host, port), timeout=STUCK_S)
    client.sendall(REQUEST)
    return client


async def test_every_connection_that_waits_to_be_accepted_is_answered_before_the_port_closes() -> (
    None
):
    port = free_port()
    runner = await serving("127.0.0.1", port)
    # The loop runs none of its own work meanwhile: all of them wait in the system's queue.
    clients = [asked("127.0.0.1", port) for _ in range(MANY)]
    await drain_connections(runner)
    heads = [await anyio.to_thread.run_sync(client.recv, 1_024) for client in clients]
    await runner.cleanup()
    for client in clients:
        client.close()
    assert [head[:15] for head in heads] == [b"HTTP/1.1 200 OK"] * MANY


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no filter on a port")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_a_connection_that_begins_while_the_port_closes_is_refused_and_never_reset(
    host: str,
) -> None:
    port = free_port()
    runner = await serving(host, port)
    (site,) = runner.sites
    kept = await anyio.to_thread.run_sync(asked, host, port)
    site.turn_away()  # type: ignore[attr-defined]  # aiohttp knows the class above it
    async with anyio.create_task_group() as group:

        async def begin() -> None:
            with pytest.raises(ConnectionRefusedError):
                await anyio.to_thread.run_sync(asked, host, port)

        group.start_soon(begin)
        with anyio.fail_after(STUCK_S):
            assert (await anyio.to_thread.run_sync(kept.recv, 1_024))[:15] == b"HTTP/1.1 200 OK"
        await drain_connections(runner)
    await runner.cleanup()
    kept.close()
