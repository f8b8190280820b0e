"""Limits: allowed against used, what is left, and what was broken."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any, Final

from domain.money import Usdc, text
from domain.rules.caps import budget, daily_cap, per_tx_cap, reserved, spent_today
from domain.rules.case import Book, moment, today
from domain.rules.checks import remaining
from domain.rules.codes import CLAUSE_OF
from domain.rules.worth import committed, floor_now, worth
from domain.times import timestamp

ROLLING: Final = timedelta(hours=24)


def rolling_24h(book: Book) -> Usdc:
    """Spend of the last 24 hours, to the minute; two caps can meet at midnight (contract 5)."""
    since = (moment(book) - ROLLING).astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
    return Usdc(sum(amount for minute, amount in book.state.minutes.items() if minute >= since))


def _used(value: str | int | None, source: str, basis: str, **more: Any) -> dict[str, Any]:
    return {"value": value, "source": source, "basis": basis} | more


def allowed(book: Book) -> dict[str, Any]:
    """What the terms and the agent's policy allow; the stricter binds."""
    cap, cap_by = per_tx_cap(book)
    most, most_by = budget(book)
    m = book.mandate
    return {
        "budget": {"value": str(most), "clause": 1, "set_by": most_by},
        "per_action": {"value": str(cap), "clause": 2, "set_by": cap_by},
        "per_day": {"value": str(daily_cap(book)), "clause": 3, "set_by": "mandate"},
        "stop_line": {
            "value": str(floor_now(book)),
            "signed": str(m.floor),
            "clause": 4,
            "set_by": "mandate",
        },
        "period": {
            "value": timestamp(m.ends_at) if m.ends_at else None,
            "clause": 8,
            "set_by": "mandate",
        },
        "pending_approvals": {
            "value": book.config.pending_approvals_max,
            "clause": 6,
            "set_by": "service",
        },
        "paid_reads": {
            "value": book.policy.credit_budget_daily if book.policy else None,
            "clause": None,
            "set_by": "policy",
            "unit": "credits a UTC day",
        },
    }


def source_of(book: Book) -> str:
    """Where figures of spend come from: the chain alone, or also what only the agent reports."""
    claimed = any(day.claimed for day in book.state.days.values())
    return "agent" if claimed or not book.state.chain_rows else "chain"


def used(book: Book) -> dict[str, Any]:
    """What is used of each, with where the figure comes from."""
    s, m = book.state, book.mandate
    source = source_of(book)
    return {
        "budget": _used(str(committed(book)), "chain", "deposits - withdrawals"),
        "per_action": _used(
            str(Usdc(s.largest[0])), source, "largest single action", day=s.largest[1]
        ),
        "per_day": _used(
            str(spent_today(book)),
            source,
            "gross spend of the UTC day; what comes back gives nothing back",
            reserved=str(reserved(book)),
        ),
        "stop_line": _used(text(worth(book)), s.worth_source, "worth_est"),
        "period": _used(timestamp(book.now), "clock", "now" if m.signed_at else "not signed"),
        "pending_approvals": _used(
            sum(a.shown(book.now) == "pending" for a in book.approvals),
            "service",
            "items waiting for the owner",
        ),
        "paid_reads": _used(
            credits_today(book), "agent", "1 credit = 0.01 USDC, rounded up a read; UTC day"
        ),
    }


def credits_today(book: Book) -> int:
    """Paid-read credits of the UTC day."""
    told = book.state.days.get(today(book))
    return told.credits if told else 0


def breaches(book: Book) -> list[dict[str, Any]]:
    """`{code, clause, event_id, at, detail}`, newest first."""
    return [
        {
            "code": code,
            "clause": int(CLAUSE_OF[code]) if code in CLAUSE_OF else None,
            "event_id": row["event_id"],
            "at": row["at"],
            "detail": (row.get("detail") or {}).get(code, {}),
        }
        for row in book.state.breaches
        for code in row["codes"]
    ]


def limits(book: Book) -> dict[str, Any]:
    """Shape `{allowed, used, breaches, remaining, rolling_24h}` (spec 2.9, contract 5)."""
    return {
        "allowed": allowed(book),
        "used": used(book),
        "remaining": remaining(book).as_json(),
        "rolling_24h": _used(
            str(rolling_24h(book)), source_of(book), "last 24 hours, to the minute"
        ),
        "breaches": breaches(book),
    }
