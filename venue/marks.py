"""Mark prices: the last price of each product; a price ten times off within the hour is dropped."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from domain.ports import Clock
from domain.trading.venue_values import Perp
from venue.json_readers import MARK_FACTOR
from venue.unknown_fields import UnknownFieldCounts

# After this long without a price that was near, the venue's new one is the price.
MAX_AGE: Final = timedelta(hours=1)
_PRICES: Final = ("mark_px", "oracle_px", "mid_px")


class LastMarks:
    """The last accepted mark price of each product, with its time."""

    def __init__(self, clock: Clock, counts: UnknownFieldCounts):
        self._clock, self._counts = clock, counts
        self._last: dict[str, tuple[Decimal, datetime]] = {}

    def without_outliers(self, kind: str, perps: tuple[Perp, ...]) -> tuple[Perp, ...]:
        """Replace prices that are far from the last mark by None, and count them."""
        now = self._clock.now()
        return tuple(self._without_outliers(kind, perp, now) for perp in perps)

    def _without_outliers(self, kind: str, perp: Perp, now: datetime) -> Perp:
        last, at = self._last.get(perp.coin, (None, now))
        if last is not None and now - at < MAX_AGE:
            minimum, limit = last / MARK_FACTOR, last * MARK_FACTOR
            prices = {name: getattr(perp, name) for name in _PRICES}
            outliers = [
                n for n, px in prices.items() if px is not None and not minimum <= px <= limit
            ]
            for name in outliers:
                self._counts.note_far(kind, name)
            missing: Any = dict.fromkeys(outliers)
            perp = replace(perp, **missing) if outliers else perp
        if perp.mark_px is not None:
            self._last[perp.coin] = (perp.mark_px, now)
        return perp
