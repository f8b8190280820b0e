"""Venue values with exact figures; a figure that is missing or is not a number is None."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Generic, Literal, TypeVar

from domain.mandates.targets import VENUE as VENUE

Network = Literal["mainnet", "testnet"]
NETWORKS: Final[tuple[Network, ...]] = ("mainnet", "testnet")
CHAIN_NAMES: Final[Mapping[Network, Literal["Mainnet", "Testnet"]]] = {
    "mainnet": "Mainnet",
    "testnet": "Testnet",
}
# Users of the request weight, the most urgent last: public relays, open pages, the house's own
# duties, orders and keys, closes, the keeper.
Priority = Literal["relay", "page", "house", "order", "close", "keeper"]
MarginMode = Literal["cross", "no_cross", "strict_isolated"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[T]):
    """A value with the time it was read; `stale` where the venue gave no newer one when asked."""

    value: T
    as_of: datetime
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Perp:
    """One perpetual with its figures.

    Units: prices and `day_volume` in the dex's collateral, `open_interest` in the coin, `funding`
    per hour.
    """

    coin: str
    dex: str
    asset_id: int
    sz_decimals: int
    max_leverage: int
    margin_mode: MarginMode
    growth_mode: bool
    collateral_token: int | None
    delisted: bool
    has_book: bool
    mark_px: Decimal | None
    oracle_px: Decimal | None
    mid_px: Decimal | None
    prev_day_px: Decimal | None
    funding: Decimal | None
    open_interest: Decimal | None
    day_volume: Decimal | None


@dataclass(frozen=True, slots=True)
class Level:
    """One price of a book. Units: `size` in the coin."""

    px: Decimal
    size: Decimal
    orders: int


@dataclass(frozen=True, slots=True)
class OrderBook:
    """At most 20 levels a side, best first; `at` is the venue's time, `hash` its name."""

    coin: str
    at: datetime
    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    hash: str


def book_hash(coin: str, at: datetime, bids: Sequence[Level], asks: Sequence[Level]) -> str:
    """The name of a snapshot: SHA-256 over its coin, its time and every level."""
    sides = (",".join(f"{v.px:f} {v.size:f} {v.orders}" for v in side) for side in (bids, asks))
    text = "|".join((coin, at.isoformat(), *sides))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FundingRate:
    """The funding rate that was published for a coin at a time. Units: per hour."""

    coin: str
    at: datetime
    rate: Decimal


@dataclass(frozen=True, slots=True)
class ApprovedAgent:
    """A named agent of an account; `valid_until` is None where the venue gives no end."""

    name: str
    address: str
    valid_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One open position, `size` negative when short. Units: the coin, and the dex's collateral."""

    coin: str
    size: Decimal
    entry_px: Decimal | None
    value: Decimal | None = None
    unrealized: Decimal | None = None
    liquidation_px: Decimal | None = None
    leverage: int | None
    cross: bool


@dataclass(frozen=True, slots=True)
class DexAccount:
    """An account on one dex at the venue's time. Units: USDC, or the dex's collateral."""

    dex: str
    at: datetime
    account_value: Decimal
    withdrawable: Decimal
    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class SpotBalance:
    """One spot balance; token 0 is USDC."""

    token: int
    total: Decimal
    hold: Decimal


# How an account holds its margin; `default` and `disabled` are the standard mode (balances a dex
# each).
Abstraction = Literal[
    "unifiedAccount", "portfolioMargin", "disabled", "default", "dexAbstraction", "unknown"
]
UserRole = Literal["missing", "user", "agent", "vault", "subAccount", "unknown"]


@dataclass(frozen=True, slots=True)
class ActionAck:
    """The venue's answer to an action: `unknown` where it was sent and no answer came, so that it
    may have been done.

    Shapes: `words` is the venue's own sentence where it refused; `kind` is our class of it.
    """

    outcome: Literal["ok", "refused", "unknown"]
    words: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentApproval:
    """An account's approval of an agent key, rebuilt from our own fields.

    Shapes: `name` as signed, with its ` valid_until <ms>`; `agent` in lower case, the zero address
    takes the name
    back. Units: `nonce` ms since 1970.
    """

    network: Network
    agent: str
    name: str
    nonce: int
    signature_chain_id: str


RelayKind = Literal[
    "meta",
    "spotMeta",
    "fundingHistory",
    "predictedFundings",
    "historicalOrders",
    "userFees",
    "portfolio",
]


@dataclass(frozen=True, slots=True)
class Relay:
    """An allowed relay call: a fixed type of ours, and its checked parameters in one order."""

    kind: RelayKind
    parameters: tuple[tuple[str, str | int], ...] = ()


@dataclass(frozen=True, slots=True)
class Leverage:
    """An account's setting for one product."""

    value: int
    cross: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToSign:
    """An action as it is signed: ordered JSON, bytes, their hash, and typed data over it."""

    action_json: str
    action_msgpack: str
    action_hash: str
    typed_data: Mapping[str, object]


# `done`: a cancellation that the venue took.
Outcome = Literal["filled", "resting", "refused", "done", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The venue's answer to an order. `unknown`: it was sent, and may have been taken.

    Units: `size` in the coin.
    """

    outcome: Outcome
    oid: int | None = None
    size: Decimal | None = None
    avg_px: Decimal | None = None
    words: str | None = None
    kind: str | None = None


# The class of an order's own status at the venue. `open` may still trade; an unknown status word is
# neither an end nor a fill.
SeenAs = Literal["open", "filled", "cancelled", "refused", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderSeen:
    """An order's status at the venue. Units: sizes in the coin; `left` did not trade."""

    oid: int
    coin: str
    is_buy: bool | None
    status: str
    state: SeenAs
    size: Decimal | None
    left: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder:
    """One order of an account that may still trade; `cloid` is None where it was sent without."""

    coin: str
    oid: int
    cloid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueFill:
    """One fill of an account. Units: fee and result in USDC; `fee` includes the builder's."""

    coin: str
    px: Decimal
    size: Decimal
    is_buy: bool
    at: datetime
    oid: int
    tid: int
    fee: Decimal
    builder_fee: Decimal
    closed_pnl: Decimal
    cloid: str | None
