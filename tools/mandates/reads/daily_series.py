"""Daily series of a mandate: stored roll-ups, and today's values."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.ledger.state.performance import full_days
from domain.money import Usdc
from domain.reads.series import DAYS_SHOWN, SeriesPoint, series
from domain.times import Timestamp
from storage.unit_of_work import UnitOfWork
from tools.context.access import load_mandate, visible_mandate
from tools.context.snapshot_loader import (
    GatheredFacts,
    chain_or_none,
    load_snapshot,
    vault_or_last_known,
)
from tools.keeper.hall_rollup import rolled
from tools.model.fields import OneMandate
from tools.model.operation import Caller, Deps, Operation, RequestContext, ResponseModel


class SeriesOut(ResponseModel):
    """The newest UTC days, oldest first; one in which nothing happened has no point."""

    points: list[SeriesPoint] = Field(max_length=DAYS_SHOWN)
    day_cap: Usdc = Field(description="what may be spent in a UTC day")
    as_of: Timestamp = Field(description="of the last point")
    complete: bool = Field(
        description="false while the house has not added all rows up: some days may be missing"
    )


async def gather_vault(deps: Deps, caller: Caller, request: OneMandate) -> GatheredFacts:
    """The vault, for the point of today."""
    mandate = await load_mandate(deps, caller, request.public_id)
    return GatheredFacts(vault=await vault_or_last_known(chain_or_none(deps, mandate), mandate))


def read(uow: UnitOfWork, ctx: RequestContext[OneMandate, GatheredFacts]) -> SeriesOut:
    """The series; it costs the same at row 10 and at row 100,000."""
    mandate = visible_mandate(uow, ctx.caller, ctx.request.public_id)
    snapshot = load_snapshot(uow, ctx, mandate, ctx.facts, events=0)
    chain = snapshot.chain if snapshot.chain is not None and snapshot.chain.exists else None
    now = rolled(uow, mandate)
    days = full_days(now.days[d] for d in sorted(now.days)[-DAYS_SHOWN:])
    points = series(snapshot, days, is_complete=not now.gap)
    return SeriesOut(
        points=list(points),
        day_cap=mandate.daily_cap,
        as_of=chain.block.at if chain else ctx.now,
        complete=not now.gap,
    )


OPERATIONS: Final = (
    Operation(
        name="mandate_series",
        title="Read the days",
        summary="Worth, money put in, stop line, flows and spend of each UTC day.",
        auth="owner_or_agent",
        route=("GET", "/wallet/mandates/{public_id}/series"),
        request_model=OneMandate,
        response_model=SeriesOut,
        gather=gather_vault,
        handler=read,
        refusals=("not_found",),
    ),
)
