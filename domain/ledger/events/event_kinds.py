"""Ledger event kinds and reporters."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class LedgerKind(StrEnum):
    """Kinds of ledger rows (spec 2.4)."""

    SIGNED = "signed"
    DEPOSIT = "deposit"
    MOVE = "move"
    BUY = "buy"
    SELL = "sell"
    FEE = "fee"
    RESOLVE = "resolve"
    STOP = "stop"
    WITHDRAW = "withdraw"
    PAYOUT = "payout"
    NOTE = "note"


class Reporter(StrEnum):
    """The writer of a row."""

    OWNER = "owner"
    AGENT = "agent"
    CHAIN = "chain"
    KEEPER = "keeper"


ACTION_KINDS: Final = frozenset(
    {LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE, LedgerKind.RESOLVE}
)


HOUSE: Final = frozenset({Reporter.CHAIN, Reporter.KEEPER})
