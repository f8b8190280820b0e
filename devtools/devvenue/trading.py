"""Placing, matching, cancelling and changing orders."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from devtools.devvenue import refusals as say
from devtools.devvenue import wires
from devtools.devvenue.accounts import Account
from devtools.devvenue.book import Resting
from devtools.devvenue.checks import check_form, check_order, opening_size
from devtools.devvenue.decimals import ZERO, rounded, wire
from devtools.devvenue.margin import pool
from devtools.devvenue.markets import Market
from devtools.devvenue.records import CANCELED, FILLED, TRIGGERED, Fill, Liquidation, Order, Trigger
from devtools.devvenue.refusals import ASSET_FREE, OrderRefused, Refused
from devtools.devvenue.settle import Trade, apply_trade
from devtools.devvenue.state import State
from devtools.devvenue.statuses import Cancelled, Failed, Filled, Named, Rests, Status


@dataclass(frozen=True, slots=True)
class Batch:
    """Parameters that the orders of one action share."""

    grouping: wires.Grouping = "na"
    builder: tuple[str, int] | None = None


def place_batch(
    state: State, account: Account, orders: list[wires.Order], batch: Batch
) -> list[Status]:
    """Place orders one after another; a status for each, or one for all that never got that far."""
    if batch.builder is not None:
        address, fee = batch.builder
        if address not in account.builders or fee > min(account.builders[address], 100):
            raise Refused(say.BUILDER)
    try:
        check_form(state, orders, batch.grouping)
    except OrderRefused as refused:
        return [{"error": refused.text}]
    if batch.grouping == "normalTpsl" and orders:
        return _place_bracket(state, account, orders, batch)
    return [place(state, account, new_order(state, account, w, batch), batch) for w in orders]


def new_order(state: State, account: Account, wire: wires.Order, batch: Batch) -> Order:
    """An order as its fields say, with an id of its own."""
    kind = wire["t"]
    tif, trigger = None, None
    if "limit" in kind:
        tif = kind["limit"]["tif"]
    else:
        waits = kind["trigger"]
        trigger = Trigger(
            px=Decimal(waits["triggerPx"]),
            is_market=waits["isMarket"],
            take_profit=waits["tpsl"] == "tp",
        )
    now = state.now()
    sz = Decimal(wire["s"])
    return Order(
        oid=state.next_oid(),
        user=account.address,
        coin=state.by_asset[wire["a"]].coin,
        asset=wire["a"],
        is_buy=wire["b"],
        px=Decimal(wire["p"]),
        sz=sz,
        orig_sz=sz,
        reduce_only=wire["r"],
        tif=tif,
        cloid=wire.get("c"),
        timestamp=now,
        trigger=trigger,
        builder=batch.builder,
        status_at=now,
        position_tpsl=batch.grouping == "positionTpsl",
    )


def place(state: State, account: Account, order: Order, batch: Batch) -> Status:
    """Check one order and run it; its status as the venue answers it."""
    market = state.markets[order.coin]
    account.history.append(order)
    try:
        check_order(state, account, market, order)
        if order.trigger is not None:
            order.waiting = True
            account.orders[order.oid] = order
            return (
                {"resting": _reference_of(order)} if batch.grouping == "na" else "waitingForTrigger"
            )
        return _status_of(order, run(state, account, market, order))
    except OrderRefused as refused:
        return _refused(state, order, refused)


def _refused(state: State, order: Order, refused: OrderRefused) -> Failed:
    state.end(order, refused.status)
    plain = refused.text in ASSET_FREE
    return {"error": refused.text if plain else f"{refused.text} asset={order.asset}"}


def _reference_of(order: Order) -> Named:
    return {"oid": order.oid, "cloid": order.cloid} if order.cloid else {"oid": order.oid}


def _status_of(order: Order, fills: list[Fill]) -> Rests | Filled:
    if not fills:
        return {"resting": _reference_of(order)}
    total = sum((fill.sz for fill in fills), ZERO)
    average = sum((fill.sz * fill.px for fill in fills), ZERO) / total
    return {
        "filled": {
            "totalSz": wire(total),
            "avgPx": wire(rounded(average, 8)),
            **_reference_of(order),
        }
    }


def run(state: State, account: Account, market: Market, order: Order) -> list[Fill]:
    """Match an order and rest or end what is left of it. Errors: `OrderRefused`."""
    immediate = order.tif in ("Ioc", "FrontendMarket", None)
    if immediate and market.book.opposite(order.is_buy).best() is None and order.tif != "Ioc":
        raise OrderRefused("marketOrderNoLiquidityRejected", say.NO_LIQUIDITY)
    fills = cross(state, market, order)
    if order.sz == 0:
        _filled(state, order)
    elif immediate and not fills:
        raise OrderRefused("iocCancelRejected", say.IOC_NO_MATCH)
    elif immediate:
        state.end(order, FILLED)
        _release_children(state, order, filled=True)
    else:
        entry = Resting(px=order.px, sz=order.sz, oid=order.oid, owner=order.user)
        market.book.side(order.is_buy).add(entry)
        account.orders[order.oid], order.status_sz = order, order.sz
    prune_reduce_only(state, account, order.coin)
    return fills


def cross(
    state: State, market: Market, order: Order, liquidation: Liquidation | None = None
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
    """Whether a order would open more than its account can pay for: it is cancelled then."""
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
    liquidation: Liquidation | None,
) -> Fill:
    px, sz = entry.px, min(entry.sz, order.sz)
    tid = state.next_tid()
    entry.sz -= sz
    if entry.sz == 0:
        market.book.side(not order.is_buy).remove(entry)
    fill = apply_trade(
        state, order, Trade(px=px, sz=sz, crossed=True, tid=tid, liquidation=liquidation)
    )
    if entry.owner is not None and entry.oid is not None:
        rest_traded(state, market, entry, Trade(px=px, sz=sz, crossed=False, tid=tid))
    _note_trade(state, market, order, fill, entry.owner)
    return fill


def rest_traded(state: State, market: Market, entry: Resting, trade: Trade) -> None:
    """Apply a trade to the order that rested."""
    account = state.accounts[str(entry.owner)]
    resting = account.orders[int(entry.oid or 0)]
    apply_trade(state, resting, trade)
    if resting.sz == 0:
        _filled(state, resting)
    prune_reduce_only(state, account, market.coin)


def _note_trade(state: State, market: Market, order: Order, fill: Fill, other: str | None) -> None:
    market.last_trade = fill.px
    market.day_base += fill.sz
    market.day_notional += fill.sz * fill.px
    maker = other or "0x" + "00" * 20
    market.trades.append(
        {
            "coin": market.coin,
            "side": order.side,
            "px": wire(fill.px),
            "sz": wire(fill.sz),
            "time": fill.time,
            "hash": fill.hash,
            "tid": fill.tid,
            "users": [order.user, maker] if order.is_buy else [maker, order.user],
        }
    )


def _filled(state: State, order: Order) -> None:
    state.end(order, FILLED)
    _release_children(state, order, filled=True)
    account = state.accounts[order.user]
    for sibling in order.siblings:
        if sibling.oid in account.orders:
            state.end(sibling, "siblingFilledCanceled")


def _release_children(state: State, order: Order, *, filled: bool) -> None:
    """Start the take profit and the stop of a filled order; drop those of a cancelled one."""
    account = state.accounts[order.user]
    for child in order.children:
        child.parked = False
        if filled:
            child.waiting = True
            account.orders[child.oid] = child
        else:
            state.end(child, CANCELED)


def _place_bracket(
    state: State, account: Account, orders: list[wires.Order], batch: Batch
) -> list[Status]:
    """A parent with its take profit and stop, which wait for its fill."""
    parent = new_order(state, account, orders[0], Batch("na", batch.builder))
    children = [new_order(state, account, w, batch) for w in orders[1:]]
    for child in children:
        child.parked, child.siblings = True, [c for c in children if c is not child]
    parent.children = children
    first = place(state, account, parent, Batch("na", batch.builder))
    if "error" in first:
        parent.children = []
        for child in children:
            state.end(child, CANCELED)
        return [first]
    account.history.extend(children)
    rest: Status = "waitingForFill" if "resting" in first else "waitingForTrigger"
    return [first, *(rest for _ in children)]


def prune_reduce_only(state: State, account: Account, coin: str) -> None:
    """Cancel reduce-only orders that the position no longer covers; the newest go first."""
    size = account.position(coin)
    left = {True: max(ZERO, -size), False: max(ZERO, size)}
    mine = [o for o in account.orders.values() if o.coin == coin and o.reduce_only]
    for order in sorted(mine, key=lambda o: o.oid, reverse=True):
        room = left[order.is_buy]
        if order.trigger is not None:
            if room == 0:
                state.end(order, "reduceOnlyCanceled")
        elif order.sz > room:
            state.end(order, "reduceOnlyCanceled")
        else:
            left[order.is_buy] = room - order.sz


def find_open(account: Account, key: int | str) -> Order | None:
    """An open order by its oid or its cloid."""
    if isinstance(key, int):
        return account.orders.get(key)
    return next((o for o in account.orders.values() if o.cloid == key), None)


def find_any(account: Account, key: int | str) -> Order | None:
    """An order of the history, the newest where a cloid was used again."""
    for order in reversed(account.history):
        if key in (order.oid, order.cloid):
            return order
    return None


def cancel(state: State, account: Account, asset: int, key: int | str) -> Cancelled:
    """Cancel one order; its status as the venue answers it."""
    order = find_open(account, key)
    if order is None or order.asset != asset:
        return {"error": say.MISSING_ORDER}
    state.end(order, CANCELED)
    _release_children(state, order, filled=False)
    return "success"


def modify(state: State, account: Account, key: int | str, wire: wires.Order) -> Status:
    """Cancel an order and place another in its stead. Errors: `Refused`."""
    order = find_open(account, key)
    if order is None:
        raise Refused(say.CANNOT_MODIFY)
    batch = Batch("na", order.builder)
    check_form(state, [wire], "na")
    state.end(order, CANCELED)
    return place(state, account, new_order(state, account, wire, batch), batch)


def start_triggered(state: State, order: Order) -> None:
    """A trigger was hit: the order becomes a market or a limit order."""
    account, market = state.accounts[order.user], state.markets[order.coin]
    order.waiting, order.status, order.status_at = False, TRIGGERED, state.now()
    account.orders.pop(order.oid, None)
    if order.reduce_only:
        size = account.position(order.coin)
        order.sz = min(order.sz, max(ZERO, -size if order.is_buy else size))
    if order.sz == 0:
        state.end(order, "reduceOnlyCanceled")
        return
    if order.trigger is not None and not order.trigger.is_market:
        order.tif = "Gtc"
    try:
        run(state, account, market, order)
    except OrderRefused as refused:
        state.end(order, refused.status)
