"""What the figures of a note are worth: amounts, shares, spans of time and dates; a figure that
is not certain has no value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from domain.money import LIMIT_MICROS, MICROS

# The words and signs of our money, of cents, of other people's money, of basis points and percent.
OURS: Final = frozenset({"usdc", "usd", "dollars", "dollar", "bucks", "buck"})
CENTS: Final = frozenset({"cents", "cent"})
THEIRS: Final = frozenset({
    "eur", "euro", "euros", "gbp", "pounds", "pound", "sterling", "yen", "jpy", "chf", "francs",
    "franc", "cad", "aud", "yuan", "cny", "rmb", "rupees", "inr", "pesos", "peso", "reais",
    "rubles", "krw", "won",
    "btc", "bitcoin", "bitcoins", "eth", "ether", "usdt", "tether", "dai", "sol", "wei", "gwei",
    "sats", "matic", "credits", "points", "shares", "tokens", "coins",
})  # fmt: skip
SIGNS: Final = frozenset("€£¥₿₹₩₽")
POINTS: Final = frozenset({"bps", "bp"})
PERCENT: Final = frozenset({"%", "percent", "pct"})
# What stands before a loss that is written with a sign, and before a gain.
SINKS_TO: Final = frozenset({
    "at", "of", "to", "is", ":", "=", "hit", "hits", "reach", "reaches", "stop", "line", "loss",
    "stoploss", "floor",
})  # fmt: skip
AIMS_AT: Final = frozenset({
    ":", "=", "is", "of", "for", "at", "target", "goal", "aim", "want", "make", "after",
})  # fmt: skip
_ONES: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL: Final = {w: n for n, w in enumerate(_ONES)} | {w: (n + 2) * 10 for n, w in enumerate(_TENS)}
SCALES: Final = {"hundred": 100, "thousand": 1_000, "grand": 1_000, "million": 1_000_000}
SHORT_SCALES: Final = {"k": 1_000, "m": 1_000_000}
SPAN_DAYS: Final = {
    "day": 1, "days": 1, "d": 1, "week": 7, "weeks": 7, "wk": 7, "wks": 7, "w": 7,
    "fortnight": 14, "fortnights": 14,
    "month": 30, "months": 30, "year": 365, "years": 365, "yr": 365,
}  # fmt: skip
SPAN_HOURS: Final = frozenset({"h", "hr", "hrs", "hour", "hours"})
MONTHS: Final = {
    name[:length]: at + 1
    for at, name in enumerate(
        (
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        )
    )
    for length in (3, 4 if name == "september" else 3, len(name))
}
_PLAIN: Final = re.compile(r"\d{1,15}(?:\.\d{1,18})?|\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,18})?")
# Read one way in English and another in half of Europe; `0.125` can be read in one way only.
_TWO_WAYS: Final = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_ENGLISH: Final = re.compile(r"\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+[:/]\d+(?:[:/]\d+)*")


def digits(text: str) -> Decimal | None:
    """The number that digits stand for, or None where they can be read in two ways."""
    if not _PLAIN.fullmatch(text) or _TWO_WAYS.fullmatch(text):
        return None
    return Decimal(text.replace(",", ""))


def foreign(text: str) -> bool:
    """True for a figure as it is written elsewhere: `1.000,50`, `0,5`, `1'000`, `1 000`,
    `1.000`.
    """
    return _ENGLISH.fullmatch(text) is None or _TWO_WAYS.fullmatch(text) is not None


def spoken(words: Sequence[str]) -> Decimal | None:
    """The number that words stand for, read strictly: hundreds under thousands under millions, each
    once; None where they are no one number (`twenty fifteen`).
    """
    total, ceiling = 0, 10**9
    group: list[str] = []
    for word in words:
        if SCALES.get(word, 0) < 1_000:
            group.append(word)
            continue
        size, count = SCALES[word], _below_a_thousand(group)
        if count is None or count == 0 or size >= ceiling:
            return None
        total, ceiling, group = total + count * size, size, []
    rest = _below_a_thousand(group[1:] if total and group[:1] == ["and"] else group)
    if rest is None:
        return None if group else Decimal(total)
    return Decimal(total + rest)


def _below_a_thousand(words: Sequence[str]) -> int | None:
    """`a`, `twelve hundred`, `one hundred and five`, `twenty five`, `seven`."""
    if "hundred" in words:
        at = words.index("hundred")
        count = 1 if list(words[:at]) == ["a"] else _below_a_hundred(words[:at])
        rest = words[at + 1 :]
        tail = _below_a_hundred(rest[1:] if rest[:1] == ["and"] else rest) if rest else 0
        return None if not count or tail is None else count * 100 + tail
    return 1 if list(words) == ["a"] else _below_a_hundred(words)


def _below_a_hundred(words: Sequence[str]) -> int | None:
    values = [SMALL.get(w, -1) for w in words]
    if len(values) == 1 and values[0] >= 0:
        return values[0]
    if len(values) == 2 and values[0] >= 20 and 1 <= values[1] <= 9:
        return values[0] + values[1]
    return None


def micros(number: Decimal, *, cents: bool = False) -> int | None:
    """Whole micro-USDC, or None where the amount is finer or beyond all bounds."""
    value = number * MICROS / (100 if cents else 1)
    return int(value) if value == int(value) and value <= LIMIT_MICROS else None


def bps(number: Decimal, *, percent: bool) -> int | None:
    """Whole basis points, or None where the share is finer or absurd."""
    value = number * (100 if percent else 1)
    return int(value) if value == int(value) and value <= 10**9 else None


def days(number: Decimal, unit: str) -> int | None:
    """Whole days, or None. A month is 30 days and a year 365."""
    value = number / 24 if unit in SPAN_HOURS else number * SPAN_DAYS[unit]
    return int(value) if value == int(value) and value <= 10**6 else None


def day_of(month: int, day: int, year: int | None, today: date) -> date | None:
    """A calendar day; without a year the next one that comes."""
    try:
        if year is not None:
            return date(year, month, day)
        named = date(today.year, month, day)
        return named if named > today else date(today.year + 1, month, day)
    except ValueError:
        return None


def end_of(month: int | None, year: int | None, today: date) -> date | None:
    """The last day of a month, or of a year where no month is named."""
    if month is None:
        return date(year or today.year, 12, 31)
    year = year if year is not None else today.year + (month < today.month)
    try:
        return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
    except ValueError:
        return None
