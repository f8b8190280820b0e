"""The end of a process, for those who wait in it."""

from __future__ import annotations

import anyio
import pytest

from tools.model.shutdown import GRACE, Shutdown


@pytest.mark.anyio
async def test_the_end_comes_however_many_more_begin_to_wait() -> None:
    shutdown, ended = Shutdown(), 0

    waiting = anyio.Event()

    async def wait() -> None:
        nonlocal ended
        with shutdown.ends(GRACE):
            waiting.set()
            await anyio.sleep_forever()
        ended += 1

    async def come_again() -> None:
        while True:
            group.start_soon(wait)
            await anyio.sleep(GRACE.total_seconds() / 3)

    async with anyio.create_task_group() as group:
        group.start_soon(come_again)
        await waiting.wait()
        with anyio.fail_after(4 * GRACE.total_seconds()):
            assert await shutdown.end()
        group.cancel_scope.cancel()
    assert ended
