"""Ways to bring USDC in: estimates out of a sourced table, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.money import ZERO, Usdc

Rails = Mapping[str, Any]


def fee_range(rail: Mapping[str, Any], amount: Usdc | None) -> tuple[Usdc, Usdc] | None:
    """(least, most) in USDC for an amount, None where a part of the fee is not known."""
    if "fee_bps" not in rail:
        return None
    share = amount.share_up(int(rail["fee_bps"])) if amount is not None else ZERO
    if amount is None and rail["fee_bps"]:
        return None
    low, high = (Usdc.parse(v) for v in rail.get("fee_usdc", ("0", "0")))
    return low + share, high + share


def routes(
    table: Rails, *, amount: Usdc | None, source_chain: int | None, chain_id: int, asset: str
) -> list[dict[str, Any]]:
    """Routes to a destination, cheapest first, then quickest; what has no known cost comes last.

    Shapes: every route says `quoted: false`; unknown figures are null. A rail that names
    `to_chains` leads to those alone; none leads from a chain to itself but the transfer on it.
    """
    found = []
    for rail in table.get("rails", ()):
        if not _leads(rail, source_chain, chain_id):
            continue
        fees, seconds = fee_range(rail, amount), rail.get("time_s")
        order = (
            fees is None,
            fees[1] if fees else ZERO,
            seconds[1] if seconds else 10**9,
            rail["id"],
        )
        found.append((order, _route(rail, fees, seconds, chain_id, asset, str(table.get("as_of")))))
    return [route for _, route in sorted(found, key=lambda f: f[0])]


def _leads(rail: Mapping[str, Any], source_chain: int | None, chain_id: int) -> bool:
    origin = rail["from_chain"]
    if chain_id not in rail.get("to_chains", (chain_id,)):
        return False
    if origin == "same":
        return source_chain in (None, chain_id)
    return not isinstance(origin, int) or (origin != chain_id and source_chain in (None, origin))


def _route(
    rail: Mapping[str, Any],
    fees: tuple[Usdc, Usdc] | None,
    seconds: Sequence[int] | None,
    chain_id: int,
    asset: str,
    as_of: str,
) -> dict[str, Any]:
    return {
        "id": rail["id"],
        "name": rail["name"],
        "from": {"chain": rail["from_chain"], "asset": rail["from_asset"]},
        "to": {"chain": chain_id, "asset": asset},
        "fee_usdc": {"low": str(fees[0]), "high": str(fees[1])} if fees else None,
        "fee_bps": rail.get("fee_bps"),
        "time_s": {"low": seconds[0], "high": seconds[1]} if seconds else None,
        "steps": list(rail["steps"]),
        "quoted": False,
        "sources": [rail["source"]],
        "as_of": as_of,
    }


def transfer_link(token: str, chain_id: int, recipient: str, amount: Usdc | None) -> str:
    """EIP-681 link of a USDC transfer; the amount in base units."""
    tail = f"&uint256={amount.micros}" if amount is not None else ""
    return f"ethereum:{token}@{chain_id}/transfer?address={recipient}{tail}"
