"""Whether the ledger's rows add up to what the vault itself says."""

from __future__ import annotations

from domain.facts import VaultState
from domain.ledger.chain_events import STOP_REASONS
from domain.ledger.journal import Journal
from domain.ledger.measured import Measured
from domain.ledger.payloads import Marked


def agree(m: Measured, vault: VaultState, *, named: bool = True, agent: str | None = None) -> bool:
    """True where the sums of the rows are the vault's totals at the same block, and by the rows it
    is paused, stopped for that reason, settled and owing its agent as it says.

    What the vault counts as cash no longer holds the agent's fee, the rows' cash does until it is
    paid. `named`: the terms name an agent; a vault of terms that name none says paused until
    the owner sets one, and no row tells of that. `agent` is the one that they name, and the only
    one that a vault of theirs may have.
    """
    rows = (m.deposits, m.spent, m.received)
    totals = (vault.total_deposited, vault.total_spent, vault.total_returned)
    if rows != tuple(total.micros for total in totals):
        return False
    ended = (m.stopped is not None, m.settled is not None)
    if ended != (vault.stopped, vault.settled):
        return False
    why = None if m.stopped is None else m.stopped.reason
    if why not in (None, STOP_REASONS.get(vault.stop_reason, "unknown")):
        return False
    if agent is not None and (vault.agent or agent).lower() != agent.lower():
        return False
    if m.fee_owed != vault.fee_owed.micros:
        return False
    if (m.cash or 0) != vault.cash.micros + vault.fee_owed.micros:
        return False
    told = named or m.paused is not None
    closed = vault.stopped or vault.settled
    return closed or not told or bool(m.paused) == vault.paused


def ahead(journal: Journal, block: int) -> bool:
    """True where rows of the chain stand above a block: a receipt brought them early, and nothing
    can be compared there yet.
    """
    return any(row.place[0] > block for row in journal.recent if not isinstance(row.what, Marked))
