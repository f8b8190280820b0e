"""Lane: a queue whose jobs are served in batches; while one is on its way, the next one gathers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from storage.engine.job import BATCH

J = TypeVar("J")


class JobQueue(Generic[J]):
    """A queue that is worked off in batches of at most `BATCH`, `at_once` of them at the same time;
    belongs to one event loop. `serve` answers every job of its batch, whatever happens.
    """

    def __init__(self, serve: Callable[[list[J]], Awaitable[None]], *, at_once: int = 1):
        self._serve, self._at_once = serve, at_once
        self._queue: deque[J] = deque()
        self._running: set[asyncio.Task[None]] = set()

    def add(self, *jobs: J) -> None:
        """Queue some jobs."""
        self._queue.extend(jobs)
        if len(self._running) < self._at_once:
            self._running.add(asyncio.get_running_loop().create_task(self._run()))

    def take(self, room: int, fits: Callable[[J], bool] = lambda _: True) -> list[J]:
        """The next jobs that fit, in their order; the others stay."""
        taken: list[J] = []
        left: list[J] = []
        while self._queue and len(taken) < room:
            job = self._queue.popleft()
            (taken if fits(job) else left).append(job)
        self._queue.extendleft(reversed(left))
        return taken

    async def drained(self) -> None:
        """Wait until nothing is queued and nothing runs."""
        while self._running:
            await asyncio.wait(self._running)

    async def _run(self) -> None:
        try:
            await asyncio.sleep(0)  # whoever asks in this turn of the loop comes along
            while self._queue:
                await self._serve(self.take(BATCH))
        finally:
            # At once: whoever is answered now and asks again begins anew.
            self._running -= {asyncio.current_task()}
