"""Reversals: a row whose log or block left the chain gets a row that takes it back."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.pairing import LogHistory
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import LogReversed

LOG_GONE: Final = "The chain was reorganised; this row's log is gone."
BLOCK_GONE: Final = "The chain was reorganised; the block of this reading is gone."


def reversal(lost: LogHistory, now: datetime, chain_id: int, text: str = LOG_GONE) -> NewEvent:
    """The row that takes a log or a reading back, with all that it set."""
    event = lost.now
    payload = LogReversed(
        event_id=lost.first.event_id,
        seq=event.seq,
        kind=event.kind,
        amount=event.amount_usdc if event.kind is not LedgerKind.RESOLVE else None,
        tx_hash=event.tx_hash,
        occurred_at=event.occurred_at,
        body=event.content.body,
        text=text,
    )
    return NewEvent(
        kind=LedgerKind.NOTE,
        reported_by=Reporter.CHAIN,
        occurred_at=now,
        tx_hash=event.tx_hash,
        chain_id=chain_id,
        payload=written(payload),
    )
