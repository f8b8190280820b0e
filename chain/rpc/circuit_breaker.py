"""Circuit breaker: a failing call is stopped for a while, then tried by one caller alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FAILURES: Final = 3
FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0


class CircuitBreaker:
    """Open after three failures in a row, for a pause that doubles; then one question may try.

    Units: seconds of `clock`, which never goes back.
    """

    def __init__(self, clock: Callable[[], float], longest_s: float = LONGEST_S):
        self._clock, self._longest_s = clock, longest_s
        self._failures, self._pause_s, self._until = 0, FIRST_S, 0.0

    def wait_s(self) -> float:
        """Seconds until a question may be put; 0 where it may be put now.

        Whoever is let through an open breaker is the only one: the others wait for a pause more.
        """
        if self._failures < FAILURES:
            return 0.0
        left = self._until - self._clock()
        if left > 0:
            return left
        self._until = self._clock() + self._pause_s
        return 0.0

    @property
    def is_open(self) -> bool:
        """True while nobody, or one alone, may put a question."""
        return self._failures >= FAILURES

    def succeeded(self) -> None:
        """An answer came: closed."""
        self._failures, self._pause_s = 0, FIRST_S

    def failed(self) -> None:
        """No answer came; the pause doubles with every try of an open breaker that fails."""
        self._failures += 1
        if self._failures > FAILURES:
            self._pause_s = min(2 * self._pause_s, self._longest_s)
        self._until = self._clock() + self._pause_s
