"""Paper accounts: the replay of a book's entries; no figure is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from domain.money import BPS
from domain.trading.paper.amounts import divide_up, micros_down, micros_up, times
from domain.trading.paper.entries import DelistedClose, Entry, Filled, Funded, Gap, Liquidated

GAPS_KEPT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperHolding:
    """One open position.

    Units: `size` in the coin, negative when short; `cost` micro-USDC that it was entered for, of
    the same sign.
    """

    size: Decimal
    cost: int
    leverage: int
    maintenance_x: int

    @property
    def entry_px(self) -> Decimal:
        """The average price, to eight decimals."""
        exact = Decimal(self.cost).scaleb(-6) / self.size
        return exact.quantize(Decimal("0.00000001")).normalize() + Decimal(0)

    def result(self, mark: Decimal) -> int:
        """The open result at a mark, rounded down."""
        return micros_down(times(self.size, mark)) - self.cost

    def initial(self, mark: Decimal) -> int:
        """The margin that it binds."""
        return divide_up(self.notional(mark), self.leverage)

    def maintenance(self, mark: Decimal) -> int:
        """The margin below which it is closed."""
        return divide_up(self.notional(mark), self.maintenance_x)

    def notional(self, mark: Decimal) -> int:
        """Its worth at a mark, rounded up."""
        return micros_up(times(abs(self.size), mark))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperAccount:
    """A paper account after some of its entries.

    Units: micro-USDC. `realized` is before fees and funding; `fees` are all of them, `builder_fees`
    a part; `trades` orders that filled; `funding` was paid, negative where more was got. `peak` is
    the highest equity that any entry saw, `seen` the newest. `gaps` are the newest 100,
    `gap_count` all of them.
    """

    start: int
    realized: int = 0
    fees: int = 0
    builder_fees: int = 0
    funding: int = 0
    trades: int = 0
    holdings: Mapping[str, PaperHolding] = field(default_factory=lambda: MappingProxyType({}))
    peak: int = 0
    drawdown_bps: int = 0
    first_fill_at: datetime | None = None
    liquidated_at: datetime | None = None
    gaps: tuple[Gap, ...] = ()
    gap_count: int = 0
    seen: int | None = None
    seen_at: datetime | None = None

    @property
    def cash(self) -> int:
        """The book's balance without open results."""
        return self.start + self.realized - self.fees - self.funding

    def unrealized(self, marks: Mapping[str, Decimal]) -> int | None:
        """The open results; None where a mark is missing."""
        if any(coin not in marks for coin in self.holdings):
            return None
        return sum(h.result(marks[coin]) for coin, h in self.holdings.items())

    def equity(self, marks: Mapping[str, Decimal]) -> int | None:
        """The book's worth; None where a mark is missing."""
        unrealized = self.unrealized(marks)
        return None if unrealized is None else self.cash + unrealized

    def maintenance(self, marks: Mapping[str, Decimal]) -> int:
        """The margin below which everything is closed; every mark is there."""
        return sum(h.maintenance(marks[coin]) for coin, h in self.holdings.items())

    def size(self, coin: str) -> Decimal:
        """The position in a product, 0 without one."""
        holding = self.holdings.get(coin)
        return Decimal(0) if holding is None else holding.size


def open_account(start_micros: int) -> PaperAccount:
    """A book without entries."""
    return PaperAccount(start=start_micros, peak=start_micros)


def replay(start_micros: int, entries: Iterable[Entry]) -> PaperAccount:
    """A book after its entries."""
    account = open_account(start_micros)
    for entry in entries:
        account = apply_entry(account, entry)
    return account


def apply_entry(account: PaperAccount, entry: Entry) -> PaperAccount:
    """A book after one more entry."""
    payload = entry.payload
    if isinstance(payload, Filled):
        account = _apply_fill(account, payload, entry.at)
    elif isinstance(payload, Funded):
        account = replace(account, funding=account.funding + payload.paid)
    elif isinstance(payload, Liquidated):
        account = _close_at(account, payload.closed)
        account = replace(
            account,
            realized=account.realized - payload.kept,
            fees=account.fees + payload.fees,
            liquidated_at=account.liquidated_at or entry.at,
        )
    elif isinstance(payload, DelistedClose):
        account = _close_at(account, {payload.coin: payload.px})
    else:
        gaps = (*account.gaps, payload)[-GAPS_KEPT:]
        account = replace(account, gaps=gaps, gap_count=account.gap_count + 1)
    return _record_equity(account, entry)


def closes(account: PaperAccount, fill: Filled) -> int | None:
    """The result that a fill realizes before fees, in micro-USDC; None where it closes nothing."""
    holding = account.holdings.get(fill.coin)
    if holding is None or (holding.size > 0) == fill.is_buy:
        return None
    size = min(abs(holding.size), fill.size)
    return _proceeds(holding, size, fill.px) - _released(holding, size)


def _apply_fill(account: PaperAccount, fill: Filled, at: datetime) -> PaperAccount:
    holdings = dict(account.holdings)
    holding = holdings.pop(fill.coin, None)
    realized = closes(account, fill) or 0
    updated = _position_after(holding, fill)
    if updated is not None:
        holdings[fill.coin] = updated
    return replace(
        account,
        realized=account.realized + realized,
        fees=account.fees + fill.fee + fill.builder_fee,
        builder_fees=account.builder_fees + fill.builder_fee,
        holdings=MappingProxyType(holdings),
        trades=account.trades + fill.first,
        first_fill_at=account.first_fill_at or at,
    )


def _position_after(holding: PaperHolding | None, fill: Filled) -> PaperHolding | None:
    """The position after a fill, None where nothing of it is left."""
    signed = fill.size if fill.is_buy else -fill.size
    if holding is not None and (holding.size > 0) != fill.is_buy:
        closing = min(abs(holding.size), fill.size)
        opened = fill.size - closing
        if opened == 0:
            size = holding.size + signed
            cost = holding.cost - _released(holding, closing)
            return replace(holding, size=size, cost=cost) if size else None
        signed, holding = (opened if fill.is_buy else -opened), None
    cost = _cost(signed, fill.px) + (holding.cost if holding else 0)
    size = signed + (holding.size if holding else Decimal(0))
    return PaperHolding(
        size=size, cost=cost, leverage=fill.leverage, maintenance_x=fill.maintenance_x
    )


def _cost(signed: Decimal, px: Decimal) -> int:
    """The cost of an entry: a long's price rounded up, a short's proceeds down."""
    return micros_up(times(signed, px))


def _released(holding: PaperHolding, closing: Decimal) -> int:
    """The cost that goes with a part of the position, rounded against the person."""
    size = abs(holding.size)
    if closing == size:
        return holding.cost
    decimals = max(-int(f.as_tuple().exponent) for f in (closing, size))
    part, total = int(closing.scaleb(decimals)), int(size.scaleb(decimals))
    return divide_up(holding.cost * part, total)


def _proceeds(holding: PaperHolding, closing: Decimal, px: Decimal) -> int:
    """Proceeds of closing a part: positive for a long, negative for a short."""
    return micros_down(times(closing if holding.size > 0 else -closing, px))


def _close_at(account: PaperAccount, prices: Mapping[str, Decimal]) -> PaperAccount:
    """The account with its positions of these products closed at these prices."""
    remaining = dict(account.holdings)
    results = (remaining.pop(coin).result(px) for coin, px in prices.items() if coin in remaining)
    realized = account.realized + sum(results)
    return replace(account, realized=realized, holdings=MappingProxyType(remaining))


def _record_equity(account: PaperAccount, entry: Entry) -> PaperAccount:
    equity = account.equity(entry.marks)
    if equity is None:
        return account
    return replace(at_equity(account, equity), seen=equity, seen_at=entry.at)


def at_equity(account: PaperAccount, equity: int) -> PaperAccount:
    """The account with its peak equity and its drawdown from there, rounded up."""
    peak = max(account.peak, equity)
    fall = divide_up((peak - equity) * BPS, peak) if peak > 0 else 0
    return replace(account, peak=peak, drawdown_bps=max(account.drawdown_bps, fall))


def curve(account: PaperAccount, entries: Iterable[Entry]) -> list[tuple[datetime, int]]:
    """The equity at each entry after an account whose marks tell it."""
    points = []
    for entry in entries:
        account = apply_entry(account, entry)
        equity = account.equity(entry.marks)
        if equity is not None:
            points.append((entry.at, equity))
    return points
