"""The running server; it ends cleanly on SIGTERM, SIGINT and SIGHUP."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import anyio
from aiohttp import web

from domain.refusals import Refused
from http_shim.application import HUB
from http_shim.http_server import address_of, bound, drain_connections, listen_on
from http_shim.lazy_routes import LazyRoutes
from http_shim.metrics import Metrics
from http_shim.service_routes import GAUGES
from server.application import PageWallet, application
from server.instrumentation import watch_loop
from server.keeper.notification_worker import NotificationWorker
from server.lazy.lazy_mcp import LazyMcpApp
from server.mail import MailClient
from server.outbound import OutboundClient
from server.runtime.gc_tuning import freeze_startup_objects, release_large_blocks
from server.runtime.logs import prepare_logging
from server.runtime.metrics_listener import figures, listener
from server.runtime.open_files import raise_file_limit, say_once_a_minute
from server.runtime.schema_upgrade import ensure_schema
from server.runtime.shared_rates import SharedRates
from server.settings import Settings
from server.system import ending_signals
from server.wiring import Runtime, build_runtime, mail_client
from tools.model.client_documents import ClientDocuments
from tools.model.operation import Deps

log = logging.getLogger("wallet.process")
# Whoever waits for the start is answered before the rest is loaded beside it.
HEAD_START_S: Final = 0.5
# In which the answers to what was ended leave, before the streams do.
ANSWER_S: Final = 0.1


async def serve_forever(
    settings: Settings,
    host: str,
    port: int,
    *,
    keeper: bool,
    ready: Callable[[str], None],
    logs: bool = True,
) -> None:
    """Serve until a signal ends it; answers what was begun, then ends."""
    if logs:
        prepare_logging(settings)
    with (
        bound(host, port) as sock,
        anyio.open_signal_receiver(*ending_signals()) as signals,
    ):
        async with anyio.create_task_group() as group:

            async def wait() -> None:
                async for _ in signals:
                    stop.set()
                    return

            stop = anyio.Event()
            group.start_soon(wait)
            await serve_until(settings, sock, stop, keeper=keeper, ready=ready)
            group.cancel_scope.cancel()


async def serve_until(
    settings: Settings,
    sock: socket.socket,
    stop: anyio.Event,
    *,
    keeper: bool,
    ready: Callable[[str], None],
    demo: PageWallet | None = None,
) -> None:
    """Serve on a taken port until the event is set; `demo` is a wallet for who has none."""
    release_large_blocks()
    raise_file_limit()
    say_once_a_minute(asyncio.get_running_loop())
    watched = listener(settings.metrics_host, settings.metrics_port)
    await ensure_schema(settings)
    address = address_of(sock)
    metrics = Metrics()
    async with (
        build_runtime(settings, address=address, metrics=metrics) as parts,
        OutboundClient(private=settings.config(address).webhook_allow_private) as outbound,
        anyio.create_task_group() as group,
    ):
        deps = replace(parts.deps, documents=ClientDocuments(outbound.document))
        mcp, wrong = LazyMcpApp(deps), list[Exception]()
        app = application(deps, mcp, demo)
        app[GAUGES].append(parts.chains.gauges)
        if deps.replica is not None:
            app[GAUGES].append(deps.replica.gauges)
        runner = await listen_on(app, sock)
        try:
            group.start_soon(watch_loop, metrics)
            if deps.has_peers:
                group.start_soon(SharedRates(deps).run)
            if any(part is not None for part in (deps.webhooks, deps.push)):
                mail = mail_client(settings, deps.config.base_url)
                group.start_soon(_run_notifications, deps, app, outbound, mail)

            async def after() -> None:
                try:
                    await _behind_the_answers(app, parts, mcp, keeper=keeper)
                except (Refused, ValueError) as error:
                    wrong.append(error)
                    stop.set()

            group.start_soon(after)
            async with figures(parts.deps, watched, app[GAUGES]):
                ready(address)
                await stop.wait()
        finally:
            with anyio.CancelScope(shield=True):
                # What runs by itself lets go meanwhile.
                group.cancel_scope.cancel()
                await drain_connections(runner)
                await _tell_who_waits(parts.deps)
                await mcp.drain()
                await runner.cleanup()
    if wrong:
        raise wrong[0]


async def _tell_who_waits(deps: Deps) -> None:
    """Tell who waits for a lock of another process, or for something outside, while there is
    somebody to.
    """
    deps.store.leave()
    if await deps.shutdown.end():
        await asyncio.sleep(ANSWER_S)


async def _behind_the_answers(
    app: web.Application, parts: Runtime, mcp: LazyMcpApp, *, keeper: bool
) -> None:
    """Load, in a thread, what the first answers do without and the first stranger would make it
    load: routes, what talks to chains and to the venue, and MCP; then do the work of a keeper.

    Errors: Refused, ValueError for a setting of theirs that cannot be.
    """
    await anyio.sleep(HEAD_START_S)
    try:
        for resource in app.router.resources():
            if isinstance(resource, LazyRoutes):
                await resource.load()
        await parts.load()
        await mcp.load()
    finally:
        freeze_startup_objects()
    if keeper:
        from server.keeper.scheduler import KeeperScheduler

        await KeeperScheduler(parts).run()


async def _run_notifications(
    deps: Deps, app: web.Application, outbound: OutboundClient, mail: MailClient | None
) -> None:
    """Read the ledgers for notices, on the tail that the streams have too, and send."""
    hub = app[HUB]
    hub.start()
    notices = NotificationWorker(deps, hub.tail, outbound, deps.ids.short("p_"), mail)
    app[GAUGES].append(notices.gauges)
    await notices.run()
