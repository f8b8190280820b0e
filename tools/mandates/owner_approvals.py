"""Pending approvals of an owner over all mandates."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from domain.mandates.approvals import Approval, ApprovalItem
from domain.wire_fields import described
from storage.repositories.approvals import item_of_owner_after
from storage.unit_of_work import UnitOfWork
from tools.model.cooperative import read_cooperatively
from tools.model.fields import Cursor, Limit, Page
from tools.model.operation import (
    Caller,
    Deps,
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
)
from tools.model.serialization import wire
from tools.model.truncation import rows_within


class OwnerApprovalsIn(RequestModel):
    """Filters of approval items over all mandates."""

    status: Literal["pending", "approved", "declined", "expired", "used"] | None = Field(
        default=None, description="only these"
    )
    limit: Limit = 50
    cursor: Cursor = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedItem(ApprovalItem):
    """An item, and whose action it is."""

    agent_id: str | None
    agent_name: str | None = field(metadata=described("the owner's name for the agent"))


class OwnerApprovals(Page[NamedItem]):
    """A page of items."""


async def gather_page(deps: Deps, caller: Caller, request: OwnerApprovalsIn) -> OwnerApprovals:
    """The page, some items a turn."""
    now, who = deps.clock.now(), caller.user_id or ""

    async def read(last: _AgentApproval | None, limit: int) -> list[_AgentApproval]:
        at = item_of_owner_after(last.item) if last is not None else request.cursor

        def some(uow: UnitOfWork) -> list[_AgentApproval]:
            items = uow.approvals.of_owner(
                who, status=request.status, after=at, limit=limit, now=now
            )
            return [_with_agent(uow, item) for item in items]

        return await deps.store.read(some)

    items = await read_cooperatively(read, request.limit + 1)
    rows = [_item_body(f, now) for f in items[: request.limit]]
    # Agents fill them, each with up to 64 KiB of calldata.
    page = rows[: sum(1 for _ in rows_within(map(wire, rows)))]
    more = item_of_owner_after(items[len(page) - 1].item) if len(items) > len(page) else None
    return OwnerApprovals(items=page, next_cursor=more)


@dataclass(frozen=True, slots=True)
class _AgentApproval:
    item: Approval
    agent_id: str | None
    agent_name: str | None


def _with_agent(uow: UnitOfWork, item: Approval) -> _AgentApproval:
    mandate = uow.mandates.get(item.public_id)
    return _AgentApproval(
        item, mandate.agent_id if mandate else None, mandate.agent_name if mandate else None
    )


def _item_body(f: _AgentApproval, now: datetime) -> NamedItem:
    item = f.item.as_item(now)
    values = {x.name: getattr(item, x.name) for x in fields(item)}
    return NamedItem(**values, agent_id=f.agent_id, agent_name=f.agent_name)


def list_owner_approvals(
    uow: UnitOfWork, ctx: RequestContext[OwnerApprovalsIn, OwnerApprovals]
) -> HandlerResult:
    """Held actions of all your mandates."""
    return HandlerResult(ctx.facts)


OPERATIONS: Final = (
    Operation(
        name="owner_approvals",
        title="Read all approval items",
        summary="Held actions of all your mandates, those that are good the longest first.",
        auth="owner",
        route=("GET", "/wallet/approvals"),
        request_model=OwnerApprovalsIn,
        response_model=OwnerApprovals,
        gather=gather_page,
        handler=list_owner_approvals,
    ),
)
