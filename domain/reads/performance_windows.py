"""Performance windows and charts: the days of an agent, added up over all its mandates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Final, Literal, TypeVar

from domain.ledger.state.day_totals import SCALE, RolledDay
from domain.money import BPS, Usdc
from domain.wire_fields import wire_name

F = TypeVar("F")
WINDOWS: Final = (7, 30, 90, None)
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


_ADDED: Final = ("net", "inflow", "trades", "claimed_trades", "claimed_net", "claimed_fees")


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
        sums = {f: sum(getattr(d, f) for d in rows) for f in _ADDED}
        totals.append(Total(day=name, worth=worth, factor=joint(rows, idle), **sums))
        idle += sum(d.held for d in rows)
    return totals


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


def by_window(figures: Callable[[str | None], F], today: str) -> list[F]:
    """The figures of each window, made of the first UTC day that is in it."""
    return [figures(since_of(today, days)) for days in WINDOWS]


def windows(totals: Sequence[Total], today: str) -> Windows:
    """The measured figures of each window."""
    week, month, quarter, ever = by_window(partial(window, totals), today)
    return Windows(days_7=week, days_30=month, days_90=quarter, since=ever)


def since_of(today: str, days: int | None) -> str | None:
    """The first of the last `days` UTC days, today included."""
    return None if days is None else _day(today, 1 - days)


def _day(day: str, later: int = 1) -> str:
    return (date.fromisoformat(day) + timedelta(days=later)).isoformat()


def days_live(totals: Sequence[Total], today: str) -> int:
    """UTC days on which money was in a mandate of the agent's, today included."""
    count, end = 0, _day(today)
    for t, until in zip(totals, [*(t.day for t in totals[1:]), end], strict=False):
        if t.day > today:
            break
        period = date.fromisoformat(min(until, end)) - date.fromisoformat(t.day)
        count += period.days if t.worth > 0 else int(t.inflow > 0)
    return count


def average_capital(totals: Sequence[Total], today: str, days: int) -> int:
    """Average worth at the end of the last `days` UTC days, in whole USDC, rounded down."""
    if not days:
        return 0
    day, by_day = _day(today, 1 - days), {t.day: t.worth for t in totals}
    at, total = next((t.worth for t in reversed(totals) if t.day < day), 0), 0
    while day <= today:
        at = by_day.get(day, at)
        total += at
        day = _day(day)
    return total // days // 10**6


def chart(totals: Sequence[Total], today: str) -> Chart:
    """Daily worth and result since the start; the newest 400 days."""
    worth: list[tuple[str, Usdc]] = []
    net: list[tuple[str, Usdc]] = []
    day = max(totals[0].day, _day(today, 1 - POINTS)) if totals else _day(today)
    by_day = {t.day: t for t in totals}
    before = [t for t in totals if t.day < day]
    at, result = before[-1].worth if before else 0, sum(t.net for t in before)
    while day <= today:
        if day in by_day:
            at, result = by_day[day].worth, result + by_day[day].net
        worth.append((day, Usdc(at)))
        net.append((day, Usdc(result)))
        day = _day(day)
    return Chart(
        series=(Series(key="worth", points=tuple(worth)), Series(key="net", points=tuple(net)))
    )
