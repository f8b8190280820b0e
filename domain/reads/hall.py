"""What the Hall shows of an agent: windows, rank and charts out of the days of its mandates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from domain.ledger.measured import SCALE, Day
from domain.mandates.mandate import Mandate, Status
from domain.money import BPS, Usdc
from domain.settings import Config
from domain.times import timestamp

WINDOWS: Final[Mapping[str, int | None]] = {"7d": 7, "30d": 30, "90d": 90, "since": None}


POINTS: Final = 400


SORT_LIMIT: Final = 10**15


NO_STAKE: Final = "There is no stake mechanism: an operator puts up nothing here."


CLAIMED: Final = "As the agent reports it; not measured, and no part of any other figure."


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


@dataclass(frozen=True, slots=True)
class Standing:
    """One mandate of the agent, as the Hall counts it; `worth` is None where no chain row told of
    money yet.
    """

    mandate: Mandate
    days: tuple[Day, ...]
    worth: int | None
    stop_reason: str | None
    violations: int


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a Hall row is about."""

    agent_id: str
    name: str
    accepts_mandates: bool
    address_ready: bool


def together(mandates: Iterable[Sequence[Day]]) -> list[Total]:
    """The days on which anything was stored, oldest first, all mandates added up."""
    by_day: dict[str, list[tuple[int, Day]]] = {}
    for n, days in enumerate(mandates):
        for day in days:
            by_day.setdefault(day.day, []).append((n, day))
    held: dict[int, int] = {}
    found = []
    for name in sorted(by_day):
        rows = [d for _, d in by_day[name]]
        others = sum(held.values()) - sum(held.get(n, 0) for n, _ in by_day[name])
        held |= {n: d.worth for n, d in by_day[name]}
        found.append(_total(name, rows, others, sum(held.values())))
    return found


def _total(name: str, rows: Sequence[Day], others: int, worth: int) -> Total:
    def add(field: str) -> int:
        return sum(getattr(d, field) for d in rows)

    return Total(
        name,
        worth,
        add("net"),
        add("inflow"),
        joint(rows, others),
        add("trades"),
        add("claimed_trades"),
        add("claimed_net"),
        add("claimed_fees"),
    )


def joint(rows: Sequence[Day], others: int) -> int:
    """The return of several mandates on one day, weighted by what each held when the day began.

    What came in during the day adds weight only where that lowers the outcome: money that is put
    beside a loss cannot thin it out. `others` is what mandates without a row that day held; they
    won and lost nothing.
    """
    starts = [(d.factor, max(0, d.start)) for d in rows] + [(SCALE, max(0, others))]
    whole, product = sum(w for _, w in starts), sum(f * w for f, w in starts)
    for d in sorted(rows, key=lambda d: d.factor):
        if whole and d.factor * whole >= product:
            break
        whole, product = whole + d.inflow, product + d.inflow * d.factor
    return product // whole if whole else SCALE


def nearest(part: int, whole: int) -> int:
    """part/whole in ten-thousandths, to the nearest, halves up."""
    return (2 * part * BPS + whole) // (2 * whole)


def window(totals: Sequence[Total], since: str | None) -> dict[str, Any]:
    """`{net_usdc, twr_bps, max_drawdown_bps, trades}` from a UTC day on, inclusive; null where no
    money was there.
    """
    rows = [t for t in totals if since is None or t.day >= since]
    before = next((t.worth for t in reversed(totals) if since is not None and t.day < since), 0)
    measured = before > 0 or any(t.worth or t.inflow for t in rows)
    index, peak, fall = SCALE, SCALE, 0
    for t in rows:
        index = index * t.factor // SCALE
        peak = max(peak, index)
        fall = max(fall, nearest(peak - index, peak))
    return {
        "net_usdc": str(Usdc(sum(t.net for t in rows))) if measured else None,
        "twr_bps": nearest(index - SCALE, SCALE) if measured else None,
        "max_drawdown_bps": fall if measured else None,
        "trades": sum(t.trades for t in rows),
    }


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
        span = (date.fromisoformat(until) - date.fromisoformat(t.day)).days
        count += span if t.worth > 0 else int(t.inflow > 0)
    return count


def _next(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def chart(totals: Sequence[Total], today: str) -> dict[str, Any]:
    """Daily worth and result since the start; the newest 400 days."""
    worth: list[list[str]] = []
    net: list[list[str]] = []
    if not totals or totals[0].day > today:
        return {"series": [{"key": "worth", "points": worth}, {"key": "net", "points": net}]}
    first = max(totals[0].day, since_of(today, POINTS) or "")
    by_day, at, result = {t.day: t for t in totals}, 0, 0
    for t in totals:
        if t.day < first:
            at, result = t.worth, result + t.net
    day = first
    while day <= today:
        if day in by_day:
            at, result = by_day[day].worth, result + by_day[day].net
        worth.append([day, str(Usdc(at))])
        net.append([day, str(Usdc(result))])
        day = _next(day)
    return {"series": [{"key": "worth", "points": worth}, {"key": "net", "points": net}]}


def requirements(live: int, trades: int, funded: int, config: Config) -> list[dict[str, Any]]:
    """What a rank needs and what is there (contract 8)."""
    return [
        {"code": "days_live", "need": config.ranked_days, "have": live},
        {"code": "trades_measured", "need": config.ranked_trades, "have": trades},
        {"code": "funded_mandates", "need": config.ranked_funded, "have": funded},
    ]


_LACKS: Final = {
    "days_live": "{have} of {need} days live",
    "trades_measured": "{have} of {need} measured trades",
    "funded_mandates": "{have} of {need} funded mandates",
}


def hall_row(
    subject: Subject,
    standings: Sequence[Standing],
    totals: Sequence[Total],
    now: datetime,
    config: Config,
) -> dict[str, Any]:
    """One row of the Hall (spec 2.15)."""
    today = now.astimezone(UTC).date().isoformat()
    windows = {name: window(totals, since_of(today, days)) for name, days in WINDOWS.items()}
    live, trades = days_live(totals, today), sum(t.trades for t in totals)
    funded = sum(1 for s in standings if s.worth is not None)
    asked = requirements(live, trades, funded, config)
    lacks = [_LACKS[r["code"]].format(**r) for r in asked if r["have"] < r["need"]]
    return {
        "agent_id": subject.agent_id,
        "name": subject.name,
        "days_live": live,
        "trades_total": trades,
        "ranked": not lacks,
        "unranked_reason": ("Not ranked yet: " + ", ".join(lacks) + ".") if lacks else None,
        "rank_requirements": asked if lacks else [],
        "accepts_mandates": subject.accepts_mandates,
        "address_ready": subject.address_ready,
        "as_of": timestamp(now),
        "windows": windows,
        "delegators": _delegators(standings, windows),
        "mandates_total": len(standings),
        "floor_stops": sum(s.stop_reason == "floor" for s in standings),
        "self_stops": sum(s.stop_reason == "agent" for s in standings),
        "violations": sum(s.violations for s in standings),
        "operator_stake_usdc": None,
        "operator_stake_reason": NO_STAKE,
        "self_reported": _self_reported(totals, since_of(today, 30) or ""),
    }


def _delegators(standings: Sequence[Standing], windows: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "total": len({s.mandate.owner_id for s in standings}),
        "working": len(
            {s.mandate.owner_id for s in standings if s.mandate.status is Status.WORKING}
        ),
        "net_7d_usdc": windows["7d"]["net_usdc"],
        "net_30d_usdc": windows["30d"]["net_usdc"],
    }


def _self_reported(totals: Sequence[Total], since: str) -> dict[str, Any]:
    return {
        "trades_total": sum(t.claimed_trades for t in totals),
        "net_30d_usdc": str(Usdc(sum(t.claimed_net for t in totals if t.day >= since))),
        "net_since_usdc": str(Usdc(sum(t.claimed_net for t in totals))),
        "fees_usdc": str(Usdc(sum(t.claimed_fees for t in totals))),
        "note": CLAIMED,
    }


def mandate_row(s: Standing) -> dict[str, Any]:
    """One mandate in the single-agent read: what is measured, and nothing of what its owner
    wrote.
    """
    m, told = s.mandate, window(together([s.days]), None)
    return {
        "public_id": m.public_id,
        "status": m.status.value,
        "chain_id": m.chain_id,
        "vault_address": m.vault_address,
        "budget_usdc": str(m.budget_usdc),
        "signed_at": timestamp(m.signed_at) if m.signed_at else None,
        "ends_at": timestamp(m.ends_at) if m.ends_at else None,
        "worth_usdc": None if s.worth is None else str(Usdc(s.worth)),
        **told,
        "stop_reason": s.stop_reason,
        "violations": s.violations,
    }


def facts(
    row: Mapping[str, Any], totals: Sequence[Total], working: int, now: datetime
) -> dict[str, int | None]:
    """What the Hall can be sorted by; null where it is not known."""
    month, since = row["windows"]["30d"], since_of(now.astimezone(UTC).date().isoformat(), 30) or ""
    known = month["net_usdc"] is not None
    return {
        "days_live": row["days_live"],
        "trades_total": row["trades_total"],
        "net_30d": sum(t.net for t in totals if t.day >= since) if known else None,
        "twr_30d": min(SORT_LIMIT, month["twr_bps"]) if known else None,
        "drawdown_30d": month["max_drawdown_bps"],
        "working": working,
    }
