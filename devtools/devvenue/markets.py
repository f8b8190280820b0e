"""Markets: dexes, tokens, perpetuals with their prices, and the listing of each network.

Names, szDecimals, ids and modes are those of the venue page 1.4 and 1.5; prices are made up.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from devtools.devvenue.book import Book, Level
from devtools.devvenue.decimals import tick_at

BUILDER_OFFSET: Final = 100_000
PER_DEX: Final = 10_000
USDC: Final = 0
USDH: Final = 360


@dataclass(frozen=True, slots=True, kw_only=True)
class Dex:
    """A perp dex; the first has no name."""

    name: str
    full_name: str = ""
    deployer: str = "0x" + "00" * 20
    collateral: int = USDC
    fee_scale: Decimal = Decimal(0)


@dataclass(slots=True, kw_only=True)
class Market:
    """One perp with its book and prices; a script changes them."""

    coin: str
    asset: int
    dex: str
    sz_decimals: int
    max_leverage: int
    mark: Decimal
    oracle: Decimal
    prev_day: Decimal
    margin_mode: str | None = None
    growth: bool = False
    category: str | None = None
    display_name: str | None = None
    funding: Decimal = Decimal("0.0000125")
    premium: Decimal = Decimal("0.0001")
    open_interest: Decimal = Decimal(1000)
    day_notional: Decimal = Decimal(0)
    day_base: Decimal = Decimal(0)
    last_trade: Decimal | None = None
    delisted: bool = False
    halted: bool = False
    at_oi_cap: bool = False
    oi_too_quick: bool = False
    oracle_band: Decimal | None = None
    max_position_notional: Decimal | None = None
    book_time: int | None = None
    book: Book = field(default_factory=Book)
    funding_rows: deque[dict[str, object]] = field(default_factory=lambda: deque(maxlen=20_000))

    @property
    def cross_allowed(self) -> bool:
        """Whether its positions may share margin."""
        return self.margin_mode is None

    @property
    def open(self) -> bool:
        """Whether it trades."""
        return not (self.delisted or self.halted)

    @property
    def maintenance(self) -> Decimal:
        """Maintenance margin of a notional: half of the initial margin at full leverage."""
        return Decimal(1) / (2 * self.max_leverage)


@dataclass(frozen=True, slots=True)
class Listing:
    """Dexes and markets of one network, and `spotMeta`: listed, not traded here."""

    dexes: tuple[Dex, ...]
    spot: dict[str, list[dict[str, object]]]
    markets: tuple[Market, ...]


# name, szDecimals, maxLeverage, price
_FIRST: Final = {
    "BTC": (5, 40, "64000"),
    "ETH": (4, 25, "1800"),
    "SOL": (2, 20, "145.5"),
    "AVAX": (2, 10, "24.31"),
    "DYDX": (1, 5, "2.111"),
    "kPEPE": (0, 10, "0.011512"),
}
_TESTNET_ORDER: Final = ("SOL", "AVAX", "DYDX", "BTC", "ETH", "kPEPE")
# name, szDecimals, maxLeverage, price, category, display name
_XYZ: Final = (
    ("XYZ100", 4, 20, "25372", "indices", "Nasdaq 100"),
    ("SP500", 3, 20, "6612.5", "indices", "S&P 500"),
    ("JP225", 3, 20, "48120", "indices", "Nikkei 225"),
    ("VIX", 2, 10, "17.42", "indices", "Volatility"),
    ("DXY", 3, 20, "99.21", "indices", "Dollar index"),
    ("GOLD", 4, 20, "4018.6", "metals", None),
)
_KM: Final = (
    ("US500", 3, 20, "661.3", "indices", "US 500"),
    ("USTECH", 3, 20, "2537.5", "indices", "US tech"),
)


def listing(mainnet: bool) -> Listing:
    """The dexes, tokens and markets of one network; ids differ between the two."""
    dexes = (
        Dex(name=""),
        Dex(
            name="xyz",
            full_name="XYZ",
            deployer="0x88806a71d74ad0a510b350545c9ae490912f0888",
            fee_scale=Decimal(1),
        ),
        Dex(
            name="km",
            full_name="Markets by Kinetiq",
            deployer="0x5e89b26d8d66da9888c835c9bfcc2aa51813e152",
            collateral=USDH,
            fee_scale=Decimal(1),
        ),
    )
    names = tuple(_FIRST) if mainnet else _TESTNET_ORDER
    markets = [_market("", n, name, *_FIRST[name]) for n, name in enumerate(names)]
    for number, rows in ((1, _XYZ), (2, _KM)):
        for n, (name, decimals, leverage, px, category, shown) in enumerate(rows):
            asset = BUILDER_OFFSET + number * PER_DEX + n
            created = _market(dexes[number].name, asset, name, decimals, leverage, px)
            created.margin_mode, created.growth = "strictIsolated", number == 1
            created.category, created.display_name = category, shown
            created.delisted = name == "DXY"
            markets.append(created)
    return Listing(dexes, _spot(mainnet), tuple(markets))


def _market(dex: str, asset: int, name: str, decimals: int, leverage: int, price: str) -> Market:
    px = Decimal(price)
    return Market(
        coin=f"{dex}:{name}" if dex else name,
        asset=asset,
        dex=dex,
        sz_decimals=decimals,
        max_leverage=leverage,
        mark=px,
        oracle=px,
        prev_day=px * Decimal("0.99"),
    )


# name, szDecimals, weiDecimals, index (not its place in the list), full name, token id
_TOKENS: Final = (
    ("USDC", 8, 8, USDC, None, "6d1e7cde53ba9467b783cb7c530ce054"),
    ("PURR", 0, 5, 1, None, "c1fb593aeffbeb02f85e0308e9956a90"),
    ("HYPE", 2, 8, 150, "Hyperliquid", "0d01dc56dcaaca66ad901c959b4011ec"),
    ("USDH", 2, 8, USDH, None, "54e00a5988577cb0b0c9ab0cb6ef7f4b"),
)
_TESTNET_USDC: Final = "eb62eee3685fc4c43992febcd9e75443"
# name, index, base token, mid
PAIRS: Final = (("PURR/USDC", 0, 1, Decimal("0.0854")), ("@107", 107, 150, Decimal("40.98")))


def _spot(mainnet: bool) -> dict[str, list[dict[str, object]]]:
    return {
        "universe": [
            {"tokens": [base, USDC], "name": name, "index": index, "isCanonical": index == 0}
            for name, index, base, _ in PAIRS
        ],
        "tokens": [
            {
                "name": name,
                "szDecimals": sz,
                "weiDecimals": wei,
                "index": index,
                "tokenId": "0x" + (token_id if mainnet or index != USDC else _TESTNET_USDC),
                "isCanonical": index < 2,
                "evmContract": None,
                "fullName": full,
                "deployerTradingFeeShare": "0.0",
            }
            for name, sz, wei, index, full, token_id in _TOKENS
        ],
    }


TOKEN_NAMES: Final = {index: name for name, _, _, index, _, _ in _TOKENS}


def quotes(market: Market, mid: Decimal, size: Decimal) -> tuple[list[Level], list[Level]]:
    """Twenty levels a side around a price, one tick apart, growing away from it."""
    tick = tick_at(mid, market.sz_decimals)
    lot = Decimal(1).scaleb(-market.sz_decimals)
    floor = (mid / tick).to_integral_value("ROUND_FLOOR") * tick
    low = floor if floor < mid else floor - tick
    high = floor + tick
    bids, asks = [], []
    for n in range(20):
        sz = max(lot, (size * (n + 1) / lot).to_integral_value("ROUND_FLOOR") * lot)
        if low - n * tick > 0:
            bids.append((low - n * tick, sz))
        asks.append((high + n * tick, sz))
    return bids, asks
