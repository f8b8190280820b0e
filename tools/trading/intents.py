"""What an owner says beforehand: append-only, and it never trades."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from domain.money import Usdc
from domain.refusals import invalid
from domain.times import timestamp
from domain.trading.own import INTENT_LONGEST
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Ask, Gives, Operation, Reply, Takes
from tools.trading.fields import Moment, own_write, signed_in

_PRICE: Final = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,8})?")


Price = Annotated[
    str, Field(max_length=32, description="plain decimal, at most 8 decimals", examples=["25451.0"])
]


class IntentIn(Takes):
    """What the owner says before he acts; it never trades and never widens a limit."""

    kind: Literal["open", "close", "reduce", "hold", "note"]
    product: str | None = Field(default=None, pattern=r"^([a-z0-9]{2,4}:)?[A-Za-z0-9]{1,16}$")
    side: Literal["buy", "sell"] | None = None
    notional_usdc: Usdc | None = None
    limit_px: Price | None = None
    text: str | None = Field(default=None, max_length=500)
    valid_until: str | None = Field(default=None, max_length=40, description="ISO 8601, UTC")


class IntentOut(Gives):
    """It is written down."""

    intent_id: str
    created_at: Moment


def intent(uow: UnitOfWork, ask: Ask[IntentIn, None]) -> Reply:
    """Write down what the owner intends; it trades nothing, reserves nothing and widens no
    limit."""
    asked = ask.asked
    if asked.notional_usdc is not None and asked.notional_usdc.micros < 0:
        raise invalid("notional_usdc", "not negative")
    if asked.limit_px is not None and not _PRICE.fullmatch(asked.limit_px):
        raise invalid("limit_px", "a plain decimal string with at most 8 decimals")
    until = _until(asked.valid_until, ask.now)
    intent_id = ask.ids.short("in_")
    body = {
        "product": asked.product,
        "side": asked.side,
        "notional_usdc": None if asked.notional_usdc is None else str(asked.notional_usdc),
        "limit_px": asked.limit_px,
        "text": asked.text,
    }
    uow.venue.add_intent(intent_id, signed_in(ask.caller), asked.kind, body, ask.now, until)
    return Reply(201, {"intent_id": intent_id, "created_at": timestamp(ask.now)})


def _until(told: str | None, now: datetime) -> datetime | None:
    if told is None:
        return None
    try:
        until = datetime.fromisoformat(told)
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
        takes=IntentIn,
        gives=IntentOut,
        handler=intent,
        writes=True,
        family="own account",
        statuses={201: "Written down"},
        idempotency=own_write("/wallet/own/intent"),
        refusals=(
            "invalid_number",
            "secret_not_accepted",
            "idempotency_key_reused",
            "idempotency_in_flight",
        ),
    ),
)
