"""Ways to bring USDC in, as estimates, and the assets that can be brought in."""

from __future__ import annotations

import io
from typing import Any, Final

import segno
from pydantic import Field

from domain.agents.rails import routes, transfer_link
from domain.money import ZERO, Usdc
from domain.refusals import Refused, invalid
from storage.unit_of_work import UnitOfWork
from tools.call.fields import Address, Nothing
from tools.call.operation import Ask, Gives, Operation, Reply, Takes


class RoutesIn(Takes):
    """Where from, where to, how much; a missing destination is filled from the settings."""

    amount: Usdc | None = None
    source_chain: int | None = Field(default=None, ge=1, le=2**53)
    chain: int | None = Field(default=None, ge=1, le=2**53)
    asset: str | None = Field(default=None, max_length=20)
    recipient: Address | None = None


class RoutesOut(Gives):
    """Routes, best first; `link` and `qr_svg` where a recipient is named."""

    items: list[dict[str, Any]]
    next_cursor: str | None
    destination: dict[str, Any]
    link: str | None
    qr_svg: str | None


class AssetsOut(Gives):
    """Assets with their addresses."""

    items: list[dict[str, Any]]
    next_cursor: str | None
    as_of: str | None


def read_routes(uow: UnitOfWork, ask: Ask[RoutesIn, None]) -> Reply:
    """Ways in, as estimates."""
    a = ask.asked
    if a.amount is not None and a.amount <= ZERO:
        raise invalid("amount", "it is above 0")
    chain_id, asset = a.chain or ask.config.default_chain_id, a.asset or "USDC"
    if asset != "USDC":
        raise invalid("asset", "only USDC can be brought in")
    table = ask.config.deposit_rails
    token = _usdc_if_named(ask, chain_id)
    link = None
    if a.recipient is not None and token is not None:
        link = transfer_link(token, chain_id, ask.chains.address(a.recipient), a.amount)
    told = {
        "items": routes(
            table, amount=a.amount, source_chain=a.source_chain, chain_id=chain_id, asset=asset
        ),
        "next_cursor": None,
        "destination": {"chain": chain_id, "asset": asset, "address": token},
        "link": link,
        "qr_svg": _qr(link) if link else None,
    }
    return Reply(200, told)


def _usdc_if_named(ask: Ask[Any, Any], chain_id: int) -> str | None:
    try:
        return ask.chains.get(chain_id).usdc
    except Refused:
        return None


def _qr(text: str) -> str:
    out = io.BytesIO()
    segno.make(text, micro=False).save(out, kind="svg", scale=4, border=2)
    return out.getvalue().decode()


def read_assets(uow: UnitOfWork, ask: Ask[Nothing, None]) -> Reply:
    """Assets that can be brought in."""
    table = ask.config.deposit_rails
    return Reply(
        200,
        {
            "items": [dict(x) for x in table.get("assets", ())],
            "next_cursor": None,
            "as_of": table.get("as_of"),
        },
    )


OPERATIONS: Final = (
    Operation(
        name="deposit_routes",
        title="List ways in",
        summary="Ways to bring USDC in, as estimates (quoted: false), best first.",
        auth="open",
        route=("GET", "/wallet/deposit/routes"),
        takes=RoutesIn,
        gives=RoutesOut,
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
        takes=Nothing,
        gives=AssetsOut,
        handler=read_assets,
        family="deposit",
    ),
)
