"""Caps: whose limit binds, and what is used of it."""

from __future__ import annotations

from domain.money import ZERO, Usdc, total
from domain.rules.case import Book, today


def spent_on(book: Book, day: str) -> Usdc:
    """Spend of a UTC day: what the chain measured and what the agent reports beyond it."""
    told = book.state.days.get(day)
    return Usdc(told.spent) if told else ZERO


def spent_today(book: Book) -> Usdc:
    """Spend of this UTC day."""
    return spent_on(book, today(book))


def reserved(book: Book) -> Usdc:
    """Amounts of calldata that was handed out and may still be sent."""
    return total(r.amount for r in book.reservations)


def per_tx_cap(book: Book) -> tuple[Usdc, str]:
    """The cap per action and who set it: the stricter of mandate and policy binds (contract 5)."""
    own, policy = book.mandate.per_tx_cap, book.policy.per_tx_cap_usdc if book.policy else None
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")


def daily_cap(book: Book) -> Usdc:
    """The cap per UTC day."""
    return book.mandate.daily_cap


def budget(book: Book) -> tuple[Usdc, str]:
    """The budget and who set it: a policy's total cap may be stricter."""
    own, policy = book.mandate.budget_usdc, book.policy.total_cap_usdc if book.policy else None
    return (policy, "policy") if policy is not None and policy < own else (own, "mandate")
