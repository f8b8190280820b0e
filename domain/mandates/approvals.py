"""Approval items: actions above the owner's approval amount, and their answers (clause 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil
from typing import Final, Literal, Protocol

from domain.mandates.actions import Action
from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.times import Timestamp
from domain.wire_fields import LEFT_OUT, JsonObject, copy_fields, described

Status = Literal["pending", "approved", "declined", "expired", "used"]
OPEN: Final = frozenset({"pending", "approved"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTarget:
    """The contract and function to be called, or who is to be paid."""

    market: str | None
    address: str | None
    selector: str | None
    resource: str | None = field(
        default=None,
        metadata=LEFT_OUT | described("of a payment: what is bought, in the seller's own words"),
    )


_TARGET: Final = ("market", "address", "selector", "resource")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalItem:
    """An action that was held for the owner (contract 6)."""

    approval_id: str
    public_id: str
    status: Status
    target: ApprovalTarget
    data: str
    approve_amount_usdc: Usdc
    clause: Literal[6] = 6
    why: str | None = field(metadata=described("the agent's own words"))
    requested_at: Timestamp
    expires_at: Timestamp
    decided_at: Timestamp | None
    note: str | None = field(metadata=described("the owner's own words"))


@dataclass(frozen=True, slots=True)
class Approval:
    """One item (contract 6). `status` is as stored; on reading, one whose time is over is
    `expired`.

    Shapes: `target` is `{market, address, selector}`; `data` 0x hex; `action_hash` and `data_hash`
    are those of the very call (`domain.mandates.actions`). Where the vault keeps
    approvals, `signature` is the owner's, as the vault takes it, good until `until` (unix seconds,
    inclusive). `used_by` is the transaction whose execution used it up.
    """

    approval_id: str
    public_id: str
    status: Status
    target: Mapping[str, str | None]
    data: str
    action_hash: str
    approve_amount_usdc: Usdc
    why: str | None
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None
    note: str | None = None
    data_hash: str | None = None
    until: int | None = None
    signature: str | None = None
    used_by: str | None = None

    @property
    def is_payment(self) -> bool:
        """True for a bill of the purse, whose `data` are its five words; False for a call."""
        return self.target.get("resource") is not None

    def status_at(self, now: datetime) -> Status:
        """The status at `now`: an open item is no longer good from `expires_at` on (spec 3.2)."""
        return "expired" if self.status in OPEN and now >= self.expires_at else self.status

    def as_item(self, now: datetime) -> ApprovalItem:
        """The item as it is shown."""
        at = self.target
        return copy_fields(
            ApprovalItem,
            self,
            status=self.status_at(now),
            target=ApprovalTarget(**{n: at.get(n) for n in _TARGET}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTask:
    """A held call that its caller follows as a task: what was called, and how it was answered in
    the end. A task that was answered never changes.

    Shapes: `answer` is the body with its `status`; None and empty while the task goes on.
    """

    approval_id: str
    public_id: str
    tool: str
    arguments: Mapping[str, object]
    status: int | None = None
    answer: Mapping[str, object] = field(default_factory=dict)

    def is_of(self, tool: str, arguments: Mapping[str, object]) -> bool:
        """True where this very call is followed."""
        return (self.tool, self.arguments) == (tool, arguments)


def decided(
    item: Approval, decision: Literal["approve", "decline"], note: str | None, now: datetime
) -> Approval:
    """Return the item after the owner's decision; the same decision again changes nothing.

    Errors: `conflict` for the other decision, `approval_expired` once it is no longer good.
    """
    status = item.status_at(now)
    if repeats(item, decision, now):
        return item
    if status == "expired":
        raise Refused(refusal("approval_expired", approval_id=item.approval_id))
    if status != "pending":
        raise Refused(
            refusal("conflict", why=f"The approval {item.approval_id} is {status} already.")
        )
    new_status: Status = "approved" if decision == "approve" else "declined"
    return replace(item, status=new_status, decided_at=now, note=note)


def repeats(item: Approval, decision: Literal["approve", "decline"], now: datetime) -> bool:
    """True where the owner decided so before."""
    status = item.status_at(now)
    return status == "declined" if decision == "decline" else status in ("approved", "used")


class ApprovalChain(Protocol):
    """The chain functions for approvals that a vault keeps."""

    def approve_action(
        self, factory: str, mandate: str, action_hash: str, until: int
    ) -> JsonObject:
        """The typed data ApproveAction that the owner signs, in the domain of the factory of the
        terms; `mandate` is the digest of the signed terms, `until` unix seconds, inclusive.
        """

    def on_chain_form(self, signature: str) -> str:
        """An EOA's signature in the one form that our contracts take."""

    async def approvals_on_chain(self, factory: str) -> bool:
        """True where the factory's vaults ask for the owner's signature above the amount; a
        factory never changes its mind, so it is asked once.
        """


def good_until(item: Approval, same_action: Sequence[Approval]) -> int:
    """The moment to be signed for an item: the last second in which it is good, and another one
    than every earlier approval of the same action has, since the vault takes a moment once.

    Units: unix seconds, inclusive.
    """
    used_moments = {a.until for a in same_action if a.signature is not None}
    until = ceil(item.expires_at.timestamp()) - 1
    while until in used_moments:
        until -= 1
    return until


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Calldata that was handed out, the newest time for this action; its amount counts until
    `expires_at`, or until its outcome is known (contract 5).

    Shapes: `sender` is the address meant to send it; `block` the newest block when it was handed
    out, None where the chain was not readable; `outcome` with its `tx_hash` is its result.
    """

    public_id: str
    action: Action
    made_at: datetime
    expires_at: datetime
    sender: str
    block: int | None = None
    approval_id: str | None = None
    outcome: Literal["landed", "reverted"] | None = None
    tx_hash: str | None = None

    @property
    def amount(self) -> Usdc:
        """The amount that the call may take out."""
        return self.action.amount

    def before(self, block: int, at: datetime) -> bool:
        """True where the calldata was handed out before this block, mined at `at`."""
        return block > self.block if self.block is not None else at >= self.made_at
