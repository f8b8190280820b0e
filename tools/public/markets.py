"""The markets an owner can allow."""

from __future__ import annotations

from typing import Any, Final

from domain.mandates.markets import from_config
from storage.unit_of_work import UnitOfWork
from tools.call.fields import Nothing
from tools.call.operation import Ask, Gives, Operation, Reply


class MarketsOut(Gives):
    """Every market with its status and who enforces the limit."""

    items: list[dict[str, Any]]
    next_cursor: str | None


def read(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """List the configured markets."""
    return Reply(
        200, {"items": [m.as_json() for m in from_config(ask.config.markets)], "next_cursor": None}
    )


OPERATIONS: Final = (
    Operation(
        name="markets_list",
        title="List markets",
        summary="Markets with their status, who enforces the limit, and how calls are encoded. "
        "A mandate's allowed_targets name their market by its id.",
        auth="open",
        route=("GET", "/wallet/markets"),
        takes=Nothing,
        gives=MarketsOut,
        handler=read,
        on_mcp=True,
        family="markets",
    ),
)
