"""Amounts as a person reads them: facts with all digits that they have, estimates towards zero,
costs and worst cases away from it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from markupsafe import Markup

from app.words.text import _, keeps_by_language
from domain.money import MICROS, Usdc

CENT: Final = 10_000  # micro-USDC
KEPT: Final = 4_096  # amounts that were shown, since the same ones are shown again
_UNKNOWN: Final = Markup('<span class="unknown" title="%s">%s</span>')
_SHOWN: Final = Markup('<data class="usdc" value="%s" title="%s">%s</data>')


def digits(micros: int) -> str:
    """Two decimals, more only where they exist; thousands apart."""
    units, below_one = divmod(abs(micros), MICROS)
    fraction = f"{below_one:06d}"
    decimals = fraction[:2] + fraction[2:].rstrip("0")
    return f"{units:,}.{decimals}"


def _display(
    value: str | None, rounded: Callable[[int], int] = int, *, sign: bool = False
) -> Markup:
    if value is None:
        return _UNKNOWN % (_("This is not measured yet"), _("not known yet"))
    micros = rounded(_read(value))
    lead = "−" if micros < 0 else "+" if sign and micros else ""
    return _SHOWN % (value, value, lead + digits(micros))


@lru_cache(KEPT)
def _read(value: str) -> int:
    return Usdc.parse(value).micros


def _towards_zero(micros: int) -> int:
    return micros // CENT * CENT if micros > 0 else -(-micros // CENT) * CENT


def _away_from_zero(micros: int) -> int:
    return -(-micros // CENT) * CENT if micros > 0 else micros // CENT * CENT


@keeps_by_language(KEPT)
def exact(value: str | None) -> Markup:
    """A fact; null is "not known yet", never 0."""
    return _display(value)


@keeps_by_language(KEPT)
def est(value: str | None) -> Markup:
    """An estimate."""
    return _display(value, _towards_zero)


@keeps_by_language(KEPT)
def worst(value: str | None) -> Markup:
    """A cost, or what could be lost."""
    return _display(value, _away_from_zero)


@keeps_by_language(KEPT)
def gain(value: str | None) -> Markup:
    """An estimated gain or loss, with its sign."""
    return _display(value, _towards_zero, sign=True)


def sentence_amount(value: str) -> str:
    """A fact inside a sentence."""
    return digits(_read(value))


def typed(value: str | None) -> str:
    """An amount as typed into a form: "500.000000" is 500."""
    return "" if value is None else digits(_read(value)).removesuffix(".00").replace(",", "")


def approximate(value: str) -> str:
    """An estimate inside a sentence."""
    return digits(_towards_zero(_read(value)))


def count(number: int) -> str:
    """A count, thousands apart."""
    return f"{number:,}"


def micros_of(value: str | None) -> int:
    """The amount in millionths, 0 where it is unknown: for widths and comparisons only."""
    return 0 if value is None else _read(value)


def less(a: str | None, b: str | None) -> str | None:
    """a − b; None where either is unknown."""
    return None if a is None or b is None else str(Usdc.parse(a) - Usdc.parse(b))


def share(part: str | None, of: str | None) -> str | None:
    """A signed percentage with one decimal, towards zero; None where there is nothing to divide
    by."""
    if part is None or of is None or not _read(of):
        return None
    tenths = abs(_read(part)) * 1_000 // abs(_read(of))
    lead = "" if not tenths else "−" if _read(part) < 0 else "+"
    return f"{lead}{tenths // 10}.{tenths % 10}%"


def share_percent(share: str) -> str:
    """A share of one, such as "0.5", as a percentage."""
    return percent(_read(share) // 100) or ""


def percent(bps: int | None) -> str | None:
    """Ten-thousandths as a percentage with the decimals that it has."""
    if bps is None:
        return None
    lead, rest = ("−" if bps < 0 else ""), abs(bps)
    text = f"{rest // 100}.{rest % 100:02d}".rstrip("0").rstrip(".")
    return f"{lead}{text}%"
