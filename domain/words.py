"""Numbers and amounts in plain words."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from domain.money import LIMIT_MICROS, MICROS

_ONES: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES: Final = {w: n for n, w in enumerate(_ONES)} | {w: (n + 2) * 10 for n, w in enumerate(_TENS)}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_WORD: Final = "|".join((*_VALUES, *_SCALES))
_SPELLED: Final = re.compile(rf"\b(?:a (?=hundred|thousand|million))?(?:{_WORD})(?:[ -](?:and )?(?:{_WORD}))*\b")

# A number with its unit, if any: $500, 500 USDC, 1.5k, 1,000.50 dollars. Without groups, to stand inside others.
AMOUNT: Final = (
    r"-?(?:\$|usdc |usd )?\s?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s?(?:k|m|thousand|million)\b)?(?!\s?%| percent|[\d.]*\d)(?:\s?(?:usdc|usd|dollars?|bucks|\$))?"
)
_PARTS: Final = re.compile(
    r"(?P<sign>-)?(?P<dollar>\$|usdc |usd )?\s?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s?(?P<scale>k|m|thousand|million)\b)?(?!\s?%| percent|[\d.]*\d)(?:\s?(?P<unit>usdc|usd|dollars?|bucks|\$))?"
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in micro-USDC, None where it cannot be one; `is_money` where a currency was named."""

    micros: int | None
    text: str
    is_money: bool = False


def plain_words(note: str) -> str:
    """Lower case, plain spaces and quotes, spelled numbers as digits; the length of what is not a number stays."""
    text = unicodedata.normalize("NFKC", note).lower().replace("’", "'").replace("‘", "'")
    text = re.sub(r"[\u2012-\u2015\u2212]", "-", re.sub(r"\s", " ", text))
    return _SPELLED.sub(lambda m: str(_spelled(m.group(0))), text)


def _spelled(text: str) -> int:
    total = current = 0
    for word in re.split(r"[ -]+", text):
        if word in _VALUES:
            current += _VALUES[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in _SCALES:
            total += max(current, 1) * _SCALES[word]
            current = 0
    return total + current


def amount_of(match: re.Match[str]) -> Amount:
    """The amount in a matched fragment: the last one in it."""
    found = list(_PARTS.finditer(match.group(0)))
    if not found:
        return Amount(None, match.group(0))
    part = found[-1]
    whole, _, fraction = part["digits"].replace(",", "").partition(".")
    scale = {"k": 1_000, "thousand": 1_000, "m": 1_000_000, "million": 1_000_000}.get(part["scale"] or "", 1)
    money = bool(part["dollar"] or part["unit"] or part["scale"])
    if len(whole) > 13 or len(fraction) > 12:
        return Amount(None, part.group(0), money)
    scaled = (int(whole) * 10 ** len(fraction) + int(fraction or "0")) * scale * MICROS
    micros, rest = divmod(scaled, 10 ** len(fraction))
    if rest or micros > LIMIT_MICROS:
        return Amount(None, part.group(0), money)
    return Amount(-micros if part["sign"] else micros, part.group(0), money)
