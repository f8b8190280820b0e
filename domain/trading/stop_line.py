"""The venue stop line of a mandate: when it is reached, and the next move of its close.

Everything here is decided from what was read and from orders that are on record; nothing is asked
and nothing is sent. Source: trading 5 and 00.9.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import Final, Literal

from domain.settings import Scope
from domain.trading.orders import DONE, Order
from domain.trading.outcome import filled_size
from domain.trading.precision import bounded_px, lots
from domain.trading.pricing import LEAST, NoPrice, Quote
from domain.trading.venue_values import Network, Perp

# How much worse than the touch each try may be, in basis points; the signer's own fence is the
# last of them.
LADDER_BPS: Final = (100, 300, 800)
# What was tried and left something open is tried anew after this long, from the first rung on.
REST: Final = timedelta(minutes=10)
# The bytes of a close end this long after they were signed.
GOOD_FOR: Final = timedelta(seconds=15)
# Two readings are of consecutive ticks where they are no further apart.
TOGETHER: Final = timedelta(minutes=3)
# An order that nobody knows the end of holds no look at the line for longer.
SETTLES_WITHIN: Final = timedelta(minutes=10)
# The venue's clock may be behind ours.
_BEHIND: Final = timedelta(minutes=1)
NOTHING_ARRIVED: Final = "wallet_venue_unavailable"
State = Literal["warned", "open", "done", "blocked"]
ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthReading:
    """What a mandate is worth by one look at the venue; `at` is the venue's time.

    Units: micro-USDC.
    """

    at: datetime
    worth: int
    floor: int

    @property
    def below(self) -> bool:
        """True below the line; on it a mandate goes on."""
        return self.worth < self.floor


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLineState:
    """How the keeper stands with a mandate on one network.

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
    """True where two looks in a row stand below the line: one bad mark closes nothing.

    The second is another answer of the venue's, later by its own time.
    """
    if now is None or before is None:
        return False
    return now.below and before.below and before.at < now.at <= before.at + TOGETHER


# -- what a mandate holds


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPosition:
    """What a mandate's orders of one product come to. Units: `size` in the coin, negative when
    short; `paid` USDC that went out for it, fees with it, less what came back."""

    size: Decimal = ZERO
    paid: Decimal = ZERO


def unsettled(order: Order) -> bool:
    """True while it is not known what became of an order that was sent, or what it filled."""
    if order.status in ("executing", "unknown"):
        return True
    if order.status == "recorded":
        return order.next_check_at is not None
    if order.fills_whole or order.status not in ("executed", "cancelled"):
        return False
    told = order.filled_size
    return order.status == "executed" if told is None else filled_size(order.fills) < told


def holds_a_look(order: Order, now: datetime) -> bool:
    """True while a look waits for an order: what is not settled by then counts by its fills."""
    return unsettled(order) and now < (order.sent_at or order.created_at) + SETTLES_WITHIN


def own_of(orders: Iterable[Order]) -> Mapping[str, OwnPosition]:
    """What a mandate's orders come to by their fills, by product: a size that an order is said to
    have filled is nobody's until its fills say so.
    """
    found: dict[str, OwnPosition] = {}
    for order in orders:
        if not order.fills:
            continue
        side = 1 if order.action.is_buy else -1
        prepaid_cost = sum((side * f.size * f.px + f.fee for f in order.fills), ZERO)
        was = found.get(order.product, OwnPosition())
        size = was.size + side * filled_size(order.fills)
        found[order.product] = OwnPosition(size=size, paid=was.paid + prepaid_cost)
    return found


def holds(orders: Sequence[Order]) -> bool:
    """True where the fills say that something of a mandate's is left; the keeper may have closed
    more than that, where the whole account is the mandate's.
    """
    opened = own_of(o for o in orders if o.source != "keeper")
    left = own_of(orders)
    return any(own.size * left[coin].size > 0 for coin, own in opened.items())


def sure_of(orders: Sequence[Order], coin: str) -> Decimal:
    """What is the mandate's own of a product, whatever an order did that nobody knows the end of:
    one that takes off is taken to have done so. With its sign.
    """
    own = own_of(orders).get(coin, OwnPosition()).size
    for order in orders:
        if order.product != coin or order.action.is_buy is (own > 0) or not unsettled(order):
            continue
        left = abs(own) - (order.action.size - filled_size(order.fills))
        own = max(ZERO, left) * (1 if own > 0 else -1)
    return own


def result_micros(own: Mapping[str, OwnPosition], marks: Mapping[str, Decimal]) -> int | None:
    """What the mandate made or lost at the venue, rounded down; None where a mark is missing.

    Units: micro-USDC. Funding is the account's and in nobody's orders, so that it is not in here.
    """
    total = ZERO
    for coin, held in own.items():
        if held.size and coin not in marks:
            return None
        total += held.size * marks.get(coin, ZERO) - held.paid
    return int(total.scaleb(6).quantize(Decimal(1), ROUND_FLOOR))


# -- what is closed


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
    """Something stays open; the sentence says why no order of ours can take it off now.

    `passing`: the next tick may see it otherwise.
    """

    coin: str
    why: str
    passing: bool


def closable(held: Decimal, own: Decimal, scope: Scope) -> Decimal:
    """How much of a position is the mandate's to close, with its sign; the rest is the owner's."""
    if scope == "all":
        return held
    if held > 0 and own > 0:
        return min(held, own)
    return max(held, own) if held < 0 and own < 0 else ZERO


def cut(
    coin: str, held: Decimal, part: Decimal, perp: Perp | None, quote: Quote | NoPrice, rung: int
) -> ReduceOrder | Residual | None:
    """The order that takes `part` of a position off, None where there is nothing to take off."""
    if not part:
        return None
    if perp is None:
        return Residual(coin, f"{coin}: the venue names no such market", passing=True)
    if perp.delisted:
        return Residual(coin, f"{coin}: delisted, the venue settles it", passing=False)
    size, whole = lots(abs(part), perp.sz_decimals), lots(abs(held), perp.sz_decimals)
    if not size:
        return None
    if rung >= len(LADDER_BPS):
        return Residual(coin, f"{coin}: nobody took it within {LADDER_BPS[-1]} bps", passing=False)
    if isinstance(quote, NoPrice):
        return Residual(coin, f"{coin}: {quote.why}", passing=True)
    is_buy = held < 0
    touch = quote.touch("buy" if is_buy else "sell")
    if size < whole and size * touch < LEAST:
        why = f"{coin}: the mandate's part of the position is worth less than 10 USDC"
        return Residual(coin, why, passing=False)
    px = bounded_px(touch, LADDER_BPS[rung], perp.sz_decimals, is_buy=is_buy)
    return ReduceOrder(
        coin=coin, asset_id=perp.asset_id, is_buy=is_buy, size=size, limit_px=px, rung=rung
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLineView:
    """Everything that the next move rests on, read just now.

    Shapes: `orders` are the mandate's live ones on this network, the keeper's with them; `open` are
    the cloids that the venue names as open, None where it does not tell; `held` the account's
    positions, None where it cannot be seen; both of the products `coins` that the terms name.
    `markets` and `quotes` are there for what is held.
    """

    now: datetime
    episode: int
    scope: Scope
    coins: Collection[str]
    orders: Sequence[Order]
    open: Collection[str] | None
    held: Mapping[str, Decimal] | None = field(default_factory=dict)
    markets: Mapping[str, Perp] = field(default_factory=dict)
    quotes: Mapping[str, Quote | NoPrice] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Close:
    """Send these, one a product; `left` stays for another tick."""

    cuts: tuple[ReduceOrder, ...]
    left: tuple[Residual, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done at this tick; the sentence says why, and its owner is told."""

    why: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something stays open that no order of ours takes off; its owner is told."""

    why: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing of the mandate's is open, and nothing can open again."""


Move = Close | Wait | Blocked | Ended


def bytes_about(order: Order, now: datetime) -> bool:
    """True for an order whose bytes were given out or sent, and may still act at the venue."""
    if order.envelope is None or order.status in ("executed", "rejected", "resting"):
        return False
    if order.status == "cancelled" and order.sent_at is not None:
        return False
    return now < order.expires_at + _BEHIND


def may_stand(order: Order, now: datetime) -> bool:
    """True for an order that the venue's list of open orders is asked for: whatever is on record,
    one that can rest was sent, or its bytes are about.
    """
    rests = order.action.tif != "ioc" and order.sent_at is not None
    return rests or order.status == "resting" or bytes_about(order, now)


def next_move(view: StopLineView) -> Move:
    """What the keeper does next with a mandate that reached its line.

    One order a product is sent, never larger than the position and never against its side: it
    waits for nothing that is only on record. The end waits for everything that may open again,
    and that is said by the venue's list of open orders and by bytes that are about, alone.
    """
    if view.held is None:
        return Wait("the account could not be read")
    cuts, left = _taken_off(view, view.held)
    if cuts:
        return Close(cuts, left)
    why = "; ".join(one.why for one in left)
    if left:
        return Wait(why) if any(one.passing for one in left) else Blocked(why)
    if view.open is None:
        return Wait("the account's open orders could not be read")
    if any(o.action.cloid in view.open for o in view.orders):
        return Wait("an order of the mandate stands at the venue and is not cancelled yet")
    if any(bytes_about(o, view.now) for o in view.orders if o.source != "keeper"):
        return Wait("an order that was given out to sign may still come")
    return Ended()


def _taken_off(
    view: StopLineView, held: Mapping[str, Decimal]
) -> tuple[tuple[ReduceOrder, ...], tuple[Residual, ...]]:
    """What can be closed now, and what stays."""
    own = own_of(view.orders)
    created: list[ReduceOrder | Residual | None] = []
    for coin in sorted(view.coins):
        size = held.get(coin, ZERO)
        part = closable(size, sure_of(view.orders, coin), view.scope)
        quote = view.quotes.get(coin, NoPrice("its book was not read"))
        if not part and closable(size, own.get(coin, OwnPosition()).size, view.scope):
            why = f"{coin}: what an earlier order took off is not known yet"
            created.append(Residual(coin, why, passing=True))
            continue
        created.append(cut(coin, size, part, view.markets.get(coin), quote, rung_of(view, coin)))
    return (
        tuple(one for one in created if isinstance(one, ReduceOrder)),
        tuple(one for one in created if isinstance(one, Residual)),
    )


def tries_of(view: StopLineView, coin: str) -> list[Order]:
    """The orders of this episode that the keeper has on record for a product."""
    return [
        o
        for o in view.orders
        if o.source == "keeper" and o.product == coin and o.asked.get("episode") == view.episode
    ]


def rung_of(view: StopLineView, coin: str) -> int:
    """Where on the ladder a product is: one further for each order that the venue got and that
    nobody took anything of. One that was taken in part says that its price is met.
    """
    return sum(
        not (o.refusal is not None and o.refusal.get("error") == NOTHING_ARRIVED)
        for o in tries_of(view, coin)
        if o.status in DONE and not o.filled_size and not o.fills
    )


def cloid_of(public_id: str, network: Network, coin: str, episode: int, attempt: int) -> str:
    """The id of one attempt: the same in every process, and on record once.

    Two that are about to send the same attempt meet at it; only one of them gets it stored.
    """
    named = "|".join((public_id, network, coin, str(episode), str(attempt)))
    return "0x" + hashlib.sha256(f"stop line|{named}".encode()).hexdigest()[:32]
