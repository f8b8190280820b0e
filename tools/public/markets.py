"""The markets that an owner can allow, and the chains with what a wallet needs to connect."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.mandates.markets import MarketTold, from_config
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Nothing
from tools.model.operation import Operation, RequestContext, ResponseModel


class MarketsOut(ResponseModel):
    """Every market with its status and who enforces the limit."""

    items: list[MarketTold]
    next_cursor: str | None


class ChainTold(ResponseModel):
    """One chain."""

    chain_id: int
    name: str = Field(description="the service's own name for it")
    usdc: str | None = Field(description="address of USDC; null where none is set")
    factory: str | None = Field(
        description="the vault factory; null while the operator has set none, and then no vault "
        "can be made there"
    )
    explorer: str | None = Field(description="base address of a block explorer")
    confirmations: int = Field(description="blocks until a log is in the ledger")
    public_rpc: str | None = Field(
        description="an RPC address that anybody may ask (EIP-3085); null where none is known"
    )


class ChainsOut(ResponseModel):
    """Every chain that the service knows."""

    items: list[ChainTold]
    next_cursor: str | None


def list_markets(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> MarketsOut:
    """List the configured markets."""
    shown = [m.as_shown() for m in from_config(ctx.config.markets)]
    return MarketsOut(items=shown, next_cursor=None)


def list_chains(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> ChainsOut:
    """The chains by their ids."""
    chains = [ctx.chains.get(i) for i in sorted(ctx.chains.ids())]
    items = [ChainTold.model_validate(c, from_attributes=True) for c in chains]
    return ChainsOut(items=items, next_cursor=None)


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
        handler=list_markets,
        on_mcp=True,
        family="markets",
    ),
    Operation(
        name="chains_list",
        title="List chains",
        summary="The chains with their names, contracts, explorer and confirmations.",
        auth="open",
        route=("GET", "/wallet/chains"),
        request_model=Nothing,
        response_model=ChainsOut,
        handler=list_chains,
        family="markets",
    ),
)
