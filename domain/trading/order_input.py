"""Order input: what an order and a close ask for, once every field of theirs is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from domain.money import Usdc
from domain.refusals import Refused
from domain.trading.modes import Mode
from domain.trading.orders import OrderType, Side, SignMode, Tif

LIMIT_RULE: Final = "USDC as a plain decimal string from 0, at most 6 decimals"
AMOUNT: Final = re.compile(r"(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRequest:
    """An order as requested; one of `size` and `notional_usdc` is set."""

    product: str
    side: Side
    type: OrderType = "market"
    size: Decimal | None = None
    notional_usdc: Usdc | None = None
    limit_px: Decimal | None = None
    tif: Tif = "ioc"
    slippage_bps: int | None = None
    reduce_only: bool = False
    book: str | None = None
    sign_mode: SignMode | None = None
    mode_seen: Mode | None = None
    mandate_id: str | None = None
    intent_id: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRequest:
    """A close as requested; of the whole position where neither fraction nor size is given."""

    product: str
    mode_seen: Mode
    book: str | None
    fraction: Decimal
    size: Decimal | None
    slippage_bps: int


def amount_of(raw: object) -> Usdc | None:
    """USDC as a plain decimal string from 0; None for anything else."""
    if not isinstance(raw, str) or not AMOUNT.fullmatch(raw):
        return None
    try:
        return Usdc.parse(raw)
    except Refused:
        return None
