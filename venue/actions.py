"""Actions of the venue, each with its keys in the one order that the venue hashes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal, NotRequired, TypedDict

from domain.trading.orders import PaidBuilder
from domain.trading.venue_values import CHAIN_NAMES, Network

# Limit orders alone: add liquidity only, immediate or cancel, good till cancelled.
Tif = Literal["Alo", "Ioc", "Gtc"]
Grouping = Literal["na", "normalTpsl", "positionTpsl"]

_DECIMALS: Final = 8


class _Tif(TypedDict):
    tif: Tif


class _Limit(TypedDict):
    limit: _Tif


class OrderJson(TypedDict):
    """One order: asset, buy, price, size, reduce-only, type, client order id."""

    a: int
    b: bool
    p: str
    s: str
    r: bool
    t: _Limit
    c: NotRequired[str]


class _Builder(TypedDict):
    b: str
    f: int


class PlaceJson(TypedDict):
    """`order`."""

    type: Literal["order"]
    orders: list[OrderJson]
    grouping: Grouping
    builder: NotRequired[_Builder]


class _Cancelled(TypedDict):
    asset: int
    cloid: str


class CancelByCloid(TypedDict):
    """`cancelByCloid`."""

    type: Literal["cancelByCloid"]
    cancels: list[_Cancelled]


class ApproveAgent(TypedDict):
    """`approveAgent`, user-signed."""

    type: Literal["approveAgent"]
    signatureChainId: str
    hyperliquidChain: str
    agentAddress: str
    agentName: str
    nonce: int


class ApproveBuilderFee(TypedDict):
    """`approveBuilderFee`, user-signed."""

    type: Literal["approveBuilderFee"]
    signatureChainId: str
    hyperliquidChain: str
    maxFeeRate: str
    builder: str
    nonce: int


Ordering = PlaceJson | CancelByCloid
UserSigned = ApproveAgent | ApproveBuilderFee


def wire(number: Decimal) -> str:
    """Format a price or size as the venue hashes it: no trailing zeros, no exponent, at most 8
    decimals.

    Errors: ValueError for a number without such a form; nothing is rounded here, because a rounded
    price is another order.
    Source: the venue's signing rules; a trailing zero changes the hash.
    """
    if not number.is_finite():
        raise ValueError(f"{number} is not a number that the venue takes")
    text = format(number, "f")
    integer, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > _DECIMALS:
        raise ValueError(f"{text} has more than {_DECIMALS} decimals")
    plain = f"{integer}.{fraction}" if fraction else integer
    return "0" if plain == "-0" else plain


def order(
    *,
    asset: int,
    is_buy: bool,
    price: Decimal,
    size: Decimal,
    reduce_only: bool,
    tif: Tif,
    cloid: str | None = None,
) -> OrderJson:
    """Build one order; `cloid` is 16 bytes as 0x hex. Errors: ValueError, see `wire`."""
    written: OrderJson = {
        "a": asset,
        "b": is_buy,
        "p": wire(price),
        "s": wire(size),
        "r": reduce_only,
        "t": {"limit": {"tif": tif}},
    }
    if cloid is not None:
        written["c"] = cloid
    return written


def place(
    orders: Sequence[OrderJson], *, grouping: Grouping = "na", builder: PaidBuilder | None = None
) -> PlaceJson:
    """Build `order`: one or more orders; the builder's address is lower-cased before its fee."""
    action: PlaceJson = {"type": "order", "orders": list(orders), "grouping": grouping}
    if builder is not None:
        action["builder"] = {"b": builder.address.lower(), "f": builder.fee_tenths_bps}
    return action


def cancel_by_cloid(cancels: Sequence[tuple[int, str]]) -> CancelByCloid:
    """Build `cancelByCloid` from pairs of asset id and client order id."""
    return {
        "type": "cancelByCloid",
        "cancels": [{"asset": asset, "cloid": cloid} for asset, cloid in cancels],
    }


def approve_agent(
    network: Network, *, agent: str, name: str, nonce: int, signature_chain_id: str
) -> ApproveAgent:
    """Build `approveAgent`, user-signed; `name` may end in ` valid_until <ms>`."""
    return {
        "type": "approveAgent",
        "signatureChainId": signature_chain_id,
        "hyperliquidChain": CHAIN_NAMES[network],
        "agentAddress": agent.lower(),
        "agentName": name,
        "nonce": nonce,
    }


def approve_builder_fee(
    network: Network, *, builder: str, max_fee_rate: str, nonce: int, signature_chain_id: str
) -> ApproveBuilderFee:
    """Build `approveBuilderFee`, user-signed; `max_fee_rate` is such as `0.1%`."""
    return {
        "type": "approveBuilderFee",
        "signatureChainId": signature_chain_id,
        "hyperliquidChain": CHAIN_NAMES[network],
        "maxFeeRate": max_fee_rate,
        "builder": builder.lower(),
        "nonce": nonce,
    }
