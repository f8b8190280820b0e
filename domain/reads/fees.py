"""Fees by class, and the two nets that are never summed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from domain.money import Usdc, text
from domain.rules.case import Book
from domain.rules.worth import agent_fee_reserved, committed, worth


def cents(amount: Usdc) -> str:
    """An amount with 2 decimals, half away from zero (spec 2.1: some derived fee figures)."""
    sign = "-" if amount.micros < 0 else ""
    rounded = (abs(amount.micros) + 5_000) // 10_000
    return f"{sign}{rounded // 100}.{rounded % 100:02d}"


def share(part: Usdc, whole: Usdc) -> str | None:
    """part / whole in percent with 2 decimals; None of nothing."""
    if whole.micros <= 0:
        return None
    return str((Decimal(part.micros) * 100 / Decimal(whole.micros)).quantize(Decimal("0.01")))


def fees(book: Book) -> dict[str, Any]:
    """Spec 2.8's shape.

    Units: USDC, 6 decimals; the two nets 2 decimals. An unclassified fee is never folded into
    venue.
    """
    s = book.state
    at, reserve, put_in = worth(book), agent_fee_reserved(book), committed(book)
    net = None if at is None or reserve is None else at - put_in - reserve
    return {
        "tools": str(Usdc(s.fee_tools)),
        "venue": str(Usdc(s.fee_venue)),
        "network": str(Usdc(s.fee_network)),
        "unclassified": {
            "amount": str(Usdc(s.fee_unclassified)),
            "count": s.fee_unclassified_count,
            "source": "agent",
        },
        "agent_fee": {
            "reserved_est": text(reserve),
            "paid": str(Usdc(s.payouts)),
            "paid_source": "chain" if s.payouts else None,
        },
        "realized_total": str(Usdc(s.fees + s.payouts)),
        "net_after_fees_est": {
            "value": None if net is None else cents(net),
            "est": True,
            "source": s.worth_source,
            "pct": None if net is None else share(net, put_in),
            "formula": "worth_est - committed - agent_fee_reserved",
        },
        "net_after_fees_realized": {
            "value": cents(Usdc(s.realized)),
            "est": False,
            "formula": "resolve - fees - payouts",
        },
    }
