"""Whether the ledger's rows add up to what the vault itself says."""

from __future__ import annotations

from domain.facts import VaultState
from domain.ledger.journal import Journal
from domain.ledger.measured import Measured
from domain.ledger.payloads import Marked


def agree(m: Measured, vault: VaultState) -> bool:
    """True where the sums of the rows are the vault's totals at the same block.

    A settled vault has handed its money over: of it only the totals of its calls are compared.
    """
    rows = (m.deposits, m.spent, m.received)
    totals = (vault.total_deposited, vault.total_spent, vault.total_returned)
    if rows != tuple(total.micros for total in totals):
        return False
    if (m.settled is not None) != vault.settled:
        return False
    if vault.settled:
        return True
    return (m.cash or 0) == vault.cash.micros and (m.stopped is not None) == vault.stopped


def ahead(journal: Journal, block: int) -> bool:
    """True where rows of the chain stand above a block: a receipt brought them early, and nothing
    can be compared there yet.
    """
    return any(row.place[0] > block for row in journal.recent if not isinstance(row.what, Marked))
