"""Paper book verification: recomputes every entry from its snapshots and rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from domain.trading.paper.amounts import fee_micros
from domain.trading.paper.entries import DelistedClose, Entry, Filled, Funded, Liquidated, PaperBook
from domain.trading.paper.margin import funding
from domain.trading.paper.matching import facing
from domain.trading.paper.replay import PaperAccount, apply_entry, open_account
from domain.trading.venue_values import OrderBook

BookFault = tuple[int, str]


def check_book(
    book: PaperBook, entries: Iterable[Entry], snapshots: Mapping[str, OrderBook]
) -> Iterator[BookFault]:
    """The faults of a book, each with the number of its entry.

    Every figure is recomputed: fills from the snapshot's levels, fees from their rates, funding
    from the position at the hour, a liquidation from the positions.
    """
    account, started = open_account(book.start_micros), set[str]()
    moves: list[tuple[str, datetime, Decimal]] = []
    for entry in entries:
        payload = entry.payload
        if isinstance(payload, Filled):
            faults = _fill(book, entry, payload, snapshots.get(payload.snapshot))
            if payload.first == (payload.order_id in started):
                faults = [*faults, "the fill does not say whether it is its order's first"]
            started.add(payload.order_id)
            signed = payload.size if payload.is_buy else -payload.size
            moves.append((payload.coin, entry.at, signed))
        elif isinstance(payload, Funded):
            faults = _funding(payload, moves)
        elif isinstance(payload, Liquidated):
            faults = _liquidation(account, entry, payload)
            moves.extend((coin, entry.at, -account.size(coin)) for coin in payload.closed)
        elif isinstance(payload, DelistedClose):
            faults = _settlement(account, entry, payload)
            moves.append((payload.coin, entry.at, -payload.size))
        else:
            faults = [] if payload.since < payload.until else ["the gap ends before it begins"]
        yield from ((entry.n, fault) for fault in faults)
        account = apply_entry(account, entry)


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


def _funding(payload: Funded, moves: Iterable[tuple[str, datetime, Decimal]]) -> list[str]:
    before = (s for coin, at, s in moves if coin == payload.coin and at <= payload.hour)
    size = sum(before, Decimal(0))
    expected = funding(payload.coin, size, payload.hour, oracle=payload.oracle, rate=payload.rate)
    return [] if expected == payload else ["the funding is not that of the position at the hour"]


def _settlement(account: PaperAccount, entry: Entry, payload: DelistedClose) -> list[str]:
    if not payload.size or payload.size != account.size(payload.coin):
        return ["the settlement does not close what was held"]
    return (
        [] if entry.marks.get(payload.coin) == payload.px else ["the settlement is not at the mark"]
    )


def _liquidation(account: PaperAccount, entry: Entry, payload: Liquidated) -> list[str]:
    if set(payload.closed) != set(account.holdings):
        return ["the liquidation does not close what was held"]
    if dict(payload.closed) != dict(entry.marks):
        return ["the liquidation is not at the marks"]
    maintenance = account.maintenance(entry.marks)
    equity = account.equity(entry.marks)
    if (
        equity is None
        or equity >= maintenance
        or payload.kept != min(maintenance, equity - payload.fees)
    ):
        return ["the liquidation does not follow from the marks"]
    return []
