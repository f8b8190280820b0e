"""Shutdown: the end of a serving process, which is not put off by what may be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Shutdown:
    """Ends what waits in a process that is about to end, while its caller can still be answered."""

    def __init__(self) -> None:
        self._waiting: set[anyio.CancelScope] = set()
        self._has_begun = False

    def begin(self) -> bool:
        """End what waits, and from now on whatever would; True where something did."""
        self._has_begun = True
        for scope in self._waiting:
            scope.cancel()
        return bool(self._waiting)

    @contextmanager
    def ends(self) -> Iterator[None]:
        """End what runs inside once the process is about to end, and go on behind the block."""
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            if self._has_begun:
                scope.cancel()
            try:
                yield
            finally:
                self._waiting.discard(scope)
