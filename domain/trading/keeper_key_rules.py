"""Keeper key rules: closes and cancellations under an owner's terms, and nothing else.

The venue gives a key no limits, so these rules are the only fence around it. They look at the
action itself,
at terms that the owner signed, and at a market that the signer has read by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from domain.money import BPS
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


class SigningRefused(Exception):
    """The signer refuses; the sentence says why."""


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


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise SigningRefused(reason)


def check_terms(terms: SignerTerms, wallet: str, coin: str) -> None:
    """Refuse without terms of the wallet's owner that want this market closed at the floor."""
    _require(
        terms.signer is not None and terms.signer == wallet,
        "the linked wallet did not sign these terms",
    )
    owner = str(terms.message.get("owner", "")).lower()
    _require(owner == wallet.lower(), "the terms are another owner's")
    _require(terms.message.get("onFloor") == CLOSES, "the terms do not ask to close at the floor")
    targets_hash = str(terms.message.get("guardTargetsHash", "")).lower()
    _require(targets_hash == terms.targets_hash.lower(), "the targets are not those of the terms")
    # An entry without symbols names every market, as it does for orders under it.
    names_market = any(
        coin in target["symbols"] if target.get("symbols") else True
        for target in terms.targets
        if target.get("kind") == "venue" and target.get("venue") == VENUE
    )
    _require(names_market, "the terms do not name this market")


def check_expiry(expires_after_ms: Any, now: datetime, now_ms: int) -> int:
    """The expiry, at most 60 seconds away. Errors: SigningRefused."""
    _require(type(expires_after_ms) is int, "the expiry is in milliseconds")
    time_left = timedelta(milliseconds=expires_after_ms - now_ms)
    _require(timedelta(0) < time_left <= MAX_EXPIRY, "the expiry is not within the next 60 seconds")
    return int(expires_after_ms)


def check_action(action: Any, market: SignerMarket, now: datetime) -> None:
    """Refuse all but one reduce-only IOC order near the market, its cancellation, or a noop."""
    _require(isinstance(action, Mapping), "an action is due")
    kind = action.get("type")
    if kind == "order":
        _check_order(action, market, now)
    elif kind == "cancel":
        _check_cancels(action, ("a", "o"), market)
    elif kind == "cancelByCloid":
        _check_cancels(action, ("asset", "cloid"), market)
    else:
        _require(
            kind == "noop" and tuple(action) == ("type",), "this type of action is not signed here"
        )


def _check_order(action: JsonObject, market: SignerMarket, now: datetime) -> None:
    _require("builder" not in action, "a builder is not paid on a close")
    _require("vaultAddress" not in action, "no action for a vault is signed here")
    _require(action.get("grouping") == "na", "the grouping is na")
    _require(tuple(action) == ("type", "orders", "grouping"), "the action has other fields")
    orders = action["orders"]
    _require(
        isinstance(orders, Sequence) and len(orders) == 1, "exactly one order is signed at a time"
    )
    order = orders[0]
    _require(
        isinstance(order, Mapping) and tuple(order) == _ORDER_KEYS, "the order has other fields"
    )
    _require(order["r"] is True, "the order is reduce-only")
    _require(order["t"] == {"limit": {"tif": "Ioc"}}, "the order is immediate or cancel")
    _require(type(order["b"]) is bool, "the side is true or false")
    _require(
        isinstance(order["c"], str) and _CLOID.fullmatch(order["c"]) is not None,
        "the order carries a cloid",
    )
    _require(
        type(order["a"]) is int and order["a"] == market.perp.asset_id,
        "the asset is not this market's",
    )
    _require(_figure(order["s"]) > 0, "the size is above zero")
    _check_price(_figure(order["p"]), order["b"], market.book, now)


def _figure(raw: Any) -> Decimal:
    _require(
        isinstance(raw, str) and _FIGURE.fullmatch(raw) is not None,
        "prices and sizes are plain decimals",
    )
    try:
        return Decimal(raw)
    except InvalidOperation:
        raise SigningRefused("prices and sizes are plain decimals") from None


def _check_price(price: Decimal, is_buy: bool, book: OrderBook | None, now: datetime) -> None:
    """A price at most 800 bps worse than the best one that stands on the other side now."""
    _require(book is not None and abs(now - book.at) <= BOOK_FRESH, "there is no fresh book")
    side = (book.asks if is_buy else book.bids) if book is not None else ()
    _require(bool(side), "nobody stands on the other side of the book")
    best = side[0].px
    if is_buy:
        _require(
            price * BPS <= best * (BPS + PRICE_FENCE_BPS), "the price is too far above the book"
        )
    else:
        _require(
            price * BPS >= best * (BPS - PRICE_FENCE_BPS), "the price is too far below the book"
        )


def _check_cancels(action: JsonObject, keys: tuple[str, str], market: SignerMarket) -> None:
    _require(tuple(action) == ("type", "cancels"), "the action has other fields")
    cancels = action["cancels"]
    _require(isinstance(cancels, Sequence) and 0 < len(cancels) <= 100, "1 to 100 cancellations")
    for cancel in cancels:
        _require(
            isinstance(cancel, Mapping) and tuple(cancel) == keys,
            "the cancellation has other fields",
        )
        _require(
            type(cancel[keys[0]]) is int and cancel[keys[0]] == market.perp.asset_id,
            "the asset is not this market's",
        )
        order_id = cancel[keys[1]]
        is_valid = (
            isinstance(order_id, str) and _CLOID.fullmatch(order_id)
            if keys[1] == "cloid"
            else type(order_id) is int
        )
        _require(bool(is_valid), "the order is named by its id")
