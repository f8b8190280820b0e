"""Paper book entries: fills, funding, liquidations, gaps. Nothing else moves a book."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

VERSION: Final = 1
MOST_BOOKS: Final = 10
MOST_START_MICROS: Final = 100_000_000_000
LEAST_START_MICROS: Final = 10_000_000  # the venue takes no smaller order
USUAL_START_MICROS: Final = 10_000_000_000
FIRST_NAME: Final = "Paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The fill model of a book; fixed when it is opened.

    Units: `depth_share` of each level that is shown; `latency_ms` from acceptance to the snapshot
    that fills.
    """

    depth_share: Decimal
    latency_ms: int
    fee_tier: Literal["base"] = "base"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBook:
    """The opening terms of a book; all else is a replay of its entries."""

    book: str
    owner_id: str
    agent_id: str | None
    name: str
    start_micros: int
    model: Model
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A trade of one order with one level of one snapshot.

    Units: `fee` and `builder_fee` micro-USDC, the former without the latter; `tenths_bps` the
    rates they come from. `first`: the first of its order. `level` is the price of the level that it
    took from: `px` itself, unless the order had been waiting. `maintenance_x` is the leverage at
    which only the maintenance margin would be left: twice the product's most.
    """

    order_id: str
    first: bool
    coin: str
    is_buy: bool
    px: Decimal
    size: Decimal
    level: Decimal
    snapshot: str
    tenths_bps: Decimal
    builder_tenths_bps: int
    fee: int
    builder_fee: int
    leverage: int
    maintenance_x: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funded:
    """One hour of funding of one position. Units: `paid` micro-USDC, negative where it was got."""

    coin: str
    hour: datetime
    size: Decimal
    oracle: Decimal
    rate: Decimal
    paid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Liquidated:
    """Every position closed at the mark; the venue keeps `kept` micro-USDC, or bears them."""

    closed: Mapping[str, Decimal]
    fees: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time without market data, from, inclusive, until, exclusive; no fill is invented for it."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DelistedClose:
    """A position of a product that the venue delisted, closed at its mark without a fee."""

    coin: str
    size: Decimal
    px: Decimal


EntryPayload = Filled | Funded | Liquidated | DelistedClose | Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of a book. `marks`: the mark price of every product that it holds then."""

    n: int
    at: datetime
    marks: Mapping[str, Decimal]
    payload: EntryPayload
