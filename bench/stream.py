"""Cost of one ledger row for 1,000 listeners, beside one: CPU of the serving process alone.

The listeners are a process of their own (`python -m bench.stream`); rows are stored one at a time,
and each is awaited by all of them before the next.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.stage import KEY, Stage, median, note, staged
from http_shim.application import build
from http_shim.http_server import listen
from tools.catalogue import OPERATIONS

MANY: Final = 1_000
ROWS: Final = 15


async def measure() -> dict[str, tuple[float, str]]:
    """CPU milliseconds of a row for each count, and their ratio."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * MANY)), hard))
    one, many = [await _cost(count) for count in (1, MANY)]
    return {
        "stream_row_1_listener_ms": (one, "ms CPU"),
        "stream_row_1000_listeners_ms": (many, "ms CPU"),
        "stream_1000_listeners_over_1": (many / one, "x"),
    }


async def _cost(count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with staged(Path(folder)) as stage:
            stage.deps = _open_to(stage, count)
            runner = await listen(build(stage.deps, OPERATIONS), "127.0.0.1", 0)
            port = str(runner.addresses[0][1])
            listeners = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bench.stream", port, stage.public_id, str(count),
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                return await _told(stage, listeners)
            finally:
                listeners.kill()
                await listeners.wait()
                await runner.cleanup()


def _open_to(stage: Stage, count: int):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    config = replace(stage.deps.config, streams_per_caller=count, streams_most=count)
    return replace(stage.deps, config=config)


async def _told(stage: Stage, listeners: asyncio.subprocess.Process) -> float:
    told = listeners.stdout
    if told is None:
        raise RuntimeError("the listeners have no output")
    await told.readline()  # all of them are connected
    await asyncio.sleep(1)
    spent = []
    for n in range(ROWS):
        before = time.process_time()
        await stage.store.write(
            lambda uow, n=n: uow.ledger.append(  # type: ignore[misc]
                stage.public_id,
                note(n),
                event_id=stage.deps.ids.short("ev_"),
                now=stage.deps.clock.now(),
            )
        )
        await told.readline()  # all of them have it
        spent.append((time.process_time() - before) * 1_000)
    return median(spent)


async def _listen(port: int, public_id: str, count: int) -> None:
    """Open the streams, and say when all are open, and each time that all have a row more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * count)), hard))
    heard: dict[int, int] = {}
    lock = asyncio.Semaphore(50)

    async def one() -> None:
        async with lock:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"GET /wallet/mandates/{public_id}/stream HTTP/1.1\r\nHost: bench\r\n"
            writer.write(f"{head}X-Service-User-Key: {KEY}\r\n\r\n".encode())
            await reader.readuntil(b"event: open\n")
        say(-1)
        for n in range(1_000_000):
            await reader.readuntil(b"event: row\n")
            say(n)

    def say(n: int) -> None:
        heard[n] = heard.get(n, 0) + 1
        if heard[n] == count:
            print(n, flush=True)

    await asyncio.gather(*[one() for _ in range(count)])


if __name__ == "__main__":
    asyncio.run(_listen(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
