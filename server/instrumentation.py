"""Instrumentation beside the calls: database work and the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from http_shim.metrics import Metrics
from storage.errors import DatabaseTimeouts, Unavailable
from storage.prefetch.read_set import ReadSet
from storage.store import Store, open_store

LAG_EVERY_S: Final = 0.25


class InstrumentedStore:
    """A store whose work is counted and timed; it passes everything on as it came."""

    def __init__(self, store: Store, metrics: Metrics):
        self._store, self.url = store, store.url
        self._reads, self._writes = (_Kind(metrics, kind) for kind in ("read", "write"))

    async def read(self, work: Any, *more: Any, **name: Any) -> Any:
        """Run a read of the store and time it."""
        return await self._reads.timed(self._store.read, work, *more, **name)

    async def write(self, work: Any, *more: Any, **name: Any) -> Any:
        """Run a write of the store and time it."""
        return await self._writes.timed(self._store.write, work, *more, **name)

    async def prefetch(self, read_set: ReadSet) -> Store:
        """Prefetch through the store; reads of the result afterwards never wait."""
        prefetched: Store = await self._reads.timed(self._store.prefetch, read_set)
        return self if prefetched is self._store else prefetched

    def leave(self) -> None:
        """Prepare for shutdown: another process's lock is no longer waited for."""
        self._store.leave()

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


class _Kind:
    """The figures of reads, or of writes; their labels are looked up once."""

    def __init__(self, metrics: Metrics, kind: str):
        self._queue = metrics.store_queue.labels(kind)
        self._seconds = metrics.store_seconds.labels(kind)
        self._unavailable = metrics.store_unavailable.labels(kind)

    async def timed(self, run: Callable[..., Awaitable[Any]], *arguments: Any, **name: Any) -> Any:
        started = time.perf_counter()
        self._queue.inc()
        try:
            return await run(*arguments, **name)
        except Unavailable:
            self._unavailable.inc()
            raise
        finally:
            self._queue.dec()
            self._seconds.observe(time.perf_counter() - started)


async def watched_store(
    url: str, patience: DatabaseTimeouts, metrics: Metrics
) -> InstrumentedStore:
    """Open a store whose batches are counted too. Errors: as `open_store`."""
    return InstrumentedStore(await open_store(url, patience, metrics.batch.observe), metrics)


async def watch_loop(metrics: Metrics) -> None:
    """Measure how late the loop wakes, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_EVERY_S
        await asyncio.sleep(LAG_EVERY_S)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
