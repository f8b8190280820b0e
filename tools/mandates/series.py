"""A mandate day by day, from the daily roll-ups, with today as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio.lowlevel
from pydantic import Field

from domain.ledger.record import Day, Record
from domain.mandates.mandate import Mandate
from domain.money import Usdc
from domain.reads.series import DAYS_SHOWN, SeriesPoint, series
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import Facts, chain_if_named, load_case, vault_as_known
from tools.call.fields import OneMandate
from tools.call.kept import KEPT
from tools.call.operation import Answer, Ask, Caller, Deps, Gives, Operation
from tools.keeper.rollup import stored, upto

# Rows that the house has not rolled up yet: so many are read in one call, so many in one turn.
AHEAD: Final = 2_000
ROWS_A_TURN: Final = 100


class SeriesOut(Gives):
    """The newest UTC days, oldest first; one in which nothing happened has no point."""

    points: list[SeriesPoint] = Field(max_length=DAYS_SHOWN)
    day_cap: Usdc = Field(description="what may be spent in a UTC day")
    as_of: Timestamp = Field(description="of the last point")
    complete: bool = Field(
        description="false while the house has not added all rows up: the newest days before today "
        "may be missing, and today's deposits, withdrawals"
    )


@dataclass(frozen=True, slots=True)
class Rolled:
    """The vault, the days up to the last row that was read, and whether that is the newest."""

    facts: Facts
    days: tuple[Day, ...]
    whole: bool


_Days = dict[str, Day]


@dataclass(frozen=True, slots=True)
class _Reached:
    """The fold and its days after some rows, and how many the newest were."""

    record: Record
    days: _Days
    rows: int


async def gather_days(deps: Deps, caller: Caller, asked: OneMandate) -> Rolled:
    """Read the stored days, and fold some rows behind them, some a turn."""
    m = await peek(deps, caller, asked.public_id)
    facts = Facts(vault=await vault_as_known(chain_if_named(deps, m), m))
    at = await deps.store.read(lambda uow: _further(m.public_id, *_stored(uow, m), uow))
    for _ in range(AHEAD // ROWS_A_TURN - 1):
        if at.rows < ROWS_A_TURN:
            break
        await anyio.lowlevel.checkpoint()
        at = await deps.store.read(partial(_further, m.public_id, at.record, at.days))
    days = tuple(at.days[d] for d in sorted(at.days))
    return Rolled(facts, days, at.rows < ROWS_A_TURN)


def _further(public_id: str, record: Record, days: _Days, uow: UnitOfWork) -> _Reached:
    """Fold the next rows in, that many at the most."""
    events = uow.ledger.behind(public_id, record.seq, ROWS_A_TURN)
    record, newer = KEPT.rolled(record, events, days.values)
    return _Reached(record, upto(record, days | {d.day: d for d in newer}), len(events))


def _stored(uow: UnitOfWork, m: Mandate) -> tuple[Record, _Days]:
    """The stored days of the agent that the mandate has now, and where they stand."""
    rows = uow.hall.newest_days(m.public_id, DAYS_SHOWN)
    days = {r.day: Day.from_json(r.body["day"]) for r in rows if r.agent_id == m.agent_id}
    return stored(uow, m), days


def read(uow: UnitOfWork, ask: Ask[OneMandate, Rolled]) -> Answer:
    """The series; it costs the same at row 10 and at row 100,000."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    case = load_case(uow, ask, m, ask.facts.facts, events=0)
    chain = case.chain if case.chain is not None and case.chain.exists else None
    points = series(case, ask.facts.days, whole=ask.facts.whole)
    return Answer(
        SeriesOut(
            points=list(points),
            day_cap=m.daily_cap,
            as_of=chain.block.at if chain else ask.now,
            complete=ask.facts.whole,
        )
    )


OPERATIONS: Final = (
    Operation(
        name="mandate_series",
        title="Read the days",
        summary="Worth, money put in, stop line, flows and spend of each UTC day.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/series"),
        takes=OneMandate,
        gives=SeriesOut,
        gather=gather_days,
        handler=read,
        refusals=("not_found",),
    ),
)
