"""The ledger row, and who may write which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from domain.money import Usdc
from domain.times import timestamp


class Kind(StrEnum):
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
    """Who a row comes from."""

    OWNER = "owner"
    AGENT = "agent"
    CHAIN = "chain"
    KEEPER = "keeper"


AGENT_KINDS: Final = frozenset({Kind.MOVE, Kind.BUY, Kind.SELL, Kind.FEE, Kind.RESOLVE, Kind.NOTE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of the ledger.

    Shapes: `seq` counts from 1 within a mandate; `pairs_with` is the `seq` of an earlier row that
    tells of the same transaction from the other side (agent or chain), set when the row is
    appended and never changed.
    `occurred_at` is the block's time for rows by `chain`, else `created_at`. `tx_hash` is lower
    case. Payload keys: spec 2.4; `executed` {target, selector, spent, received}, `unwound`,
    `settled`, `control`, `reverses` (row_id of a row that a reorg took away) are written by the
    chain reader, money in them as 6-decimal strings.
    Source: spec 2.4, contract 5.
    """

    event_id: str
    seq: int
    kind: Kind
    reported_by: Reporter
    created_at: datetime
    occurred_at: datetime
    amount_usdc: Usdc | None = None
    tx_hash: str | None = None
    chain_id: int | None = None
    log_index: int | None = None
    block_number: int | None = None
    pairs_with: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    # What was derived from this row alone, kept beside it: a row never changes, and is shown many
    # times.
    derived: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def violation_codes(self) -> tuple[str, ...]:
        """Codes of the rules that the row broke."""
        found = self.payload.get("violation")
        codes = found.get("codes") if isinstance(found, Mapping) else None
        return (
            tuple(c for c in codes if isinstance(c, str))
            if isinstance(codes, (list, tuple))
            else ()
        )

    def as_json(self) -> dict[str, Any]:
        """The wire form: spec 2.4's fields and the event id. The same value each time; it is not
        to be changed.
        """
        if "json" not in self.derived:
            self.derived["json"] = self._json()
        shown: dict[str, Any] = self.derived["json"]
        return shown

    def _json(self) -> dict[str, Any]:
        return {
            "event_id": self.event_id,
            "kind": self.kind.value,
            "amount_usdc": None if self.amount_usdc is None else str(self.amount_usdc),
            "tx_hash": self.tx_hash,
            "chain_id": self.chain_id,
            "payload": dict(self.payload),
            "reported_by": self.reported_by.value,
            "created_at": timestamp(self.created_at),
            "occurred_at": timestamp(self.occurred_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """A row before the ledger gives it its place, id, pair and hashes."""

    kind: Kind
    reported_by: Reporter
    occurred_at: datetime
    amount_usdc: Usdc | None = None
    tx_hash: str | None = None
    chain_id: int | None = None
    log_index: int | None = None
    block_number: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
