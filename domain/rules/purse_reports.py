"""Reports of payments: of each that the purse made, somebody says what it bought."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from domain.ledger.state.claimed import commitment, explanation
from domain.ledger.state.ledger_state import LedgerState
from domain.ledger.state.purse_book import Payment

REPORT_WITHIN: Final = timedelta(hours=1)


def unexplained(state: LedgerState) -> Iterator[tuple[str, Payment]]:
    """(nonce, payment) of the newest payments of which neither a bill made here nor a report says
    what they bought, the oldest first.
    """
    for nonce, payment in state.measured.purse.newest.items():
        keys = {commitment(nonce), explanation(nonce, payment.payee)}
        if payment.resource is None and not keys & state.claimed.explained.keys():
            yield nonce, payment


def overdue(state: LedgerState, now: datetime) -> list[tuple[str, Payment]]:
    """Those whose hour is over."""
    return [(n, p) for n, p in unexplained(state) if p.at + REPORT_WITHIN <= now]
