"""Placing, matching and cancelling orders."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from devtools.devvenue import refusals as say
from devtools.devvenue import wires
from devtools.devvenue.accounts import Account
from devtools.devvenue.book import Resting
from devtools.devvenue.checks import check_form, check_order, opening_size
from devtools.devvenue.decimals import ZERO, rounded, wire
from devtools.devvenue.margin import pool
from devtools.devvenue.markets import Market
from devtools.devvenue.records import CANCELED, FILLED, Fill, Order
from devtools.devvenue.refusals import ASSET_FREE, OrderRefused, Refused
from devtools.devvenue.settle import Trade, apply_trade
from devtools.devvenue.state import State

# One order in an answer: `resting`, `filled` or `error`, or the word of a cancel that is done.
Status = Mapping[str, object] | str


def place_batch(
    state: State,
    account: Account,
    orders: list[wires.OrderWire],
    builder: tuple[str, int] | None = None,
) -> list[Status]:
    """Place orders one after another; a status for each, or one for all that never got that far."""
    if builder is not None:
        address, fee = builder
        if address not in account.builders or fee > min(account.builders[address], 100):
            raise Refused(say.BUILDER)
    try:
        check_form(state, orders)
    except OrderRefused as refused:
        return [{"error": refused.text}]
    return [place(state, account, new_order(state, account, w, builder)) for w in orders]


def new_order(
    state: State, account: Account, row: wires.OrderWire, builder: tuple[str, int] | None = None
) -> Order:
    """An order as its fields say, with an id of its own."""
    return Order(
        oid=state.next_oid(),
        user=account.address,
        coin=state.by_asset[row.a].coin,
        asset=row.a,
        is_buy=row.b,
        px=Decimal(row.p),
        sz=Decimal(row.s),
        orig_sz=Decimal(row.s),
        reduce_only=row.r,
        tif=row.t.limit.tif,
        cloid=row.c,
        timestamp=state.now(),
        builder=builder,
        status_at=state.now(),
    )


def place(state: State, account: Account, order: Order) -> Status:
    """Check one order and run it; its status as the venue answers it."""
    market = state.markets[order.coin]
    account.history.append(order)
    try:
        check_order(state, account, market, order)
        fills = _run(state, account, market, order)
    except OrderRefused as refused:
        state.end(order, refused.status)
        plain = refused.text in ASSET_FREE
        return {"error": refused.text if plain else f"{refused.text} asset={order.asset}"}
    ids = {"oid": order.oid} | ({"cloid": order.cloid} if order.cloid else {})
    if not fills:
        return {"resting": ids}
    total = sum((fill.sz for fill in fills), ZERO)
    average = sum((fill.sz * fill.px for fill in fills), ZERO) / total
    return {"filled": {"totalSz": wire(total), "avgPx": wire(rounded(average, 8)), **ids}}


def _run(state: State, account: Account, market: Market, order: Order) -> list[Fill]:
    """Match an order and rest or end what is left of it. Errors: `OrderRefused`."""
    immediate = order.tif in ("Ioc", "FrontendMarket")
    if order.tif == "FrontendMarket" and market.book.opposite(order.is_buy).best() is None:
        raise OrderRefused("marketOrderNoLiquidityRejected", say.NO_LIQUIDITY)
    fills = cross(state, market, order)
    if order.sz == 0 or (immediate and fills):
        state.end(order, FILLED)
    elif immediate:
        raise OrderRefused("iocCancelRejected", say.IOC_NO_MATCH)
    else:
        entry = Resting(px=order.px, sz=order.sz, oid=order.oid, owner=order.user)
        market.book.side(order.is_buy).add(entry)
        account.orders[order.oid], order.status_sz = order, order.sz
    _prune_reduce_only(state, account, order.coin)
    return fills


def cross(
    state: State, market: Market, order: Order, liquidation: dict[str, str] | None = None
) -> list[Fill]:
    """Trade with the other side, best price and oldest first, while the limit allows."""
    side = market.book.opposite(order.is_buy)
    fills: list[Fill] = []
    while order.sz > 0:
        entry = side.best()
        if entry is None or not side.reaches(entry.px, order.px):
            break
        if entry.owner == order.user and entry.oid is not None:
            state.end(state.accounts[order.user].orders[entry.oid], "selfTradeCanceled")
            continue
        if uncovered(state, market, entry):
            continue
        fills.append(_meet(state, market, order, entry, liquidation))
    return fills


def uncovered(state: State, market: Market, entry: Resting) -> bool:
    """Whether an order would open more than its account can pay for: it is cancelled then."""
    if entry.owner is None or entry.oid is None:
        return False
    account = state.accounts[entry.owner]
    order = account.orders[entry.oid]
    if opening_size(account, order) == 0 or pool(state, account, market.dex).available >= 0:
        return False
    state.end(order, "marginCanceled")
    return True


def _meet(
    state: State,
    market: Market,
    order: Order,
    entry: Resting,
    liquidation: dict[str, str] | None,
) -> Fill:
    px, sz, tid = entry.px, min(entry.sz, order.sz), state.next_tid()
    entry.sz -= sz
    if entry.sz == 0:
        market.book.side(not order.is_buy).remove(entry)
    taken = Trade(px=px, sz=sz, crossed=True, tid=tid, liquidation=liquidation)
    fill = apply_trade(state, order, taken)
    if entry.owner is not None and entry.oid is not None:
        rest_traded(state, market, entry, Trade(px=px, sz=sz, crossed=False, tid=tid))
    market.last_trade = px
    market.day_base += sz
    market.day_notional += sz * px
    return fill


def rest_traded(state: State, market: Market, entry: Resting, trade: Trade) -> None:
    """Apply a trade to the order that rested."""
    account = state.accounts[str(entry.owner)]
    resting = account.orders[int(entry.oid or 0)]
    apply_trade(state, resting, trade)
    if resting.sz == 0:
        state.end(resting, FILLED)
    _prune_reduce_only(state, account, market.coin)


def _prune_reduce_only(state: State, account: Account, coin: str) -> None:
    """Cancel reduce-only orders that the position no longer covers; the newest go first."""
    size = account.position(coin)
    left = {True: max(ZERO, -size), False: max(ZERO, size)}
    mine = [o for o in account.orders.values() if o.coin == coin and o.reduce_only]
    for order in sorted(mine, key=lambda o: o.oid, reverse=True):
        if order.sz > left[order.is_buy]:
            state.end(order, "reduceOnlyCanceled")
        else:
            left[order.is_buy] -= order.sz


def find_any(account: Account, key: int | str) -> Order | None:
    """An order of the history, the newest where a cloid was used again."""
    return next((o for o in reversed(account.history) if key in (o.oid, o.cloid)), None)


def cancel(state: State, account: Account, asset: int, key: int | str) -> Status:
    """Cancel one order by its oid or its cloid; its status as the venue answers it."""
    order = next((o for o in account.orders.values() if key in (o.oid, o.cloid)), None)
    if order is None or order.asset != asset:
        return {"error": say.MISSING_ORDER}
    state.end(order, CANCELED)
    return "success"
