"""Reading mandates: lists, the whole of one, its events and steps."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final, Literal

import anyio.lowlevel
from pydantic import Field

from domain.reads.steps import Step, grouped, instruction, of_events
from domain.reads.view import (
    LedgerRow,
    MandateSummary,
    MandateView,
    ledger_row,
    mandate_view,
    summary,
)
from storage.paging import cursor_of, keys_of
from storage.rows.mandates import after
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.asking import ask_of
from tools.call.case import Facts, gather_mandate, load_book
from tools.call.fields import Cursor, Limit, OneMandate, Page
from tools.call.operation import Answer, Ask, Caller, Deps, Operation, Takes

MANDATES_A_TURN: Final = 25


class ListIn(Takes):
    """Which mandates."""

    status: Literal["draft", "signed", "working", "stopped", "settled", "cancelled"] | None = Field(
        default=None, description="only these"
    )
    proposed: bool = Field(
        default=False, description="drafts that your own agents proposed; owners only"
    )
    limit: Limit = 50
    cursor: Cursor = None


class PageIn(OneMandate):
    """A page of one mandate's rows."""

    limit: Limit = 50
    cursor: Cursor = None


class MandatePage(Page[MandateSummary]):
    """A page of mandates."""


class EventPage(Page[LedgerRow]):
    """A page of the ledger."""


class StepPage(Page[Step]):
    """A page of the record."""


async def walk(deps: Deps, caller: Caller, asked: ListIn) -> MandatePage:
    """Read the page some mandates a turn: 200 at once would keep everybody else waiting."""
    found: list[tuple[str, MandateSummary]] = []
    at, now = asked.cursor, deps.clock.now()
    while True:
        most = min(MANDATES_A_TURN, asked.limit + 1 - len(found))
        some = await deps.store.read(partial(_some, deps, caller, asked, now, at, most))
        found += some
        if len(some) < most or len(found) > asked.limit:
            break
        at = some[-1][0]
        await anyio.lowlevel.checkpoint()
    page = found[: asked.limit]
    more = page[-1][0] if len(found) > len(page) else None
    return MandatePage(items=[told for _, told in page], next_cursor=more)


def _some(
    deps: Deps,
    caller: Caller,
    a: ListIn,
    now: datetime,
    at: str | None,
    most: int,
    uow: UnitOfWork,
) -> list[tuple[str, MandateSummary]]:
    """The next mandates, each with the cursor behind it."""
    ask, who = ask_of(uow, deps, caller, now, asked=a), caller.user_id or ""
    if caller.role == "owner":
        found = uow.mandates.of_owner(
            who, after=at, limit=most, proposed_only=a.proposed, status=a.status
        )
    else:
        found = uow.mandates.of_agent(who, after=at, limit=most, status=a.status)
    return [(after(m), summary(load_book(uow, ask, m, events=0))) for m in found]


def list_mandates(uow: UnitOfWork, ask: Ask[ListIn, MandatePage]) -> Answer:
    """Mandates you own, or those assigned to your key, newest first."""
    return Answer(ask.facts)


def read_mandate(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Answer:
    """Everything that is known of one mandate; costs the same at row 10 and at row 100,000."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    return Answer(mandate_view(load_book(uow, ask, m, ask.facts)))


def read_events(uow: UnitOfWork, ask: Ask[PageIn, None]) -> Answer:
    """The whole ledger, newest first, paged."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    events, more = _rows(uow, m.public_id, ask.asked)
    return Answer(EventPage(items=[ledger_row(e) for e in events], next_cursor=more))


def read_steps(uow: UnitOfWork, ask: Ask[PageIn, None]) -> Answer:
    """The whole record, newest first, paged; the instruction closes the last page."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    events, more = _rows(uow, m.public_id, ask.asked)
    steps = grouped(of_events(events))
    if more is None:
        steps = [*steps, instruction(m)]
    return Answer(StepPage(items=steps, next_cursor=more))


def _rows(uow: UnitOfWork, public_id: str, asked: PageIn) -> tuple[list[Any], str | None]:
    before = keys_of(asked.cursor, (int,))[0] if asked.cursor else None
    events = uow.ledger.page(public_id, before_seq=before, limit=asked.limit + 1)
    more = cursor_of(events[asked.limit - 1].seq) if len(events) > asked.limit else None
    return events[: asked.limit], more


OPERATIONS: Final = (
    Operation(
        name="mandate_list",
        title="List mandates",
        summary="Mandates you own, or those assigned to your key, newest first.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates"),
        takes=ListIn,
        gives=MandatePage,
        gather=walk,
        handler=list_mandates,
        on_mcp=True,
    ),
    Operation(
        name="mandate_get",
        title="Read a mandate",
        summary="One mandate whole: progress, limits with what remains, clauses, fees, the newest "
        "events and steps.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}"),
        takes=OneMandate,
        gives=MandateView,
        handler=read_mandate,
        gather=gather_mandate,
        on_mcp=True,
        refusals=("not_found",),
    ),
    Operation(
        name="mandate_events",
        title="Read the ledger",
        summary="The mandate's whole ledger, newest first, paged.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/events"),
        takes=PageIn,
        gives=EventPage,
        handler=read_events,
        on_mcp=True,
        refusals=("not_found",),
    ),
    Operation(
        name="mandate_steps",
        title="Read the record",
        summary="The mandate's whole record of steps, newest first, paged.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/steps"),
        takes=PageIn,
        gives=StepPage,
        handler=read_steps,
        on_mcp=True,
        refusals=("not_found",),
    ),
)
