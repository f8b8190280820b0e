"""Approval items: an action held above the owner's approval amount (clause 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.times import Timestamp
from domain.wire import said

Status = Literal["pending", "approved", "declined", "expired", "used"]


OPEN: Final = frozenset({"pending", "approved"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTarget:
    """What would be called."""

    market: str | None
    address: str | None
    selector: str | None


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
    why: str | None = field(metadata=said("the agent's own words"))
    requested_at: Timestamp
    expires_at: Timestamp
    decided_at: Timestamp | None
    note: str | None = field(metadata=said("the owner's own words"))


@dataclass(frozen=True, slots=True)
class Approval:
    """One item (contract 6). `status` is as stored; `shown` turns a timed-out one into `expired`.

    Shapes: `target` is `{market, address, selector}`; `data` 0x hex; `action_hash` identifies
    (target, data, amount).
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

    def shown(self, now: datetime) -> Status:
        """The status at `now`: a pending or approved item is no longer good from `expires_at` on
        (spec 3.2).
        """
        return "expired" if self.status in OPEN and now >= self.expires_at else self.status

    def told(self, now: datetime) -> ApprovalItem:
        """The item as it is shown."""
        at = self.target
        return ApprovalItem(
            approval_id=self.approval_id,
            public_id=self.public_id,
            status=self.shown(now),
            target=ApprovalTarget(
                market=at.get("market"), address=at.get("address"), selector=at.get("selector")
            ),
            data=self.data,
            approve_amount_usdc=self.approve_amount_usdc,
            why=self.why,
            requested_at=self.requested_at,
            expires_at=self.expires_at,
            decided_at=self.decided_at,
            note=self.note,
        )


def decided(
    item: Approval, decision: Literal["approve", "decline"], note: str | None, now: datetime
) -> Approval:
    """Return the item after the owner's decision; the same decision again changes nothing.

    Errors: `conflict` for the other decision, `approval_expired` once it is no longer good.
    """
    wanted: Status = "approved" if decision == "approve" else "declined"
    status = item.shown(now)
    if status == wanted or (status == "used" and wanted == "approved"):
        return item
    if status == "expired":
        raise Refused(refusal("approval_expired", approval_id=item.approval_id))
    if status != "pending":
        raise Refused(
            refusal("conflict", why=f"The approval {item.approval_id} is {status} already.")
        )
    return replace(item, status=wanted, decided_at=now, note=note)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Calldata that was handed out and may still be sent (contract 5): `amount` counts until
    `expires_at`.
    """

    public_id: str
    action_hash: str
    amount: Usdc
    made_at: datetime
    expires_at: datetime
    approval_id: str | None = None
