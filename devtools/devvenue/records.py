"""Orders, fills and positions, and how the venue writes each of them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from devtools.devvenue.decimals import ZERO, rounded, wire

OPEN: Final = "open"
FILLED: Final = "filled"
CANCELED: Final = "canceled"


@dataclass(slots=True, kw_only=True)
class Order:
    """One order from its first sight to its end; `sz` is what is left."""

    oid: int
    user: str
    coin: str
    asset: int
    is_buy: bool
    px: Decimal
    sz: Decimal
    orig_sz: Decimal
    reduce_only: bool
    tif: str
    timestamp: int
    status_at: int
    cloid: str | None = None
    builder: tuple[str, int] | None = None
    status: str = OPEN
    status_sz: Decimal | None = None

    def _ids(self) -> dict[str, object]:
        return {
            "coin": self.coin,
            "side": "B" if self.is_buy else "A",
            "limitPx": wire(self.px),
            "sz": wire(self.sz),
            "oid": self.oid,
            "timestamp": self.timestamp,
            "origSz": wire(self.orig_sz),
        }

    def short(self) -> dict[str, object]:
        """A row of `openOrders`."""
        row = self._ids()
        if self.cloid:
            row["cloid"] = self.cloid
        if self.reduce_only:
            row["reduceOnly"] = True
        return row

    def long(self) -> dict[str, object]:
        """A row of `frontendOpenOrders`, and the order inside of a status."""
        return self._ids() | {
            "triggerCondition": "N/A",
            "isTrigger": False,
            "triggerPx": "0.0",
            "children": [],
            "isPositionTpsl": False,
            "reduceOnly": self.reduce_only,
            "orderType": "Market" if self.tif == "FrontendMarket" else "Limit",
            "tif": self.tif,
            "cloid": self.cloid,
        }

    def dated(self) -> dict[str, object]:
        """A row of `historicalOrders`, and the answer of `orderStatus`.

        Both are as of the last change of the status: while an order is open, `sz` is what was left
        when it began to rest, whatever was traded since: users of its SDK were caught by that.
        """
        order = self.long()
        if self.status_sz is not None:
            order["sz"] = wire(self.status_sz)
        return {"order": order, "status": self.status, "statusTimestamp": self.status_at}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """One trade of one account; `fee` includes `builder_fee`."""

    order: Order
    px: Decimal
    sz: Decimal
    time: int
    start: Decimal
    dir: str
    closed_pnl: Decimal
    hash: str
    tid: int
    crossed: bool
    fee: Decimal
    fee_token: str
    builder_fee: Decimal | None
    liquidation: dict[str, str] | None

    def row(self) -> dict[str, object]:
        """A row of `userFills`."""
        row: dict[str, object] = {
            "coin": self.order.coin,
            "px": wire(self.px),
            "sz": wire(self.sz),
            "side": "B" if self.order.is_buy else "A",
            "time": self.time,
            "startPosition": wire(self.start),
            "dir": self.dir,
            "closedPnl": wire(rounded(self.closed_pnl, 6)),
            "hash": self.hash,
            "oid": self.order.oid,
            "crossed": self.crossed,
            "fee": wire(self.fee),
            "tid": self.tid,
            "feeToken": self.fee_token,
            "twapId": None,
        }
        if self.builder_fee:
            row["builderFee"] = wire(self.builder_fee)
        if self.order.cloid:
            row["cloid"] = self.order.cloid
        if self.liquidation:
            row["liquidation"] = self.liquidation
        return row


@dataclass(slots=True, kw_only=True)
class Position:
    """A signed size with its signed entry notional; an isolated one has its own raw dollars."""

    coin: str
    is_cross: bool
    leverage: int
    size: Decimal = ZERO
    entry: Decimal = ZERO
    raw_usd: Decimal = ZERO
    funding_all: Decimal = ZERO
    funding_change: Decimal = ZERO

    def pnl(self, mark: Decimal) -> Decimal:
        """Unrealized profit at a price."""
        return self.size * mark - self.entry

    def equity(self, mark: Decimal) -> Decimal:
        """The worth of an isolated position."""
        return self.raw_usd + self.size * mark

    def margin_used(self, mark: Decimal) -> Decimal:
        """Initial margin of a cross position, the whole equity of an isolated one."""
        return abs(self.size) * mark / self.leverage if self.is_cross else self.equity(mark)
