"""ISO weeks in UTC, parsed from their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from domain.refusals import invalid

WEEK: Final = timedelta(days=7)
# The first year and the last have weeks whose neighbours no calendar holds.
FIRST_YEAR: Final = 1
LAST_YEAR: Final = 9999
_FORM: Final = re.compile(r"([0-9]{4})-W([0-9]{2})")


@dataclass(frozen=True, slots=True)
class Week:
    """An ISO week in UTC: from `start`, inclusive, until `end`, exclusive."""

    name: str
    start: datetime

    @property
    def end(self) -> datetime:
        """Monday 00:00 UTC after it."""
        return self.start + WEEK


def week(name: str) -> Week:
    """Read YYYY-Www. Errors: `invalid_request`."""
    match = _FORM.fullmatch(name)
    try:
        first = (
            date.fromisocalendar(int(match[1]), int(match[2]), 1)
            if match and FIRST_YEAR < int(match[1]) < LAST_YEAR
            else None
        )
    except ValueError:
        first = None
    if first is None:
        raise invalid("week", "a week is written YYYY-Www")
    return Week(name, datetime(first.year, first.month, first.day, tzinfo=UTC))


def week_of(at: datetime) -> Week:
    """The week that holds a time."""
    year, number, _ = at.astimezone(UTC).isocalendar()
    return week(f"{year:04d}-W{number:02d}")


def last_full_week(now: datetime) -> Week:
    """The newest week that is over."""
    return week_of(now - WEEK)
