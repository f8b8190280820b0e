"""How much one turn of the event loop does before another task has its turn: counted, and so the same on every machine."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import anyio.lowlevel
import pytest

from storage.store import SqliteStore, Store

INSTRUCTIONS = 10
"""Of SQLite's own, that take no longer than a step of Python."""


@dataclass
class LoopWatch:
    """The longest turn since `forget`: its steps (calls, lines and rounds of a loop of Python, and
    what SQLite did for them), and what ran.
    """

    longest: int = 0
    what: str = ""
    of_sqlite: list[None] = field(default_factory=list)

    def of_store(self, store: Store) -> None:
        """Count what the statements of a store do as well."""
        assert isinstance(store, SqliteStore)
        for connection in (store._reader, store._writer):
            assert connection is not None
            # No function of Python, whose own steps would count; what it returns lets SQLite go on.
            connection.set_progress_handler(partial(self.of_sqlite.append, None), INSTRUCTIONS)

    async def forget(self) -> None:
        """Start anew, in a turn of its own."""
        await anyio.lowlevel.checkpoint()
        self.longest, self.what = 0, ""

    def saw(self, steps: int, handle: Any) -> None:
        if steps > self.longest:
            self.longest, self.what = steps, repr(handle)


@contextmanager
def watched_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopWatch]:
    """Count the steps of every callback of asyncio's loop while inside."""
    watch, run, steps = LoopWatch(), asyncio.Handle._run, itertools.count()

    def step(frame: FrameType, event: str, given: Any) -> Any:
        next(steps)
        return step

    def counted(handle: Any) -> None:
        watch.of_sqlite.clear()
        before, outer = next(steps), sys.gettrace()
        sys.settrace(step)
        try:
            run(handle)
        finally:
            sys.settrace(outer)
            watch.saw(next(steps) - before + len(watch.of_sqlite), handle)

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Handle, "_run", counted)
        patched.setattr(asyncio.TimerHandle, "_run", counted)
        yield watch
