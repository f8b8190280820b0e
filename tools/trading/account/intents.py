"""Trading intents of an owner: append-only, and they never trade."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from domain.money import Usdc
from domain.refusals import invalid
from domain.trading.venue_account import INTENT_LONGEST
from storage.unit_of_work import UnitOfWork
from tools.model.operation import (
    HandlerResult,
    Operation,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.trading.fields import KEYED, TimestampText, own_write, signed_in

_PRICE: Final = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,8})?")


Price = Annotated[
    str, Field(max_length=32, description="plain decimal, at most 8 decimals", examples=["25451.0"])
]


class IntentIn(RequestModel):
    """The intention that the owner states before acting; it never trades and never widens a
    limit.
    """

    kind: Literal["open", "close", "reduce", "hold", "note"]
    product: str | None = Field(default=None, pattern=r"^([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}$")
    side: Literal["buy", "sell"] | None = None
    notional_usdc: Usdc | None = None
    limit_px: Price | None = None
    text: str | None = Field(default=None, max_length=500)
    valid_until: str | None = Field(default=None, max_length=40, description="ISO 8601, UTC")


class IntentOut(ResponseModel):
    """It is written down."""

    intent_id: str
    created_at: TimestampText


def intent(uow: UnitOfWork, ctx: RequestContext[IntentIn, None]) -> HandlerResult[IntentOut]:
    """Store an intent; it trades nothing, reserves nothing and widens no limit."""
    request = ctx.request
    if request.notional_usdc is not None and request.notional_usdc.micros < 0:
        raise invalid("notional_usdc", "not negative")
    if request.limit_px is not None and not _PRICE.fullmatch(request.limit_px):
        raise invalid("limit_px", "a plain decimal string with at most 8 decimals")
    until = _until(request.valid_until, ctx.now)
    intent_id = ctx.ids.short("in_")
    body = {name: getattr(request, name) for name in ("product", "side", "limit_px", "text")}
    body["notional_usdc"] = None if request.notional_usdc is None else str(request.notional_usdc)
    uow.venue.add_intent(intent_id, signed_in(ctx.caller), request.kind, body, ctx.now, until)
    return HandlerResult(IntentOut(intent_id=intent_id, created_at=ctx.now), 201)


def _until(text: str | None, now: datetime) -> datetime | None:
    if text is None:
        return None
    try:
        until = datetime.fromisoformat(text)
    except ValueError:
        raise invalid("valid_until", "ISO 8601") from None
    if until.tzinfo is None:
        raise invalid("valid_until", "with its zone")
    if not now < until <= now + INTENT_LONGEST:
        raise invalid("valid_until", "in the future, at most 30 days away")
    return until


OPERATIONS: Final = (
    Operation(
        name="own_intent",
        title="Write down an intent",
        summary="Say beforehand what you mean to do; append-only, and it never trades.",
        auth="owner",
        route=("POST", "/wallet/own/intent"),
        request_model=IntentIn,
        response_model=IntentOut,
        handler=intent,
        writes=True,
        family="own account",
        statuses={201: "Written down"},
        idempotency=own_write("/wallet/own/intent"),
        refusals=("invalid_number", *KEYED),
    ),
)
