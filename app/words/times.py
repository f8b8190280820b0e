"""Times as a person reads them: UTC from here, the reader's own zone once the page's script has
run.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from markupsafe import Markup

KEPT: Final = 4_096  # times that were shown: a record's are shown again and again
_TIME: Final = Markup('<time datetime="%s" data-local="%s" title="%s">%s</time>')


def _element(iso: str, kind: str, text: str) -> Markup:
    stamp = f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M} UTC"
    return _TIME % (iso, kind, stamp, text)


@lru_cache(KEPT)
def day(iso: str | None) -> Markup:
    """The day of a time."""
    if iso is None:
        return Markup("")
    at = datetime.fromisoformat(iso)
    return _element(iso, "date", f"{at.day} {at:%b %Y}")


@lru_cache(KEPT)
def moment(iso: str | None) -> Markup:
    """Day and minute."""
    if iso is None:
        return Markup("")
    at = datetime.fromisoformat(iso)
    return _element(iso, "moment", f"{at.day} {at:%b}, {at:%H:%M} UTC")


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
    units = ((60, 1, "s"), (3_600, 60, "min"), (172_800, 3_600, "h"))
    amount = next((f"{s // unit_s} {unit}" for below, unit_s, unit in units if s < below), None)
    amount = amount or f"{s // 86_400} days"
    return f"in {amount}" if future else f"{amount} ago"
