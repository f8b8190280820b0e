"""Index perpetuals: the list at the venue, their prices, and their status in this service."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from typing import Final, Literal

from domain.money import BPS
from domain.times import timestamp
from domain.trading.venue_values import CachedValue, Perp

CATEGORY: Final = "indices"
COUNTED_IN: Final = "USDC"
_MICRO: Final = Decimal("0.000001")
_LARGEST: Final = Decimal(10) ** 15
IndexStatus = Literal["live", "paper", "planned", "halted", "delisted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Lookup tables that join a dex's perpetuals: names for people, coins at their cap, tokens by
    index.
    """

    display: Mapping[str, str]
    at_cap: Collection[str]
    tokens: Mapping[int, str]


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


def index(
    cached: CachedValue[tuple[Perp, ...]], perp: Perp, names: Names, *, allowed: bool, live: bool
) -> dict[str, object]:
    """One index as it is shown.

    Units: prices in the collateral, `funding_hourly` per hour, `open_interest` in the coin; the two
    USDC figures are
    None for another collateral.
    """
    collateral = None if perp.collateral_token is None else names.tokens.get(perp.collateral_token)
    counted = collateral == COUNTED_IN
    worth = None
    if counted and perp.open_interest is not None and perp.mark_px is not None:
        worth = perp.open_interest * perp.mark_px
    return {
        "sym": perp.coin,
        "dex": perp.dex,
        "base": base_of(perp.coin),
        "display_name": names.display.get(perp.coin, base_of(perp.coin)),
        "category": CATEGORY,
        "asset_id": perp.asset_id,
        "sz_decimals": perp.sz_decimals,
        "max_leverage": perp.max_leverage,
        "margin_mode": perp.margin_mode,
        "growth_mode": perp.growth_mode,
        "collateral": collateral,
        "status": status(perp, collateral, allowed=allowed, live=live),
        "mark_px": text(perp.mark_px),
        "oracle_px": text(perp.oracle_px),
        "mid_px": text(perp.mid_px),
        "prev_day_px": text(perp.prev_day_px),
        "change_24h_bps": change_bps(perp.mark_px, perp.prev_day_px),
        "funding_hourly": text(perp.funding),
        "open_interest": text(perp.open_interest),
        "open_interest_usdc": usdc_text(worth),
        "day_volume_usdc": usdc_text(perp.day_volume if counted else None),
        "at_oi_cap": perp.coin in names.at_cap,
        "limit_enforced_by": "Venue",
        "as_of": timestamp(cached.as_of),
        "stale": cached.stale,
    }
