"""Index perpetuals: the list at the venue, their prices, and their status in this service."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from typing import Final, Literal

from domain.money import BPS
from domain.trading.venue_values import Perp

CATEGORY: Final = "indices"
COUNTED_IN: Final = "USDC"
_MICRO: Final = Decimal("0.000001")
_LARGEST: Final = Decimal(10) ** 15
IndexStatus = Literal["live", "paper", "planned", "halted", "delisted"]


def dex_of(coin: str) -> str:
    """The dex in a coin's name; "" for the first."""
    return coin.split(":", 1)[0] if ":" in coin else ""


def base_of(coin: str) -> str:
    """The name behind the dex."""
    return coin.split(":", 1)[-1]


def index_coins(categories: Mapping[str, str]) -> tuple[str, ...]:
    """Coins that the venue files under indices, sorted."""
    return tuple(sorted(coin for coin, category in categories.items() if category == CATEGORY))


def candidates(sym: str, coins: Collection[str]) -> list[str]:
    """The coins that a full name or a bare base can mean."""
    return [c for c in sorted(coins) if c == sym] or [c for c in sorted(coins) if base_of(c) == sym]


def status(perp: Perp, collateral: str | None, *, allowed: bool, live: bool) -> IndexStatus:
    """The availability of the index here. `planned`: its dex is not allowed here, or it is not
    counted in USDC. `halted`: it has no two-sided book.
    """
    if perp.delisted:
        return "delisted"
    if not allowed or collateral != COUNTED_IN:
        return "planned"
    if not perp.has_book:
        return "halted"
    return "live" if live else "paper"


def text(figure: Decimal | None) -> str | None:
    """A figure as the venue wrote it."""
    return None if figure is None else format(figure, "f")


def usdc_text(amount: Decimal | None) -> str | None:
    """An amount with six decimals, rounded down; None where it is unknown or beyond any market."""
    if amount is None or abs(amount) >= _LARGEST:
        return None
    return format(amount.quantize(_MICRO, ROUND_DOWN), "f")


def change_bps(now: Decimal | None, before: Decimal | None) -> int | None:
    """The change since a day ago in basis points, to the nearest; None where either is unknown."""
    if now is None or before is None or before <= 0:
        return None
    change = ((now - before) * BPS / before).quantize(Decimal(1), ROUND_HALF_EVEN)
    return int(change) if abs(change) < _LARGEST else None
