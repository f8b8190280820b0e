"""How long a read of a large record holds the event loop: 60,000 rows in one mandate, 20,000 mandates of one person."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import anyio.lowlevel

from storage.repositories.state_cache import StateCache
from storage.schema import migrate
from tests.tools.large import READS, build, large_deps
from tools.catalogue import OPERATIONS
from tools.context.render_cache import KEPT
from tools.dispatch.run import run

ROWS, MANDATES = 60_000, 20_000
# What holds the loop holds it whenever it is asked; what a host steals from its guest, it does not.
TRIES: Final = 3
BY_NAME: Final = {op.name: op for op in OPERATIONS}


@contextmanager
def timed_turns() -> Iterator[list[float]]:
    """Milliseconds of this thread's CPU that each turn of the loop takes."""
    turns: list[float] = []
    genuine = asyncio.Handle._run

    def timed(handle: Any) -> None:
        started = time.thread_time()
        try:
            genuine(handle)
        finally:
            turns.append((time.thread_time() - started) * 1_000)

    with (
        patch.object(asyncio.Handle, "_run", timed),
        patch.object(asyncio.TimerHandle, "_run", timed),
    ):
        yield turns


async def measure() -> dict[str, tuple[float, str]]:
    """The longest turn of any read, each by a process that has read nothing yet."""
    longest = {}
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'large.sqlite'}"
        await asyncio.to_thread(migrate.upgrade, url)
        build(url, rows=ROWS, mandates=MANDATES)
        async with large_deps(url) as deps:
            for name, caller, arguments in READS:
                tries = []
                for _ in range(TRIES + 1):
                    deps.store._cache = StateCache()  # type: ignore[attr-defined]
                    KEPT.forget()
                    gc.collect()
                    with timed_turns() as turns:
                        await anyio.lowlevel.checkpoint()
                        await run(BY_NAME[name], deps, caller, arguments)
                        await anyio.lowlevel.checkpoint()
                    tries.append(max(turns))
                longest[f"{name} {caller.role}"] = min(tries[1:])
    held = sorted(longest.values())
    return {
        "held_longest_ms": (held[-1], "ms (at most 20)"),
        "held_median_ms": (held[len(held) // 2], "ms, of all reads"),
    }
