"""Weekly statements, of one mandate and of all."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final

import anyio.lowlevel
from pydantic import Field

from domain.ledger.events.event import Event
from domain.mandates.mandate import Mandate
from domain.reads.iso_weeks import Week, last_full_week, week
from domain.reads.record import each_step, grouped
from domain.reads.statement import (
    NOTHING,
    MandateWeek,
    Statement,
    StatementInput,
    StatementOfAll,
    add_figures,
    mandate_week,
    statement,
    statement_of_all,
)
from domain.reads.step import Step
from storage.cursors import cursor_of, keys_of
from storage.repositories.mandates import cursor_after_mandate
from storage.sql import micros
from storage.unit_of_work import UnitOfWork
from tools.context.access import visible_mandate
from tools.context.render_cache import KEPT
from tools.model.cooperative import map_cooperatively, read_cooperatively
from tools.model.fields import Cursor, Limit, OneMandate
from tools.model.operation import HEAVY, Caller, Deps, Operation, RenderedResult, RequestModel
from tools.model.serialization import to_json
from tools.model.truncation import page_of

WEEK_FIELD: Final[Any] = Field(
    default=None, max_length=8, description="YYYY-Www in UTC; default: the last full week"
)


MANDATES_A_TURN: Final = 5


class StatementIn(OneMandate):
    """Names a week, and a page of its rows."""

    week: str | None = WEEK_FIELD
    limit: Limit = 50
    cursor: Cursor = None


class AllIn(RequestModel):
    """Names a week, and a page of mandates."""

    week: str | None = WEEK_FIELD
    limit: Limit = 50
    cursor: Cursor = None


def _span(uow: UnitOfWork, mandate: Mandate, period: Week) -> StatementInput:
    """The week by the checkpoints at its ends: no row of it is read for a figure."""
    ledger = uow.ledger
    return StatementInput(
        mandate,
        period,
        ledger.state_before(mandate.public_id, period.start),
        ledger.state_before(mandate.public_id, period.end),
        (),
    )


def _period(name: str | None, now: datetime) -> Week:
    return week(name) if name else last_full_week(now)


async def read_week(deps: Deps, caller: Caller, request: StatementIn) -> RenderedResult[Statement]:
    """One mandate's week. Each end of it, its rows and its steps have a turn each, the long lists
    several.

    A row belongs to the week in which it happened, whenever it was read.
    """
    mandate = await deps.store.read(lambda uow: visible_mandate(uow, caller, request.public_id))
    period, of = _period(request.week, deps.clock.now()), mandate.public_id
    end = (micros(period.end), 0)
    start = min(end, tuple(keys_of(request.cursor, (int, int)))) if request.cursor else end

    async def read(last: Event | None, limit: int) -> list[Event]:
        at, seq = (micros(last.occurred_at), last.seq) if last is not None else start
        rows = await deps.store.read(
            lambda uow: uow.ledger.before(of, at, seq, limit, happened=True)
        )
        return [e for e in rows if e.occurred_at >= period.start]

    before = await deps.store.read(lambda uow: uow.ledger.state_before(of, period.start))
    await anyio.lowlevel.checkpoint()
    after_ = await deps.store.read(lambda uow: uow.ledger.state_before(of, period.end))
    await anyio.lowlevel.checkpoint()
    rows = await read_cooperatively(read, request.limit + 1)
    page, more = page_of(rows, request.limit, lambda e: cursor_of(micros(e.occurred_at), e.seq))
    steps = grouped(await map_cooperatively(each_step(page[::-1], KEPT.step_of), _unchanged))
    result = statement(StatementInput(mandate, period, before, after_, page[::-1]), more, steps=())
    body = to_json(result, Statement) | {"steps": await map_cooperatively(steps, KEPT.step)}
    return RenderedResult(body)


def _unchanged(step: Step) -> Step:
    return step


async def list_statements(
    deps: Deps, caller: Caller, request: AllIn
) -> RenderedResult[StatementOfAll]:
    """The week across all non-draft mandates, a few a turn, so that the longest list does not block
    the loop.

    Every mandate's figures are of one snapshot; those of different mandates need not be.
    """
    period, owner = _period(request.week, deps.clock.now()), caller.user_id or ""
    at = request.cursor
    spans: list[StatementInput] = []
    sums = NOTHING
    while True:
        some = await deps.store.read(partial(_next_chunk, owner, period, at))
        sums = add_figures(sums, some) if request.cursor is None else sums
        spans += some[: request.limit + 1 - len(spans)]
        enough = request.cursor is not None and len(spans) > request.limit
        if len(some) < MANDATES_A_TURN or enough:
            break
        at = cursor_after_mandate(some[-1].mandate)
        await anyio.lowlevel.checkpoint()
    page, more = page_of(spans, request.limit, lambda s: cursor_after_mandate(s.mandate))
    head = statement_of_all((), period, sums if request.cursor is None else None, more)
    weeks = await map_cooperatively(
        page, lambda s: to_json(mandate_week(s), MandateWeek), MANDATES_A_TURN
    )
    return RenderedResult(to_json(head, StatementOfAll) | {"mandates": weeks})


def _next_chunk(owner: str, period: Week, at: str | None, uow: UnitOfWork) -> list[StatementInput]:
    mandates = uow.mandates.non_draft_of_owner(owner, after=at, limit=MANDATES_A_TURN)
    return [_span(uow, m, period) for m in mandates]


OPERATIONS: Final = (
    Operation(
        name="owner_statement",
        may_lag=True,
        title="Read a weekly statement",
        summary="Worth, flows, result, fees, allowed against used of a week; its breaches "
        "and steps, a page of ledger rows at a time.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/statement"),
        request_model=StatementIn,
        response_model=Statement,
        weight=HEAVY,
        pass_through=read_week,
        family="statements",
        refusals=("not_found",),
    ),
    Operation(
        name="owner_statement_all",
        may_lag=True,
        title="Read the week across mandates",
        summary="Totals, and one row a mandate, paged.",
        auth="owner",
        route=("GET", "/wallet/me/statement"),
        request_model=AllIn,
        response_model=StatementOfAll,
        pass_through=list_statements,
        weight=HEAVY,
        family="statements",
    ),
)
