"""Weekly statements, of one mandate and of all."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from domain.mandates.mandate import Mandate
from domain.reads.statement import (
    Span,
    Statement,
    StatementOfAll,
    Week,
    last_full_week,
    statement,
    together,
    week,
)
from storage.unit_of_work import UnitOfWork
from tools.call.access import seen_mandate
from tools.call.fields import OneMandate
from tools.call.operation import HEAVY, Answer, Ask, Operation, Takes

WEEK_FIELD: Final[Any] = Field(
    default=None, max_length=8, description="YYYY-Www in UTC; default: the last full week"
)


class StatementIn(OneMandate):
    """Which week."""

    week: str | None = WEEK_FIELD


class AllIn(Takes):
    """Which week."""

    week: str | None = WEEK_FIELD


def _span(uow: UnitOfWork, m: Mandate, period: Week, *, events: bool) -> Span:
    ledger = uow.ledger
    rows = ledger.between(m.public_id, period.start, period.end) if events else []
    return Span(
        m,
        period,
        ledger.state_before(m.public_id, period.start),
        ledger.state_before(m.public_id, period.end),
        rows,
    )


def one(uow: UnitOfWork, ask: Ask[StatementIn, None]) -> Answer:
    """One mandate's week."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    period = week(ask.asked.week) if ask.asked.week else last_full_week(ask.now)
    return Answer(statement(_span(uow, m, period, events=True)))


def every(uow: UnitOfWork, ask: Ask[AllIn, None]) -> Answer:
    """The week across all non-draft mandates."""
    period = week(ask.asked.week) if ask.asked.week else last_full_week(ask.now)
    spans = [
        _span(uow, m, period, events=False)
        for m in uow.mandates.non_draft_of_owner(ask.caller.user_id or "")
    ]
    return Answer(together(spans, period))


OPERATIONS: Final = (
    Operation(
        name="owner_statement",
        title="Read a weekly statement",
        summary="Worth, flows, result, fees, allowed against used, breaches and steps of a week.",
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
        summary="Totals and one row a mandate.",
        auth="owner",
        route=("GET", "/wallet/me/statement"),
        takes=AllIn,
        gives=StatementOfAll,
        weight=HEAVY,
        handler=every,
        family="statements",
    ),
)
