"""The throttle: a log of order times per wallet, in bounded memory (trading 1)."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from domain.trading.order_gate import TooMany

A_MINUTE: Final = 10
AN_HOUR: Final = 60
WALLETS: Final = 100_000
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _ThrottledCall:
    at: datetime
    closing: bool


class Throttle:
    """Ten calls a minute and sixty an hour of one wallet, orders and closes together, with a
    reserve of closes a minute that orders cannot use up.

    It counts in one process. A refused call is not counted.
    """

    def __init__(self, wallets: int = WALLETS):
        self._max_wallets = wallets
        self._calls: OrderedDict[str, deque[_ThrottledCall]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._calls)

    def take(
        self, key: str, now: datetime, *, closing: bool = False, reserve: int = 0
    ) -> TooMany | None:
        """Count a call, or return the full limit and its end. A close passes as well while
        fewer than `reserve` closes of the last minute did.
        """
        calls = self._live(key, now)
        closes = sum(call.closing for call in calls if call.at > now - _MINUTE)
        full = None if closing and closes < reserve else _full(calls, now)
        if full is None:
            calls.append(_ThrottledCall(now, closing))
            self._store(key, calls, now)
        return full

    def remaining(self, key: str, now: datetime) -> tuple[int, int]:
        """Calls that are left in this minute and in this hour."""
        calls = self._live(key, now)
        last_minute = sum(1 for call in calls if call.at > now - _MINUTE)
        return max(0, A_MINUTE - last_minute), max(0, AN_HOUR - len(calls))

    def _live(self, key: str, now: datetime) -> deque[_ThrottledCall]:
        calls = self._calls.get(key)
        if calls is None:
            return deque()
        while calls and calls[0].at <= now - _HOUR:
            calls.popleft()
        return calls

    def _store(self, key: str, calls: deque[_ThrottledCall], now: datetime) -> None:
        """Store a log, newest last; drop empty ones and the oldest beyond the bound."""
        self._calls[key] = calls
        self._calls.move_to_end(key)
        while self._calls:
            oldest, times = next(iter(self._calls.items()))
            if len(self._calls) <= self._max_wallets and times and times[-1].at > now - _HOUR:
                return
            del self._calls[oldest]


def _full(calls: deque[_ThrottledCall], now: datetime) -> TooMany | None:
    """The limit that the calls fill, and when its oldest call leaves the window."""
    if len(calls) >= AN_HOUR:
        return TooMany(limit=AN_HOUR, period="hour", retry_at=calls[-AN_HOUR].at + _HOUR)
    if len(calls) >= A_MINUTE and calls[-A_MINUTE].at > now - _MINUTE:
        return TooMany(limit=A_MINUTE, period="minute", retry_at=calls[-A_MINUTE].at + _MINUTE)
    return None
