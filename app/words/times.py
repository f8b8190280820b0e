"""Times as a person reads them: UTC from here, the reader's own zone once the page's script has
run.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from markupsafe import Markup

from app.words.text import _
from domain.times import format_day, format_minute

KEPT: Final = 4_096  # times that were shown: a record's are shown again and again
# (below so many seconds, the seconds of one, one, several); the last where none fits.
_UNITS: Final = (
    (60, 1, _("1 second"), _("{n} seconds")),
    (3_600, 60, _("1 minute"), _("{n} minutes")),
    (172_800, 3_600, _("1 hour"), _("{n} hours")),
    (0, 86_400, _("1 day"), _("{n} days")),
)
_TIME: Final = Markup('<time datetime="%s" data-local="%s" title="%s">%s</time>')


def date_text(iso_day: str) -> str:
    """A UTC day in a sentence: 19 Nov 2026."""
    return format_day(date.fromisoformat(iso_day))


def minute_text(iso: str) -> str:
    """A minute in UTC, also on the reader's page: 19 Nov 2026, 14:03 UTC."""
    return format_minute(datetime.fromisoformat(iso))


def _element(iso: str, kind: str, text: str) -> Markup:
    return _TIME % (iso, kind, format_minute(datetime.fromisoformat(iso)), text)


@lru_cache(KEPT)
def day(iso: str | None) -> Markup:
    """The day of a time."""
    if iso is None:
        return Markup("")
    return _element(iso, "date", format_day(datetime.fromisoformat(iso)))


@lru_cache(KEPT)
def moment(iso: str | None) -> Markup:
    """Day and minute."""
    if iso is None:
        return Markup("")
    return _element(iso, "moment", format_minute(datetime.fromisoformat(iso)))


@lru_cache(KEPT)
def clock(iso: str | None) -> Markup:
    """The minute of a time that is near."""
    return (
        Markup("")
        if iso is None
        else _element(iso, "clock", f"{datetime.fromisoformat(iso):%H:%M} UTC")
    )


def distance(iso: str, now: datetime) -> str:
    """The distance of a time from now, in its largest unit."""
    away = datetime.fromisoformat(iso) - now
    future, s = away > timedelta(0), abs(int(away.total_seconds()))
    unit = next((u for u in _UNITS if s < u[0]), _UNITS[-1])
    n = s // unit[1]
    amount = unit[2] if n == 1 else unit[3].format(n=n)
    return (_("in {amount}") if future else _("{amount} ago")).format(amount=amount)
