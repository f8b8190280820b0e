"""A mandate day by day, from the daily roll-ups, with today as it stands."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.ledger.performance import whole_days
from domain.money import Usdc
from domain.reads.series import DAYS_SHOWN, SeriesPoint, series
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.call.access import peek, seen_mandate
from tools.call.case import Facts, chain_if_named, load_case, vault_as_known
from tools.call.fields import OneMandate
from tools.call.operation import Answer, Ask, Caller, Deps, Gives, Operation
from tools.keeper.rollup import rolled


class SeriesOut(Gives):
    """The newest UTC days, oldest first; one in which nothing happened has no point."""

    points: list[SeriesPoint] = Field(max_length=DAYS_SHOWN)
    day_cap: Usdc = Field(description="what may be spent in a UTC day")
    as_of: Timestamp = Field(description="of the last point")
    complete: bool = Field(
        description="false while the house has not added all rows up: some days may be missing"
    )


async def gather_vault(deps: Deps, caller: Caller, asked: OneMandate) -> Facts:
    """The vault, for the point of today."""
    m = await peek(deps, caller, asked.public_id)
    return Facts(vault=await vault_as_known(chain_if_named(deps, m), m))


def read(uow: UnitOfWork, ask: Ask[OneMandate, Facts]) -> Answer:
    """The series; it costs the same at row 10 and at row 100,000."""
    m = seen_mandate(uow, ask.caller, ask.asked.public_id)
    case = load_case(uow, ask, m, ask.facts, events=0)
    chain = case.chain if case.chain is not None and case.chain.exists else None
    now = rolled(uow, m)
    days = whole_days(now.days[d] for d in sorted(now.days)[-DAYS_SHOWN:])
    points = series(case, days, whole=not now.gap)
    return Answer(
        SeriesOut(
            points=list(points),
            day_cap=m.daily_cap,
            as_of=chain.block.at if chain else ask.now,
            complete=not now.gap,
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
        gather=gather_vault,
        handler=read,
        refusals=("not_found",),
    ),
)
