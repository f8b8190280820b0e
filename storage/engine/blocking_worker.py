"""Blocking worker: one thread for blocking calls, such as a commit or opening a file."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
_Waiting: TypeAlias = tuple[Callable[[], object], asyncio.Future[Any]]


class BlockingWorker:
    """Runs what blocks, one after the other, and answers on the event loop that it belongs to.

    An executor makes two futures, a lock and a condition of each piece of work: as much CPU as the
    statements of a small transaction. The thread starts with the first piece of work, and holds up
    no exit of the process.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str):
        self._loop, self._name = loop, name
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """The result of a piece of work, or its exception."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((work, future))
        return future

    async def close(self) -> None:
        """Finish what is under way, then end the thread."""
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
            self._thread = None

    def _work(self) -> None:
        while (one := self._queue.get()) is not None:
            work, future = one
            try:
                result, error = work(), None
            except BaseException as raised:
                result, error = None, raised
            with suppress(RuntimeError):  # the loop was closed, and nobody waits
                self._loop.call_soon_threadsafe(_settle, future, result, error)


def _settle(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():  # whoever waited was cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
