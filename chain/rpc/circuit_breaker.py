"""Circuit breaker: blocks a failing call for a while, then admits a single trial call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FAILURES: Final = 3
FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0


class CircuitBreaker:
    """Opens after three failures in a row, for a pause that doubles; after it, one trial call is
    admitted.

    Units: seconds of `clock`, which never goes back.
    """

    def __init__(self, clock: Callable[[], float], longest_s: float = LONGEST_S):
        self._clock, self._longest_s = clock, longest_s
        self._failures, self._pause_s, self._until = 0, FIRST_S, 0.0

    def wait_s(self) -> float:
        """Seconds until a call may be made; 0 where it may be made now. The caller that is let
        through an open breaker is the only one: the others wait for one more pause.
        """
        if self._failures < FAILURES:
            return 0.0
        remaining_s = self._until - self._clock()
        if remaining_s > 0:
            return remaining_s
        self._until = self._clock() + self._pause_s
        return 0.0

    @property
    def is_open(self) -> bool:
        """True while no call, or only the trial call, is admitted."""
        return self._failures >= FAILURES

    def succeeded(self) -> None:
        """Record a success, which closes the breaker."""
        self._failures, self._pause_s = 0, FIRST_S

    def failed(self) -> None:
        """Record a failure; the pause doubles with every failed trial of an open breaker."""
        self._failures += 1
        if self._failures > FAILURES:
            self._pause_s = min(2 * self._pause_s, self._longest_s)
        self._until = self._clock() + self._pause_s
