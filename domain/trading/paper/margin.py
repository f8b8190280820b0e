"""Paper margin: the margin of positions and resting orders, and liquidation.

One pool of cash stands behind every position of a book, as in a cross account of the venue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.trading.paper.amounts import divide_up, fee_micros, micros_up, times
from domain.trading.paper.entries import Entry, Filled, Funded, Liquidated
from domain.trading.paper.replay import PaperAccount, apply_entry
from domain.trading.precision import lots

HOUR: Final = timedelta(hours=1)
_NEVER: Final = datetime.fromtimestamp(0, UTC)
# An oracle price read later than this after the hour is not used for it.
FUNDING_LATE: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestingOrder:
    """The fields of a resting order that margin depends on."""

    coin: str
    is_buy: bool
    px: Decimal
    remaining: Decimal
    leverage: int


def opening(account: PaperAccount, coin: str, size: Decimal, *, is_buy: bool) -> Decimal:
    """The part of a size beyond closing the position."""
    position = account.size(coin)
    against = -position if is_buy else position
    return max(Decimal(0), size - max(Decimal(0), against))


def free(
    account: PaperAccount, marks: Mapping[str, Decimal], resting: Iterable[RestingOrder] = ()
) -> int | None:
    """Margin free for new orders, in micro-USDC; None where a mark is missing."""
    equity = account.equity(marks)
    if equity is None:
        return None
    bound = sum(h.initial(marks[coin]) for coin, h in account.holdings.items())
    return equity - bound - sum(_bound(account, order) for order in resting)


def _bound(account: PaperAccount, order: RestingOrder) -> int:
    size = opening(account, order.coin, order.remaining, is_buy=order.is_buy)
    return divide_up(micros_up(times(size, order.px)), order.leverage)


def required_margin(account: PaperAccount, order: RestingOrder, tenths_bps: Decimal) -> int:
    """Margin of an order at its limit, with its fee, in micro-USDC; 0 where it only closes."""
    size = opening(account, order.coin, order.remaining, is_buy=order.is_buy)
    return _bound(account, order) + fee_micros(order.px, size, tenths_bps)


def reducible_size(account: PaperAccount, coin: str, size: Decimal, *, is_buy: bool) -> Decimal:
    """A reduce-only size, trimmed to what it can close."""
    return size - opening(account, coin, size, is_buy=is_buy)


def liquidation(
    account: PaperAccount, marks: Mapping[str, Decimal], tenths_bps: Mapping[str, Decimal]
) -> Liquidated | None:
    """The end of every position where the equity is below the maintenance margin at the marks.

    All are closed at the mark with the taker's fee, and the venue keeps the maintenance margin, as
    its backstop does; it bears what is below zero.
    """
    equity = account.equity(marks)
    if equity is None or not account.holdings or equity >= account.maintenance(marks):
        return None
    closed = {coin: marks[coin] for coin in account.holdings}
    fees = sum(
        fee_micros(px, abs(account.size(coin)), tenths_bps[coin]) for coin, px in closed.items()
    )
    return Liquidated(closed=closed, fees=fees, kept=min(account.maintenance(marks), equity - fees))


def liquidation_px(
    account: PaperAccount, coin: str, marks: Mapping[str, Decimal]
) -> Decimal | None:
    """The mark of this product that would liquidate the book, others unchanged; None where no price
    above zero would.

    Source: the venue's page on liquidations, mark - side x room / size / (1 - l x side).
    """
    holding, equity = account.holdings.get(coin), account.equity(marks)
    if holding is None or equity is None:
        return None
    side = Decimal(1) if holding.size > 0 else Decimal(-1)
    room = Decimal(equity - account.maintenance(marks)).scaleb(-6)
    scale = 1 - side / holding.maintenance_x
    px = marks[coin] - side * room / abs(holding.size) / scale
    return lots(px, 6) if px > 0 else None


def liquidation_after(
    account: PaperAccount, fill: Filled, marks: Mapping[str, Decimal]
) -> Decimal | None:
    """The liquidation price after a fill; None where there is none or a mark is missing."""
    entry = Entry(n=0, at=_NEVER, marks={}, payload=fill)
    return liquidation_px(apply_entry(account, entry), fill.coin, marks)


def funding(coin: str, size: Decimal, hour: datetime, *, oracle: Decimal, rate: Decimal) -> Funded:
    """One hour of one position: size x oracle x rate, rounded against the person."""
    payment = micros_up(times(size, oracle, rate))
    return Funded(coin=coin, hour=hour, size=size, oracle=oracle, rate=rate, paid=payment)


def hours(since: datetime, until: datetime) -> Sequence[datetime]:
    """The whole hours after `since`, exclusive, until `until`, inclusive; UTC."""
    first = since.replace(minute=0, second=0, microsecond=0) + HOUR
    count = max(0, (until - first) // HOUR + 1)
    return [first + n * HOUR for n in range(count)]
