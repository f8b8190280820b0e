"""Reading mandates: lists, the whole of one, its events and steps."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final, Literal

import anyio.lowlevel
from pydantic import Field

from domain.ledger.events import Event
from domain.mandates.card import CardFooter, CardHeader
from domain.mandates.clauses import Clause
from domain.mandates.mandate import Mandate, MandateAttributes
from domain.mandates.terms import TermsStatus
from domain.reads.fees import Fees
from domain.reads.limits import Limits, LimitsNow, limits_now
from domain.reads.lock import AsOf, ChainState, Lock, age_s
from domain.reads.progress import (
    PendingClaims,
    Progress,
    ShownStatus,
    pending_claims,
    status_shown,
)
from domain.reads.shapes import LedgerRow
from domain.reads.step import Step
from domain.reads.steps import each_step, grouped, instruction, pinned
from domain.reads.view import OF_TERMS, PARTS, MandateSummary, summary
from domain.refusals import invalid
from domain.rules.case import Case
from domain.rules.exposure import Exposure
from domain.times import Timestamp
from storage.brought.needs import Needs
from storage.paging import cursor_of, keys_of
from storage.rows.mandates import after
from storage.unit_of_work import UnitOfWork
from tools.call.access import of_one, peek, seen_mandate
from tools.call.asking import ask_of
from tools.call.case import CHAIN_EVENTS, Facts, gather_mandate, load_case
from tools.call.fields import Cursor, Limit, OneMandate, Page
from tools.call.fit import LONG_PAGE_BYTES, PAGE_BYTES, fitting, fitting_rows
from tools.call.kept import KEPT
from tools.call.operation import Answer, Ask, Caller, Deps, Gives, Operation, Reply, Takes, Written
from tools.call.turns import each, found
from tools.call.wire import told

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


class MandateIn(OneMandate):
    """Which mandate, and which parts of it."""

    parts: str | None = Field(
        default=None,
        max_length=200,
        description="comma list of the answer's keys; default: all (over MCP all but events "
        "and steps)",
    )

    def wanted(self) -> frozenset[str]:
        """The parts that were asked for.

        Errors: `invalid_request` for a part that there is not.
        """
        if self.parts is None:
            return frozenset(PARTS)
        names = [name.strip() for name in self.parts.split(",")]
        if any(name not in PARTS for name in names):
            raise invalid("parts", f"some of {', '.join(PARTS)}, with commas between")
        return frozenset(names)


NOT_ASKED: Final[Any] = None
WHOLE: Final = "Name parts: then nothing is cut."
SIGNED: Final = "terms_status"

# What a model is given unasked, the most useful first; events and steps have tools of their own.
FOR_A_MODEL: Final = (
    "progress",
    "limits",
    "mandate",
    "lock",
    "as_of",
    "chain_state",
    "exposure",
    "fees",
    "terms_status",
    "clauses",
    "card_footer",
    "card_header",
)


class MandateRead(Gives):
    """Everything that is known of one mandate (contract 3); events and steps are the newest 50.

    A part that was not asked for is left out; over MCP `left_out` names what did not fit into 8 KB,
    and can be asked for by `parts`. There `cut` names texts of which only the beginning is told.
    """

    mandate: MandateAttributes = NOT_ASKED
    progress: Progress = NOT_ASKED
    events: tuple[LedgerRow, ...] = NOT_ASKED
    clauses: tuple[Clause, ...] = NOT_ASKED
    card_header: CardHeader = NOT_ASKED
    card_footer: CardFooter = NOT_ASKED
    limits: Limits = NOT_ASKED
    fees: Fees = NOT_ASKED
    steps: tuple[Step, ...] = NOT_ASKED
    lock: Lock = NOT_ASKED
    chain_state: ChainState = NOT_ASKED
    as_of: AsOf | None = NOT_ASKED
    exposure: Exposure = NOT_ASKED
    terms_status: TermsStatus | None = NOT_ASKED
    left_out: tuple[str, ...] = NOT_ASKED


class LimitsRead(Gives):
    """What may still be done, in at most 2 KB; breaches stand in the mandate read."""

    status: ShownStatus
    paused: bool
    limits: LimitsNow
    pending_claims: PendingClaims
    as_of_block: int | None
    as_of: Timestamp
    age_s: int | None = Field(
        default=None,
        description="seconds since as_of, where the chain did not answer in time just now and this "
        "rests on what it said last; null where it answered, or was never read",
    )


class MandatePage(Page[MandateSummary]):
    """A page of mandates."""


class EventPage(Page[LedgerRow]):
    """A page of the ledger."""


class StepPage(Page[Step]):
    """A page of the record."""


async def list_mandates(deps: Deps, caller: Caller, asked: ListIn) -> Reply:
    """Mandates you own, or those assigned to your key, newest first; some of them a turn: 200 at
    once would keep everybody else waiting.
    """
    now = deps.clock.now()
    listed = await deps.store.read(partial(_listed, caller, asked), single=True)
    page = listed[: asked.limit]
    store = await deps.store.brought(Needs(now=now, mandates=[m.public_id for m in page]))
    summaries: list[Any] = []
    while some := page[len(summaries) :][:MANDATES_A_TURN]:
        summaries += await store.read(partial(_summaries, deps, caller, asked, now, some))
        await anyio.lowlevel.checkpoint()
    # What an agent lists strangers have written, who only had to name it.
    most = PAGE_BYTES if caller.role == "agent" else LONG_PAGE_BYTES
    rows = list(fitting_rows(summaries, most))
    more = after(listed[len(rows) - 1]) if len(listed) > len(rows) else None
    return Reply(200, {"items": rows, "next_cursor": more})


def _listed(caller: Caller, a: ListIn, uow: UnitOfWork) -> list[Mandate]:
    """The mandates of the page, and one more where there are more."""
    who, most = caller.user_id or "", a.limit + 1
    if caller.role == "owner":
        return uow.mandates.of_owner(
            who, after=a.cursor, limit=most, proposed_only=a.proposed, status=a.status
        )
    return uow.mandates.of_agent(who, after=a.cursor, limit=most, status=a.status)


def _summaries(
    deps: Deps, caller: Caller, a: ListIn, now: datetime, some: list[Mandate], uow: UnitOfWork
) -> list[Any]:
    ask = ask_of(uow, deps, caller, now, asked=a)
    read = (uow.mandates.get(m.public_id) or m for m in some)
    return [told(summary(load_case(uow, ask, m, events=0)), MandateSummary) for m in read]


async def gather_parts(deps: Deps, caller: Caller, asked: MandateIn) -> Facts:
    """What the parts that were asked for take of the chain."""
    return await gather_mandate(deps, caller, asked, signed=SIGNED in asked.wanted())


def read_mandate(uow: UnitOfWork, ask: Ask[MandateIn, Facts]) -> Written:
    """Everything that is known of one mandate; costs the same at row 10 and at row 100,000."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    if ask.surface == "mcp" and ask.asked.parts is None:
        short = load_case(uow, ask, m, ask.facts, events=0, terms=True)
        return Written(fitting(FOR_A_MODEL, lambda name: _part(short, name), WHOLE))
    names = ask.asked.wanted()
    events = CHAIN_EVENTS if not names.isdisjoint(("events", "steps")) else 0
    case = load_case(uow, ask, m, ask.facts, events=events, terms=SIGNED in names)
    return Written({name: _part(case, name) for name in PARTS if name in names})


def read_limits(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Answer:
    """What may still be done now."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    case = load_case(uow, ask, m, ask.facts, events=0)
    chain = case.chain if case.chain is not None and case.chain.exists else None
    return Answer(
        LimitsRead(
            status=status_shown(case),
            paused=case.mandate.paused,
            limits=limits_now(case),
            pending_claims=pending_claims(case),
            as_of_block=chain.block.number if chain else None,
            as_of=chain.block.at if chain else ask.now,
            age_s=age_s(case),
        )
    )


def _part(case: Case, name: str) -> Any:
    """One part in its wire form; rows, steps and what follows from the terms out of what is
    kept.
    """
    if name == "events":
        return KEPT.rows(case.events)
    if name == "steps":
        own = told([*pinned(case), instruction(case.mandate)], list[Step])
        return [*own[:-1], *KEPT.recorded(case), own[-1]]
    if name in OF_TERMS:
        return KEPT.of_terms(case, name, lambda: _written(case, name))
    return _written(case, name)


def _written(case: Case, name: str) -> Any:
    return told(PARTS[name](case), MandateRead.model_fields[name].annotation)


def whole(asked: MandateIn, now: datetime) -> Needs:
    """What a mandate read looks at."""
    return Needs(now=now, mandates=(asked.public_id,), shows_rows=True)


async def read_events(deps: Deps, caller: Caller, asked: PageIn) -> Reply:
    """The whole ledger, newest first, paged; each row out of what is kept."""
    page, _, more = await _rows(deps, caller, asked)
    return Reply(200, {"items": await each(page, KEPT.row), "next_cursor": more})


async def read_steps(deps: Deps, caller: Caller, asked: PageIn) -> Reply:
    """The whole record, newest first, paged, each step out of what is kept; the instruction closes
    the last page.
    """
    page, m, more = await _rows(deps, caller, asked)
    steps = grouped(await each(each_step(page, KEPT.step_of), _as_it_is))
    if more is None:
        steps = [*steps, instruction(m)]
    return Reply(200, {"items": await each(steps, KEPT.step), "next_cursor": more})


def _as_it_is(step: Step) -> Step:
    return step


async def _rows(
    deps: Deps, caller: Caller, asked: PageIn
) -> tuple[list[Event], Mandate, str | None]:
    """A page of rows, newest first, its mandate, and the cursor behind it."""
    start = keys_of(asked.cursor, (int,))[0] if asked.cursor else None

    async def read(last: Event | None, most: int) -> list[Event]:
        seq = last.seq if last is not None else start
        return await deps.store.read(
            lambda uow: uow.ledger.page(asked.public_id, before_seq=seq, limit=most), single=True
        )

    m = await peek(deps, caller, asked.public_id)
    events = await found(read, asked.limit + 1)
    rows = await each(events[: asked.limit], KEPT.row)
    page = events[: sum(1 for _ in fitting_rows(rows, LONG_PAGE_BYTES))]
    more = cursor_of(page[-1].seq) if len(events) > len(page) else None
    return page, m, more


OPERATIONS: Final = (
    Operation(
        name="mandate_list",
        title="List mandates",
        summary="Mandates you own, or those assigned to your key, newest first.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates"),
        takes=ListIn,
        gives=MandatePage,
        passes=list_mandates,
        on_mcp=True,
    ),
    Operation(
        name="mandate_get",
        title="Read a mandate",
        summary="One mandate: progress, limits with what remains, fees; over MCP clauses, events, "
        "steps by parts.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}"),
        takes=MandateIn,
        gives=MandateRead,
        handler=read_mandate,
        gather=gather_parts,
        needs=whole,
        on_mcp=True,
        refusals=("not_found",),
    ),
    Operation(
        name="mandate_limits",
        title="Read what may still be done",
        summary="The largest action possible now, what binds it, and what is used; at most 2 KB.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/limits"),
        takes=OneMandate,
        gives=LimitsRead,
        handler=read_limits,
        gather=gather_mandate,
        needs=of_one,
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
        passes=read_events,
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
        passes=read_steps,
        on_mcp=True,
        refusals=("not_found",),
    ),
)
