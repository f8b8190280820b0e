"""Live trading allowlist, set by the operator: each change acts on the next request of every
process and leaves a row in the append-only limit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from domain.refusals import invalid
from domain.times import Timestamp
from domain.trading.modes import allowlist_item
from storage.cursors import cursor_of, keys_of
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Cursor, Limit, Line, Page
from tools.model.operation import (
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)

Item = Annotated[
    str,
    Field(
        max_length=64,
        description="a wallet's address or a user id; a wallet counts only once it is linked",
        examples=["u_abcdefgh23"],
    ),
]
Reason = Annotated[
    Line,
    Field(max_length=500, pattern=r"\S", description="why; kept in the limit log"),
]


class Paged(RequestModel):
    """A page."""

    limit: Limit = 50
    cursor: Cursor = None


class AllowlistIn(RequestModel):
    """A person, and whether that person may trade live."""

    item: Item
    allowed: bool = Field(examples=[True])
    why: Reason = Field(examples=["asked by mail, known to us"])


class AllowedOut(ResponseModel):
    """One item of the list."""

    item: str
    changed_at: Timestamp
    changed_by: str


class AllowlistPage(Page[AllowedOut]):
    """People who may trade live, where the switches are on."""


class AllowlistSet(ResponseModel):
    """The permission now; `changed` is false where it was so before, and nothing was written."""

    item: str
    allowed: bool
    changed: bool
    as_of: Timestamp


class FromTo(ResponseModel):
    """A value before and after; an amount is USDC with 6 decimals."""

    was: bool | str | None = Field(alias="from")
    to: bool | str | None


class LimitChangeOut(ResponseModel):
    """One row of the limit log."""

    what: Literal["allowlist", "switch", "limits"]
    subject: str
    changes: dict[str, FromTo]
    changed_at: Timestamp
    changed_by: str
    why: str | None = Field(description="the operator's own words")


class LimitLogPage(Page[LimitChangeOut]):
    """Changes of who may trade live, and of how much; newest first."""


def put(uow: UnitOfWork, text: str, *, allowed: bool, now: datetime, by: str, reason: str) -> bool:
    """Add a person to the list or remove one; False where it is so already. Errors: ValueError for
    an entry that is none, and for an empty reason.
    """
    if not reason.strip():
        raise ValueError("a reason is due")
    return uow.allowlist.put(allowlist_item(text), allowed=allowed, now=now, by=by, reason=reason)


def _list(uow: UnitOfWork, ctx: RequestContext[Paged, None]) -> HandlerResult[AllowlistPage]:
    cursor, limit = ctx.request.cursor, ctx.request.limit
    (after,) = keys_of(cursor, (str,)) if cursor else ("",)
    rows = uow.allowlist.page(after, limit + 1)
    more = cursor_of(rows[limit - 1].item) if len(rows) > limit else None
    items = [AllowedOut.model_validate(row) for row in rows[:limit]]
    return HandlerResult(AllowlistPage(items=items, next_cursor=more))


def _set(uow: UnitOfWork, ctx: RequestContext[AllowlistIn, None]) -> HandlerResult[AllowlistSet]:
    request = ctx.request
    try:
        changed = put(
            uow, request.item, allowed=request.allowed, now=ctx.now, by="admin", reason=request.why
        )
    except ValueError:
        raise invalid("item", "a wallet's address or a user id; no wildcard") from None
    item = allowlist_item(request.item)
    return HandlerResult(
        AllowlistSet(item=item, allowed=request.allowed, changed=changed, as_of=ctx.now)
    )


def _log(uow: UnitOfWork, ctx: RequestContext[Paged, None]) -> HandlerResult[LimitLogPage]:
    cursor, limit = ctx.request.cursor, ctx.request.limit
    before = None
    if cursor:
        at, subject, n = keys_of(cursor, (int, str, int))
        before = (at, subject, n)
    rows = uow.limit_log.page(before, limit + 1)
    more = cursor_of(*rows[limit - 1][0]) if len(rows) > limit else None
    items = [LimitChangeOut.model_validate(change) for _, change in rows[:limit]]
    return HandlerResult(LimitLogPage(items=items, next_cursor=more))


OPERATIONS: Final = (
    Operation(
        name="admin_allowlist",
        title="List who may trade live",
        summary="Wallets and people on the trade allowlist, and who put them there.",
        auth="admin",
        route=("GET", "/wallet/admin/allowlist"),
        request_model=Paged,
        response_model=AllowlistPage,
        handler=_list,
        family="operator",
    ),
    Operation(
        name="admin_allowlist_set",
        title="Set who may trade live",
        summary="Put a wallet or a person on the trade allowlist, or take them off, with a reason.",
        auth="admin",
        route=("PUT", "/wallet/admin/allowlist/{item}"),
        request_model=AllowlistIn,
        response_model=AllowlistSet,
        handler=_set,
        writes=True,
        idempotent=True,
        family="operator",
        refusals=("secret_not_accepted",),
    ),
    Operation(
        name="admin_limit_log",
        title="Read the limit log",
        summary="Every change of who may trade live, and of how much, with its reason.",
        auth="admin",
        route=("GET", "/wallet/admin/limit-log"),
        request_model=Paged,
        response_model=LimitLogPage,
        handler=_log,
        family="operator",
    ),
)
