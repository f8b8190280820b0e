"""Keeper key rules: closes and cancellations under an owner's terms, and nothing else.

The venue gives a key no limits, so these rules are the only fence around it. They look at the
action itself,
at terms that the owner signed, and at a market that the signer has read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from domain.money import BPS
from domain.refusals import SigningRefused
from domain.trading.venue_values import VENUE, OrderBook, Perp
from domain.wire_fields import JsonObject

PRICE_FENCE_BPS: Final = 800
MAX_EXPIRY: Final = timedelta(seconds=60)
BOOK_FRESH: Final = timedelta(seconds=10)
CLOSES: Final = "1"  # onFloor of the terms: 0 keeps, 1 closes
_CLOID: Final = re.compile(r"0x[0-9a-f]{32}")
# As the venue writes it before it hashes: one with a trailing zero is another action there.
_FIGURE: Final = re.compile(r"(0|[1-9][0-9]{0,14})(\.[0-9]{0,7}[1-9])?")
_ORDER_KEYS: Final = ("a", "b", "p", "s", "r", "t", "c")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignerTerms:
    """Mandate terms as an owner signed them, with the recovered signer.

    Shapes: `message` is the typed data's; `targets` are the entries behind its guardTargetsHash,
    `targets_hash` what the signer computed of them; `signer` is the address that the signature
    proves, None where it proves none.
    """

    message: JsonObject
    targets: Sequence[JsonObject]
    targets_hash: str
    signer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignerMarket:
    """A market as the signer has just read it by itself."""

    perp: Perp
    book: OrderBook | None


def _check(rules: Iterable[tuple[object, str]]) -> None:
    """Refuse at the first rule that does not hold; each is looked at after those before it."""
    for holds, reason in rules:
        if not holds:
            raise SigningRefused(reason)


def check_terms(terms: SignerTerms, wallet: str, coin: str) -> None:
    """Refuse without terms of the wallet's owner that want this market closed at the floor."""
    _check(_terms_rules(terms, wallet, coin))


def _terms_rules(terms: SignerTerms, wallet: str, coin: str) -> Iterator[tuple[bool, str]]:
    message = terms.message
    yield terms.signer == wallet, "the linked wallet did not sign these terms"
    owner = str(message.get("owner", "")).lower()
    yield owner == wallet.lower(), "the terms are another owner's"
    yield message.get("onFloor") == CLOSES, "the terms do not ask to close at the floor"
    targets_hash = str(message.get("guardTargetsHash", "")).lower()
    yield targets_hash == terms.targets_hash.lower(), "the targets are not those of the terms"
    # An entry without symbols names every market, as it does for orders under it.
    names_market = any(
        coin in target["symbols"] if target.get("symbols") else True
        for target in terms.targets
        if target.get("kind") == "venue" and target.get("venue") == VENUE
    )
    yield names_market, "the terms do not name this market"


def check_expiry(expires_after_ms: object, now: datetime, now_ms: int) -> int:
    """The expiry, at most 60 seconds away. Errors: SigningRefused."""
    if type(expires_after_ms) is not int:
        raise SigningRefused("the expiry is in milliseconds")
    is_near = timedelta(0) < timedelta(milliseconds=expires_after_ms - now_ms) <= MAX_EXPIRY
    _check([(is_near, "the expiry is not within the next 60 seconds")])
    return expires_after_ms


def check_action(action: object, market: SignerMarket, now: datetime) -> None:
    """Refuse all but one reduce-only IOC order near the market, its cancellation, or a noop."""
    if not isinstance(action, Mapping):
        raise SigningRefused("an action is due")
    kind = action.get("type")
    if kind == "order":
        _check(_order_rules(action, market, now))
    elif kind == "cancel":
        _check(_cancel_rules(action, ("a", "o"), market))
    elif kind == "cancelByCloid":
        _check(_cancel_rules(action, ("asset", "cloid"), market))
    else:
        is_noop = kind == "noop" and tuple(action) == ("type",)
        _check([(is_noop, "this type of action is not signed here")])


def _order_rules(
    action: JsonObject, market: SignerMarket, now: datetime
) -> Iterator[tuple[object, str]]:
    yield "builder" not in action, "a builder is not paid on a close"
    yield "vaultAddress" not in action, "no action for a vault is signed here"
    yield action.get("grouping") == "na", "the grouping is na"
    yield tuple(action) == ("type", "orders", "grouping"), "the action has other fields"
    orders = action["orders"]
    is_one = isinstance(orders, Sequence) and len(orders) == 1
    yield is_one, "exactly one order is signed at a time"
    order = orders[0]
    is_order = isinstance(order, Mapping) and tuple(order) == _ORDER_KEYS
    yield is_order, "the order has other fields"
    yield order["r"] is True, "the order is reduce-only"
    yield order["t"] == {"limit": {"tif": "Ioc"}}, "the order is immediate or cancel"
    yield type(order["b"]) is bool, "the side is true or false"
    yield _is_cloid(order["c"]), "the order carries a cloid"
    yield _is_asset(order["a"], market), "the asset is not this market's"
    yield _figure(order["s"]) > 0, "the size is above zero"
    yield from _price_rules(_figure(order["p"]), order["b"], market.book, now)


def _is_cloid(raw: object) -> bool:
    return isinstance(raw, str) and _CLOID.fullmatch(raw) is not None


def _is_asset(raw: object, market: SignerMarket) -> bool:
    return type(raw) is int and raw == market.perp.asset_id


def _figure(raw: object) -> Decimal:
    if not isinstance(raw, str) or _FIGURE.fullmatch(raw) is None:
        raise SigningRefused("prices and sizes are plain decimals")
    return Decimal(raw)


def _price_rules(
    price: Decimal, is_buy: bool, book: OrderBook | None, now: datetime
) -> Iterator[tuple[object, str]]:
    """A price at most 800 bps worse than the best one that stands on the other side now."""
    yield book is not None and abs(now - book.at) <= BOOK_FRESH, "there is no fresh book"
    side = (book.asks if is_buy else book.bids) if book is not None else ()
    yield side, "nobody stands on the other side of the book"
    best = side[0].px
    if is_buy:
        is_near = price * BPS <= best * (BPS + PRICE_FENCE_BPS)
        yield is_near, "the price is too far above the book"
    else:
        is_near = price * BPS >= best * (BPS - PRICE_FENCE_BPS)
        yield is_near, "the price is too far below the book"


def _cancel_rules(
    action: JsonObject, keys: tuple[str, str], market: SignerMarket
) -> Iterator[tuple[object, str]]:
    yield tuple(action) == ("type", "cancels"), "the action has other fields"
    cancels = action["cancels"]
    yield isinstance(cancels, Sequence) and 0 < len(cancels) <= 100, "1 to 100 cancellations"
    for cancel in cancels:
        is_cancel = isinstance(cancel, Mapping) and tuple(cancel) == keys
        yield is_cancel, "the cancellation has other fields"
        yield _is_asset(cancel[keys[0]], market), "the asset is not this market's"
        order_id = cancel[keys[1]]
        is_id = _is_cloid(order_id) if keys[1] == "cloid" else type(order_id) is int
        yield is_id, "the order is named by its id"
