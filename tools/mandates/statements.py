"""Weekly statements, of one mandate and of all."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Final

import anyio.lowlevel
from pydantic import Field

from domain.ledger.events import Event
from domain.mandates.mandate import Mandate
from domain.reads.statement import (
    NOTHING,
    MandateWeek,
    Span,
    Statement,
    StatementOfAll,
    added,
    mandate_week,
    statement,
    together,
)
from domain.reads.step import Step
from domain.reads.steps import each_step, grouped
from domain.reads.weeks import Week, last_full_week, week
from storage.paging import cursor_of, keys_of
from storage.rows.mandates import after
from storage.sql import micros
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.fields import Cursor, Limit, OneMandate
from tools.call.kept import KEPT
from tools.call.operation import HEAVY, Ask, Caller, Deps, Operation, Takes, Written
from tools.call.turns import each, found
from tools.call.wire import told

WEEK_FIELD: Final[Any] = Field(
    default=None, max_length=8, description="YYYY-Www in UTC; default: the last full week"
)


MANDATES_A_TURN: Final = 5


class StatementIn(OneMandate):
    """Which week, and which page of its rows."""

    week: str | None = WEEK_FIELD
    limit: Limit = 50
    cursor: Cursor = None


class AllIn(Takes):
    """Which week, and which page of mandates."""

    week: str | None = WEEK_FIELD
    limit: Limit = 50
    cursor: Cursor = None


def _span(uow: UnitOfWork, m: Mandate, period: Week) -> Span:
    """The week by the checkpoints at its ends: no row of it is read for a figure."""
    ledger = uow.ledger
    return Span(
        m,
        period,
        ledger.state_before(m.public_id, period.start),
        ledger.state_before(m.public_id, period.end),
        (),
    )


def _period(name: str | None, now: datetime) -> Week:
    return week(name) if name else last_full_week(now)


async def walk_one(deps: Deps, caller: Caller, asked: StatementIn) -> Written:
    """Each end of the week, its rows, its steps: a turn each, and the long lists some a turn.

    A row belongs to the week in which it happened, whenever it was read.
    """
    m = await deps.store.read(lambda uow: seen_mandate(uow, caller, asked.public_id))
    period, of = _period(asked.week, deps.clock.now()), m.public_id
    end = (micros(period.end), 0)
    start = min(end, tuple(keys_of(asked.cursor, (int, int)))) if asked.cursor else end

    async def read(last: Event | None, most: int) -> list[Event]:
        at, seq = (micros(last.occurred_at), last.seq) if last is not None else start
        rows = await deps.store.read(
            lambda uow: uow.ledger.before(of, at, seq, most, happened=True)
        )
        return [e for e in rows if e.occurred_at >= period.start]

    before = await deps.store.read(lambda uow: uow.ledger.state_before(of, period.start))
    await anyio.lowlevel.checkpoint()
    after_ = await deps.store.read(lambda uow: uow.ledger.state_before(of, period.end))
    await anyio.lowlevel.checkpoint()
    rows = await found(read, asked.limit + 1)
    page = rows[: asked.limit]
    more = cursor_of(micros(page[-1].occurred_at), page[-1].seq) if len(rows) > len(page) else None
    steps = grouped(await each(each_step(page[::-1], KEPT.step_of), _as_it_is))
    told_ = statement(Span(m, period, before, after_, page[::-1]), more, steps=())
    body = told(told_, Statement) | {"steps": await each(steps, KEPT.step)}
    return Written(body)


def _as_it_is(step: Step) -> Step:
    return step


def one(uow: UnitOfWork, ask: Ask[StatementIn, Written]) -> Written:
    """One mandate's week."""
    return ask.facts


async def walk(deps: Deps, caller: Caller, asked: AllIn) -> Written:
    """Go over all mandates, some a turn, so that nobody waits for the longest list.

    Every mandate's figures are of one snapshot; those of different mandates need not be.
    """
    period, owner = _period(asked.week, deps.clock.now()), caller.user_id or ""
    at = asked.cursor
    spans: list[Span] = []
    sums = NOTHING
    while True:
        some = await deps.store.read(partial(_some, owner, period, at))
        sums = added(sums, some) if asked.cursor is None else sums
        spans += some[: asked.limit + 1 - len(spans)]
        enough = asked.cursor is not None and len(spans) > asked.limit
        if len(some) < MANDATES_A_TURN or enough:
            break
        at = after(some[-1].mandate)
        await anyio.lowlevel.checkpoint()
    page = spans[: asked.limit]
    more = after(page[-1].mandate) if len(spans) > len(page) else None
    head = together((), period, sums if asked.cursor is None else None, more)
    weeks = await each(page, lambda s: told(mandate_week(s), MandateWeek), MANDATES_A_TURN)
    return Written(told(head, StatementOfAll) | {"mandates": weeks})


def _some(owner: str, period: Week, at: str | None, uow: UnitOfWork) -> list[Span]:
    found = uow.mandates.non_draft_of_owner(owner, after=at, limit=MANDATES_A_TURN)
    return [_span(uow, m, period) for m in found]


def every(uow: UnitOfWork, ask: Ask[AllIn, Written]) -> Written:
    """The week across all non-draft mandates."""
    return ask.facts


OPERATIONS: Final = (
    Operation(
        name="owner_statement",
        title="Read a weekly statement",
        summary="Worth, flows, result, fees, allowed against used of a week; its breaches "
        "and steps, a page of ledger rows at a time.",
        auth="owner",
        route=("GET", "/wallet/mandates/{public_id}/statement"),
        takes=StatementIn,
        gives=Statement,
        weight=HEAVY,
        gather=walk_one,
        handler=one,
        family="statements",
        refusals=("not_found",),
    ),
    Operation(
        name="owner_statement_all",
        title="Read the week across mandates",
        summary="Totals, and one row a mandate, paged.",
        auth="owner",
        route=("GET", "/wallet/me/statement"),
        takes=AllIn,
        gives=StatementOfAll,
        gather=walk,
        weight=HEAVY,
        handler=every,
        family="statements",
    ),
)
