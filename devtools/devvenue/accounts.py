"""One account: its money, positions, agents, approvals, and everything that happened to it.

Cash is kept raw, as the venue keeps it: a buy takes its whole notional out, so that what a pool is
worth is its cash plus size times mark, exactly, without division.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from devtools.devvenue.decimals import ZERO
from devtools.devvenue.records import Fill, Order, Position

STANDARD: Final = "default"
MODES: Final = ("disabled", "unifiedAccount", "portfolioMargin")
KEPT_NONCES: Final = 100
SPOT: Final = "spot"
DEFAULT_LEVERAGE: Final = 20


@dataclass(slots=True, kw_only=True)
class Agent:
    """An approved key of an account; without a name it takes the one unnamed place."""

    address: str
    name: str
    valid_until: int


@dataclass(slots=True, kw_only=True)
class Account:
    """The state of one address: balances, positions, orders, approvals."""

    address: str
    mode: str = STANDARD
    perp: dict[str, Decimal] = field(default_factory=dict)
    spot: dict[int, Decimal] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    leverage: dict[str, tuple[bool, int]] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    removal_until: int = 0
    builders: dict[str, int] = field(default_factory=dict)
    builder_rewards: Decimal = ZERO
    orders: dict[int, Order] = field(default_factory=dict)
    history: deque[Order] = field(default_factory=lambda: deque(maxlen=2_000))
    fills: deque[Fill] = field(default_factory=lambda: deque(maxlen=10_000))
    values: deque[tuple[int, Decimal]] = field(default_factory=lambda: deque(maxlen=2_000))
    volume: Decimal = ZERO
    funding_paid: Decimal = ZERO
    daily: dict[str, tuple[Decimal, Decimal]] = field(default_factory=dict)
    requests: int = 0
    last_free_request: int = 0

    @property
    def pooled(self) -> bool:
        """Whether one balance backs everything, so that the spot state is the balance of record."""
        return self.mode in MODES[1:]

    def cash(self, dex: str, collateral: int) -> Decimal:
        """Raw cash behind a dex."""
        if self.pooled:
            return self.spot.get(collateral, ZERO)
        return self.perp.get(dex, ZERO)

    def add_cash(self, dex: str, collateral: int, amount: Decimal) -> None:
        """Add to (or take from) the raw cash behind a dex."""
        if self.pooled:
            self.spot[collateral] = self.spot.get(collateral, ZERO) + amount
        else:
            self.perp[dex] = self.perp.get(dex, ZERO) + amount

    def setting(self, coin: str, max_leverage: int, cross_allowed: bool) -> tuple[bool, int]:
        """Whether cross, and the leverage, for a coin: the owner's, else the venue's default."""
        leverage = self.leverage.get(coin)
        return leverage or (cross_allowed, min(DEFAULT_LEVERAGE, max_leverage))

    def position(self, coin: str) -> Decimal:
        """Signed size; zero without one."""
        position = self.positions.get(coin)
        return position.size if position else ZERO


@dataclass(slots=True)
class Nonces:
    """The hundred highest nonces of one signer."""

    kept: set[int] = field(default_factory=set)

    def used(self, nonce: int) -> bool:
        """Whether it is among them."""
        return nonce in self.kept

    def least(self) -> int | None:
        """The smallest kept, once there are a hundred."""
        return min(self.kept) if len(self.kept) >= KEPT_NONCES else None

    def burn(self, nonce: int) -> None:
        """Keep one more, and drop the smallest."""
        self.kept.add(nonce)
        if len(self.kept) > KEPT_NONCES:
            self.kept.discard(min(self.kept))
