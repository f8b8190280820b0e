"""Log limiter: events that strangers can cause are logged once a minute, with their number."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SAID_EVERY_S: Final = 60


class Seldom:
    """Counts one kind of occurrence between two of its lines."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now, self._said_at, self._unsaid = now, float("-inf"), 0

    def count(self) -> int:
        """Count one; how many there were since the last line where one is due, else 0."""
        self._unsaid += 1
        if self._now() - self._said_at < SAID_EVERY_S:
            return 0
        number, self._unsaid, self._said_at = self._unsaid, 0, self._now()
        return number
