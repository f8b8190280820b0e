"""Row models: the published shape of each payload, under the names of its stored form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from domain.ledger.events.payloads import Json, Outcome, PurseChange
from domain.mandates.notice_choices import Channel, NoticeKind
from domain.money import ZERO, Usdc
from domain.times import Timestamp
from domain.wire_fields import LEFT_OUT, SERVICES_LABEL, described, wire_name

KindName = Literal[
    "signed", "deposit", "move", "buy", "sell", "fee",
    "resolve", "stop", "withdraw", "payout", "note",
]  # fmt: skip

ReportedBy = Literal["owner", "agent", "chain", "keeper"]

AGENTS_WORDS: Final = LEFT_OUT | described("the agent's own words")
REPORTERS_WORDS: Final = LEFT_OUT | described("own words of whoever reported the row")
AGENTS_PLACE: Final = LEFT_OUT | described("as the agent told it")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTarget:
    """The target of an action, as the agent told it."""

    market: str | None = field(default=None, metadata=AGENTS_PLACE)
    address: str | None = field(default=None, metadata=AGENTS_PLACE)
    selector: str | None = field(default=None, metadata=AGENTS_PLACE)
    label: str | None = field(default=None, metadata=AGENTS_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldPosition:
    """The agent's name for a part of a position."""

    id: str | None = field(default=None, metadata=AGENTS_PLACE)
    market: str | None = field(default=None, metadata=AGENTS_PLACE)
    side: str | None = field(default=None, metadata=AGENTS_PLACE)
    label: str | None = field(default=None, metadata=AGENTS_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedCall:
    """The vault's measurements of a call that it executed."""

    target: str | None
    selector: str | None
    market: str | None
    label: str | None = field(metadata=SERVICES_LABEL)
    spent: Usdc
    received: Usdc
    approved: Usdc
    agent: str | None = field(default=None, metadata=LEFT_OUT)
    data_hash: str | None = field(default=None, metadata=LEFT_OUT)
    purse: Literal[True] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnwoundCall:
    """The vault's measurements of a call that brought a position back after the end."""

    target: str | None
    selector: str | None
    market: str | None
    label: str | None = field(metadata=SERVICES_LABEL)
    spent: Usdc = ZERO
    received: Usdc
    by: str | None = field(default=None, metadata=LEFT_OUT)
    data_hash: str | None = field(default=None, metadata=LEFT_OUT)
    purse: Literal[True] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedPurse:
    """A change in the mandate's purse that is no payment; the row's amount is what was put
    in, what came in from elsewhere, or what went back to the vault. `to_owner` went to the owner.
    """

    change: PurseChange
    purse: str
    to_owner: Usdc
    from_: str | None = field(default=None, metadata=LEFT_OUT | wire_name("from"))
    epoch: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledResult:
    """The vault's own result."""

    spent: Usdc
    returned: Usdc
    gain: Usdc
    agent_fee: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeMark:
    """The vault's cash and the sum of its probes at one block."""

    cash: Usdc
    positions: Usdc
    floor: Usdc
    block: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedPosition:
    """The answer of one value probe of the vault; `key` is the market that names it, else its
    address.
    """

    key: str
    value: Usdc | None = field(metadata=described("null where it did not answer"))
    answered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedVault:
    """The vault right after a log, or at one block that was read; `whole` where every value probe
    answered, so that cash + positions is its worth. Cash holds the agent's unpaid fee.
    """

    block: int
    cash: Usdc
    positions: tuple[ProbedPosition, ...]
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentControl:
    """The owner took the agent's authority away, or gave it back."""

    what: Literal["paused", "resumed"]
    agent: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedClaim:
    """No chain row will tell of what an agent reported."""

    event_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexplainedPayment:
    """A payment of the purse of which nobody said within the hour what it bought."""

    event_id: str
    nonce: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerNotice:
    """A notice reached its owner by a channel, or all tries of it failed."""

    kind: NoticeKind
    channel: Channel
    outcome: Literal["delivered", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueTrade:
    """A fill at the venue of a live order that cites the mandate; prices, sizes and fees to the
    venue's own decimals, the fee with the builder's part in it.
    """

    venue: str
    network: str
    order_id: str
    product: str
    side: Literal["buy", "sell"]
    px: str
    size: str
    fee: str
    builder_fee: str
    first: Literal[True] | None = field(default=None, metadata=LEFT_OUT)
    reduce_only: Literal[True] | None = field(default=None, metadata=LEFT_OUT)
    tid: int | None = field(default=None, metadata=LEFT_OUT)
    oid: int | None = field(default=None, metadata=LEFT_OUT)
    at: Timestamp | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecision:
    """The owner's decision about an action that waited."""

    approval_id: str | None
    status: str
    clause: Literal[6] = 6
    reason: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOutcome:
    """The end of a claim that no chain row confirms; `event_id` is the report's."""

    event_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedTry:
    """An attempt that was refused, as the agent told it (spec 2.5); `proof` is the revert that
    shows it, with the contract's own words.
    """

    reason: str
    source: str | None = field(metadata=described("as the agent told it"))
    reason_source: str
    check: str | None = field(metadata=described("as the agent told it"))
    attempted: Json | None = field(default=None, metadata=AGENTS_PLACE)
    proof: Json | None = field(
        default=None, metadata=LEFT_OUT | described("the error, and the contract's own words in it")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptedPlace:
    """The target of an action that no entry allows, as the agent told it."""

    market: str | None = field(default=None, metadata=AGENTS_PLACE)
    address: str | None = field(default=None, metadata=AGENTS_PLACE)
    selector: str | None = field(default=None, metadata=AGENTS_PLACE)
    resource: str | None = field(default=None, metadata=AGENTS_PLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachDetail:
    """The numbers of one broken rule, and whose limit it was; null is what the rule has not."""

    clause: int | None
    allowed: str | None
    used: str | None
    attempted: str | AttemptedPlace | None
    bound_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The rules that a row broke, and the numbers by rule."""

    codes: tuple[str, ...]
    detail: Mapping[str, BreachDetail]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restated:
    """The row whose log this is, told anew at another place in the chain."""

    event_id: str
    log_index: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldPayload:
    """The content of a row. A key that the row does not have is left out."""

    position: ToldPosition | None = field(default=None, metadata=LEFT_OUT)
    mark: Usdc | None = field(default=None, metadata=LEFT_OUT)
    target: ToldTarget | None = field(default=None, metadata=LEFT_OUT)
    direction: Literal["in", "out"] | None = field(default=None, metadata=LEFT_OUT)
    why: str | None = field(default=None, metadata=AGENTS_WORDS)
    text: str | None = field(default=None, metadata=REPORTERS_WORDS)
    next_at: str | None = field(default=None, metadata=LEFT_OUT)
    fee_kind: str | None = field(default=None, metadata=AGENTS_PLACE)
    resource: str | None = field(default=None, metadata=AGENTS_PLACE)
    preview: object = field(default=None, metadata=AGENTS_PLACE)
    notional: Literal[True] | None = field(default=None, metadata=LEFT_OUT)
    ordered: Literal[True] | None = field(default=None, metadata=LEFT_OUT)
    executed: ExecutedCall | None = field(default=None, metadata=LEFT_OUT)
    unwound: UnwoundCall | None = field(default=None, metadata=LEFT_OUT)
    settled: SettledResult | None = field(default=None, metadata=LEFT_OUT)
    marked: WholeMark | None = field(default=None, metadata=LEFT_OUT)
    purse_moved: MovedPurse | None = field(default=None, metadata=LEFT_OUT)
    payee: str | None = field(default=None, metadata=LEFT_OUT)
    nonce: str | None = field(default=None, metadata=LEFT_OUT)
    purse: str | None = field(default=None, metadata=LEFT_OUT)
    salt: str | None = field(default=None, metadata=AGENTS_PLACE)
    control: AgentControl | None = field(default=None, metadata=LEFT_OUT)
    claim: EndedClaim | None = field(default=None, metadata=LEFT_OUT)
    unexplained: UnexplainedPayment | None = field(default=None, metadata=LEFT_OUT)
    notice: OwnerNotice | None = field(default=None, metadata=LEFT_OUT)
    venue: VenueTrade | None = field(default=None, metadata=LEFT_OUT)
    approval: ApprovalDecision | None = field(default=None, metadata=LEFT_OUT)
    refusal: RefusedTry | None = field(default=None, metadata=LEFT_OUT)
    from_: str | None = field(default=None, metadata=LEFT_OUT | wire_name("from"))
    agent: str | None = field(default=None, metadata=LEFT_OUT)
    by: str | None = field(default=None, metadata=LEFT_OUT)
    reason: str | None = field(default=None, metadata=LEFT_OUT)
    record_only: Literal[True] | None = field(default=None, metadata=LEFT_OUT)
    digest: str | None = field(default=None, metadata=LEFT_OUT)
    signer_type: str | None = field(default=None, metadata=LEFT_OUT)
    violation: Broken | None = field(default=None, metadata=LEFT_OUT)
    restates: Restated | None = field(default=None, metadata=LEFT_OUT)
    log_index: int | None = field(default=None, metadata=LEFT_OUT)
    observed: ObservedVault | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversed:
    """The row whose log a reorganisation took away."""

    event_id: str
    seq: int | None
    kind: KindName
    amount_usdc: Usdc | None
    tx_hash: str | None
    occurred_at: Timestamp | None
    payload: ToldPayload


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload(ToldPayload):
    """The content of a row (spec 2.4), a reversal included."""

    reverses: Reversed | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One row of the ledger as it is shown (spec 2.4)."""

    event_id: str
    kind: KindName
    amount_usdc: Usdc | None
    tx_hash: str | None
    chain_id: int | None
    payload: Payload = field(metadata=described("with own words of whoever reported the row"))
    reported_by: ReportedBy
    created_at: Timestamp
    occurred_at: Timestamp
