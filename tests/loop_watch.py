"""How long one turn of the event loop holds it, in CPU time: what a loaded machine does not change."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio.lowlevel
import pytest


@dataclass
class LoopWatch:
    """The longest turn since `forget`: its milliseconds of this thread's CPU, and what ran."""

    longest_ms: float = 0.0
    what: str = ""

    async def forget(self) -> None:
        """Start anew, in a turn of its own: neither what went before nor its garbage counts."""
        gc.collect()
        await anyio.lowlevel.checkpoint()
        self.longest_ms, self.what = 0.0, ""

    def saw(self, ms: float, handle: Any) -> None:
        if ms > self.longest_ms:
            self.longest_ms, self.what = ms, repr(handle)


@contextmanager
def watched_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopWatch]:
    """Time every callback of asyncio's loop while inside."""
    watch, run = LoopWatch(), asyncio.Handle._run

    def timed(handle: Any) -> None:
        started = time.thread_time()
        try:
            run(handle)
        finally:
            watch.saw((time.thread_time() - started) * 1_000, handle)

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Handle, "_run", timed)
        patched.setattr(asyncio.TimerHandle, "_run", timed)
        gc.collect()
        gc.freeze()
        try:
            yield watch
        finally:
            gc.unfreeze()
