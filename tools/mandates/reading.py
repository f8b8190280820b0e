"""Reading mandates: lists, the whole of one, its events and steps."""

from __future__ import annotations

from typing import Any, Final, Literal

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
from tools.call.case import Facts, gather_mandate, load_book
from tools.call.fields import Cursor, Limit, OneMandate, Page
from tools.call.operation import Answer, Ask, Operation, Takes


class ListIn(Takes):
    """Which mandates."""

    status: Literal["draft", "signed", "working", "stopped", "settled", "cancelled"] | None = None
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


def list_mandates(uow: UnitOfWork, ask: Ask[ListIn, None]) -> Answer:
    """Mandates you own, or those assigned to your key, newest first."""
    a, caller = ask.asked, ask.caller
    who = caller.user_id or ""
    if caller.role == "owner":
        found = uow.mandates.of_owner(
            who, after=a.cursor, limit=a.limit + 1, proposed_only=a.proposed, status=a.status
        )
    else:
        found = uow.mandates.of_agent(who, after=a.cursor, limit=a.limit + 1, status=a.status)
    rows = [summary(load_book(uow, ask, m, events=0)) for m in found[: a.limit]]
    more = after(found[a.limit - 1]) if len(found) > a.limit else None
    return Answer(MandatePage(items=rows, next_cursor=more))


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
        handler=list_mandates,
        on_mcp=True,
    ),
    Operation(
        name="mandate_get",
        title="Read a mandate",
        summary="One mandate whole: progress, limits with what remains, clauses, fees, the newest events and steps.",
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
