"""The venue's actions, each built with its keys in the one order that the venue hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from domain.trading.venue import CHAIN_NAMES, Network

Action = Mapping[str, Any]
Tif = Literal["Alo", "Ioc", "Gtc"]

_DECIMALS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit order's time in force: add liquidity only, immediate or cancel, good till
    cancelled."""

    tif: Tif


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """An order that waits for the mark price: take profit or stop loss."""

    is_market: bool
    trigger_px: Decimal
    tpsl: Literal["tp", "sl"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One order. Units: `price` in the collateral, `size` in the coin. `cloid` is 16 bytes as 0x
    hex."""

    asset: int
    is_buy: bool
    price: Decimal
    size: Decimal
    reduce_only: bool
    kind: Limit | Trigger
    cloid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Who is paid for bringing an order. Units: tenths of a basis point."""

    address: str
    fee_tenths_bps: int


def wire(number: Decimal) -> str:
    """A price or size as the venue hashes it: no trailing zeros, no exponent, at most 8 decimals.

    Errors: ValueError for what has no such form; nothing is rounded here, because a rounded price
    is another order.
    Source: the venue's signing rules; a trailing zero changes the hash.
    """
    if not number.is_finite():
        raise ValueError(f"{number} is not a number that the venue takes")
    text = format(number, "f")
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > _DECIMALS:
        raise ValueError(f"{text} has more than {_DECIMALS} decimals")
    plain = f"{whole}.{fraction}" if fraction else whole
    return "0" if plain == "-0" else plain


def _kind(kind: Limit | Trigger) -> dict[str, Any]:
    if isinstance(kind, Limit):
        return {"limit": {"tif": kind.tif}}
    return {
        "trigger": {
            "isMarket": kind.is_market,
            "triggerPx": wire(kind.trigger_px),
            "tpsl": kind.tpsl,
        }
    }


def _order(order: Order) -> dict[str, Any]:
    written: dict[str, Any] = {
        "a": order.asset,
        "b": order.is_buy,
        "p": wire(order.price),
        "s": wire(order.size),
        "r": order.reduce_only,
        "t": _kind(order.kind),
    }
    return written if order.cloid is None else {**written, "c": order.cloid}


def place(
    orders: Sequence[Order], *, grouping: str = "na", builder: Builder | None = None
) -> Action:
    """`order`: one or more orders; the builder's address is written in lower case, before its
    fee."""
    action: dict[str, Any] = {
        "type": "order",
        "orders": [_order(o) for o in orders],
        "grouping": grouping,
    }
    if builder is not None:
        action["builder"] = {"b": builder.address.lower(), "f": builder.fee_tenths_bps}
    return action


def cancel(cancels: Sequence[tuple[int, int]]) -> Action:
    """`cancel`: pairs of asset id and order id."""
    return {"type": "cancel", "cancels": [{"a": asset, "o": oid} for asset, oid in cancels]}


def cancel_by_cloid(cancels: Sequence[tuple[int, str]]) -> Action:
    """`cancelByCloid`: pairs of asset id and client order id."""
    return {
        "type": "cancelByCloid",
        "cancels": [{"asset": asset, "cloid": cloid} for asset, cloid in cancels],
    }


def noop() -> Action:
    """`noop`: burn a nonce, so that an action in flight with the same one dies."""
    return {"type": "noop"}


def approve_agent(
    network: Network, *, agent: str, name: str, nonce: int, signature_chain_id: str
) -> Action:
    """`approveAgent`, user-signed. `agent` in lower case; `name` may end in ` valid_until <ms>`."""
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
) -> Action:
    """`approveBuilderFee`, user-signed; `max_fee_rate` is a percent string, for example `0.1%`."""
    return {
        "type": "approveBuilderFee",
        "signatureChainId": signature_chain_id,
        "hyperliquidChain": CHAIN_NAMES[network],
        "maxFeeRate": max_fee_rate,
        "builder": builder.lower(),
        "nonce": nonce,
    }
