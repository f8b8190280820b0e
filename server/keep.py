"""The running keeper: it serves nobody, ends cleanly on SIGTERM, and loads no more than it runs."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from http_shim.metrics import Metrics
from server.garbage import settle
from server.logs import prepare_logging
from server.settings import Settings
from server.start import up_to_date
from server.watched import watch_loop
from server.wiring import wired
from tools.call.operation import Deps


async def keep(settings: Settings, *, once: bool, metrics_port: int | None = None) -> None:
    """Run the reader and the keeper without serving; on `metrics_port`, where one is given, this
    machine is told of its health and figures.
    """
    prepare_logging(settings)
    await up_to_date(settings)
    from server.ticks import Ticks

    metrics = Metrics()
    async with wired(settings, metrics=metrics) as parts:
        ticks = Ticks(parts)
        settle()
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


@asynccontextmanager
async def _telling(deps: Deps, port: int | None) -> AsyncIterator[None]:
    """Tell health and figures on a port of this machine, where one is given."""
    if port is None:
        yield
        return
    from http_shim.application import about_itself
    from http_shim.listening import listen

    runner = await listen(about_itself(deps), "127.0.0.1", port)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()
