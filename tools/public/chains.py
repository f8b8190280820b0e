"""Supported chains, with the facts that a wallet needs to connect."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.ports import Chain
from storage.unit_of_work import UnitOfWork
from tools.model.fields import Nothing
from tools.model.operation import HandlerResult, Operation, RequestContext, ResponseModel


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


def read(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> HandlerResult:
    """The chains by their ids."""
    chains = [ctx.chains.get(i) for i in sorted(ctx.chains.ids())]
    return HandlerResult(ChainsOut(items=[_chain_body(c) for c in chains], next_cursor=None))


def _chain_body(chain: Chain) -> ChainTold:
    return ChainTold(
        chain_id=chain.chain_id,
        name=chain.name,
        usdc=chain.usdc,
        factory=chain.factory,
        explorer=chain.explorer,
        confirmations=chain.confirmations,
        public_rpc=chain.public_rpc,
    )


OPERATIONS: Final = (
    Operation(
        name="chains_list",
        title="List chains",
        summary="The chains with their names, contracts, explorer and confirmations.",
        auth="open",
        route=("GET", "/wallet/chains"),
        request_model=Nothing,
        response_model=ChainsOut,
        handler=read,
        family="markets",
    ),
)
