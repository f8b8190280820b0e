"""Running processes: the server, the keeper; each ends cleanly on SIGTERM."""

from __future__ import annotations

import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable

import anyio
from aiohttp import web

from http_shim.about import GAUGES
from http_shim.application import HUB, about_itself
from http_shim.listening import address_of, bound, farewell, listen
from http_shim.metrics import Metrics
from server.application import application
from server.logs import prepare_logging
from server.mcp_http import drain
from server.mcp_server import Tools, build_server
from server.notices import Notices
from server.outbound import Outbound
from server.settings import Settings
from server.start import up_to_date
from server.ticks import Ticks
from server.watched import watch_loop
from server.wiring import wired
from tools.call.operation import Deps
from tools.catalogue import OPERATIONS

log = logging.getLogger("wallet.process")
DOOR_WATCH_S = 1


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
    await up_to_date(settings)
    sock = bound(host, port)
    address = address_of(sock)
    metrics = Metrics()
    async with (
        wired(settings, address=address, metrics=metrics) as parts,
        anyio.create_task_group() as group,
    ):
        server, tools = build_server(parts.deps, OPERATIONS)
        app = application(parts.deps, server)
        runner = await listen(app, host, port, sock=sock)
        try:
            group.start_soon(_watch_door, tools)
            group.start_soon(watch_loop, metrics)
            if parts.deps.webhooks is not None:
                group.start_soon(_tell_owners, parts.deps, app)
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
                await farewell(runner)
                await drain(server)
                await runner.cleanup()
                group.cancel_scope.cancel()


async def _tell_owners(deps: Deps, app: web.Application) -> None:
    """Read the ledgers for webhooks, on the tail that the streams have too, and send."""
    hub = app[HUB]
    hub.start()
    async with Outbound(private=deps.config.webhook_allow_private) as outbound:
        notices = Notices(deps, hub.tail, outbound, deps.ids.short("p_"))
        app[GAUGES].append(notices.gauges)
        await notices.run()


async def _watch_door(tools: Tools) -> None:
    while True:
        await anyio.sleep(DOOR_WATCH_S)
        with contextlib.suppress(Exception):
            await tools.watch()


async def keep(settings: Settings, *, once: bool, metrics_port: int | None = None) -> None:
    """Run the reader and the keeper without serving; on `metrics_port`, where one is given, this
    machine is told of its health and figures.
    """
    prepare_logging(settings)
    await up_to_date(settings)
    metrics = Metrics()
    async with wired(settings, metrics=metrics) as parts:
        ticks = Ticks(parts)
        if once:
            await ticks.round()
            return
        async with _telling(parts.deps, metrics_port), anyio.create_task_group() as group:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                group.start_soon(ticks.run)
                group.start_soon(watch_loop, metrics)
                async for _ in signals:
                    group.cancel_scope.cancel()
                    return


@contextlib.asynccontextmanager
async def _telling(deps: Deps, port: int | None) -> AsyncIterator[None]:
    """Tell health and figures on a port of this machine, where one is given."""
    if port is None:
        yield
        return
    runner = await listen(about_itself(deps), "127.0.0.1", port)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()
