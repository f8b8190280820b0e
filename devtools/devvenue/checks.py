"""Checks of an order, as the venue makes them: in their order, each with its own words."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from devtools.devvenue import refusals as say
from devtools.devvenue import wires
from devtools.devvenue.accounts import Account
from devtools.devvenue.decimals import MAX_DECIMALS, ZERO, canonical, decimals_of, on_tick
from devtools.devvenue.margin import pool
from devtools.devvenue.markets import Market
from devtools.devvenue.records import Order
from devtools.devvenue.refusals import OrderRefused
from devtools.devvenue.state import State

MIN_NOTIONAL: Final = Decimal(10)
BAND: Final = Decimal("0.8")
OPEN_ORDERS: Final = 1_000
PER_OPEN_ORDER: Final = Decimal(5_000_000)
MOST_OPEN_ORDERS: Final = 5_000


def check_form(state: State, orders: list[wires.OrderWire]) -> None:
    """Check the form of a batch before any state: one error for the whole batch."""
    for wire in orders:
        market = state.by_asset.get(wire.a)
        if market is None:
            raise say.Refused(say.NO_SUCH_ASSET)
        px, sz = Decimal(wire.p), Decimal(wire.s)
        if px <= 0 or decimals_of(px) > MAX_DECIMALS:
            raise OrderRefused("rejected", say.INVALID_PRICE)
        if sz == 0:
            raise OrderRefused("rejected", say.ZERO_SIZE)
        if sz < 0 or decimals_of(sz) > market.sz_decimals:
            raise OrderRefused("rejected", say.INVALID_SIZE)


def check_order(state: State, account: Account, market: Market, order: Order) -> None:
    """Check an order against the state; a reduce-only order may come out smaller. Errors:
    `OrderRefused`.
    """
    if not market.open:
        raise OrderRefused("rejected", say.HALTED)
    if state.rules.post_only_phase and order.tif != "Alo":
        raise OrderRefused("rejected", say.POST_ONLY_PHASE)
    _check_price(market, order)
    _check_count(account, order)
    if order.reduce_only:
        _trim(state, account, order)
    _check_notional(account, order)
    _check_post_only(market, order)
    if not order.reduce_only:
        _check_open_interest(account, market, order)
        _check_margin(state, account, market, order)


def _check_price(market: Market, order: Order) -> None:
    if not on_tick(order.px, market.sz_decimals):
        raise OrderRefused("tickRejected", say.TICK)
    if abs(order.px - market.mark) > BAND * market.mark:
        raise OrderRefused("oracleRejected", say.BAND)
    away = abs(order.px - market.oracle)
    if market.oracle_band is not None and away > market.oracle_band * market.oracle:
        raise OrderRefused("oracleRejected", say.ORACLE)


def _check_count(account: Account, order: Order) -> None:
    count = len(account.orders)
    more = int(account.volume / PER_OPEN_ORDER)
    limit = min(OPEN_ORDERS + more, MOST_OPEN_ORDERS)
    if count >= (OPEN_ORDERS if order.reduce_only else limit):
        raise OrderRefused("tooManyOpenOrdersRejected", say.TOO_MANY_OPEN)


def _trim(state: State, account: Account, order: Order) -> None:
    """Cut to the position, or refuse where the venue's other behaviour is set."""
    size = account.position(order.coin)
    room = -size if order.is_buy else size
    if room <= 0:
        raise OrderRefused("reduceOnlyRejected", say.REDUCE_ONLY)
    if order.sz > room:
        if state.rules.strict_reduce_only:
            raise OrderRefused("reduceOnlyRejected", say.REDUCE_ONLY)
        order.sz = order.orig_sz = room


def _check_notional(account: Account, order: Order) -> None:
    whole = order.reduce_only and order.sz == abs(account.position(order.coin))
    if not whole and order.sz * order.px < MIN_NOTIONAL:
        raise OrderRefused("minTradeNtlRejected", say.MIN_NOTIONAL)


def _check_post_only(market: Market, order: Order) -> None:
    if order.tif == "Alo" and market.book.crosses(order.is_buy, order.px):
        bid, ask = (market.book.best(is_bid) for is_bid in (True, False))
        bbo = "@".join("" if px is None else canonical(px) for px in (bid, ask))
        raise OrderRefused("badAloPxRejected", say.post_only(bbo))


def opening_size(account: Account, order: Order) -> Decimal:
    """The part of an order that would open rather than close."""
    size = account.position(order.coin)
    return max(ZERO, order.sz - max(ZERO, -size if order.is_buy else size))


def _check_open_interest(account: Account, market: Market, order: Order) -> None:
    if opening_size(account, order) == 0:
        return
    if market.oi_too_quick:
        raise OrderRefused("openInterestIncreaseRejected", say.OI_TOO_QUICK)
    if not market.at_oi_cap:
        return
    size = account.position(order.coin)
    if market.book.crosses(order.is_buy, order.px):
        flips = size != 0 and (size > 0) != order.is_buy
        status = "positionFlip" if flips else "positionIncrease"
        raise OrderRefused(f"{status}AtOpenInterestCapRejected", say.OI_CAPPED)
    if (order.px > market.oracle) if order.is_buy else (order.px < market.oracle):
        raise OrderRefused("tooAggressiveAtOpenInterestCapRejected", say.OI_AGGRESSIVE)


def _check_margin(state: State, account: Account, market: Market, order: Order) -> None:
    opening = opening_size(account, order)
    if opening == 0:
        return
    if market.max_position_notional is not None:
        signed = account.position(order.coin) + (order.sz if order.is_buy else -order.sz)
        if abs(signed) * order.px > market.max_position_notional:
            raise OrderRefused("perpMaxPositionRejected", say.MAX_POSITION)
    _, leverage = account.setting(market.coin, market.max_leverage, market.cross_allowed)
    if opening * order.px / leverage > pool(state, account, market.dex).available:
        raise OrderRefused("perpMarginRejected", say.MARGIN)
