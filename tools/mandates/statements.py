"""Weekly statements, of one mandate and of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

import anyio.lowlevel
from pydantic import Field

from domain.ledger.events import Event
from domain.mandates.mandate import Mandate
from domain.reads.statement import (
    NOTHING,
    Span,
    Statement,
    StatementOfAll,
    added,
    statement,
    together,
)
from domain.reads.weeks import Week, last_full_week, week
from storage.paging import cursor_of, keys_of
from storage.rows.mandates import after
from storage.sql import micros
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.fields import Cursor, Limit, OneMandate
from tools.call.operation import HEAVY, Answer, Ask, Caller, Deps, Operation, Takes

WEEK_FIELD: Final[Any] = Field(
    default=None, max_length=8, description="YYYY-Www in UTC; default: the last full week"
)


MANDATES_A_TURN: Final = 10


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What was gathered over many mandates: a page of spans, and the sums of all."""

    period: Week
    spans: Sequence[Span]
    sums: Mapping[str, int] | None
    next_cursor: str | None


def _span(uow: UnitOfWork, m: Mandate, period: Week, events: Sequence[Event] = ()) -> Span:
    """The week by the checkpoints at its ends: no row of it is read for a figure."""
    ledger = uow.ledger
    return Span(
        m,
        period,
        ledger.state_before(m.public_id, period.start),
        ledger.state_before(m.public_id, period.end),
        events,
    )


def _period(name: str | None, now: datetime) -> Week:
    return week(name) if name else last_full_week(now)


def one(uow: UnitOfWork, ask: Ask[StatementIn, None]) -> Answer:
    """One mandate's week."""
    asked = ask.asked
    m = seen_mandate(uow, ask.caller, asked.public_id)
    period = _period(asked.week, ask.now)
    end = (micros(period.end), 0)
    at, seq = min(end, tuple(keys_of(asked.cursor, (int, int)))) if asked.cursor else end
    rows = uow.ledger.before(m.public_id, at, seq, asked.limit + 1)
    rows = [e for e in rows if e.created_at >= period.start]
    page = rows[: asked.limit]
    more = cursor_of(micros(page[-1].created_at), page[-1].seq) if len(rows) > len(page) else None
    return Answer(statement(_span(uow, m, period, page[::-1]), more))


async def walk(deps: Deps, caller: Caller, asked: AllIn) -> Walked:
    """Go over all mandates, some a turn, so that nobody waits for the longest list.

    Every mandate's figures are of one snapshot; those of different mandates need not be.
    """
    period, owner = _period(asked.week, deps.clock.now()), caller.user_id or ""
    at = asked.cursor
    spans: list[Span] = []
    sums: Mapping[str, int] = NOTHING
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
    return Walked(
        period=period,
        spans=page,
        sums=sums if asked.cursor is None else None,
        next_cursor=after(page[-1].mandate) if len(spans) > len(page) else None,
    )


def _some(owner: str, period: Week, at: str | None, uow: UnitOfWork) -> list[Span]:
    found = uow.mandates.non_draft_of_owner(owner, after=at, limit=MANDATES_A_TURN)
    return [_span(uow, m, period) for m in found]


def every(uow: UnitOfWork, ask: Ask[AllIn, Walked]) -> Answer:
    """The week across all non-draft mandates."""
    w = ask.facts
    return Answer(together(w.spans, w.period, w.sums, w.next_cursor))


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
