"""Deposit routes: estimates for bringing USDC in, from a sourced table, best first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from domain.money import ZERO, Usdc
from domain.wire_fields import JsonObject, described, wire_name


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteEnd:
    """One end of a route: an EIP-155 id, or the name of a place that has none."""

    chain: int | str
    asset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeRange:
    """The least and the most that a route costs."""

    low: Usdc
    high: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The least and the most seconds that a route takes."""

    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositRoute:
    """A way to bring USDC in: an estimate out of a sourced table, never a quote; unknown figures
    are null.
    """

    id: str
    name: str = field(metadata=described("the service's own name for it"))
    from_: RouteEnd = field(metadata=wire_name("from"))
    to: RouteEnd
    fee_usdc: FeeRange | None
    fee_bps: int | None
    time_s: TimeRange | None
    steps: tuple[str, ...]
    quoted: Literal[False] = False
    sources: tuple[str, ...]
    as_of: str = field(metadata=described("the day of the table, YYYY-MM-DD"))


def _fee_range(rail: JsonObject, amount: Usdc | None) -> FeeRange | None:
    """The fee for an amount, None where a part of it is not known."""
    if "fee_bps" not in rail or (amount is None and rail["fee_bps"]):
        return None
    share = amount.share_up(int(rail["fee_bps"])) if amount is not None else ZERO
    low, high = (Usdc.parse(v) + share for v in rail.get("fee_usdc", ("0", "0")))
    return FeeRange(low=low, high=high)


def routes(
    table: JsonObject, *, amount: Usdc | None, source_chain: int | None, chain_id: int, asset: str
) -> list[DepositRoute]:
    """Routes to a destination, cheapest first, then quickest; what has no known cost comes last.

    Shapes: every route says `quoted: false`; unknown figures are null. A rail that names
    `to_chains` leads to those alone; none leads from a chain to itself but the transfer on it.
    """
    leading = [
        DepositRoute(
            id=rail["id"],
            name=rail["name"],
            from_=RouteEnd(chain=rail["from_chain"], asset=rail["from_asset"]),
            to=RouteEnd(chain=chain_id, asset=asset),
            fee_usdc=_fee_range(rail, amount),
            fee_bps=rail.get("fee_bps"),
            time_s=TimeRange(low=time[0], high=time[1]) if (time := rail.get("time_s")) else None,
            steps=tuple(rail["steps"]),
            sources=(rail["source"],),
            as_of=str(table.get("as_of")),
        )
        for rail in table.get("rails", ())
        if _leads(rail, source_chain, chain_id)
    ]
    return sorted(leading, key=_order)


def _order(route: DepositRoute) -> tuple[bool, Usdc, int, str]:
    fee, time = route.fee_usdc, route.time_s
    return fee is None, fee.high if fee else ZERO, time.high if time else 10**9, route.id


def _leads(rail: JsonObject, source_chain: int | None, chain_id: int) -> bool:
    origin = rail["from_chain"]
    if chain_id not in rail.get("to_chains", (chain_id,)):
        return False
    if origin == "same":
        return source_chain in (None, chain_id)
    return not isinstance(origin, int) or (origin != chain_id and source_chain in (None, origin))


def transfer_link(token: str, chain_id: int, recipient: str, amount: Usdc | None) -> str:
    """EIP-681 link of a USDC transfer; the amount in base units."""
    tail = f"&uint256={amount.micros}" if amount is not None else ""
    return f"ethereum:{token}@{chain_id}/transfer?address={recipient}{tail}"
