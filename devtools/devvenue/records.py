"""Orders, fills and positions, and how the venue writes each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal, TypedDict

from devtools.devvenue.decimals import ZERO, rounded, wire

OPEN: Final = "open"
FILLED: Final = "filled"
CANCELED: Final = "canceled"
TRIGGERED: Final = "triggered"


class Liquidation(TypedDict):
    """The liquidated user and the method: the `liquidation` of a fill."""

    liquidatedUser: str
    markPx: str
    method: Literal["market", "backstop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The condition that starts a waiting order: a mark price, as take profit or stop loss."""

    px: Decimal
    is_market: bool
    take_profit: bool

    def above(self, is_buy: bool) -> bool:
        """Whether it starts when the mark rises to it."""
        return self.take_profit != is_buy

    def hit(self, is_buy: bool, mark: Decimal) -> bool:
        """Whether the mark has reached it."""
        return mark >= self.px if self.above(is_buy) else mark <= self.px


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
    tif: str | None
    cloid: str | None
    timestamp: int
    trigger: Trigger | None = None
    builder: tuple[str, int] | None = None
    status: str = OPEN
    status_at: int = 0
    status_sz: Decimal | None = None
    waiting: bool = False
    parked: bool = False
    position_tpsl: bool = False
    children: list[Order] = field(default_factory=list)
    siblings: list[Order] = field(default_factory=list)

    @property
    def side(self) -> str:
        """B for buy, A for sell."""
        return "B" if self.is_buy else "A"

    @property
    def kind(self) -> str:
        """The `orderType` of the frontend's rows."""
        if self.trigger is None:
            return "Market" if self.tif == "FrontendMarket" else "Limit"
        way = "Take Profit" if self.trigger.take_profit else "Stop"
        return f"{way} {'Market' if self.trigger.is_market else 'Limit'}"

    def short(self) -> dict[str, object]:
        """A row of `openOrders`."""
        row: dict[str, object] = {
            "coin": self.coin,
            "side": self.side,
            "limitPx": wire(self.px),
            "sz": wire(self.sz),
            "oid": self.oid,
            "timestamp": self.timestamp,
            "origSz": wire(self.orig_sz),
        }
        if self.cloid:
            row["cloid"] = self.cloid
        if self.reduce_only:
            row["reduceOnly"] = True
        return row

    def long(self) -> dict[str, object]:
        """A row of `frontendOpenOrders`, and the order inside of a status."""
        condition, trigger_px = "N/A", ZERO
        if self.trigger:
            way = "above" if self.trigger.above(self.is_buy) else "below"
            condition, trigger_px = f"Price {way} {self.trigger.px:f}", self.trigger.px
        return {
            "coin": self.coin,
            "side": self.side,
            "limitPx": wire(self.px),
            "sz": wire(self.sz),
            "oid": self.oid,
            "timestamp": self.timestamp,
            "triggerCondition": condition,
            "isTrigger": self.trigger is not None,
            "triggerPx": wire(trigger_px),
            "children": [child.long() for child in self.children],
            "isPositionTpsl": self.position_tpsl,
            "reduceOnly": self.reduce_only,
            "orderType": self.kind,
            "origSz": wire(self.orig_sz),
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
    """One trade of one account."""

    coin: str
    px: Decimal
    sz: Decimal
    is_buy: bool
    time: int
    start: Decimal
    dir: str
    closed_pnl: Decimal
    hash: str
    oid: int
    crossed: bool
    fee: Decimal
    fee_token: str
    tid: int
    builder_fee: Decimal | None = None
    cloid: str | None = None
    liquidation: Liquidation | None = None

    def row(self) -> dict[str, object]:
        """A row of `userFills`; `fee` includes `builderFee`."""
        created: dict[str, object] = {
            "coin": self.coin,
            "px": wire(self.px),
            "sz": wire(self.sz),
            "side": "B" if self.is_buy else "A",
            "time": self.time,
            "startPosition": wire(self.start),
            "dir": self.dir,
            "closedPnl": wire(rounded(self.closed_pnl, 6)),
            "hash": self.hash,
            "oid": self.oid,
            "crossed": self.crossed,
            "fee": wire(self.fee),
            "tid": self.tid,
            "feeToken": self.fee_token,
            "twapId": None,
        }
        if self.builder_fee:
            created["builderFee"] = wire(self.builder_fee)
        if self.cloid:
            created["cloid"] = self.cloid
        if self.liquidation:
            created["liquidation"] = self.liquidation
        return created


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
    funding_open: Decimal = ZERO
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
