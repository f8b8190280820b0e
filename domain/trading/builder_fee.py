"""The builder fee: the rates that an owner may approve, and its cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from domain.money import Usdc
from domain.trading.venue_values import Network

MOST_TENTHS_BPS: Final = 100
_RATE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%")
_TENTHS_A_PERCENT: Final = 1_000
EXAMPLE: Final = Usdc.parse("1000")
REVOKE_NOTE: Final = (
    "Approve a maximum fee rate of 0% for the same builder at the venue to take the approval back;"
    " it acts on the next order. Orders without an approval carry no builder fee, and closes never"
    " do."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderFeeRecord:
    """An owner's reported approval, and the venue's last answer about it.

    Units: `approved_tenths_bps` tenths of a basis point; None before the venue's first answer.
    """

    user_id: str
    network: Network
    wallet: str
    builder: str
    max_fee_rate: str
    recorded_at: datetime
    approved_tenths_bps: int | None = None
    ever_approved: bool = False
    checked_at: datetime | None = None

    def confirmed(self, tenths_bps: int, at: datetime) -> BuilderFeeRecord:
        """The record after what the venue said at a time."""
        ever = self.ever_approved or tenths_bps > 0
        return replace(self, approved_tenths_bps=tenths_bps, ever_approved=ever, checked_at=at)


def rate_text(tenths_bps: int) -> str:
    """A fee as the venue's percent string: 100 tenths of a basis point are `0.1%`."""
    return format(Decimal(tenths_bps) / _TENTHS_A_PERCENT, "f") + "%"


def tenths_of(rate: str) -> int | None:
    """Tenths of a basis point of a percent string; None for another form or a finer rate."""
    match = _RATE.fullmatch(rate)
    if match is None:
        return None
    tenths = Decimal(match[1]) * _TENTHS_A_PERCENT
    return int(tenths) if tenths == int(tenths) else None


def fee_of(notional: Usdc, tenths_bps: int) -> Usdc:
    """The fee on a notional, rounded up."""
    return Usdc(-(-notional.micros * tenths_bps // 100_000))


def order_fee(approved_tenths_bps: int | None, configured: int) -> int | None:
    """The fee of an opening order, at most the approved one; None without an approval, because the
    venue refuses a fee of 0 without one.
    """
    return min(configured, approved_tenths_bps) if approved_tenths_bps else None
