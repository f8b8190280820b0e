"""Mandate reads: lists, one mandate in full, its events and steps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal

import anyio.lowlevel
from pydantic import Field

from domain.ledger.events.event import Event
from domain.mandates.card import CardFooter, CardHeader
from domain.mandates.clauses import Clause
from domain.mandates.mandate import Mandate, MandateAttributes
from domain.mandates.terms import TermsStatus
from domain.reads.fees import Fees
from domain.reads.limits import Limits, LimitsNow, limits_now
from domain.reads.progress import PendingClaims, Progress, pending_claims
from domain.reads.purse import PaymentRead, PurseRead
from domain.reads.record import cancellation, each_step, grouped, instruction, pinned
from domain.reads.row_models import LedgerRow
from domain.reads.step import Step
from domain.reads.summary import OF_TERMS, PARTS, MandateSummary, summary
from domain.reads.withdrawal_lock import AsOf, ChainState, Lock, age_s
from domain.refusals import invalid
from domain.rules.exposure import Exposure
from domain.rules.snapshot import MandateSnapshot, ShownStatus, display_status
from domain.times import Timestamp
from storage.cursors import cursor_of, keys_of
from storage.prefetch.read_set import ReadSet
from storage.repositories.mandates import cursor_after_mandate
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, mandate_read_set, visible_mandate
from tools.context.render_cache import KEPT
from tools.context.snapshot_loader import CHAIN_EVENTS, GatheredFacts, gather_mandate, load_snapshot
from tools.dispatch.request_context import request_context
from tools.model.cooperative import map_cooperatively, read_cooperatively
from tools.model.fields import Cursor, Limit, OneMandate, Page
from tools.model.operation import (
    Caller,
    Deps,
    Operation,
    RenderedResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.serialization import to_json
from tools.model.truncation import (
    LONG_PAGE_BYTES,
    PAGE_BYTES,
    bounded_page,
    page_of,
    rows_within,
    sections_within,
)

MANDATES_A_TURN: Final = 25


class MandateListIn(RequestModel):
    """Filters of mandates, and the page."""

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
    """Names a mandate, and the parts of it to read."""

    parts: str | None = Field(
        default=None,
        max_length=200,
        description="comma list of mandate, progress, limits, fees, lock, "
        "clauses, exposure, x402, payments, chain_state, as_of, terms_status, card_header, "
        "card_footer, events, steps. Default: all that fit",
    )

    def requested_parts(self) -> frozenset[str]:
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
PURSE: Final = "x402"
PAYMENTS: Final = "payments"
PAYMENTS_SHOWN: Final = 10
OF_PURSE: Final = frozenset({PURSE, PAYMENTS})

# What a model is given unasked, the most useful first; events and steps have tools of their own.
FOR_A_MODEL: Final = (
    "progress",
    "limits",
    "mandate",
    "lock",
    "as_of",
    "chain_state",
    "exposure",
    "x402",
    "fees",
    "terms_status",
    "clauses",
    "card_footer",
    "card_header",
)


class MandateRead(ResponseModel):
    """Everything that is known of one mandate (contract 3); events and steps are the newest 50.

    A part that was not asked for is left out; over MCP without `parts`, events and steps are not
    told, and `left_out` names what did not fit into 8 KB; each can be asked for by `parts`.
    There `cut` names texts of which only the beginning is told. `x402`, and `payments`, its newest
    10, stand where the terms have a purse.
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
    x402: PurseRead | None = NOT_ASKED
    payments: tuple[PaymentRead, ...] = NOT_ASKED
    terms_status: TermsStatus | None = NOT_ASKED
    left_out: tuple[str, ...] = NOT_ASKED


class LimitsRead(ResponseModel):
    """The remaining limits, in at most 2 KB; breaches stand in the mandate read."""

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


async def list_mandates(
    deps: Deps, caller: Caller, request: MandateListIn
) -> RenderedResult[MandatePage]:
    """Mandates you own, or those assigned to your key, newest first; read a few at a time, because
    200 at once would block the loop.
    """
    now = deps.clock.now()
    listed = await deps.store.read(partial(_listed, caller, request), single=True)
    page = listed[: request.limit]
    store = await deps.store.prefetch(ReadSet(now=now, mandates=[m.public_id for m in page]))
    summaries: list[Any] = []
    while some := page[len(summaries) :][:MANDATES_A_TURN]:
        summaries += await store.read(partial(_summaries, deps, caller, request, now, some))
        await anyio.lowlevel.checkpoint()
    # What an agent lists strangers have written, who only had to name it.
    max_bytes = PAGE_BYTES if caller.role == "agent" else LONG_PAGE_BYTES
    return bounded_page(listed, summaries, cursor_after_mandate, max_bytes)


def _listed(caller: Caller, a: MandateListIn, uow: UnitOfWork) -> list[Mandate]:
    """The mandates of the page, and one more where there are more."""
    who, limit = caller.user_id or "", a.limit + 1
    if caller.role == "owner":
        return uow.mandates.of_owner(
            who, after=a.cursor, limit=limit, proposed_only=a.proposed, status=a.status
        )
    return uow.mandates.of_agent(who, after=a.cursor, limit=limit, status=a.status)


def _summaries(
    deps: Deps,
    caller: Caller,
    a: MandateListIn,
    now: datetime,
    some: list[Mandate],
    uow: UnitOfWork,
) -> list[Any]:
    ctx = request_context(uow, deps, caller, now, request=a)
    read = (uow.mandates.get(m.public_id) or m for m in some)
    return [to_json(summary(load_snapshot(uow, ctx, m, events=0)), MandateSummary) for m in read]


async def gather_parts(deps: Deps, caller: Caller, request: MandateIn) -> GatheredFacts:
    """Read from the chain what the requested parts need."""
    return await gather_mandate(deps, caller, request, signed=SIGNED in request.requested_parts())


def read_mandate(
    uow: UnitOfWork, ctx: RequestContext[MandateIn, GatheredFacts]
) -> RenderedResult[MandateRead]:
    """Read one mandate whole; costs the same at row 10 and at row 100,000."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    if ctx.transport == "mcp" and ctx.request.parts is None:
        short = load_snapshot(uow, ctx, mandate, ctx.facts, events=0, terms=True)
        parts = [name for name in FOR_A_MODEL if name != PURSE or mandate.has_purse]
        return RenderedResult(sections_within(parts, lambda name: _part(short, name), WHOLE))
    names = ctx.request.requested_parts()
    events = CHAIN_EVENTS if not names.isdisjoint(("events", "steps")) else 0
    if not mandate.has_purse:
        names -= OF_PURSE
    paid = PAYMENTS_SHOWN if PAYMENTS in names else 0
    signed = SIGNED in names
    snapshot = load_snapshot(
        uow, ctx, mandate, ctx.facts, events=events, terms=signed, payments=paid
    )
    return RenderedResult({name: _part(snapshot, name) for name in PARTS if name in names})


def read_limits(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> LimitsRead:
    """Read the remaining limits."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    chain = snapshot.chain if snapshot.chain is not None and snapshot.chain.exists else None
    return LimitsRead(
        status=display_status(snapshot),
        paused=snapshot.mandate.paused,
        limits=limits_now(snapshot),
        pending_claims=pending_claims(snapshot),
        as_of_block=chain.block.number if chain else None,
        as_of=chain.block.at if chain else ctx.now,
        age_s=age_s(snapshot),
    )


def _part(snapshot: MandateSnapshot, name: str) -> Any:
    """One part in its wire form; rows, steps and what follows from the terms out of what is
    kept.
    """
    if name == "events":
        return KEPT.rows(snapshot.events)
    if name == "steps":
        own = to_json([*pinned(snapshot), instruction(snapshot.mandate)], list[Step])
        return [*own[:-1], *KEPT.recorded(snapshot), own[-1]]
    if name in OF_TERMS:
        return KEPT.terms_part(snapshot, name, lambda: _written(snapshot, name))
    return _written(snapshot, name)


def _written(snapshot: MandateSnapshot, name: str) -> Any:
    return to_json(PARTS[name](snapshot), MandateRead.model_fields[name].annotation)


def full_read_set(request: MandateIn, now: datetime) -> ReadSet:
    """The rows that a mandate read reads."""
    return ReadSet(now=now, mandates=(request.public_id,), shows_rows=True)


async def read_events(deps: Deps, caller: Caller, request: PageIn) -> RenderedResult[EventPage]:
    """The whole ledger, newest first, paged; each row out of what is kept."""
    page, _, more = await _rows(deps, caller, request)
    return RenderedResult({"items": await map_cooperatively(page, KEPT.row), "next_cursor": more})


async def read_steps(deps: Deps, caller: Caller, request: PageIn) -> RenderedResult[StepPage]:
    """The whole record, newest first, paged, each step out of what is kept; a cancellation opens
    the first page, and the instruction closes the last one.
    """
    page, mandate, more = await _rows(deps, caller, request)
    steps = grouped(await map_cooperatively(each_step(page, KEPT.step_of), _unchanged))
    if request.cursor is None:
        steps = [*cancellation(mandate), *steps]
    if more is None:
        steps = [*steps, instruction(mandate)]
    return RenderedResult({"items": await map_cooperatively(steps, KEPT.step), "next_cursor": more})


def _unchanged(step: Step) -> Step:
    return step


async def _rows(
    deps: Deps, caller: Caller, request: PageIn
) -> tuple[Sequence[Event], Mandate, str | None]:
    """A page of rows, newest first, its mandate, and the cursor behind it."""
    start = keys_of(request.cursor, (int,))[0] if request.cursor else None

    async def read(last: Event | None, limit: int) -> list[Event]:
        seq = last.seq if last is not None else start
        return await deps.store.read(
            lambda uow: uow.ledger.page(request.public_id, before_seq=seq, limit=limit), single=True
        )

    mandate = await load_mandate(deps, caller, request.public_id)
    events = await read_cooperatively(read, request.limit + 1)
    rows = await map_cooperatively(events[: request.limit], KEPT.row)
    fits = sum(1 for _ in rows_within(rows, LONG_PAGE_BYTES))
    page, more = page_of(events, fits, lambda event: cursor_of(event.seq))
    return page, mandate, more


_read_operation: Final = partial(Operation, auth="owner_or_agent", on_mcp=True)


OPERATIONS: Final = (
    _read_operation(
        name="mandate_list",
        title="List mandates",
        summary="Mandates you own, or those assigned to your key, newest first.",
        route=("GET", "/wallet/mandates"),
        request_model=MandateListIn,
        response_model=MandatePage,
        pass_through=list_mandates,
    ),
    _read_operation(
        name="mandate_get",
        title="Read a mandate",
        summary="One mandate, by parts: worth and fee are parts=progress,fees; what may be "
        "called is parts=mandate. Without parts it is long.",
        route=("GET", "/wallet/mandates/{public_id}"),
        request_model=MandateIn,
        response_model=MandateRead,
        handler=read_mandate,
        gather=gather_parts,
        read_set=full_read_set,
        refusals=("not_found",),
    ),
    _read_operation(
        name="mandate_limits",
        title="Read what may still be done",
        summary="The largest action possible now, what binds it, and what is used; at most 2 KB.",
        route=("GET", "/wallet/mandates/{public_id}/limits"),
        request_model=OneMandate,
        response_model=LimitsRead,
        handler=read_limits,
        gather=gather_mandate,
        read_set=mandate_read_set,
        refusals=("not_found",),
    ),
    _read_operation(
        name="mandate_events",
        title="Read the ledger",
        summary="The mandate's whole ledger, newest first, paged.",
        route=("GET", "/wallet/mandates/{public_id}/events"),
        request_model=PageIn,
        response_model=EventPage,
        pass_through=read_events,
        refusals=("not_found",),
    ),
    _read_operation(
        name="mandate_steps",
        title="Read the record",
        summary="The mandate's whole record of steps, newest first, paged.",
        route=("GET", "/wallet/mandates/{public_id}/steps"),
        request_model=PageIn,
        response_model=StepPage,
        pass_through=read_steps,
        refusals=("not_found",),
    ),
)
