"""Ways to bring USDC in: estimates, never quotes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.replies import Json
from app.views.components import refusal
from app.views.components.refusal import RefusalView
from app.words.chains import chain_name
from app.words.text import _


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteView:
    """A way in, with ranges."""

    name: str
    start: str
    fee: tuple[str, str] | None
    takes: str
    steps: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]
    as_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetView:
    """An asset that can be brought in."""

    asset: str
    chain: str
    address: str
    source: str
    site: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositView:
    """The page; `qr` is an image of `link`, which asks a wallet for a transfer to the owner."""

    amount: str
    routes: tuple[RouteView, ...]
    assets: tuple[AssetView, ...]
    as_of: str | None
    chain: str
    token: str | None
    to: str | None
    link: str | None
    qr: str | None
    problem: RefusalView | None


def _span(low: int, high: int) -> str:
    if high < 120:
        return _("{low} to {high} s").format(low=low, high=high)
    return _("{low} to {high} min").format(low=max(1, low // 60), high=-(-high // 60))


def _from(chain: int | str, names: Mapping[int, str]) -> str:
    if chain == "same":
        return _("the same network")
    return chain_name(names, chain) if isinstance(chain, int) else chain


def _site(url: str) -> str:
    return urlsplit(url).netloc or url


def _route(raw: Json, names: Mapping[int, str]) -> RouteView:
    fee, takes = raw["fee_usdc"], raw["time_s"]
    return RouteView(
        name=raw["name"],
        start=_from(raw["from"]["chain"], names),
        fee=None if fee is None else (fee["low"], fee["high"]),
        takes="" if takes is None else _span(takes["low"], takes["high"]),
        steps=tuple(raw["steps"]),
        sources=tuple((url, _site(url)) for url in raw["sources"]),
        as_of=raw["as_of"],
    )


def view(
    routes: Json | None,
    assets: Json,
    owner: str | None,
    amount: str,
    block: Json | None,
    names: Mapping[int, str],
) -> DepositView:
    """`routes` of deposit_routes (None where it was refused with `block`), `assets` of
    deposit_assets."""
    response = routes or {"items": (), "destination": {"chain": 0, "address": None}, "link": None}
    svg, to = response.get("qr_svg"), response["destination"]
    return DepositView(
        amount=amount,
        routes=tuple(_route(r, names) for r in response["items"]),
        assets=tuple(
            AssetView(
                asset=a["asset"],
                chain=a["chain"],
                address=a["address"],
                source=a["source"],
                site=_site(a["source"]),
            )
            for a in assets["items"]
        ),
        as_of=assets["as_of"],
        chain=chain_name(names, to["chain"]) if to["chain"] else "",
        token=to["address"],
        to=owner,
        link=response["link"],
        qr="data:image/svg+xml;base64," + b64encode(svg.encode()).decode() if svg else None,
        problem=None if block is None else refusal.view(block, None),
    )
