"""Paper book verification: recomputes every entry from its snapshots and rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from domain.trading.paper.amounts import fee_micros
from domain.trading.paper.entries import DelistedClose, Entry, Filled, Funded, Liquidated, PaperBook
from domain.trading.paper.margin import funding
from domain.trading.paper.matching import facing
from domain.trading.paper.replay import PaperAccount, after, opened
from domain.trading.venue_values import OrderBook

Fault = tuple[int, str]


def check_book(
    book: PaperBook, entries: Iterable[Entry], snapshots: Mapping[str, OrderBook]
) -> Iterator[Fault]:
    """What is wrong in a book, with the number of the entry.

    Every figure is worked out again: fills from the levels that stood there, fees from their rates,
    funding from the position at the hour, a liquidation from what was held.
    """
    account, started = opened(book.start_micros), set[str]()
    moves: list[tuple[str, datetime, Decimal]] = []
    for entry in entries:
        what = entry.what
        if isinstance(what, Filled):
            faults = _fill(book, entry, what, snapshots.get(what.snapshot))
            if what.first == (what.order_id in started):
                faults = [*faults, "the fill does not say whether it is its order's first"]
            started.add(what.order_id)
            moves.append((what.coin, entry.at, what.size if what.is_buy else -what.size))
        elif isinstance(what, Funded):
            faults = _funding(what, moves)
        elif isinstance(what, Liquidated):
            faults = _liquidation(account, entry, what)
            holdings = account.holdings
            moves.extend(
                (coin, entry.at, -holdings[coin].size) for coin in what.closed if coin in holdings
            )
        elif isinstance(what, DelistedClose):
            faults = _settlement(account, entry, what)
            moves.append((what.coin, entry.at, -what.size))
        else:
            faults = [] if what.since < what.until else ["the gap ends before it begins"]
        yield from ((entry.n, fault) for fault in faults)
        account = after(account, entry)


def _fill(book: PaperBook, entry: Entry, fill: Filled, snapshot: OrderBook | None) -> list[str]:
    if snapshot is None:
        return ["the snapshot that it filled on is not there"]
    faults = []
    depth = {level.px: level.size for level in facing(snapshot, is_buy=fill.is_buy)}
    if (snapshot.coin, snapshot.at) != (fill.coin, entry.at):
        faults.append("the snapshot is of another product or time")
    if fill.size <= 0 or fill.size > depth.get(fill.level, Decimal(0)) * book.model.depth_share:
        faults.append("more was filled than its share of the level")
    through = fill.level < fill.px if fill.is_buy else fill.level > fill.px
    if fill.px != fill.level and not through:
        faults.append("the price is better than the level")
    if fill.fee != fee_micros(fill.px, fill.size, fill.tenths_bps):
        faults.append("the fee is not that of its rate")
    builder = Decimal(fill.builder_tenths_bps)
    if fill.builder_fee != fee_micros(fill.px, fill.size, builder):
        faults.append("the builder's fee is not that of its rate")
    return faults


def _funding(prepaid_cost: Funded, moves: Iterable[tuple[str, datetime, Decimal]]) -> list[str]:
    size = sum(
        (s for coin, at, s in moves if coin == prepaid_cost.coin and at <= prepaid_cost.hour),
        Decimal(0),
    )
    expected = funding(
        prepaid_cost.coin,
        size,
        prepaid_cost.hour,
        oracle=prepaid_cost.oracle,
        rate=prepaid_cost.rate,
    )
    return (
        [] if expected == prepaid_cost else ["the funding is not that of the position at the hour"]
    )


def _settlement(account: PaperAccount, entry: Entry, what: DelistedClose) -> list[str]:
    if not what.size or what.size != account.size(what.coin):
        return ["the settlement does not close what was held"]
    return [] if entry.marks.get(what.coin) == what.px else ["the settlement is not at the mark"]


def _liquidation(account: PaperAccount, entry: Entry, what: Liquidated) -> list[str]:
    if set(what.closed) != set(account.holdings):
        return ["the liquidation does not close what was held"]
    if dict(what.closed) != dict(entry.marks):
        return ["the liquidation is not at the marks"]
    maintenance = sum(h.maintenance(entry.marks[coin]) for coin, h in account.holdings.items())
    equity = account.equity(entry.marks)
    if equity is None or equity >= maintenance or what.kept != min(maintenance, equity - what.fees):
        return ["the liquidation does not follow from the marks"]
    return []
