"""The stop line of what a mandate holds at the venue: when it is reached, and what is done then.

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
from domain.trading.precision import bounded_px, lots
from domain.trading.pricing import LEAST, NoPrice, Quote
from domain.trading.venue import Network, Perp

# How much worse than the touch each try may be, in basis points; the signer's own fence is the
# last of them.
LADDER_BPS: Final = (100, 300, 800)
# What was tried and left something open is tried anew after this long, from the first rung on.
REST: Final = timedelta(minutes=10)
# The bytes of a close end this long after they were signed.
GOOD_FOR: Final = timedelta(seconds=15)
# Two readings are of consecutive ticks where they are no further apart.
TOGETHER: Final = timedelta(minutes=3)
NOTHING_ARRIVED: Final = "wallet_venue_unavailable"
State = Literal["warned", "open", "done", "blocked"]
ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
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
class Keeping:
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


def reached(now: Reading | None, before: Reading | None) -> bool:
    """True where two looks in a row stand below the line: one bad mark closes nothing.

    The second is another answer of the venue's, later by its own time.
    """
    if now is None or before is None:
        return False
    return now.below and before.below and before.at < now.at <= before.at + TOGETHER


# -- what a mandate holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """What a mandate's orders of one product come to. Units: `size` in the coin, negative when
    short; `paid` USDC that went out for it, fees with it, less what came back."""

    size: Decimal = ZERO
    paid: Decimal = ZERO


def unsettled(order: Order) -> bool:
    """True while nobody knows what became of an order that was sent."""
    if order.status in ("executing", "unknown"):
        return True
    if order.status == "recorded":
        return order.next_check_at is not None
    return order.status == "executed" and order.filled_size is None and not order.fills


def own_of(orders: Iterable[Order]) -> Mapping[str, Own]:
    """What the settled orders of a mandate come to, by product."""
    found: dict[str, Own] = {}
    for order in orders:
        size = order.filled_size
        if size is None:
            size = sum((f.size for f in order.fills), ZERO)
        if not size:
            continue
        px = order.avg_px if order.avg_px is not None else order.action.limit_px
        fee = sum((f.fee for f in order.fills), ZERO)
        side = 1 if order.action.is_buy else -1
        was = found.get(order.product, Own())
        found[order.product] = Own(
            size=was.size + side * size, paid=was.paid + side * size * px + fee
        )
    return found


def result_micros(own: Mapping[str, Own], marks: Mapping[str, Decimal]) -> int | None:
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
class Cut:
    """One reduce-only order that takes a position off. `rung` is its place on the ladder."""

    coin: str
    asset_id: int
    is_buy: bool
    size: Decimal
    limit_px: Decimal
    rung: int


@dataclass(frozen=True, slots=True)
class Left:
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
) -> Cut | Left | None:
    """The order that takes `part` of a position off, None where there is nothing to take off."""
    if not part:
        return None
    if perp is None:
        return Left(coin, f"{coin}: the venue names no such market", passing=True)
    if perp.delisted:
        return Left(coin, f"{coin}: delisted, the venue settles it", passing=False)
    size, whole = lots(abs(part), perp.sz_decimals), lots(abs(held), perp.sz_decimals)
    if not size:
        return None
    if rung >= len(LADDER_BPS):
        return Left(coin, f"{coin}: nobody took it within {LADDER_BPS[-1]} bps", passing=False)
    if isinstance(quote, NoPrice):
        return Left(coin, f"{coin}: {quote.why}", passing=True)
    is_buy = held < 0
    touch = quote.touch("buy" if is_buy else "sell")
    if size < whole and size * touch < LEAST:
        why = f"{coin}: the mandate's part of the position is worth less than 10 USDC"
        return Left(coin, why, passing=False)
    px = bounded_px(touch, LADDER_BPS[rung], perp.sz_decimals, is_buy=is_buy)
    return Cut(coin=coin, asset_id=perp.asset_id, is_buy=is_buy, size=size, limit_px=px, rung=rung)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that the next move rests on, read just now.

    Shapes: `orders` are the mandate's live ones on this network, the keeper's with them; `open` are
    the cloids that the venue names as open, `held` the account's positions, both of the products
    `coins` that the terms name. `markets` and `quotes` are there for what is held. `open` is None
    where nobody asked, and `blind` true where the account cannot be seen.
    """

    now: datetime
    episode: int
    scope: Scope
    coins: Collection[str]
    orders: Sequence[Order]
    open: Collection[str] | None
    held: Mapping[str, Decimal] = field(default_factory=dict)
    markets: Mapping[str, Perp] = field(default_factory=dict)
    quotes: Mapping[str, Quote | NoPrice] = field(default_factory=dict)
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Settle:
    """Ask the venue what became of these before anything else is sent."""

    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel these: one that rests could open again what is closed."""

    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Close:
    """Send these, one a product; `left` stays for another tick."""

    cuts: tuple[Cut, ...]
    left: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done at this tick; the sentence says why.

    `ask`: orders whose bytes are about; whether somebody sent one is asked meanwhile.
    """

    why: str
    ask: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something stays open that no order of ours takes off; its owner is told."""

    why: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing of the mandate's is open, and nothing can open again."""


Move = Settle | Cancel | Close | Wait | Blocked | Ended


def may_open(order: Order, now: datetime) -> bool:
    """True for an order that stands at the venue, or whose bytes are about and can still be sent.

    The venue's clock may be behind ours by a minute.
    """
    if order.status == "resting":
        return True
    given = order.envelope is not None and order.status in ("awaiting_signature", "expired")
    return given and now < order.expires_at + timedelta(minutes=1)


def next_move(view: View) -> Move:
    """What the keeper does next with a mandate that reached its line.

    In this order: what was sent is settled, what rests is cancelled, and only then one order a
    product is sent, never larger than the position and never against its side.
    """
    doubtful = tuple(o for o in view.orders if unsettled(o))
    if doubtful:
        return Settle(doubtful)
    if view.open is None or view.blind:
        return Wait("the account could not be read")
    resting = tuple(o for o in view.orders if o.action.cloid in view.open)
    if resting:
        return Cancel(resting)
    gone = tuple(o for o in view.orders if o.status == "resting")
    if gone:
        return Settle(gone)
    cuts, left = _taken_off(view)
    if cuts:
        return Close(cuts, left)
    why = "; ".join(one.why for one in left)
    if left:
        return Wait(why) if any(one.passing for one in left) else Blocked(why)
    late = tuple(o for o in view.orders if may_open(o, view.now))
    return Wait("an order that was given out to sign may still come", late) if late else Ended()


def _taken_off(view: View) -> tuple[tuple[Cut, ...], tuple[Left, ...]]:
    """What can be closed now, and what stays."""
    own = own_of(view.orders)
    made = []
    for coin in sorted(view.coins):
        held = view.held.get(coin, ZERO)
        part = closable(held, own.get(coin, Own()).size, view.scope)
        quote = view.quotes.get(coin, NoPrice("its book was not read"))
        made.append(cut(coin, held, part, view.markets.get(coin), quote, rung_of(view, coin)))
    return (
        tuple(one for one in made if isinstance(one, Cut)),
        tuple(one for one in made if isinstance(one, Left)),
    )


def tries_of(view: View, coin: str) -> list[Order]:
    """The orders of this episode that the keeper has on record for a product."""
    return [
        o
        for o in view.orders
        if o.source == "keeper" and o.product == coin and o.asked.get("episode") == view.episode
    ]


def rung_of(view: View, coin: str) -> int:
    """Where on the ladder a product is: one further for each order that the venue got."""
    return sum(
        not (o.refusal is not None and o.refusal.get("error") == NOTHING_ARRIVED)
        for o in tries_of(view, coin)
        if o.status in DONE
    )


def cloid_of(public_id: str, network: Network, coin: str, episode: int, attempt: int) -> str:
    """The id of one attempt: the same in every process, and on record once.

    Two that are about to send the same attempt meet at it; only one of them gets it stored.
    """
    named = "|".join((public_id, network, coin, str(episode), str(attempt)))
    return "0x" + hashlib.sha256(f"stop line|{named}".encode()).hexdigest()[:32]
