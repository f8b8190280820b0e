"""Reconciliation: compares the sums of the ledger's rows with the vault's own totals."""

from __future__ import annotations

from collections.abc import Iterable

from domain.chain_facts import PurseState, VaultState
from domain.ledger.events.chain_events import STOP_REASONS
from domain.ledger.events.payloads import Marked
from domain.ledger.state.journal import Journal
from domain.ledger.state.measured import MeasuredBook
from domain.ledger.state.purse_book import PurseBook


def totals_match(
    book: MeasuredBook, vault: VaultState, *, name: bool = True, agent: str | None = None
) -> bool:
    """True where the sums of the rows are the vault's totals at the same block, and by the rows it
    is paused, stopped for that reason, settled and owing its agent as it says.

    What the vault counts as cash no longer holds the agent's fee, the rows' cash does until it is
    paid. `name`: the terms name an agent; a vault of terms that name none says paused until
    the owner sets one, and no row tells of that. `agent` is the one that they name, and the only
    one that a vault of theirs may have.
    """
    rows = (book.deposits, book.spent, book.received)
    totals = (vault.total_deposited, vault.total_spent, vault.total_returned)
    if rows != tuple(total.micros for total in totals):
        return False
    ended = (book.stopped is not None, book.settled is not None)
    if ended != (vault.stopped, vault.settled):
        return False
    stop_reason = None if book.stopped is None else book.stopped.reason
    if stop_reason not in (None, STOP_REASONS.get(vault.stop_reason, "unknown")):
        return False
    if agent is not None and (vault.agent or agent).lower() != agent.lower():
        return False
    if book.fee_owed != vault.fee_owed.micros:
        return False
    if (book.cash or 0) != vault.cash.micros + vault.fee_owed.micros:
        return False
    is_pause_known = name or book.paused is not None
    closed = vault.stopped or vault.settled
    return closed or not is_pause_known or bool(book.paused) == vault.paused


def purse_matches(book: PurseBook, purses: Iterable[PurseState]) -> bool:
    """True where the purses hold at a block what their rows leave in them, and the hub told of the
    same sums as the vault's own calls.
    """
    balance = sum(p.balance.micros for p in purses)
    return book.agrees and book.inside == balance


def ahead(journal: Journal, block: int) -> bool:
    """True where a receipt brought rows above a block early: nothing can be compared yet."""
    return any(row.place[0] > block for row in journal.recent if not isinstance(row.body, Marked))
