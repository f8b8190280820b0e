"""Credits of paid reads: an agent's daily budget for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from domain.ledger.state.ledger_state import LedgerState
from domain.ledger.state.purse_book import credits_of
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.times import day_of, midnight


def cost(amount: Usdc) -> int:
    """Credits of one read: 0.01 USDC each, rounded up (contract 7)."""
    return credits_of(amount.micros)


def used(states: Iterable[LedgerState], now: datetime) -> int:
    """Credits that an agent used on this UTC day, over all of its mandates: for what it told of,
    and for each payment of its purses, whoever made the bill.
    """
    today = day_of(now)
    return sum(
        s.claimed.credits.get(today, 0) + s.measured.purse.day(today).credits for s in states
    )


def afford(amount: Usdc, *, budget: int | None, spent: int, now: datetime) -> None:
    """Refuse a read that the rest of the day's budget does not cover; without a budget nothing is
    refused.

    Errors: `mandate_budget_exceeded`, with what is left and when the next day begins.
    """
    if budget is None or spent + cost(amount) <= budget:
        return
    remaining = max(0, budget - spent)
    block = refusal(
        "mandate_budget_exceeded",
        remaining={"credits": remaining},
        retry_at=midnight(now),
        cost=cost(amount),
        remaining_credits=remaining,
        budget=budget,
    )
    raise Refused(block)
