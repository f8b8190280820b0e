"""Waits that a busy machine cannot fail: bounded by progress, never by how many seconds a step may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

# Nothing here takes so long on any machine: it only ends a test that hangs.
STUCK_S: Final = 120


@asynccontextmanager
async def while_progressing(
    progress: Callable[[], object], stuck_s: float = STUCK_S
) -> AsyncIterator[None]:
    """Run a block for as long as `progress()` goes on changing. Errors: TimeoutError when it stands still."""

    async def watch() -> None:
        seen = progress()
        while True:
            with anyio.move_on_after(stuck_s):
                while (now := progress()) == seen:
                    await anyio.sleep(0.2)
            if now == seen:
                raise TimeoutError(f"no progress for {stuck_s} s after {seen}")
            seen = now

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        yield
        group.cancel_scope.cancel()


class LoopClock:
    """The running loop's clock, which a test puts forward: a time-out that is to pass is over at once.

    Those that are not to pass can then be as long as no machine needs. It never goes back, not even
    when the test is over: what the loop waits for was told the later time.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._ahead_s, self._real = 0.0, loop.time
        loop.time = self._time  # type: ignore[method-assign]

    def _time(self) -> float:
        return self._real() + self._ahead_s

    def forward(self, seconds: float) -> None:
        """Let so many seconds have passed for everything that waits on the loop."""
        self._ahead_s += seconds


def starved_s(pid: int | str = "self") -> float:
    """Seconds that a process was ready to run and had no core (its main thread; Linux)."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
