"""Amounts as a person reads them: facts with all digits that they have, estimates towards zero,
costs and worst cases away from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Final

from markupsafe import Markup

from app.words.text import _, keeps_by_language
from domain.money import Usdc, total
from domain.text import format_usdc

CENT: Final = 10_000  # micro-USDC
KEPT: Final = 4_096  # amounts that were shown, since the same ones are shown again
_UNKNOWN: Final = Markup('<span class="unknown" title="%s">%s</span>')
UNIT: Final = "USDC"
_SHOWN: Final = Markup('<data class="usdc" value="%s">%s</data>')
_ROUNDED: Final = Markup('<data class="usdc" value="%s" title="%s">%s</data>')


def digits(micros: int) -> str:
    """The digits of an amount, thousands apart, without its unit."""
    return format_usdc(str(Usdc(abs(micros))), "")


def amount(micros: int, unit: str = UNIT) -> str:
    """An amount in a sentence: 1,000.00 USDC."""
    return format_usdc(str(Usdc(micros)), unit)


def _display(
    value: str | None, unit: str, rounded: Callable[[int], int] = int, *, lead: str = ""
) -> Markup:
    """`lead`: what stands before it; "+" before a gain alone. The tooltip has what was rounded."""
    if value is None:
        return _UNKNOWN % (_("This is not measured yet"), _("not known yet"))
    micros = _read(value)
    near = rounded(micros)
    lead = "" if lead == "+" and near <= 0 else lead
    shown = lead + amount(near, unit)
    return (
        _SHOWN % (value, shown)
        if near == micros
        else _ROUNDED % (value, amount(micros, unit), shown)
    )


@lru_cache(KEPT)
def _read(value: str) -> int:
    return Usdc.parse(value).micros


def _towards_zero(micros: int) -> int:
    return micros // CENT * CENT if micros > 0 else -(-micros // CENT) * CENT


def _away_from_zero(micros: int) -> int:
    return -(-micros // CENT) * CENT if micros > 0 else micros // CENT * CENT


@keeps_by_language(KEPT)
def exact(value: str | None, unit: str = UNIT) -> Markup:
    """A fact; null is "not known yet", never 0."""
    return _display(value, unit)


@lru_cache(KEPT)
def figure(value: str) -> Markup:
    """The digits alone, for a script that compares them with what is signed."""
    return _SHOWN % (value, digits(_read(value)))


@keeps_by_language(KEPT)
def est(value: str | None, unit: str = UNIT) -> Markup:
    """An estimate, which says so."""
    return _display(value, unit, _towards_zero, lead=f"{_('about')} ")


@keeps_by_language(KEPT)
def worst(value: str | None, unit: str = UNIT) -> Markup:
    """A cost, or what could be lost."""
    return _display(value, unit, _away_from_zero)


@keeps_by_language(KEPT)
def cost(value: str | None, unit: str = UNIT) -> Markup:
    """An estimated cost, which says so."""
    return _display(value, unit, _away_from_zero, lead=f"{_('about')} ")


@keeps_by_language(KEPT)
def gain(value: str | None, unit: str = UNIT) -> Markup:
    """An estimated gain or loss, with its sign."""
    return _display(value, unit, _towards_zero, lead="+")


@keeps_by_language(KEPT)
def change(value: str | None, unit: str = UNIT) -> Markup:
    """A measured gain or loss, with its sign and all its digits."""
    return _display(value, unit, lead="+")


def sentence_amount(value: str) -> str:
    """A fact inside a sentence."""
    return amount(_read(value))


def typed(value: str | None) -> str:
    """An amount as typed into a form: "500.000000" is 500."""
    return "" if value is None else digits(_read(value)).removesuffix(".00").replace(",", "")


def approximate(value: str) -> str:
    """An estimate inside a sentence."""
    return _("about {amount}").format(amount=amount(_towards_zero(_read(value))))


def count(number: int) -> str:
    """A count, thousands apart."""
    return f"{number:,}"


def micros_of(value: str | None) -> int:
    """The amount in millionths, 0 where it is unknown: for widths and comparisons only."""
    return 0 if value is None else _read(value)


def rate(value: str | None) -> Markup | str:
    """A rate of one, such as "0.0000125", as a percentage with its sign."""
    if value is None:
        return exact(None)
    hundredth = Decimal(value) * 100
    return f"{hundredth.normalize():+f}%".replace("-", "−") if hundredth else "0%"


def sum_of(values: Iterable[str]) -> str:
    """The sum of amounts."""
    return str(total(map(Usdc.parse, values)))


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


def percent_of_tenths(tenths_bps: int) -> str:
    """Hundred-thousandths, as a venue counts a builder's fee, as a percentage."""
    text = f"{tenths_bps // 1000}.{tenths_bps % 1000:03d}".rstrip("0").rstrip(".")
    return f"{text}%"


def percent(bps: int | None) -> str | None:
    """Ten-thousandths as a percentage with the decimals that it has."""
    if bps is None:
        return None
    lead, rest = ("−" if bps < 0 else ""), abs(bps)
    text = f"{rest // 100}.{rest % 100:02d}".rstrip("0").rstrip(".")
    return f"{lead}{text}%"
