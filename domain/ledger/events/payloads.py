"""Ledger event payloads: one frozen dataclass per event kind.

`payload_codec` reads them, once, where a row becomes an `Event`, and writes them, by the table of
`payload_schema`, which alone knows the keys. From there on the types are trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from domain.ledger.events.event_kinds import LedgerKind
from domain.money import ZERO, Usdc

Json: TypeAlias = Mapping[str, object]
"""An object that is stored and shown as received; nothing is derived from it."""

Outcome = Literal["reverted", "elsewhere", "not_found"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("reverted", "elsewhere", "not_found")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTarget:
    """The target of an action: a market's id, or an address and a selector, as reported."""

    market: str | None = None
    address: str | None = None
    selector: str | None = None
    label: str | None = None

    @property
    def key(self) -> str:
        """The market, else the address in lower case: the key of positions."""
        return self.market or (self.address.lower() if self.address else UNKNOWN)


UNKNOWN: Final = "unknown"
NOWHERE: Final = CallTarget()


@dataclass(frozen=True, slots=True, kw_only=True)
class LotLabel:
    """The name that an agent gives to a part of a position."""

    id: str | None = None
    market: str | None = None
    side: str | None = None
    label: str | None = None


# -- by the chain and the keeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Deposited:
    """USDC came into the vault; `sender` is the zero address where it was booked by `sync`."""

    sender: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A call that the vault let through. `approved` is what the target might have pulled; `purse`:
    the call put money into the mandate's purse or took it back.
    """

    target: CallTarget
    spent: Usdc = ZERO
    received: Usdc = ZERO
    approved: Usdc = ZERO
    agent: str | None = None
    data_hash: str | None = None
    purse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwound:
    """A call on a closed vault that brought a position back, or what lay in the `purse`."""

    target: CallTarget
    received: Usdc = ZERO
    by: str | None = None
    data_hash: str | None = None
    purse: bool = False


PurseChange = Literal["funded", "drained", "voided", "came_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseMoved:
    """A change in the mandate's purse that is no payment; the row's amount is what was put
    in, what came in from elsewhere, or what went back to the vault.

    Shapes: `to_owner` is what went to the owner besides; `sender` who sent what came in; `epoch`
    that of the bills that are good from now on.
    """

    change: PurseChange
    purse: str
    to_owner: Usdc = ZERO
    sender: str | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """The owner withdrew everything but the agent's fee."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPaid:
    """The agent's fee was paid."""

    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """No more actions; `record_only` says that the record was stopped, by the owner or at the stop
    line by the keeper, and not the vault."""

    reason: str | None = None
    by: str | None = None
    record_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The vault's own result."""

    spent: Usdc
    returned: Usdc
    gain: Usdc
    agent_fee: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The owner took the agent's authority away, or gave it back."""

    change: Literal["paused", "resumed"]
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The vault's cash and its probes at one block: a whole mark. One that was read names its
    block, and by its hash on which branch of the chain that stood.
    """

    cash: Usdc
    positions: Usdc
    floor: Usdc
    block: int | None = None
    block_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReversed:
    """A reorganisation took a row's log away; `body` is the body of that row."""

    event_id: str
    kind: LedgerKind
    occurred_at: datetime | None
    seq: int | None = None
    amount: Usdc | None = None
    tx_hash: str | None = None
    body: Payload | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEnded:
    """No chain row will confirm what an agent reported."""

    event_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentUnexplained:
    """Within the hour nothing said what a payment of the purse bought; `event_id` is its row's."""

    event_id: str
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNoticed:
    """A notice reached its owner by a channel, or all tries of it failed; no address is told."""

    kind: str
    channel: Literal["webhook", "push", "email"]
    outcome: Literal["delivered", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueFilled:
    """A trade at the venue of a live order that cites the mandate, as the venue reported it.

    Shapes: `first` of its order; `tid` is the venue's name of the trade, `oid` that of the order.
    Units: `px` in USDC, `size` in the coin, fees in USDC, all to the venue's own decimals; `fee` is
    the whole, with `builder_fee`, and negative where the venue gave some back.
    """

    venue: str
    network: str
    order_id: str
    product: str
    is_buy: bool
    px: Decimal
    size: Decimal
    fee: Decimal
    builder_fee: Decimal
    first: bool = False
    reduce_only: bool = False
    tid: int | None = None
    oid: int | None = None
    at: datetime | None = None


# -- by the owner


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsSigned:
    """The owner signed the terms."""

    digest: str | None = None
    signer_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided:
    """The owner decided about a pending action."""

    approval_id: str | None
    status: str = "recorded"
    reason: str | None = None
    target: CallTarget = NOWHERE
    text: str | None = None


# -- by the agent


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatement:
    """The fields that an agent may send with any report.

    Shapes: `mark` is its own estimate of the part or position; `next_at` when it looks again;
    `notional` is written by the service: the action went to a venue or a paid host, so that no
    vault's log will tell of it; `ordered` with it where that venue's orders are made here, so that
    the venue's own fills tell of them. Units: USDC.
    """

    target: CallTarget = NOWHERE
    part: LotLabel | None = None
    mark: Usdc | None = None
    direction: Literal["in", "out"] | None = None
    why: str | None = None
    text: str | None = None
    next_at: str | None = None
    fee_kind: str | None = None
    resource: str | None = None
    preview: object = None
    notional: bool = False
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(AgentStatement):
    """A buy, sell, move or resolve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidFee(AgentStatement):
    """A fee; `fee_kind` classes it, `resource` is what was read for it.

    Shapes: a row by the chain is an x402 payment that left the mandate's `purse`, with its `payee`
    and the `nonce` of its bill. A report by the agent with a `salt` says what such a payment
    bought: `nonce` is then the bill's last 28 bytes, which commit to resource, payee and salt.
    """

    payee: str | None = None
    nonce: str | None = None
    purse: str | None = None
    salt: str | None = None

    @property
    def explains(self) -> bool:
        """True for a report of what a measured payment bought."""
        return self.salt is not None

    @property
    def paid_read(self) -> bool:
        """True for a fee that paid for a read, by what it is: named so, or naming what was read."""
        name = self.fee_kind in PAID_READS
        return name or (bool(self.resource) and self.fee_kind not in OTHER_FEES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(AgentStatement):
    """A note of any writer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAttempt:
    """An attempt that was refused (spec 2.5); `proof` is the revert that shows it."""

    reason: str
    source: str | None = None
    reason_source: str = "agent"
    check: str | None = None
    attempted: Json | None = None
    proof: Json | None = None


Payload: TypeAlias = (
    Deposited | Executed | Unwound | PurseMoved | Withdrawn | AgentPaid | Stopped | Settled
    | Control | Marked | LogReversed | ClaimEnded | PaymentUnexplained | OwnerNoticed | VenueFilled
    | TermsSigned | ApprovalDecided | Reported | PaidFee | Noted | RefusedAttempt
)  # fmt: skip

OTHER_FEES: Final = frozenset({"venue", "gas", "network"})
PAID_READS: Final = frozenset({"x402", "tools", "paid_read"})


# -- beside the body


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The rules that a row broke, and the numbers by rule; written by the service only."""

    codes: tuple[str, ...]
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMoved:
    """The row whose log this is, recorded again at another place in the chain.

    `moved`: it stood in the ledger until now, so that no sum changes; else it had been taken back.
    """

    event_id: str
    log_index: int | None = None
    moved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPosition:
    """The answer of one value probe; `key` is the market that names it, else its address in lower
    case. `value` is None where it did not answer. Units: USDC.
    """

    key: str
    value: Usdc | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The vault right after a log, as the log itself says, or at one block that was read.

    Shapes: `is_complete` says that every value probe of the vault answered, so that cash +
    positions is its worth. `cash` holds the agent's unpaid fee. Units: USDC.
    Source: contract 5, "Observations".
    """

    block: int
    cash: Usdc
    positions: tuple[ObservedPosition, ...]
    is_complete: bool

    def values(self) -> dict[str, int]:
        """Micro-USDC by key; a key whose probe did not answer is left out."""
        values: dict[str, int] = {}
        for p in self.positions:
            if p.value is not None:
                values[p.key] = values.get(p.key, 0) + p.value.micros
        silent = {p.key for p in self.positions if p.value is None}
        return {key: value for key, value in values.items() if key not in silent}


@dataclass(frozen=True, slots=True)
class UnusableValue:
    """A stored value that could not be read as its type; it reads as None, money as 0."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPayload:
    """A decoded payload: its body, and the parts beside it."""

    body: Payload
    violation: Violation | None = None
    restates: LogMoved | None = None
    log_index: int | None = None
    observed: Observed | None = None
    unusable: tuple[UnusableValue, ...] = ()
