"""Decimal strings as the venue writes them, and the rules for ticks and lots."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

ZERO: Final = Decimal(0)
ONE: Final = Decimal(1)
MICRO: Final = Decimal("0.000001")
_PLAIN: Final = re.compile(r"-?\d{1,20}(\.\d{1,18})?")
PERP_DECIMALS: Final = 6
MAX_DECIMALS: Final = 8
SIGNIFICANT: Final = 5


def parse(text: object) -> Decimal | None:
    """A decimal string without exponent or plus sign; None for anything else."""
    return Decimal(text) if isinstance(text, str) and _PLAIN.fullmatch(text) else None


def canonical(value: Decimal) -> str:
    """The form that is hashed: no trailing zeros, no exponent, no negative zero (page 1.4)."""
    plain = format(value, "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "") else plain


def wire(value: Decimal) -> str:
    """The form in answers: no exponent, and a whole number ends in `.0`."""
    plain = canonical(value)
    return plain if "." in plain else plain + ".0"


def rounded(value: Decimal, places: int) -> Decimal:
    """Half up at so many decimals, for figures that are only shown."""
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def micros(value: Decimal) -> Decimal:
    """Half up at the six decimals of USDC, for amounts that move."""
    return value.quantize(MICRO, ROUND_HALF_UP)


def decimals_of(value: Decimal) -> int:
    """Count the decimals of the canonical form."""
    return len(canonical(value).partition(".")[2])


def on_tick(px: Decimal, sz_decimals: int) -> bool:
    """At most five significant figures and 6 - szDecimals decimals; whole numbers always (1.4)."""
    places = decimals_of(px)
    if places == 0:
        return True
    digits = canonical(abs(px)).replace(".", "").lstrip("0")
    return len(digits) <= SIGNIFICANT and places <= PERP_DECIMALS - sz_decimals


def tick_at(px: Decimal, sz_decimals: int) -> Decimal:
    """The distance between neighbouring valid prices around one; at least 1 for large prices."""
    finest = Decimal(1).scaleb(-(PERP_DECIMALS - sz_decimals))
    by_figures = Decimal(1).scaleb(min(0, px.adjusted() - SIGNIFICANT + 1))
    return max(finest, by_figures)
