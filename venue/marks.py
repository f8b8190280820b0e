"""The last prices of each product: one that is ten times another within the hour is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.ports import Clock
from domain.trading.venue import Perp
from venue.json_readers import MARK_FACTOR

# After this long without a price that was near, the venue's new one is the price.
HOLDS: Final = timedelta(hours=1)


class LastMarks:
    """The last mark price of each product that was believed, and when."""

    def __init__(self, clock: Clock):
        self._clock = clock
        self._last: dict[str, tuple[Decimal, datetime]] = {}

    def near(self, perps: tuple[Perp, ...]) -> tuple[Perp, ...]:
        """The products; a price that is far from the last mark is None, as one not told."""
        now = self._clock.now()
        return tuple(self._near(perp, now) for perp in perps)

    def _near(self, perp: Perp, now: datetime) -> Perp:
        last, at = self._last.get(perp.coin, (None, now))
        if last is not None and now - at < HOLDS:
            perp = replace(
                perp,
                mark_px=_of(perp.mark_px, last),
                oracle_px=_of(perp.oracle_px, last),
                mid_px=_of(perp.mid_px, last),
            )
        if perp.mark_px is not None:
            self._last[perp.coin] = (perp.mark_px, now)
        return perp


def _of(px: Decimal | None, last: Decimal) -> Decimal | None:
    return px if px is not None and last / MARK_FACTOR <= px <= last * MARK_FACTOR else None
