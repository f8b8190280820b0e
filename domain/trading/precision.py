"""Price and size precision: the steps that the venue takes, and rounding to them."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from domain.money import BPS, Usdc

FIGURES: Final = 5  # significant figures of a price that is no whole number
PRICE_DECIMALS: Final = 6  # less the decimals of the size
_EXACT: Final = Context(prec=60)
_MICRO: Final = Decimal("0.000001")


def tick(px: Decimal, sz_decimals: int) -> Decimal:
    """The step of prices around `px`. Source: venue page 1.4."""
    decimals = min(PRICE_DECIMALS - sz_decimals, FIGURES - 1 - px.adjusted())
    return Decimal(1).scaleb(-max(0, decimals))


def on_tick(px: Decimal, sz_decimals: int) -> bool:
    """Whether a price can be asked for; a whole number always can."""
    return px == px.quantize(tick(px, sz_decimals), ROUND_HALF_EVEN, _EXACT)


def nearest_px(px: Decimal, sz_decimals: int) -> Decimal:
    """The nearest price that can be asked for, above zero."""
    step = tick(px, sz_decimals)
    return max(step, px.quantize(step, ROUND_HALF_EVEN, _EXACT))


def protective_px(px: Decimal, sz_decimals: int, *, is_buy: bool) -> Decimal:
    """The nearest price on the taker's safe side: a buyer never pays more than `px`, a seller never
    gets less.
    """
    step = tick(px, sz_decimals)
    return max(step, px.quantize(step, ROUND_FLOOR if is_buy else ROUND_CEILING, _EXACT))


def bounded_px(touch: Decimal, slippage_bps: int, sz_decimals: int, *, is_buy: bool) -> Decimal:
    """The limit of a market order: the touch and at most so much worse."""
    bound = touch * (BPS + slippage_bps if is_buy else BPS - slippage_bps) / BPS
    return protective_px(bound, sz_decimals, is_buy=is_buy)


def lots(size: Decimal, sz_decimals: int) -> Decimal:
    """A size floored to whole lots."""
    return size.quantize(Decimal(1).scaleb(-sz_decimals), ROUND_DOWN, _EXACT)


def notional(size: Decimal, px: Decimal) -> Usdc:
    """size x price in USDC, rounded up: what counts against a limit is never less than the order
    is.
    """
    exact = (size * px).quantize(_MICRO, ROUND_CEILING, _EXACT)
    return Usdc(int(exact.scaleb(6, _EXACT)))
