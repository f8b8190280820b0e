"""Approval items: an action held above the owner's approval amount (clause 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from domain.money import Usdc
from domain.refusals import Refused, refusal
from domain.times import timestamp

Status = Literal["pending", "approved", "declined", "expired", "used"]


OPEN: Final = frozenset({"pending", "approved"})


@dataclass(frozen=True, slots=True)
class Approval:
    """One item (contract 6). `status` is as stored; `shown` turns a timed-out one into `expired`.

    Shapes: `target` is `{market, address, selector}`; `data` 0x hex; `action_hash` identifies
    (target, data, amount).
    """

    approval_id: str
    public_id: str
    status: Status
    target: Mapping[str, Any]
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

    def as_json(self, now: datetime) -> dict[str, Any]:
        """The wire form of contract 6."""
        return {
            "approval_id": self.approval_id,
            "public_id": self.public_id,
            "status": self.shown(now),
            "target": dict(self.target),
            "data": self.data,
            "approve_amount_usdc": str(self.approve_amount_usdc),
            "clause": 6,
            "why": self.why,
            "requested_at": timestamp(self.requested_at),
            "expires_at": timestamp(self.expires_at),
            "decided_at": None if self.decided_at is None else timestamp(self.decided_at),
            "note": self.note,
        }


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
