"""What waits for an owner, over all mandates."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from domain.mandates.approvals import Approval, ApprovalItem
from domain.wire import said
from storage.rows.approvals import item_of_owner_after
from storage.unit_of_work import UnitOfWork
from tools.call.fields import Cursor, Limit, Page
from tools.call.fit import fitting_rows
from tools.call.operation import Answer, Ask, Caller, Deps, Operation, Takes
from tools.call.turns import found
from tools.call.wire import wire


class OwnerApprovalsIn(Takes):
    """Which items."""

    status: Literal["pending", "approved", "declined", "expired", "used"] | None = Field(
        default=None, description="only these"
    )
    limit: Limit = 50
    cursor: Cursor = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedItem(ApprovalItem):
    """An item, and whose action it is."""

    agent_id: str | None
    agent_name: str | None = field(metadata=said("the owner's name for the agent"))


class OwnerApprovals(Page[NamedItem]):
    """A page of items."""


async def walk(deps: Deps, caller: Caller, asked: OwnerApprovalsIn) -> OwnerApprovals:
    """The page, some items a turn."""
    now, who = deps.clock.now(), caller.user_id or ""

    async def read(last: _Found | None, most: int) -> list[_Found]:
        at = item_of_owner_after(last.item) if last is not None else asked.cursor

        def some(uow: UnitOfWork) -> list[_Found]:
            items = uow.approvals.of_owner(who, status=asked.status, after=at, limit=most, now=now)
            return [_found(uow, item) for item in items]

        return await deps.store.read(some)

    items = await found(read, asked.limit + 1)
    shown = [_named(f, now) for f in items[: asked.limit]]
    # Agents fill them, each with up to 64 KiB of calldata.
    page = shown[: sum(1 for _ in fitting_rows(map(wire, shown)))]
    more = item_of_owner_after(items[len(page) - 1].item) if len(items) > len(page) else None
    return OwnerApprovals(items=page, next_cursor=more)


@dataclass(frozen=True, slots=True)
class _Found:
    item: Approval
    agent_id: str | None
    agent_name: str | None


def _found(uow: UnitOfWork, item: Approval) -> _Found:
    m = uow.mandates.get(item.public_id)
    return _Found(item, m.agent_id if m else None, m.agent_name if m else None)


def _named(f: _Found, now: datetime) -> NamedItem:
    told = f.item.told(now)
    shown = {x.name: getattr(told, x.name) for x in fields(told)}
    return NamedItem(**shown, agent_id=f.agent_id, agent_name=f.agent_name)


def listed(uow: UnitOfWork, ask: Ask[OwnerApprovalsIn, OwnerApprovals]) -> Answer:
    """Held actions of all your mandates."""
    return Answer(ask.facts)


OPERATIONS: Final = (
    Operation(
        name="owner_approvals",
        title="Read all approval items",
        summary="Held actions of all your mandates, those that are good the longest first.",
        auth="owner",
        route=("GET", "/wallet/approvals"),
        takes=OwnerApprovalsIn,
        gives=OwnerApprovals,
        gather=walk,
        handler=listed,
    ),
)
