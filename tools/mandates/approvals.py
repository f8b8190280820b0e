"""Approval items: read by owner and agent, decided by the owner."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from domain.ledger.events import Kind, NewEvent, Reporter
from domain.ledger.payloads import ApprovalTold, Place
from domain.ledger.written import written
from domain.mandates.approvals import decided
from storage.rows.approvals import item_after
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found, seen_mandate
from tools.call.fields import ApprovalId, Cursor, Limit, Lines, OneMandate, Page
from tools.call.operation import Ask, Gives, Operation, Reply


class ApprovalsIn(OneMandate):
    """Which items."""

    status: Literal["pending", "approved", "declined", "expired", "used"] | None = Field(
        default=None, description="only these"
    )
    approval_id: str | None = Field(default=None, max_length=64, description="this item alone")
    limit: Limit = 50
    cursor: Cursor = None


class Decision(OneMandate):
    """The owner's decision."""

    approval_id: ApprovalId
    decision: Literal["approve", "decline"]
    note: Lines | None = Field(default=None, max_length=1_000)


class Decided(Gives):
    """The item after the decision."""

    approval: dict[str, Any]


def read(uow: UnitOfWork, ask: Ask[ApprovalsIn, None]) -> Reply:
    """A mandate's approval items, newest first."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    if ask.asked.approval_id is not None:
        item = uow.approvals.get(m.public_id, ask.asked.approval_id)
        fits = item is not None and ask.asked.status in (None, item.shown(ask.now))
        return Reply(
            200,
            {
                "items": [item.as_json(ask.now)] if item is not None and fits else [],
                "next_cursor": None,
            },
        )
    most = ask.asked.limit
    items = uow.approvals.page(
        m.public_id, status=ask.asked.status, after=ask.asked.cursor, limit=most + 1, now=ask.now
    )
    more = item_after(items[most - 1]) if len(items) > most else None
    return Reply(200, {"items": [i.as_json(ask.now) for i in items[:most]], "next_cursor": more})


def decide(uow: UnitOfWork, ask: Ask[Decision, None]) -> Reply:
    """Approve or decline; twice the same way is one decision, the other way a conflict."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    uow.mandates.get(m.public_id, lock=True)
    item = uow.approvals.get(m.public_id, ask.asked.approval_id)
    if item is None:
        raise not_found("approval")
    after = decided(item, ask.asked.decision, ask.asked.note, ask.now)
    if after is not item:
        uow.approvals.save(after)
        place = Place(**{n: item.target.get(n) for n in ("market", "address", "selector", "label")})
        told = ApprovalTold(
            approval_id=item.approval_id,
            status=after.status,
            reason="owner_declined" if after.status == "declined" else None,
            place=place,
            text=after.note,
        )
        row = NewEvent(
            kind=Kind.NOTE,
            reported_by=Reporter.OWNER,
            occurred_at=ask.now,
            amount_usdc=item.approve_amount_usdc,
            chain_id=m.chain_id,
            payload=written(told),
        )
        uow.ledger.append(m.public_id, row, event_id=ask.ids.short("ev_"), now=ask.now)
    return Reply(200, {"approval": after.as_json(ask.now)})


OPERATIONS: Final = (
    Operation(
        name="mandate_approvals",
        title="Read approval items",
        summary="Actions that were held for the owner, with their status.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/approvals"),
        takes=ApprovalsIn,
        gives=Page[dict[str, Any]],
        handler=read,
        on_mcp=True,
        refusals=("not_found",),
    ),
    Operation(
        name="owner_approval_decide",
        title="Decide an approval",
        summary="Approve or decline a held action.",
        auth="owner",
        route=("POST", "/wallet/mandates/{public_id}/approvals/{approval_id}"),
        takes=Decision,
        gives=Decided,
        handler=decide,
        writes=True,
        idempotent=True,
        refusals=("not_found", "conflict", "approval_expired"),
    ),
)
