"""Upkeep of paper books: funding, liquidation, and entries for gaps in the market data."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from domain.ports import Clock, Venue
from domain.refusals import Refused
from domain.settings import Trading
from domain.times import timestamp
from domain.trading.paper.amounts import fee_tenths_bps
from domain.trading.paper.entries import DelistedClose, EntryPayload, Gap, PaperBook
from domain.trading.paper.margin import FUNDING_LATE, funding, hours, liquidation
from domain.trading.paper.order_execution import marks_of
from domain.trading.paper.replay import PaperAccount
from domain.trading.venue_values import Perp
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tools.trading.paper.market_data import dexes_of, figures, rate_of

log = logging.getLogger("wallet.paper")
A_ROUND: Final = 20
LOOK_S: Final = 30
# Longer than this without a look is a gap: an order that waits may have been traded through.
GAP: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketFigures:
    """The market figures of one round. `rates` are the published ones, by product and hour."""

    perps: Mapping[str, Perp]
    rates: Mapping[tuple[str, datetime], Decimal]


async def run_paper_round(store: Store, clock: Clock, trading: Trading, venue: Venue) -> int:
    """One round over books with something open; how many. Each is looked at once for each time
    that it is due, whichever process does it.

    Errors: `wallet_venue_unavailable`; then no book was looked at, and in the end a gap says so.
    """
    now = clock.now()
    due = await store.read(lambda uow: _due(uow, now))
    if not due:
        return 0
    coins_held = sorted({coin for _, _, coins in due for coin in coins})
    perps = await figures(venue, dexes_of(coins_held, trading.dexes))
    now = clock.now()
    hours_owed = _owed(min(looked_at for _, looked_at, _ in due), now)
    market = MarketFigures(perps=perps, rates=await _rates(venue, coins_held, hours_owed))
    for book, checked_at, _ in due:
        await store.write(partial(_update_book, book, checked_at, market, now))
    return len(due)


async def _rates(
    venue: Venue, coins: Sequence[str], hours_owed: Sequence[datetime]
) -> Mapping[tuple[str, datetime], Decimal]:
    """The published rates; one that is missing holds the funding of its own product alone."""
    rates: dict[tuple[str, datetime], Decimal] = {}
    for coin in coins:
        for hour in hours_owed:
            try:
                rate = await rate_of(venue, coin, hour)
            except Refused as refused:
                log.warning("the rate of %s at %s: %s", coin, hour, refused.refusal.reason)
                continue
            if rate is not None:
                rates[coin, hour] = rate
    return rates


def _due(uow: UnitOfWork, now: datetime) -> list[tuple[PaperBook, datetime, Sequence[str]]]:
    """Books that are due, when each was looked at last, and what it holds."""
    books = ((uow.paper.get(name), at) for name, at in uow.paper.due(now, A_ROUND))
    return [(book, at, list(uow.paper.account(book).holdings)) for book, at in books if book]


def _owed(since: datetime, now: datetime) -> Sequence[datetime]:
    """The hours since the last look whose oracle price is still that of the hour."""
    return [hour for hour in hours(since, now) if now - hour <= FUNDING_LATE]


def _update_book(
    book: PaperBook, checked_at: datetime, market: MarketFigures, now: datetime, uow: UnitOfWork
) -> None:
    uow.paper.get(book.book, lock=True)
    waits = any(o.book == book.book for o in uow.orders.waiting_on_paper(book.owner_id))
    account, owed = uow.paper.account(book), _owed(checked_at, now)
    late = [(c, h) for c in account.holdings for h in owed if (c, h) not in market.rates]
    if late and now - owed[-1] < FUNDING_LATE - timedelta(seconds=LOOK_S):
        # An hour's rate is not published yet: the next round finds the book due again, and pays
        # it then. What is published is paid now, and everything else is looked at.
        postponed = True
    else:
        postponed, open_still = False, bool(account.holdings) or waits
        due = now + timedelta(seconds=LOOK_S) if open_still else None
        if not uow.paper.looked(book.book, checked_at, now, due):
            return
        if now - checked_at > GAP and open_still:
            gap = Gap(since=checked_at, until=now)
            _append(uow, book, timestamp(checked_at), now, market, account, gap)
    for hour in owed:
        _fund(uow, book, hour, market, now, waits=postponed)
    _settle(uow, book, market, now)
    _end(uow, book, market, now)


def _settle(uow: UnitOfWork, book: PaperBook, market: MarketFigures, now: datetime) -> None:
    """Close what the venue delisted, at its mark, as the venue does; without one it stays open."""
    for coin in sorted(uow.paper.account(book).holdings):
        perp, account = market.perps.get(coin), uow.paper.account(book)
        if perp is None or not perp.delisted or perp.mark_px is None:
            continue
        payload = DelistedClose(coin=coin, size=account.size(coin), px=perp.mark_px)
        _append(uow, book, f"{coin}@{timestamp(now)}", now, market, account, payload)


def _fund(
    uow: UnitOfWork,
    book: PaperBook,
    hour: datetime,
    market: MarketFigures,
    now: datetime,
    *,
    waits: bool,
) -> None:
    """One hour of each position held at the hour; `waits`: what is not published yet stays owed."""
    then = uow.paper.account_at(book, hour)
    for coin, holding in sorted(then.holdings.items()):
        perp, rate = market.perps.get(coin), market.rates.get((coin, hour))
        if perp is None or perp.oracle_px is None or rate is None:
            if waits:
                continue
            # It is owed and cannot be told: said as a gap, not made up.
            payload: EntryPayload = Gap(since=hour, until=now)
        else:
            payload = funding(coin, holding.size, hour, oracle=perp.oracle_px, rate=rate)
        _append(uow, book, f"{coin}@{timestamp(hour)}", now, market, then, payload)


def _end(uow: UnitOfWork, book: PaperBook, market: MarketFigures, now: datetime) -> None:
    """Liquidate a book that stands below its maintenance margin."""
    account = uow.paper.account(book)
    tenths = {coin: fee_tenths_bps(perp, crossed=True) for coin, perp in market.perps.items()}
    payload = liquidation(account, marks_of(market.perps), tenths)
    if payload is not None:
        _append(uow, book, timestamp(now), now, market, account, payload)


def _append(
    uow: UnitOfWork,
    book: PaperBook,
    ref: str,
    now: datetime,
    market: MarketFigures,
    account: PaperAccount,
    payload: EntryPayload,
) -> None:
    marks = {c: px for c, px in marks_of(market.perps).items() if c in account.holdings}
    uow.paper.append(book.book, ref, now, marks, payload)
