"""The markets an owner can allow."""

from __future__ import annotations

from typing import Final

from domain.mandates.markets import MarketTold, from_config
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Nothing
from tools.model.operation import Operation, OperationResult, RequestContext, ResponseModel


class MarketsOut(ResponseModel):
    """Every market with its status and who enforces the limit."""

    items: list[MarketTold]
    next_cursor: str | None


def read(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> OperationResult:
    """List the configured markets."""
    return OperationResult(
        200, {"items": [m.as_shown() for m in from_config(ctx.config.markets)], "next_cursor": None}
    )


OPERATIONS: Final = (
    Operation(
        name="markets_list",
        title="List markets",
        summary="Markets with their status, who enforces the limit, and how calls are encoded. "
        "A mandate's allowed_targets name their market by its id.",
        auth="open",
        route=("GET", "/wallet/markets"),
        request_model=Nothing,
        response_model=MarketsOut,
        handler=read,
        on_mcp=True,
        family="markets",
    ),
)
