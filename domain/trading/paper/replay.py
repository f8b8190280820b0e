"""Paper accounts: the replay of a book's entries; no figure is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from domain.money import BPS
from domain.trading.paper.amounts import micros_down, micros_up, over, times
from domain.trading.paper.entries import DelistedClose, Entry, Filled, Funded, Gap, Liquidated

GAPS_KEPT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
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
        return over(self.notional(mark), self.leverage)

    def maintenance(self, mark: Decimal) -> int:
        """The margin below which it is closed."""
        return over(self.notional(mark), self.maintenance_x)

    def notional(self, mark: Decimal) -> int:
        """Its worth at a mark, rounded up."""
        return micros_up(times(abs(self.size), mark))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperAccount:
    """What a book comes to after some of its entries.

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
    holdings: Mapping[str, Holding] = field(default_factory=lambda: MappingProxyType({}))
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
        """Everything but the open results."""
        return self.start + self.realized - self.fees - self.funding

    def unrealized(self, marks: Mapping[str, Decimal]) -> int | None:
        """The open results; None where a mark is missing."""
        if any(coin not in marks for coin in self.holdings):
            return None
        return sum(h.result(marks[coin]) for coin, h in self.holdings.items())

    def equity(self, marks: Mapping[str, Decimal]) -> int | None:
        """What the book is worth; None where a mark is missing."""
        unrealized = self.unrealized(marks)
        return None if unrealized is None else self.cash + unrealized

    def size(self, coin: str) -> Decimal:
        """The position in a product, 0 without one."""
        holding = self.holdings.get(coin)
        return Decimal(0) if holding is None else holding.size


def opened(start_micros: int) -> PaperAccount:
    """A book without entries."""
    return PaperAccount(start=start_micros, peak=start_micros)


def replayed(start_micros: int, entries: Iterable[Entry]) -> PaperAccount:
    """A book after its entries."""
    account = opened(start_micros)
    for entry in entries:
        account = after(account, entry)
    return account


def after(account: PaperAccount, entry: Entry) -> PaperAccount:
    """A book after one more entry."""
    what = entry.what
    if isinstance(what, Filled):
        account = _filled(account, what, entry.at)
    elif isinstance(what, Funded):
        account = replace(account, funding=account.funding + what.paid)
    elif isinstance(what, Liquidated):
        account = _liquidated(account, what, entry.at)
    elif isinstance(what, DelistedClose):
        account = _settled(account, what)
    else:
        gaps = (*account.gaps, what)[-GAPS_KEPT:]
        account = replace(account, gaps=gaps, gap_count=account.gap_count + 1)
    return _record_equity(account, entry)


def closes(account: PaperAccount, fill: Filled) -> int | None:
    """What a fill realizes before fees; None where it closes nothing."""
    holding = account.holdings.get(fill.coin)
    if holding is None or (holding.size > 0) == fill.is_buy:
        return None
    size = min(abs(holding.size), fill.size)
    return _proceeds(holding, size, fill.px) - _released(holding, size)


def _filled(account: PaperAccount, fill: Filled, at: datetime) -> PaperAccount:
    holdings = dict(account.holdings)
    holding = holdings.pop(fill.coin, None)
    realized = closes(account, fill) or 0
    left = _moved(holding, fill)
    if left is not None:
        holdings[fill.coin] = left
    return replace(
        account,
        realized=account.realized + realized,
        fees=account.fees + fill.fee + fill.builder_fee,
        builder_fees=account.builder_fees + fill.builder_fee,
        holdings=MappingProxyType(holdings),
        trades=account.trades + fill.first,
        first_fill_at=account.first_fill_at or at,
    )


def _moved(holding: Holding | None, fill: Filled) -> Holding | None:
    """The position after a fill, None where nothing of it is left."""
    signed = fill.size if fill.is_buy else -fill.size
    if holding is not None and (holding.size > 0) != fill.is_buy:
        closing = min(abs(holding.size), fill.size)
        rest = fill.size - closing
        if rest == 0:
            size = holding.size + signed
            cost = holding.cost - _released(holding, closing)
            return replace(holding, size=size, cost=cost) if size else None
        signed, holding = (rest if fill.is_buy else -rest), None
    cost = _cost(signed, fill.px) + (holding.cost if holding else 0)
    size = signed + (holding.size if holding else Decimal(0))
    return Holding(size=size, cost=cost, leverage=fill.leverage, maintenance_x=fill.maintenance_x)


def _cost(signed: Decimal, px: Decimal) -> int:
    """What is entered for: a long's price rounded up, a short's proceeds down."""
    return micros_up(times(signed, px))


def _released(holding: Holding, closing: Decimal) -> int:
    """The part of the cost that goes with a part of the position, rounded against the person; the
    last part takes what is left.
    """
    size = abs(holding.size)
    if closing == size:
        return holding.cost
    places = max(-int(f.as_tuple().exponent) for f in (closing, size))
    part, of = int(closing.scaleb(places)), int(size.scaleb(places))
    return over(holding.cost * part, of)


def _proceeds(holding: Holding, closing: Decimal, px: Decimal) -> int:
    """What a part is worth when it is closed: got for a long, paid (negative) for a short."""
    return micros_down(times(closing if holding.size > 0 else -closing, px))


def _liquidated(account: PaperAccount, what: Liquidated, at: datetime) -> PaperAccount:
    result = sum(
        account.holdings[coin].result(px)
        for coin, px in what.closed.items()
        if coin in account.holdings
    )
    left = {c: h for c, h in account.holdings.items() if c not in what.closed}
    return replace(
        account,
        realized=account.realized + result - what.kept,
        fees=account.fees + what.fees,
        holdings=MappingProxyType(left),
        liquidated_at=account.liquidated_at or at,
    )


def _settled(account: PaperAccount, what: DelistedClose) -> PaperAccount:
    holding = account.holdings.get(what.coin)
    if holding is None:
        return account
    left = {c: h for c, h in account.holdings.items() if c != what.coin}
    realized = account.realized + holding.result(what.px)
    return replace(account, realized=realized, holdings=MappingProxyType(left))


def _record_equity(account: PaperAccount, entry: Entry) -> PaperAccount:
    equity = account.equity(entry.marks)
    if equity is None:
        return account
    return replace(at_equity(account, equity), seen=equity, seen_at=entry.at)


def at_equity(account: PaperAccount, equity: int) -> PaperAccount:
    """The same after its equity was seen: its peak, and its fall from there, rounded up."""
    peak = max(account.peak, equity)
    fall = over((peak - equity) * BPS, peak) if peak > 0 else 0
    return replace(account, peak=peak, drawdown_bps=max(account.drawdown_bps, fall))


def curve(account: PaperAccount, entries: Iterable[Entry]) -> list[tuple[datetime, int]]:
    """The equity at each entry after an account whose marks tell it, in the order of the
    entries."""
    points = []
    for entry in entries:
        account = after(account, entry)
        equity = account.equity(entry.marks)
        if equity is not None:
            points.append((entry.at, equity))
    return points
