"""The venue stop line of a mandate: when it is reached, and the next move of its close.

Pure decisions from venue reads and stored orders, without input or output. Source: trading 5 and
00.9.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import Final, Literal

from domain.settings import KeeperScope
from domain.trading.orders import DONE, Order
from domain.trading.outcome import filled_size
from domain.trading.precision import bounded_px, lots
from domain.trading.pricing import LEAST, NoPrice, Quote
from domain.trading.venue_values import Network, Perp

# How much worse than the touch each try may be, in basis points; the signer's own fence is the
# last of them.
LADDER_BPS: Final = (100, 300, 800)
# A close that left something open is tried again after this long, from the first rung on.
RETRY_AFTER: Final = timedelta(minutes=10)
# The bytes of a close end this long after they were signed.
CLOSE_VALID_FOR: Final = timedelta(seconds=15)
# Two readings are of consecutive ticks where they are no further apart.
MAX_READING_GAP: Final = timedelta(minutes=3)
# An order with an unknown end delays no reading of the line for longer.
SETTLES_WITHIN: Final = timedelta(minutes=10)
# The venue's clock may be behind ours.
_BEHIND: Final = timedelta(minutes=1)
NOTHING_ARRIVED: Final = "wallet_venue_unavailable"
State = Literal["warned", "open", "done", "blocked"]
ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthReading:
    """The worth of a mandate at the venue's time `at`. Units: micro-USDC."""

    at: datetime
    worth: int
    floor: int

    @property
    def below(self) -> bool:
        """True below the line; on it a mandate goes on."""
        return self.worth < self.floor


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLineState:
    """The keeper's stored state of a mandate's stop line on one network.

    Shapes: `episode` counts the attempts to close from 1, 0 before the first; `again_at` is when a
    blocked one is tried anew.
    """

    public_id: str
    network: Network
    episode: int
    state: State
    why: str | None
    changed_at: datetime
    again_at: datetime | None = None


def reached(now: WorthReading | None, before: WorthReading | None) -> bool:
    """True where two readings in a row, by the venue's time, stand below the line."""
    if now is None or before is None:
        return False
    return now.below and before.below and before.at < now.at <= before.at + MAX_READING_GAP


# -- positions of a mandate


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPosition:
    """A mandate's position in one product, by its orders' fills. Units: `size` in the coin,
    negative when short; `paid` USDC that went out for it, fees with it, less what came back.
    """

    size: Decimal = ZERO
    paid: Decimal = ZERO


def unsettled(order: Order) -> bool:
    """True while the end of an order that was sent, or a fill of it, is unknown."""
    if order.status in ("executing", "unknown"):
        return True
    if order.status == "recorded":
        return order.next_check_at is not None
    if order.fills_whole or order.status not in ("executed", "cancelled"):
        return False
    reported_size = order.filled_size
    return (
        order.status == "executed"
        if reported_size is None
        else filled_size(order.fills) < reported_size
    )


def delays_reading(order: Order, now: datetime) -> bool:
    """True while a reading waits for an order, at most `SETTLES_WITHIN`."""
    return unsettled(order) and now < (order.sent_at or order.created_at) + SETTLES_WITHIN


def own_positions(orders: Iterable[Order]) -> Mapping[str, OwnPosition]:
    """A mandate's positions by product, from its orders' fills alone."""
    positions: dict[str, OwnPosition] = {}
    for order in orders:
        if not order.fills:
            continue
        side = 1 if order.action.is_buy else -1
        cost = sum((side * f.size * f.px + f.fee for f in order.fills), ZERO)
        before = positions.get(order.product, OwnPosition())
        size = before.size + side * filled_size(order.fills)
        positions[order.product] = OwnPosition(size=size, paid=before.paid + cost)
    return positions


def has_own_position(orders: Sequence[Order]) -> bool:
    """True where a position is left by the fills; the keeper may have closed more."""
    opened = own_positions(o for o in orders if o.source != "keeper")
    remaining = own_positions(orders)
    return any(own.size * remaining[coin].size > 0 for coin, own in opened.items())


def certain_size(orders: Sequence[Order], coin: str) -> Decimal:
    """The mandate's certain size: an order of unknown end that reduces has done so."""
    own = own_positions(orders).get(coin, OwnPosition()).size
    for order in orders:
        if order.product != coin or order.action.is_buy is (own > 0) or not unsettled(order):
            continue
        remaining = abs(own) - (order.action.size - filled_size(order.fills))
        own = max(ZERO, remaining) * (1 if own > 0 else -1)
    return own


def result_micros(own: Mapping[str, OwnPosition], marks: Mapping[str, Decimal]) -> int | None:
    """The mandate's result at the venue, rounded down; None where a mark is missing.

    Units: micro-USDC. Funding belongs to the account and to no order, so that it is left out.
    """
    total = ZERO
    for coin, position in own.items():
        if position.size and coin not in marks:
            return None
        total += position.size * marks.get(coin, ZERO) - position.paid
    return int(total.scaleb(6).quantize(Decimal(1), ROUND_FLOOR))


# -- closing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceOrder:
    """One reduce-only order that takes a position off. `rung` is its place on the ladder."""

    coin: str
    asset_id: int
    is_buy: bool
    size: Decimal
    limit_px: Decimal
    rung: int


@dataclass(frozen=True, slots=True)
class Residual:
    """An open remainder and why no order can close it; `passing`: the next tick may."""

    coin: str
    reason: str
    passing: bool


def closable(position_size: Decimal, own_size: Decimal, scope: KeeperScope) -> Decimal:
    """The part of a position that is the mandate's to close, with its sign."""
    if scope == "all":
        return position_size
    if position_size > 0 and own_size > 0:
        return min(position_size, own_size)
    return max(position_size, own_size) if position_size < 0 and own_size < 0 else ZERO


def reduce_order(
    coin: str,
    position_size: Decimal,
    part: Decimal,
    perp: Perp | None,
    quote: Quote | NoPrice,
    rung: int,
) -> ReduceOrder | Residual | None:
    """The order that closes `part` of a position, the reason why none can, or None for no part."""
    if not part:
        return None
    if perp is None:
        return Residual(coin, f"{coin}: the venue names no such market", passing=True)
    if perp.delisted:
        return Residual(coin, f"{coin}: delisted, the venue settles it", passing=False)
    size, full_size = lots(abs(part), perp.sz_decimals), lots(abs(position_size), perp.sz_decimals)
    if not size:
        return None
    if rung >= len(LADDER_BPS):
        return Residual(coin, f"{coin}: nobody took it within {LADDER_BPS[-1]} bps", passing=False)
    if isinstance(quote, NoPrice):
        return Residual(coin, f"{coin}: {quote.reason}", passing=True)
    is_buy = position_size < 0
    touch = quote.touch("buy" if is_buy else "sell")
    if size < full_size and size * touch < LEAST:
        why = f"{coin}: the mandate's part of the position is worth less than 10 USDC"
        return Residual(coin, why, passing=False)
    px = bounded_px(touch, LADDER_BPS[rung], perp.sz_decimals, is_buy=is_buy)
    return ReduceOrder(
        coin=coin, asset_id=perp.asset_id, is_buy=is_buy, size=size, limit_px=px, rung=rung
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLineView:
    """All input of the next move, read just now.

    Shapes: `orders` are the mandate's live ones on this network, the keeper's with them; `open` are
    the cloids of open orders at the venue, None where unread; `positions` the account's, None where
    unread; both for the products `coins` that the terms name. `markets` and `quotes` cover the
    positions.
    """

    now: datetime
    episode: int
    scope: KeeperScope
    coins: Collection[str]
    orders: Sequence[Order]
    open: Collection[str] | None
    positions: Mapping[str, Decimal] | None = field(default_factory=dict)
    markets: Mapping[str, Perp] = field(default_factory=dict)
    quotes: Mapping[str, Quote | NoPrice] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Close:
    """Send these orders, one a product; `residuals` stay for another tick."""

    orders: tuple[ReduceOrder, ...]
    residuals: tuple[Residual, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """No move is possible at this tick; the owner gets the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """A position stays open that no order can close; the owner gets the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class NothingOpen:
    """The mandate has nothing open, and nothing can open again."""


Move = Close | Wait | Blocked | NothingOpen


def bytes_live(order: Order, now: datetime) -> bool:
    """True for an order whose signed bytes exist, or may, and can still act at the venue."""
    if order.envelope is None or order.status in ("executed", "rejected", "resting"):
        return False
    if order.status == "cancelled" and order.sent_at is not None:
        return False
    return now < order.expires_at + _BEHIND


def may_stand(order: Order, now: datetime) -> bool:
    """True for an order that may be open at the venue: it rests, can rest, or can be sent."""
    rests = order.action.tif != "ioc" and order.sent_at is not None
    return rests or order.status == "resting" or bytes_live(order, now)


def next_move(view: StopLineView) -> Move:
    """The keeper's next move for a mandate that reached its line.

    One order a product is sent, never larger than the position and never against its side; stored
    orders alone delay none. The end waits for every order that may still open a position: by the
    venue's list of open orders and by live bytes alone.
    """
    if view.positions is None:
        return Wait("the account could not be read")
    orders, residuals = _plan_closes(view, view.positions)
    if orders:
        return Close(orders, residuals)
    reasons = "; ".join(residual.reason for residual in residuals)
    if residuals:
        return (
            Wait(reasons) if any(residual.passing for residual in residuals) else Blocked(reasons)
        )
    if view.open is None:
        return Wait("the account's open orders could not be read")
    if any(o.action.cloid in view.open for o in view.orders):
        return Wait("an order of the mandate stands at the venue and is not cancelled yet")
    if any(bytes_live(o, view.now) for o in view.orders if o.source != "keeper"):
        return Wait("an order that was given out to sign may still come")
    return NothingOpen()


def _plan_closes(
    view: StopLineView, positions: Mapping[str, Decimal]
) -> tuple[tuple[ReduceOrder, ...], tuple[Residual, ...]]:
    """(orders that can be sent now, remainders that stay open)."""
    own = own_positions(view.orders)
    steps: list[ReduceOrder | Residual | None] = []
    for coin in sorted(view.coins):
        size = positions.get(coin, ZERO)
        part = closable(size, certain_size(view.orders, coin), view.scope)
        quote = view.quotes.get(coin, NoPrice("its book was not read"))
        if not part and closable(size, own.get(coin, OwnPosition()).size, view.scope):
            reason = f"{coin}: what an earlier order took off is not known yet"
            steps.append(Residual(coin, reason, passing=True))
            continue
        steps.append(
            reduce_order(coin, size, part, view.markets.get(coin), quote, rung_of(view, coin))
        )
    return (
        tuple(step for step in steps if isinstance(step, ReduceOrder)),
        tuple(step for step in steps if isinstance(step, Residual)),
    )


def tries_of(view: StopLineView, coin: str) -> list[Order]:
    """The keeper's stored orders of this episode for a product."""
    return [
        o
        for o in view.orders
        if o.source == "keeper" and o.product == coin and o.asked.get("episode") == view.episode
    ]


def rung_of(view: StopLineView, coin: str) -> int:
    """A product's rung on the ladder: one further for each order that reached the venue and filled
    nothing. A partial fill shows that the price is met.
    """
    return sum(
        not (o.refusal is not None and o.refusal.get("error") == NOTHING_ARRIVED)
        for o in tries_of(view, coin)
        if o.status in DONE and not o.filled_size and not o.fills
    )


def cloid_of(public_id: str, network: Network, coin: str, episode: int, attempt: int) -> str:
    """The id of one attempt: the same in every process, and stored once.

    Two processes about to send the same attempt collide on it; only one can store it.
    """
    identity = "|".join((public_id, network, coin, str(episode), str(attempt)))
    return "0x" + hashlib.sha256(f"stop line|{identity}".encode()).hexdigest()[:32]
