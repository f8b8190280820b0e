"""Waits that a busy machine cannot fail: bounded by progress, never by how many seconds a step may take."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any, Final

import anyio

# Nothing here takes so long on any machine: it only ends a test that hangs.
STUCK_S: Final = 120
_BEAT_S: Final = 0.01
# For a service in a process of its own, beside parts that all work: a machine that stands still is no fault of theirs.
PATIENTLY: Final = {
    "WALLET_DATABASE_WAIT_MS": "60000", "WALLET_DATABASE_STATEMENT_MS": "600000", "WALLET_VENUE_TIMEOUT_S": "30",
    "WALLET_CHAIN_READ_MS": "30000", "WALLET_CHAIN_CALL_MS": "60000",
}  # fmt: skip


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


class Heard:
    """What a process says on stderr, read as it comes: one that is not listened to stands still
    before a full pipe.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self.lines: list[str] = []
        self._more = threading.Condition()
        self._reading = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reading.start()

    def _read(self, pipe: IO[str]) -> None:
        with pipe:
            for line in pipe:
                with self._more:
                    self.lines.append(line)
                    self._more.notify_all()

    def until(self, statement: str) -> None:
        """Wait until a line has it. Errors: AssertionError where the process ends before."""
        with self._more:
            while not any(statement in line for line in self.lines):
                assert self._reading.is_alive(), "".join(self.lines)
                self._more.wait(1)

    @contextmanager
    def shown_on_failure(self) -> Iterator[None]:
        """Show it beside what goes wrong inside: what the process said of it is lost with the process."""
        try:
            yield
        except BaseException:
            sys.stderr.write("".join(self.lines))
            raise

    def whole(self) -> str:
        """All of it, once the process has ended."""
        self._reading.join()
        return "".join(self.lines)


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


class Beats:
    """Seconds as somebody counts them who only sleeps, a hundredth at a time.

    A machine that stands still or is busy makes them fewer, never more: what is left is what the code itself
    waited for, and a bound on that holds on every machine.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    async def beat(self) -> None:
        await asyncio.sleep(_BEAT_S)
        self.seconds += _BEAT_S


@asynccontextmanager
async def beating() -> AsyncIterator[Beats]:
    """Count them while the block runs."""
    beats = Beats()

    async def go_on() -> None:
        while True:
            await beats.beat()

    going = asyncio.ensure_future(go_on())
    try:
        yield beats
    finally:
        going.cancel()


def starved_s(pid: int | str = "self") -> float:
    """Seconds that a process was ready to run and had no core (its main thread; Linux)."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


async def ended(processes: Iterable[BaseProcess]) -> list[int]:
    """Wait until they have ended by themselves: their exit statuses. Errors: TimeoutError where one hangs."""
    beats, codes = Beats(), list[int]()
    for process in processes:
        before = starved_s(pid := process.pid or 0)
        while (code := process.exitcode) is None:
            if beats.seconds - (starved_s(pid) - before) > STUCK_S:
                raise TimeoutError(f"{process.name} goes on")
            await beats.beat()
        codes.append(code)
    return codes


async def terminated(process: subprocess.Popen[Any]) -> tuple[int, float]:
    """End it with SIGTERM: its exit status, and the seconds that took, those apart in which it had no core."""
    beats, before, starved = Beats(), starved_s(process.pid), 0.0
    process.send_signal(signal.SIGTERM)
    with anyio.fail_after(STUCK_S):
        while (code := process.poll()) is None:
            starved = max(starved, starved_s(process.pid) - before)
            await beats.beat()
    return code, beats.seconds - starved
