"""The thread for what blocks: answers come back to the loop, whatever becomes of who asked."""

from __future__ import annotations

import asyncio
import threading

import pytest

from storage.engine.blocking_worker import BlockingWorker

pytestmark = pytest.mark.anyio


async def test_what_blocks_runs_beside_the_loop_and_in_order() -> None:
    waits = BlockingWorker(asyncio.get_running_loop(), "waits")
    seen: list[int] = []

    def work(n: int) -> str:
        seen.append(n)
        return threading.current_thread().name

    names = await asyncio.gather(*[waits.run(lambda n=n: work(n)) for n in range(5)])  # type: ignore[misc]  # the default binds the loop's value
    assert seen == [0, 1, 2, 3, 4]
    assert set(names) == {"waits"}
    await waits.close()


async def test_an_exception_is_the_answer_and_the_thread_goes_on() -> None:
    waits = BlockingWorker(asyncio.get_running_loop(), "waits")
    with pytest.raises(ZeroDivisionError):
        await waits.run(lambda: 1 // 0)
    assert await waits.run(lambda: 7) == 7
    await waits.close()


async def test_who_is_cancelled_holds_nobody_up_and_the_work_is_done() -> None:
    waits = BlockingWorker(asyncio.get_running_loop(), "waits")
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(10)
        done.set()

    asked = asyncio.ensure_future(waits.run(work))
    asked.cancel()
    go.set()
    assert await waits.run(lambda: 7) == 7
    assert done.is_set()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await waits.close()


async def test_closing_ends_the_thread_once_what_is_under_way_is_done() -> None:
    waits = BlockingWorker(asyncio.get_running_loop(), "waits")
    last = waits.run(threading.current_thread)
    await waits.close()
    assert not (await last).is_alive()
