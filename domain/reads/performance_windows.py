"""Performance windows and charts: the days of an agent, added up over all its mandates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, Literal

from domain.ledger.state.day_totals import SCALE, RolledDay
from domain.money import BPS, Usdc
from domain.wire_fields import wire_name

WINDOWS: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "since": None}
POINTS: Final = 400


@dataclass(frozen=True, slots=True)
class Total:
    """One UTC day of all mandates of an agent together."""

    day: str
    worth: int
    net: int
    inflow: int
    factor: int
    trades: int
    claimed_trades: int
    claimed_net: int
    claimed_fees: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Measured figures of a window; null where no money was in a vault. `net_usdc` is worth change
    - net deposits; `twr_bps` the time-weighted return and `max_drawdown_bps` the deepest fall from
    a peak of it, in ten-thousandths.
    """

    net_usdc: Usdc | None
    twr_bps: int | None
    max_drawdown_bps: int | None
    trades: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The fixed windows: the last 7, 30 and 90 UTC days, today included, and all days."""

    days_7: Window = field(metadata=wire_name("7d"))
    days_30: Window = field(metadata=wire_name("30d"))
    days_90: Window = field(metadata=wire_name("90d"))
    since: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart: (UTC day, USDC), oldest first, a point a day."""

    key: Literal["worth", "net"]
    points: tuple[tuple[str, Usdc], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Daily worth and result since the start; the newest 400 days."""

    series: tuple[Series, ...]


def combine_days(mandates: Iterable[Sequence[RolledDay]]) -> list[Total]:
    """The days on which anything was stored, oldest first, all mandates added up."""
    by_day: dict[str, list[tuple[int, RolledDay]]] = {}
    for n, days in enumerate(mandates):
        for day in days:
            by_day.setdefault(day.day, []).append((n, day))
    worths: dict[int, int] = {}
    at_work: dict[int, int] = {}
    worth = idle = 0
    totals = []
    for name in sorted(by_day):
        rows = [d for _, d in by_day[name]]
        for n, d in by_day[name]:
            worth += d.worth - worths.get(n, 0)
            idle -= at_work.get(n, 0)
            worths[n], at_work[n] = d.worth, d.held
        totals.append(_total(name, rows, idle, worth))
        idle += sum(d.held for d in rows)
    return totals


def _total(name: str, rows: Sequence[RolledDay], idle_capital: int, worth: int) -> Total:
    def add(field: str) -> int:
        return sum(getattr(d, field) for d in rows)

    return Total(
        name,
        worth,
        add("net"),
        add("inflow"),
        joint(rows, idle_capital),
        add("trades"),
        add("claimed_trades"),
        add("claimed_net"),
        add("claimed_fees"),
    )


def joint(rows: Sequence[RolledDay], idle_capital: int) -> int:
    """The return of several mandates on one day: 1 + their results over their capital, as it was
    before the results (contract 8); `others` is what mandates without a row that day had in
    positions. One that stands alone has its own, chained over the day.

    So a day on which several come to nothing together returns nothing, and it does not matter which
    of two equal ones won. What was put to work on the day and came to no result is no part of it.
    """
    at_work = [d for d in rows if d.weight]
    if len(at_work) == 1 and not idle_capital:
        return at_work[0].factor
    capital = idle_capital + sum(d.weight for d in at_work)
    result = sum(d.result for d in rows)
    return max(0, SCALE + SCALE * result // capital) if capital and result else SCALE


def nearest(part: int, total: int) -> int:
    """part/whole in ten-thousandths, to the nearest, halves up."""
    return (2 * part * BPS + total) // (2 * total)


def window(totals: Sequence[Total], since: str | None) -> Window:
    """The measured figures from a UTC day on, inclusive."""
    rows = [t for t in totals if since is None or t.day >= since]
    before = next((t.worth for t in reversed(totals) if since is not None and t.day < since), 0)
    measured = before > 0 or any(t.worth or t.inflow for t in rows)
    index, peak, fall = SCALE, SCALE, 0
    for t in rows:
        index = index * t.factor // SCALE
        peak = max(peak, index)
        fall = max(fall, nearest(peak - index, peak))
    return Window(
        net_usdc=Usdc(sum(t.net for t in rows)) if measured else None,
        twr_bps=nearest(index - SCALE, SCALE) if measured else None,
        max_drawdown_bps=fall if measured else None,
        trades=sum(t.trades for t in rows),
    )


def since_of(today: str, days: int | None) -> str | None:
    """The first of the last `days` UTC days, today included."""
    return (
        None if days is None else (date.fromisoformat(today) - timedelta(days=days - 1)).isoformat()
    )


def days_live(totals: Sequence[Total], today: str) -> int:
    """UTC days on which money was in a mandate of the agent's, today included."""
    count = 0
    for n, t in enumerate(totals):
        if t.day > today:
            break
        until = min(totals[n + 1].day if n + 1 < len(totals) else _next(today), _next(today))
        period = (date.fromisoformat(until) - date.fromisoformat(t.day)).days
        count += period if t.worth > 0 else int(t.inflow > 0)
    return count


def average_capital(totals: Sequence[Total], today: str, days: int) -> int:
    """Average worth at the end of the last `days` UTC days, today included, in whole USDC, rounded
    down.
    """
    at, total, by_day = 0, 0, {t.day: t.worth for t in totals}
    day = since_of(today, days) or today
    at = next((t.worth for t in reversed(totals) if t.day < day), 0)
    while day <= today:
        at = by_day.get(day, at)
        total += at
        day = _next(day)
    return total // days // 10**6 if days else 0


def _next(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def chart(totals: Sequence[Total], today: str) -> Chart:
    """Daily worth and result since the start; the newest 400 days."""
    worth: list[tuple[str, Usdc]] = []
    net: list[tuple[str, Usdc]] = []
    if totals and totals[0].day <= today:
        first = max(totals[0].day, since_of(today, POINTS) or "")
        by_day, at, result = {t.day: t for t in totals}, 0, 0
        for t in totals:
            if t.day < first:
                at, result = t.worth, result + t.net
        day = first
        while day <= today:
            if day in by_day:
                at, result = by_day[day].worth, result + by_day[day].net
            worth.append((day, Usdc(at)))
            net.append((day, Usdc(result)))
            day = _next(day)
    return Chart(
        series=(Series(key="worth", points=tuple(worth)), Series(key="net", points=tuple(net)))
    )
