"""Weekly statements out of two states of the fold and the rows between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from domain.ledger.events import Event
from domain.ledger.state import LedgerState
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.reads.steps import grouped, of_events, refused_by
from domain.refusals import invalid
from domain.rules.codes import CLAUSE_OF
from domain.times import timestamp

WEEK: Final = timedelta(days=7)


LAST_YEAR: Final = 9999


_FORM: Final = re.compile(r"([0-9]{4})-W([0-9]{2})")


DISCLOSURES: Final = (
    {
        "code": "net_of_fees",
        "text": "Realized results are net of the fees that were reported or measured.",
    },
    {"code": "past_results", "text": "Past results say nothing certain about future ones."},
    {
        "code": "estimates",
        "text": "Worth rests on marks; an estimate may differ from what a sale brings.",
    },
    {
        "code": "off_switch",
        "text": "You can pause, stop and withdraw at any time with your own wallet.",
    },
)


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
    """Read YYYY-Www.

    Errors: `invalid_request`.
    """
    found = _FORM.fullmatch(name)
    try:
        # The year 9999 has a week whose end no calendar holds.
        first = (
            date.fromisocalendar(int(found[1]), int(found[2]), 1)
            if found and int(found[1]) < LAST_YEAR
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


@dataclass(frozen=True, slots=True)
class Span:
    """A mandate's states at both ends of a period, and the rows between."""

    mandate: Mandate
    week: Week
    before: LedgerState
    after: LedgerState
    events: Sequence[Event]


def _worth(state: LedgerState) -> int:
    """Worth in micros; 0 before the first chain row, so that the weeks of a life sum up."""
    return 0 if state.cash is None else state.cash + state.cash_est_delta + state.positions_est


def figures(span: Span) -> dict[str, int]:
    """The sums of a period in micros: worth change = net flows + realized + estimated, exactly."""
    a, b = span.before, span.after
    deposits, withdrawals = b.deposits - a.deposits, b.withdrawals - a.withdrawals
    realized = b.realized - a.realized
    start, end = _worth(a), _worth(b)
    return {
        "start": start,
        "end": end,
        "deposits": deposits,
        "withdrawals": withdrawals,
        "realized": realized,
        "estimated": (end - start) - (deposits - withdrawals) - realized,
        "fee_tools": b.fee_tools - a.fee_tools,
        "fee_venue": b.fee_venue - a.fee_venue,
        "fee_network": b.fee_network - a.fee_network,
        "fee_unclassified": b.fee_unclassified - a.fee_unclassified,
        "fee_agent": b.payouts - a.payouts,
    }


def _money(micros: int) -> str:
    return str(Usdc(micros))


def _parts(f: dict[str, int]) -> dict[str, Any]:
    by_type = {
        n: _money(f[f"fee_{n}"]) for n in ("tools", "venue", "network", "unclassified", "agent")
    }
    return {
        "worth": {"start": _money(f["start"]), "end": _money(f["end"])},
        "flows": {"deposits": _money(f["deposits"]), "withdrawals": _money(f["withdrawals"])},
        "result": {"realized": _money(f["realized"]), "estimated": _money(f["estimated"])},
        "fees": {"by_type": by_type},
    }


def _allowed_vs_used(span: Span) -> dict[str, Any]:
    """The week's largest move and busiest UTC day against the caps."""
    first, last = span.week.start.date().isoformat(), span.week.end.date().isoformat()
    days = {d: v for d, v in span.after.days.items() if first <= d < last}
    busiest = max(days.items(), key=lambda i: (i[1].spent, i[0]), default=None)
    largest = max((span.after.largest_on(d) for d in days), default=0)
    return {
        "largest_move": {"allowed": str(span.mandate.per_tx_cap), "used": _money(largest)},
        "busiest_day": {
            "allowed": str(span.mandate.daily_cap),
            "used": _money(busiest[1].spent if busiest else 0),
            "day": busiest[0] if busiest else None,
        },
    }


def statement(span: Span) -> dict[str, Any]:
    """Spec 2.16's shape for one mandate and one ISO week."""
    broken = [
        {
            "code": code,
            "clause": int(CLAUSE_OF[code]) if code in CLAUSE_OF else None,
            "event_id": e.event_id,
            "at": timestamp(e.created_at),
        }
        for e in span.events
        for code in e.violation_codes
    ]
    attempts = [
        {
            "code": "refused",
            "clause": next(iter(refused_by(e)), None),
            "reason": e.payload["refusal"].get("reason"),
            "event_id": e.event_id,
            "at": timestamp(e.created_at),
        }
        for e in span.events
        if isinstance(e.payload.get("refusal"), dict)
    ]
    return {
        "public_id": span.mandate.public_id,
        "period": {
            "week": span.week.name,
            "from": timestamp(span.week.start),
            "until": timestamp(span.week.end),
            "zone": "UTC",
        },
        **_parts(figures(span)),
        "allowed_vs_used": _allowed_vs_used(span),
        "breaches": broken + attempts,
        "steps": [s.as_json() for s in grouped(of_events(tuple(span.events)))],
        "disclosures": [dict(d) for d in DISCLOSURES],
    }


def together(spans: Sequence[Span], period: Week) -> dict[str, Any]:
    """All mandates: `{totals, mandates[], disclosures[]}`."""
    sums: dict[str, int] = {}
    for span in spans:
        for name, amount in figures(span).items():
            sums[name] = sums.get(name, 0) + amount
    empty = {"start", "end", "deposits", "withdrawals", "realized", "estimated"} | {
        f"fee_{n}" for n in ("tools", "venue", "network", "unclassified", "agent")
    }
    sums = {n: sums.get(n, 0) for n in empty}
    return {
        "period": {
            "week": period.name,
            "from": timestamp(period.start),
            "until": timestamp(period.end),
            "zone": "UTC",
        },
        "totals": _parts(sums),
        "mandates": [
            {
                "public_id": s.mandate.public_id,
                "purpose": s.mandate.purpose,
                "status": s.mandate.status.value,
            }
            | _parts(figures(s))
            for s in spans
        ],
        "disclosures": [dict(d) for d in DISCLOSURES],
    }
