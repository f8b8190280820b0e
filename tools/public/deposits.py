"""Deposit routes for USDC as estimates, and the assets that can be deposited."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from domain.agents.deposit_routes import DepositRoute, routes, transfer_link
from domain.money import ZERO, Usdc
from domain.refusals import Refused, invalid
from storage.unit_of_work import UnitOfWork
from tools.context.access import wallet_of
from tools.model.fields import Address, Nothing
from tools.model.operation import AnyContext, Operation, RequestContext, RequestModel, ResponseModel
from tools.model.qr_code import qr_svg


class RoutesIn(RequestModel):
    """Source, destination and amount; a missing destination is filled from the settings."""

    amount: Usdc | None = None
    source_chain: int | None = Field(default=None, ge=1, le=2**53)
    chain: int | None = Field(default=None, ge=1, le=2**53)
    asset: str | None = Field(default=None, max_length=20)
    recipient: Address | None = None


class Destination(ResponseModel):
    """The destination of the money; `address` is USDC's, null where the chain is not set."""

    chain: int
    asset: str
    address: str | None


class RoutesOut(ResponseModel):
    """Routes, best first; `link` and `qr_svg` where a recipient is named."""

    items: list[DepositRoute]
    next_cursor: str | None
    destination: Destination
    link: str | None
    qr_svg: str | None


class DepositAsset(ResponseModel):
    """An asset that can be brought in; `source` is the page that names its address."""

    asset: str
    chain_id: int
    chain: str
    address: str
    source: str


class AssetsOut(ResponseModel):
    """Assets with their addresses."""

    items: list[DepositAsset]
    next_cursor: str | None
    as_of: str | None


def read_routes(uow: UnitOfWork, ctx: RequestContext[RoutesIn, None]) -> RoutesOut:
    """Ways in, as estimates."""
    a = ctx.request
    if a.amount is not None and a.amount <= ZERO:
        raise invalid("amount", "it is above 0")
    chain_id, asset = a.chain or ctx.config.default_chain_id, a.asset or "USDC"
    if asset != "USDC":
        raise invalid("asset", "only USDC can be brought in")
    table = ctx.config.deposit_rails
    if chain_id not in {*ctx.chains.ids(), *(x["chain_id"] for x in table.get("assets", ()))}:
        raise invalid("chain", "no USDC is known on this chain")
    token = _usdc_if_named(ctx, chain_id)
    link, to = None, wallet_of(ctx, a.recipient) if a.recipient is not None else None
    if to is not None and token is not None:
        link = transfer_link(token, chain_id, to, a.amount)
    items = routes(
        table, amount=a.amount, source_chain=a.source_chain, chain_id=chain_id, asset=asset
    )
    return RoutesOut(
        items=list(items),
        next_cursor=None,
        destination=Destination(chain=chain_id, asset=asset, address=token),
        link=link,
        qr_svg=qr_svg(link) if link else None,
    )


def _usdc_if_named(ctx: AnyContext, chain_id: int) -> str | None:
    try:
        return ctx.chains.get(chain_id).usdc
    except Refused:
        return None


def read_assets(uow: UnitOfWork, ctx: RequestContext[Nothing, None]) -> AssetsOut:
    """Assets that can be brought in."""
    table = ctx.config.deposit_rails
    assets = [DepositAsset.model_validate(dict(x)) for x in table.get("assets", ())]
    return AssetsOut(items=assets, next_cursor=None, as_of=table.get("as_of"))


OPERATIONS: Final = (
    Operation(
        name="deposit_routes",
        title="List ways in",
        summary="Ways to bring USDC in, as estimates (quoted: false), best first.",
        auth="open",
        route=("GET", "/wallet/deposit/routes"),
        request_model=RoutesIn,
        response_model=RoutesOut,
        handler=read_routes,
        family="deposit",
        refusals=("invalid_number", "invalid_address"),
    ),
    Operation(
        name="deposit_assets",
        title="List assets",
        summary="Assets that can be brought in, with their addresses.",
        auth="open",
        route=("GET", "/wallet/deposit/assets"),
        request_model=Nothing,
        response_model=AssetsOut,
        handler=read_assets,
        family="deposit",
    ),
)
