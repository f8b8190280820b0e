"""Shutdown: the end of a serving process, which is not put off by what may be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import anyio

GRACE: Final = timedelta(milliseconds=700)
ENDING: Final = "this process ends and asks it no more"


class Shutdown:
    """Ends what waits in a process that is about to end, while its caller can still be answered."""

    def __init__(self) -> None:
        self._waiting: dict[anyio.CancelScope, timedelta] = {}
        self._has_begun = False
        self._over = anyio.Event()

    async def end(self) -> bool:
        """End what waits, each after its grace, and from now on whatever would; True where
        something did. It takes twice the longest grace at most, whatever comes meanwhile.
        """
        self._has_begun = True
        for scope, grace in self._waiting.items():
            scope.deadline = anyio.current_time() + grace.total_seconds()
        is_waiting = bool(self._waiting)
        with anyio.move_on_after(2 * GRACE.total_seconds()):
            while self._waiting:
                self._over = anyio.Event()
                await self._over.wait()
        return is_waiting

    @contextmanager
    def ends(self, grace: timedelta = timedelta()) -> Iterator[None]:
        """End what runs inside once the process is about to end and `grace` is over, and go on
        behind the block.
        """
        with anyio.CancelScope() as scope:
            self._waiting[scope] = grace
            if self._has_begun:
                scope.deadline = anyio.current_time() + grace.total_seconds()
            try:
                yield
            finally:
                del self._waiting[scope]
                self._over.set()
