"""Venue events without a request: time passing, prices moving, and their effects."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from devtools.devvenue.accounts import Account
from devtools.devvenue.book import Level
from devtools.devvenue.decimals import wire
from devtools.devvenue.margin import pool
from devtools.devvenue.markets import Market, quotes
from devtools.devvenue.records import CANCELED, Order, Position
from devtools.devvenue.settle import Trade, apply_trade, pay_funding, sample
from devtools.devvenue.state import HOUR_MS, State, note_funding
from devtools.devvenue.trading import cross, rest_traded, uncovered

_ANY_PRICE: Final = (Decimal("0.00000001"), Decimal(10) ** 12)


def catch_up(state: State) -> None:
    """Do what was due since the last look: the funding of each full hour."""
    while state.funded_until + HOUR_MS <= state.now():
        state.funded_until += HOUR_MS
        for market in state.markets.values():
            if market.open:
                note_funding(market, state.funded_until)
                pay_funding(state, market)
        for account in state.accounts.values():
            sample(state, account)
        liquidate(state)


def set_prices(
    state: State, market: Market, mark: Decimal | None, oracle: Decimal | None = None
) -> None:
    """Move the mark and the oracle; accounts are liquidated."""
    market.mark = market.mark if mark is None else mark
    market.oracle = market.oracle if oracle is None else oracle
    liquidate(state)


def set_book(state: State, market: Market, bids: Iterable[Level], asks: Iterable[Level]) -> None:
    """Replace what the script quotes; it trades with the orders of accounts that it crosses."""
    market.book.clear_script()
    for is_buy, levels in ((True, bids), (False, asks)):
        left = [(px, _take(state, market, is_buy, px, sz)) for px, sz in levels]
        market.book.quote(is_buy, [(px, sz) for px, sz in left if sz > 0])


def _take(state: State, market: Market, is_buy: bool, px: Decimal, sz: Decimal) -> Decimal:
    """Trade one quote of the script with resting orders; what is left of it."""
    side = market.book.opposite(is_buy)
    while sz > 0:
        entry = side.best()
        if entry is None or entry.owner is None or not side.reaches(entry.px, px):
            break
        if uncovered(state, market, entry):
            continue
        traded = min(sz, entry.sz)
        sz, entry.sz = sz - traded, entry.sz - traded
        if entry.sz == 0:
            side.remove(entry)
        trade = Trade(px=entry.px, sz=traded, crossed=False, tid=state.next_tid())
        rest_traded(state, market, entry, trade)
        market.last_trade = entry.px
    return sz


def move(state: State, market: Market, mid: Decimal, size: Decimal | None = None) -> None:
    """Quote twenty levels a side around a price, and let mark and oracle follow."""
    each = size if size is not None else Decimal(20_000) / mid
    bids, asks = quotes(market, mid, each)
    set_book(state, market, bids, asks)
    set_prices(state, market, mid, mid)


def halt(state: State, market: Market, *, delist: bool = False) -> None:
    """Stop a market: its orders are cancelled, and for a delisting its positions settled."""
    market.halted, market.delisted = True, market.delisted or delist
    market.book.clear_script()
    for account in state.accounts.values():
        for order in [o for o in account.orders.values() if o.coin == market.coin]:
            state.end(order, "delistedCanceled" if delist else CANCELED)
        if delist and market.coin in account.positions:
            position = account.positions[market.coin]
            _close_at(state, account, market, position, market.mark, None)


def liquidate(state: State) -> None:
    """Close what is below its maintenance margin: into the book, the rest at the mark."""
    for account in list(state.accounts.values()):
        for market, position in [
            (state.markets[coin], holding) for coin, holding in account.positions.items()
        ]:
            if not position.is_cross and position.equity(market.mark) < (
                abs(position.size) * market.mark * market.maintenance
            ):
                _liquidate(state, account, [(market, position)])
        for dex in state.dexes:
            shared = pool(state, account, dex)
            if shared.crossed and shared.cross_value < shared.maintenance:
                _liquidate(state, account, list(shared.crossed))


def _liquidate(state: State, account: Account, holdings: list[tuple[Market, Position]]) -> None:
    coins = {market.coin for market, _ in holdings}
    for order in [o for o in account.orders.values() if o.coin in coins]:
        state.end(order, "liquidatedCanceled")
    for market, position in holdings:
        about = {"liquidatedUser": account.address, "markPx": wire(market.mark)}
        order = _closing_order(state, account, market, position, _ANY_PRICE)
        cross(state, market, order, about | {"method": "market"})
        if market.coin in account.positions:
            left = account.positions[market.coin]
            _close_at(state, account, market, left, market.mark, about | {"method": "backstop"})


def _closing_order(
    state: State,
    account: Account,
    market: Market,
    position: Position,
    bounds: tuple[Decimal, Decimal],
) -> Order:
    is_buy, size = position.size < 0, abs(position.size)
    order = Order(
        oid=state.next_oid(),
        user=account.address,
        coin=market.coin,
        asset=market.asset,
        is_buy=is_buy,
        px=bounds[1] if is_buy else bounds[0],
        sz=size,
        orig_sz=size,
        reduce_only=True,
        tif="LiquidationMarket",
        timestamp=state.now(),
        status="filled",
        status_at=state.now(),
    )
    account.history.append(order)
    return order


def _close_at(
    state: State,
    account: Account,
    market: Market,
    position: Position,
    px: Decimal,
    about: dict[str, str] | None,
) -> None:
    order = _closing_order(state, account, market, position, (px, px))
    trade = Trade(px=px, sz=order.sz, crossed=True, tid=state.next_tid(), liquidation=about)
    apply_trade(state, order, trade)
