"""The ledger row, and which reporter may write which kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from datetime import datetime

from domain.ledger.events.event_kinds import LedgerKind, Reporter
from domain.ledger.events.payload_codec import read
from domain.ledger.events.payloads import EventPayload
from domain.money import Usdc
from domain.times import timestamp

__all__ = ["Event", "LedgerKind", "NewEvent", "Reporter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of the ledger.

    Shapes: `seq` counts from 1 within a mandate; `pairs_with` is the `seq` of an earlier row that
    reports the same transaction from the other side (agent or chain), set when the row is
    appended and never changed.
    `occurred_at` is the block's time for rows by `chain`, else `created_at`. `tx_hash` is lower
    case. `payload` is the stored JSON; `content` is the same, decoded once (`parsed` passes it in
    where the caller has decoded it already).
    Source: spec 2.4, contract 5.
    """

    event_id: str
    seq: int
    kind: LedgerKind
    reported_by: Reporter
    created_at: datetime
    occurred_at: datetime
    amount_usdc: Usdc | None = None
    tx_hash: str | None = None
    chain_id: int | None = None
    log_index: int | None = None
    block_number: int | None = None
    pairs_with: int | None = None
    payload: Mapping[str, object] = field(default_factory=dict)
    parsed: InitVar[EventPayload | None] = None
    content: EventPayload = field(init=False, compare=False, repr=False)

    def __post_init__(self, parsed: EventPayload | None) -> None:
        object.__setattr__(self, "content", parsed or read(self.kind, self.payload))
        # A plain object is told by its type; anything else is damaged, and named in `content`.
        if type(self.payload) is not dict and not isinstance(self.payload, Mapping):
            object.__setattr__(self, "payload", {})

    def __hash__(self) -> int:
        """An event's id names one row for good."""
        return hash(self.event_id)

    @property
    def violation_codes(self) -> tuple[str, ...]:
        """Codes of the rules that the row broke."""
        return self.content.violation.codes if self.content.violation is not None else ()

    def as_json(self) -> dict[str, object]:
        """The wire form: spec 2.4's fields and the event id."""
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

    kind: LedgerKind
    reported_by: Reporter
    occurred_at: datetime
    amount_usdc: Usdc | None = None
    tx_hash: str | None = None
    chain_id: int | None = None
    log_index: int | None = None
    block_number: int | None = None
    payload: Mapping[str, object] = field(default_factory=dict)
    parsed: InitVar[EventPayload | None] = None
    content: EventPayload = field(init=False, compare=False, repr=False)

    def __post_init__(self, parsed: EventPayload | None) -> None:
        object.__setattr__(self, "content", parsed or read(self.kind, self.payload))
