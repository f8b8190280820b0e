"""How often somebody may order or close: a log of times a wallet, in bounded memory (trading 1)."""

from __future__ import annotations

from collections import OrderedDict, deque
from datetime import datetime, timedelta
from typing import Final

from domain.trading.gate import TooMany

A_MINUTE: Final = 10
AN_HOUR: Final = 60
WALLETS: Final = 100_000
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)


class Throttle:
    """Ten calls a minute and sixty an hour of one wallet, orders and closes together.

    It counts in one process. A call that is refused for it is not counted.
    """

    def __init__(self, wallets: int = WALLETS):
        self._most = wallets
        self._calls: OrderedDict[str, deque[datetime]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, key: str, now: datetime, *, kept: int = 0) -> TooMany | None:
        """Count a call, or say which limit is full and until when; `kept` calls of the hour are
        for others than this one.
        """
        calls = self._live(key, now)
        full = _full(calls, now, AN_HOUR - kept)
        if full is None:
            calls.append(now)
            self._keep(key, calls, now)
        return full

    def left(self, key: str, now: datetime) -> tuple[int, int]:
        """Calls that are left in this minute and in this hour."""
        calls = self._live(key, now)
        last_minute = sum(1 for at in calls if at > now - _MINUTE)
        return max(0, A_MINUTE - last_minute), max(0, AN_HOUR - len(calls))

    def _live(self, key: str, now: datetime) -> deque[datetime]:
        calls = self._calls.get(key)
        if calls is None:
            return deque()
        while calls and calls[0] <= now - _HOUR:
            calls.popleft()
        return calls

    def _keep(self, key: str, calls: deque[datetime], now: datetime) -> None:
        """Keep a log, newest last; those that say nothing any more go, and the oldest beyond the
        bound.
        """
        self._calls[key] = calls
        self._calls.move_to_end(key)
        while self._calls:
            oldest, times = next(iter(self._calls.items()))
            if len(self._calls) <= self._most and times and times[-1] > now - _HOUR:
                return
            del self._calls[oldest]


def _full(calls: deque[datetime], now: datetime, an_hour: int) -> TooMany | None:
    """Which limit the calls fill, and when the oldest of them that counts is gone."""
    if len(calls) >= an_hour:
        until = calls[len(calls) - an_hour] + _HOUR if an_hour > 0 else now + _HOUR
        return TooMany(limit=AN_HOUR, span="hour", retry_at=until)
    if len(calls) >= A_MINUTE and calls[-A_MINUTE] > now - _MINUTE:
        return TooMany(limit=A_MINUTE, span="minute", retry_at=calls[-A_MINUTE] + _MINUTE)
    return None
