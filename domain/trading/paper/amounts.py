"""Amounts of paper books in whole micro-USDC, rounded against the person.

The venue rounds what moves to the nearest micro-USDC, so that these figures are never better.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final

from domain.trading.pricing import taker_tenths_bps
from domain.trading.venue_values import Perp

_EXACT: Final = Context(prec=80)
_ONE: Final = Decimal(1)
_TENTHS_OF_BPS: Final = -5  # as a power of ten


def micros_up(usdc: Decimal) -> int:
    """Micro-USDC of an exact amount, rounded up: for amounts paid."""
    return int(usdc.scaleb(6, _EXACT).quantize(_ONE, ROUND_CEILING, _EXACT))


def micros_down(usdc: Decimal) -> int:
    """Micro-USDC of an exact amount, rounded down: for amounts received or owned."""
    return int(usdc.scaleb(6, _EXACT).quantize(_ONE, ROUND_FLOOR, _EXACT))


def times(*factors: Decimal) -> Decimal:
    """The exact product."""
    product = _ONE
    for factor in factors:
        product = _EXACT.multiply(product, factor)
    return product


def divide_up(dividend: int, divisor: int) -> int:
    """A quotient towards plus infinity."""
    return -(-dividend // divisor)


def fee_tenths_bps(perp: Perp, *, crossed: bool) -> Decimal:
    """The first tier's fee: a taker's, a third of it for a maker. Source: trading 7.6."""
    taker = taker_tenths_bps(perp)
    return taker if crossed else taker / 3


def fee_micros(px: Decimal, size: Decimal, tenths_bps: Decimal) -> int:
    """A fee on size x px, rounded up."""
    return micros_up(times(px, size, tenths_bps).scaleb(_TENTHS_OF_BPS, _EXACT))
