"""Progress: worth, realized result, floor, leave-now estimate, rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from domain.ledger.positions import Reading
from domain.mandates.mandate import Status
from domain.money import Usdc, text
from domain.rules.case import Book, shown_status
from domain.rules.codes import CLAUSE_OF, RULE_TEXT
from domain.rules.worth import agent_fee_reserved, cash, floor_now, worth
from domain.times import timestamp

UNWIND_WINDOW: Final = timedelta(days=3)


def exit_cost(book: Book) -> Usdc | None:
    """Sum of marks x spread_bps, rounded up; None before the first chain row."""
    return (
        None
        if book.state.cash is None
        else Usdc(book.state.positions_est).share_up(book.config.spread_bps)
    )


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
    look = _parsed(book.state.next_at)
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


def _position(book: Book, key: str, reading: Reading) -> dict[str, Any]:
    position = book.state.positions[key]
    return {
        "id": key,
        "market": position.market,
        "address": position.address,
        "mark": str(Usdc(reading.value)),
        "cost": str(Usdc(reading.cost)),
        "marked_at": reading.marked_at,
        "source": reading.source,
        "est": True,
    }


def progress(book: Book) -> dict[str, Any]:
    """Fold the ledger into progress.

    Units: USDC as 6-decimal strings; what nobody measured is null.
    Errors: none; an unusable stored value reads as 0 and sets `data_issue`.
    Source: spec 2.6, contract 5.
    """
    s = book.state
    known = s.cash is not None
    told: dict[str, Any] = {
        "worth_est": text(worth(book)),
        "worth_source": s.worth_source,
        "realized": str(Usdc(s.realized)),
        "floor": str(book.mandate.floor),
        "floor_now": str(floor_now(book)),
        "cash": text(cash(book)),
        "cash_est": str(Usdc(s.cash_est_delta + (s.cash or 0))) if known else None,
        "committed": str(Usdc(s.deposits - s.withdrawals)),
        "positions_est": str(Usdc(s.positions_est)) if known else None,
        "positions": [_position(book, key, reading) for key, reading in s.open_positions.items()],
        "fees": str(Usdc(s.fees)),
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
    mark = book.state.whole_mark
    if book.mandate.status is not Status.WORKING or not book.state.open_positions or mark is None:
        return False
    at = _parsed(str(mark["at"]))
    return at is None or (book.now - at).total_seconds() > book.config.mark_fresh_s
