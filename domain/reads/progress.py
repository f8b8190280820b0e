"""Progress: worth, realized result, floor, leave-now estimate, rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from domain.ledger.measured import Position
from domain.mandates.mandate import Status
from domain.money import ZERO, Usdc, text
from domain.rules.caps import pending
from domain.rules.case import Book, shown_status
from domain.rules.codes import CLAUSE_OF, RULE_TEXT
from domain.rules.stop_line import fresh
from domain.rules.worth import (
    agent_fee_reserved,
    cash,
    committed,
    floor_now,
    positions_est,
    realized,
    realized_source,
    valuation,
    worth,
)
from domain.times import timestamp

UNWIND_WINDOW: Final = timedelta(days=3)


def exit_cost(book: Book) -> Usdc | None:
    """Sum of marks x spread_bps, rounded up; None before the first chain row."""
    held = positions_est(book)
    return None if held is None else max(ZERO, held).share_up(book.config.spread_bps)


def leave_now_basis(book: Book) -> dict[str, Any]:
    """cash + positions_est - exit_cost_est, with the spread."""
    cost, at = exit_cost(book), worth(book)
    value = None if at is None or cost is None else at - cost
    return {
        "value": text(value),
        "formula": "cash + positions_est - exit_cost_est",
        "spread_bps": book.config.spread_bps,
    }


def leave_now(book: Book) -> Usdc | None:
    """What leaving now would bring, after the exit cost and the agent's fee; an estimate."""
    cost, at, fee = exit_cost(book), worth(book), agent_fee_reserved(book)
    return None if at is None or cost is None or fee is None else at - cost - fee


def rules(book: Book) -> list[dict[str, Any]]:
    """One entry a rule; `ok` is false once it was broken (spec 2.4 rule 2)."""
    broken = book.state.violations
    return [
        {"code": code, "clause": int(clause), "text": RULE_TEXT[code], "ok": not broken.get(code)}
        for code, clause in CLAUSE_OF.items()
    ]


def _parsed(value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def next_event(book: Book) -> dict[str, Any] | None:
    """The soonest of the end, the agent's next look, an approval's expiry and the settlement
    (contract 5).
    """
    m = book.mandate
    coming: list[tuple[datetime, str]] = []
    if m.status in (Status.SIGNED, Status.WORKING) and m.ends_at is not None:
        coming.append((m.ends_at, "ends_at"))
    look = _parsed(book.state.claimed.next_at)
    if look is not None and m.status is Status.WORKING:
        coming.append((look, "next_at"))
    coming += [
        (a.expires_at, "approval_expiry") for a in book.approvals if a.shown(book.now) == "pending"
    ]
    closed = m.stopped_at or (m.ends_at if m.ended(book.now) else None)
    if closed is not None and m.status is not Status.SETTLED and m.vault_address:
        coming.append((closed + UNWIND_WINDOW, "settle"))
    later = sorted((at, kind) for at, kind in coming if at > book.now)
    return {"kind": later[0][1], "at": timestamp(later[0][0])} if later else None


def day(book: Book) -> int | None:
    """Days since the signature, counting from 1; None before it."""
    since = book.mandate.signed_at
    return (
        None
        if since is None
        else max(1, min((book.now - since).days + 1, book.mandate.horizon_days))
    )


def _position(
    book: Book, key: str, told: tuple[Position, int, str, datetime | None]
) -> dict[str, Any]:
    position, value, source, at = told
    return {
        "id": key,
        "market": position.place.market,
        "address": position.place.address,
        "mark": str(Usdc(value)),
        "cost": str(Usdc(position.cost)),
        "marked_at": None if at is None else timestamp(at),
        "source": source,
        "est": True,
        "parts": [
            {
                "id": name,
                "cost_est": str(Usdc(part.cost)),
                "mark_est": text(None if part.mark is None else Usdc(part.mark)),
                "est": True,
            }
            for name, part in book.state.claimed.parts.items()
            if part.of == key and part.opened
        ],
    }


def pending_claims(book: Book) -> dict[str, Any]:
    """Actions that no chain row tells of yet: they count against the day, and nothing else."""
    claims = pending(book).values()
    return {
        "count": len(claims),
        "out": str(Usdc(sum(c.out for c in claims))),
        "in": str(Usdc(sum(c.into for c in claims))),
        "oldest_at": timestamp(min(c.at for c in claims)) if claims else None,
    }


def progress(book: Book) -> dict[str, Any]:
    """Fold the ledger into progress.

    Units: USDC as 6-decimal strings; what nobody measured is null.
    Errors: none; an unusable stored value reads as 0 and sets `data_issue`.
    Source: spec 2.6, contract 5.
    """
    s, at = book.state, valuation(book)
    told: dict[str, Any] = {
        "worth_est": text(worth(book)),
        "worth_source": at.source,
        "realized": str(realized(book)),
        "realized_source": realized_source(book),
        "floor": str(book.mandate.floor),
        "floor_now": str(floor_now(book)),
        "cash": text(cash(book)),
        "committed": str(committed(book)),
        "positions_est": text(positions_est(book)),
        "positions": [_position(book, key, p) for key, p in at.positions.items()],
        "pending_claims": pending_claims(book),
        "fees": str(Usdc(s.claimed.fees)),
        "agent_fee_reserved": text(agent_fee_reserved(book)),
        "leave_now_est": text(leave_now(book)),
        "leave_now_basis": leave_now_basis(book),
        "exit_cost_est": text(exit_cost(book)),
        "rules": rules(book),
        "next_event": next_event(book),
        "status": shown_status(book),
        "day": day(book),
        "horizon_days": book.mandate.horizon_days,
    }
    if s.bad or book.mandate.data_issue or mark_is_stale(book):
        told["data_issue"] = True
    return told


def mark_is_stale(book: Book) -> bool:
    """True where open positions of a working mandate rest on a house mark that is too old to act
    on.
    """
    mark = book.measured.mark
    if book.mandate.status is not Status.WORKING or not book.measured.opened or mark is None:
        return False
    return not fresh(mark, book)
