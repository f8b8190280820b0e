"""Running processes: the server, MCP on stdio, the keeper; each ends cleanly on SIGTERM."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable

import anyio
from mcp.server.stdio import stdio_server

from http_shim.application import build
from http_shim.listening import address_of, bound, listen
from server.mcp_http import drain, mcp_app
from server.mcp_server import Tools, build_server
from server.settings import Settings
from server.ticks import Ticks
from server.wiring import Wired, wired
from storage import migrate
from tools.catalogue import OPERATIONS

log = logging.getLogger("wallet.process")
DOOR_WATCH_S = 1


def prepare_logging(settings: Settings) -> None:
    """Log to stderr; stdout belongs to what a command prints, and to MCP on stdio."""
    logging.basicConfig(
        level=settings.log_level.upper(),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )


async def _schema(settings: Settings) -> None:
    """Bring a SQLite file up to date, and an empty PostgreSQL; one that holds data is upgraded by
    its operator.
    """
    url = settings.database_url
    if url.startswith("sqlite:///") or await anyio.to_thread.run_sync(migrate.current, url) is None:
        await anyio.to_thread.run_sync(migrate.upgrade, url)


async def serve_forever(
    settings: Settings,
    host: str,
    port: int,
    *,
    keeper: bool,
    ready: Callable[[str], None],
    logs: bool = True,
) -> None:
    """Serve until SIGTERM or SIGINT; answers what was begun, then ends."""
    if logs:
        prepare_logging(settings)
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                async for _ in signals:
                    stop.set()
                    return

            stop = anyio.Event()
            group.start_soon(wait)
            await serve_until(settings, host, port, stop, keeper=keeper, ready=ready)
            group.cancel_scope.cancel()


async def serve_until(
    settings: Settings,
    host: str,
    port: int,
    stop: anyio.Event,
    *,
    keeper: bool,
    ready: Callable[[str], None],
) -> None:
    """Serve until the event is set."""
    await _schema(settings)
    sock = bound(host, port)
    address = address_of(sock)
    async with wired(settings, address=address) as parts, anyio.create_task_group() as group:
        server, tools = build_server(parts.deps, OPERATIONS)
        app = build(parts.deps, OPERATIONS, mcp=mcp_app(server, parts.deps.config.base_url))
        runner = await listen(app, host, port, sock=sock)
        try:
            group.start_soon(_watch_door, tools)
            if keeper:
                group.start_soon(Ticks(parts).run)
            # What start-up made lives as long as the process; the collector need not walk it again
            # and again.
            gc.collect()
            gc.freeze()
            ready(address)
            await stop.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await drain(server)
                await runner.cleanup()
                group.cancel_scope.cancel()


async def _watch_door(tools: Tools) -> None:
    while True:
        await anyio.sleep(DOOR_WATCH_S)
        with contextlib.suppress(Exception):
            await tools.watch()


async def serve_stdio(settings: Settings) -> None:
    """Speak MCP on stdin and stdout until the host closes them."""
    prepare_logging(settings)
    await _schema(settings)
    key = settings.service_user_key
    async with wired(settings) as parts:
        server, _ = build_server(
            parts.deps, OPERATIONS, stdio_key=key.get_secret_value() if key else None
        )
        async with stdio_server() as (read, write), anyio.create_task_group() as group:
            group.start_soon(_leave_on_sigterm, parts)
            # A stray print must not reach the protocol.
            with contextlib.redirect_stdout(sys.stderr):
                await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()


async def _leave_on_sigterm(parts: Wired) -> None:
    """The thread that reads stdin cannot be cancelled: finish the writes, then leave at once."""
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            await parts.deps.store.close()
            os._exit(0)


async def keep(settings: Settings, *, once: bool) -> None:
    """Run the reader and the keeper without serving."""
    prepare_logging(settings)
    await _schema(settings)
    async with wired(settings) as parts:
        ticks = Ticks(parts)
        if once:
            await ticks.round()
            return
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(ticks.run)
                async for _ in signals:
                    group.cancel_scope.cancel()
                    return
