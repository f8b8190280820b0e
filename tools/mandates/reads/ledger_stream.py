"""Start position of a mandate's ledger stream."""

from __future__ import annotations

import re
from typing import Final

from pydantic import Field

from domain.refusals import Refused, invalid, refusal
from storage.unit_of_work import UnitOfWork
from tools.context.access import visible_mandate
from tools.model.fields import OneMandate
from tools.model.operation import Operation, RequestContext, ResponseModel

_ID: Final = re.compile(r"(0|[1-9][0-9]{0,17})\.([0-9a-f]{0,16})")


def row_id(seq: int, row_hash: str) -> str:
    """The id of a row in a stream: its number in the mandate, and the beginning of its hash."""
    return f"{seq}.{row_hash[:16]}"


class StreamIn(OneMandate):
    """Names the mandate, and the row behind which the stream begins."""

    last_event_id: str | None = Field(
        default=None,
        max_length=40,
        description="the id of the last row that you have, as the header Last-Event-ID has it; "
        "without one the stream begins with the present",
    )


class StreamStart(ResponseModel):
    """The position at which the stream begins; over HTTP the answer is the stream itself."""

    public_id: str
    seq: int = Field(description="the rows behind this one come")
    id: str


def begin(uow: UnitOfWork, ctx: RequestContext[StreamIn, None]) -> StreamStart:
    """Look the row up that is named, or the newest."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    if ctx.request.last_event_id is None:
        seq, row_hash = uow.ledger.head(mandate.public_id)
        start = row_id(seq, row_hash)
    else:
        form = _ID.fullmatch(ctx.request.last_event_id)
        if form is None:
            raise invalid("last_event_id", "the id of a row of this stream")
        seq, start = int(form[1]), form[0]
        stored = uow.ledger.hash_of(mandate.public_id, seq)
        if stored is None or row_id(seq, stored) != start:
            why = "The row of this id is not in the record: read the ledger anew."
            raise Refused(refusal("conflict", why=why))
    return StreamStart(public_id=mandate.public_id, seq=seq, id=start)


OPERATIONS: Final = (
    Operation(
        name="mandate_stream",
        title="Follow the ledger",
        summary="Server-sent events: each new ledger row as `row`, with an id; Last-Event-ID goes "
        "on behind it without a gap. A stream that falls behind ends with `behind`.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/stream"),
        request_model=StreamIn,
        response_model=StreamStart,
        handler=begin,
        streams=True,
        refusals=("not_found", "conflict"),
    ),
)
