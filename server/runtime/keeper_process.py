"""The keeper process: serves no requests, ends on SIGTERM, loads no more than it runs."""

from __future__ import annotations

import anyio

from http_shim.metrics import Metrics
from server.instrumentation import watch_loop
from server.runtime.gc_tuning import freeze_startup_objects
from server.runtime.logs import prepare_logging
from server.runtime.metrics_listener import figures, listener
from server.runtime.schema_upgrade import ensure_schema
from server.settings import Settings
from server.system import ending_signals
from server.wiring import build_runtime


async def keep(settings: Settings, *, once: bool, metrics_port: int | None = None) -> None:
    """Run reader and keeper without serving; on `metrics_port` it tells health and figures."""
    prepare_logging(settings)
    watched = listener(settings.metrics_host, metrics_port)
    await ensure_schema(settings)
    from server.keeper.scheduler import KeeperScheduler

    metrics = Metrics()
    async with build_runtime(settings, metrics=metrics) as parts:
        ticks = KeeperScheduler(parts)
        freeze_startup_objects()
        if once:
            await ticks.round()
            return
        async with figures(parts.deps, watched), anyio.create_task_group() as group:
            with anyio.open_signal_receiver(*ending_signals()) as signals:
                group.start_soon(ticks.run)
                group.start_soon(watch_loop, metrics)
                async for _ in signals:
                    group.cancel_scope.cancel()
                    return
