"""What is watched of a process beside its calls: its work with the database, and its event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from http_shim.metrics import Metrics
from storage.faults import Unavailable
from storage.store import Store

LAG_EVERY_S: Final = 0.25


class WatchedStore:
    """A store whose work is counted and timed; it passes everything on as it came."""

    def __init__(self, store: Store, metrics: Metrics):
        self._store, self.url = store, store.url
        self.on_batch: Callable[[int], object] = lambda n: metrics.batch.observe(n)
        store.on_batch = self.on_batch
        self._reads, self._writes = (_Kind(metrics, kind) for kind in ("read", "write"))

    async def read(self, work: Any, *more: Any, **named: Any) -> Any:
        """As the store reads."""
        return await self._reads.timed(self._store.read, work, *more, **named)

    async def write(self, work: Any, *more: Any, **named: Any) -> Any:
        """As the store writes."""
        return await self._writes.timed(self._store.write, work, *more, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


class _Kind:
    """The figures of reads, or of writes; their labels are looked up once."""

    def __init__(self, metrics: Metrics, kind: str):
        self._queue = metrics.store_queue.labels(kind)
        self._seconds = metrics.store_seconds.labels(kind)
        self._unavailable = metrics.store_unavailable.labels(kind)

    async def timed(self, run: Callable[..., Awaitable[Any]], *given: Any, **named: Any) -> Any:
        started = time.perf_counter()
        self._queue.inc()
        try:
            return await run(*given, **named)
        except Unavailable:
            self._unavailable.inc()
            raise
        finally:
            self._queue.dec()
            self._seconds.observe(time.perf_counter() - started)


async def watch_loop(metrics: Metrics) -> None:
    """Measure how late the loop wakes, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
