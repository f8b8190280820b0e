"""Order caps: the operator's caps, a person's own limits, and the day's counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.money import ZERO, Usdc
from domain.refusals import Refusal, refusal
from domain.times import midnight
from domain.trading.modes import Mode, TradingSurface
from domain.trading.venue_values import Network

CapName = Literal["per_order", "per_day", "per_close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLimits:
    """A limit an order and a UTC day, gross. Units: USDC."""

    per_order: Usdc
    per_day: Usdc

    def within(self, limit: OrderLimits) -> OrderLimits:
        """The stricter of two, figure by figure."""
        return OrderLimits(
            per_order=min(self.per_order, limit.per_order), per_day=min(self.per_day, limit.per_day)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUse:
    """One day of a counter: traded, and reserved by open orders. Units: USDC."""

    used: Usdc = ZERO
    reserved: Usdc = ZERO

    @property
    def total(self) -> Usdc:
        """Both together."""
        return self.used + self.reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One day's counter: its scope, and its limit."""

    scope: str
    day: str
    limit: Usdc


@dataclass(frozen=True, slots=True, kw_only=True)
class CapCheck:
    """A limit, the amount used of it, and the amount requested on top."""

    name: CapName
    limit: Usdc
    used: Usdc
    attempted: Usdc
    retry_at: datetime | None = None

    @property
    def holds(self) -> bool:
        """Equality passes."""
        return self.used + self.attempted <= self.limit

    def refused(self) -> Refusal:
        """The refusal `wallet_over_cap` of this check."""
        remaining = max(ZERO, self.limit - self.used)
        raw = {
            "cap": self.name,
            "limit": str(self.limit),
            "used": str(self.used),
            "remaining": str(remaining),
            "value": str(remaining),
        }
        return refusal(
            "wallet_over_cap",
            remaining=raw,
            retry_at=self.retry_at,
            attempted=str(self.attempted),
            cap=self.name.replace("_", "-"),
            limit=str(self.limit),
            used=str(self.used),
        )


def day_scopes(
    mode: Mode, network: Network, wallet: str | None, user_id: str, surface: TradingSurface
) -> tuple[str, str]:
    """The counters of an order, in the order in which they are taken: that of a wallet over both
    surfaces, of the person where none is linked, and that of the person on one. Paper has its own.
    """
    holder = f"{network}:{wallet.lower()}" if wallet is not None else user_id
    return f"{mode}:all:{holder}", f"{mode}:{surface}:{user_id}"


def day_checks(
    counters: Mapping[Counter, DayUse], attempted: Usdc, now: datetime
) -> tuple[CapCheck, ...]:
    """One check a counter: whether it has room for `attempted`."""
    return tuple(
        CapCheck(
            name="per_day",
            limit=counter.limit,
            used=use.total,
            attempted=attempted,
            retry_at=midnight(now),
        )
        for counter, use in counters.items()
    )
