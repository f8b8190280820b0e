"""Exits by name: a vault's position in a market, and the portion of it that is to come out."""

from __future__ import annotations

from dataclasses import dataclass

from domain.money import BPS, LIMIT_MICROS, Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketPosition:
    """A holder's position in a market, as the market says.

    Units: `shares` of the market, `value` and `free_amount` in base units of USDC; of an Aave pool
    both are its token's balance. `free_*`: the most that the market lets go now; None where it does
    not say.
    """

    shares: int
    value: int | None
    free_shares: int | None
    free_amount: int | None

    @property
    def usdc(self) -> Usdc | None:
        """Its value; None where the market names none, or more USDC than there is."""
        known = self.value is not None and self.value <= LIMIT_MICROS
        return Usdc(self.value or 0) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """The part of a position that is to come out: a share of it, or an amount of USDC."""

    share_bps: int | None = None
    amount_usdc: Usdc | None = None

    @property
    def is_whole(self) -> bool:
        """True for all of it."""
        return self.share_bps == BPS

    def shares(self, position: MarketPosition) -> int:
        """The shares of it: of a share rounded down, of an amount so many as bring at least that;
        never more than are owned.
        """
        if self.amount_usdc is None:
            return position.shares * (self.share_bps or 0) // BPS
        if not position.value:
            return position.shares
        needed = -(-self.amount_usdc.micros * position.shares // position.value)
        return min(position.shares, needed)

    def amount(self, position: MarketPosition) -> int:
        """USDC of it in base units: of a share rounded down, of an amount that amount."""
        if self.amount_usdc is not None:
            return self.amount_usdc.micros
        return (position.value or 0) * (self.share_bps or 0) // BPS
