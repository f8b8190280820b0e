"""Whoever waits is brought for together: while one statement runs, the next batch gathers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from storage.prefetch.prefetched_rows import PrefetchedRows
from storage.prefetch.read_set import ReadSet

BATCH: Final = 64
LANES: Final = 2

Fetch = Callable[[Sequence[ReadSet]], Awaitable[PrefetchedRows]]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    read_set: ReadSet
    rows: asyncio.Future[PrefetchedRows]


class PrefetchBatcher:
    """A queue of needs and the lanes that work it off; belongs to one event loop."""

    def __init__(self, fetch: Fetch):
        self._fetch = fetch
        self._queue: deque[_Waiting] = deque()
        self._lanes: set[asyncio.Task[None]] = set()

    async def snapshot(self, read_set: ReadSet) -> PrefetchedRows:
        """What was asked for, and what others asked for beside it; begun after this call."""
        one = _Waiting(read_set, asyncio.get_running_loop().create_future())
        self._queue.append(one)
        if len(self._lanes) < LANES:
            self._lanes.add(asyncio.create_task(self._lane()))
        return await one.rows

    async def _lane(self) -> None:
        try:
            await self._work()
        finally:
            # At once: whoever is answered by this lane and asks again finds a place for another.
            self._lanes -= {asyncio.current_task()}

    async def _work(self) -> None:
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            try:
                snapshot = await self._fetch([one.read_set for one in batch])
            except Exception as error:
                for one in batch:
                    if not one.rows.done():
                        one.rows.set_exception(error)
            except BaseException:
                for one in batch:
                    one.rows.cancel()
                raise
            else:
                for one in batch:
                    if not one.rows.done():
                        one.rows.set_result(snapshot)
