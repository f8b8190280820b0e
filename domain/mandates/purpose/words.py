"""The words of a note: plain text that remembers where it came from, and the quantities in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final, Literal

from domain.money import LIMIT_MICROS, MICROS

Kind = Literal["money", "part", "span", "until", "other"]


HIDDEN: Final = "\ufffd"


_ONES: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip


_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


_SMALL: Final = {w: n for n, w in enumerate(_ONES)} | {w: (n + 2) * 10 for n, w in enumerate(_TENS)}


_BIG: Final = {
    "hundred": 100,
    "thousand": 1_000,
    "grand": 1_000,
    "k": 1_000,
    "million": 1_000_000,
    "m": 1_000_000,
}


_UNIT_DAYS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 90, "year": 365}


_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)


_SPOKEN: Final = "|".join(
    (*sorted(_SMALL, key=len, reverse=True), "hundred", "thousand", "million")
)


_SCALE: Final = r"(?:hundred|thousand|grand|million|k|m)\b"


_SPAN: Final = r"(?:hours?|hrs?|days?|weeks?|fortnights?|months?|quarters?|years?)"


_NUMBER: Final = (
    rf"(?:\d{{1,3}}(?: \d{{3}})+(?![\d.,{HIDDEN}])|\d(?:[\d.,{HIDDEN}]*[\d{HIDDEN}])?"
    rf"|(?:a )?half(?: of)? an?(?= (?:{_SCALE}|{_SPAN}\b))"
    rf"|(?:a (?=hundred|thousand|million|grand))?\b(?:{_SPOKEN})\b(?:[ -](?:and )?(?:{_SPOKEN})\b)*(?: and a half\b)?"
    r"|a(?= grand\b))"
)


_VAGUE: Final = (
    r"\b(?:(?:a )?few|(?:a )?couple(?: of)?|several|many|some|dozens of|hundreds of|thousands of)"
)


_CURRENCY: Final = r"(?:(?:us ?)?\$|usdc ?|usd ?)"


_FOREIGN: Final = r"(?:[a-tv-z]{1,2}\$|[€£¥₿₹₩]|(?:eur|gbp|jpy|chf|btc|eth|usdt|dai) )"


_OURS: Final = r"(?:usdc|usd|dollars?|bucks|\$|cents?)"


_THEIRS: Final = r"(?:€|£|¥|(?:\w+ian|hong kong|new zealand) dollars|eur|euros?|gbp|pounds?|btc|bitcoins?|eth|ether|yen|chf|francs?|usdt|dai|sol)"


_SHARE: Final = r"(?:%|percent|per ?cent|bps|basis points)"


_COUNTED: Final = "agents?|bots?|trades|actions|times|purchases|orders|payments|people|positions|calls|markets|accounts|wallets|assets|tokens|coins"


_AFTER: Final = (
    rf"(?:[ -]?(?P<scale>{_SCALE}))?"
    rf"(?:\s?(?P<share>{_SHARE})(?!\w)|\s?(?P<theirs>{_THEIRS})(?!\w)|\s?(?P<ours>{_OURS})(?!\w)|[ -](?P<span>{_SPAN})\b)?(?P<count>(?= (?:{_COUNTED})\b))?"
)


_QUANTITY: Final = re.compile(
    rf"(?<![\w.{HIDDEN}])(?P<range>between )?(?P<sign>(?:minus|negative) |-)?(?:(?P<foreign>{_FOREIGN})|(?P<cur>{_CURRENCY}))?\s?"
    rf"(?:(?P<vague>{_VAGUE})(?= {_SCALE}| {_OURS}\b| {_SPAN}\b)|(?P<num>{_NUMBER}))"
    rf"(?P<to>(?(range)(?:\s?{_OURS})? and |(?:\s?{_OURS})?(?: ?- ?| to ))(?:{_CURRENCY})?\s?\d[\d.,]*)?{_AFTER}(?P<glued>[a-z0-9_]\w*)?"
)


_HALF: Final = re.compile(r"\bhalf(?: of)?(?: (?:the|my|its|your) (?:budget|money|total|funds))?\b")


_SPAN_ALONE: Final = re.compile(
    r"(?:(?:^|(?<=[,.;!?:]))\s*|\b(?:for|over|within|during|lasting|in|the next) )(?:an? |the )?(?:next )?"
    r"(?P<unit>week|fortnight|month|quarter|year)\b(?! ?(?:each|every))|\bfor (?:a|the|one) (?P<day>day)\b"
)


_UNTIL_WORD: Final = r"\b(?P<how>until|till|through|by|before|ending(?: on| by)?|ends?(?: on| by)?|end date(?: is)?:?|expires(?: on)?|to)\s+(?:the )?"


_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)


_UNTIL: Final = re.compile(
    _UNTIL_WORD + r"(?:(?P<y>\d{4})-(?P<mo>\d{1,2})-(?P<d>\d{1,2})(?!\d)"
    rf"|(?P<name1>{_MONTH})\.? (?P<day1>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:,? (?P<year1>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<name2>{_MONTH})\.?(?:,? (?P<year2>\d{{4}}))?"
    rf"|(?P<tomorrow>tomorrow)|(?P<end>end of (?:(?:the|this) )?(?P<ends>year|month|{_MONTH})(?: (?P<year3>\d{{4}}))?|year'?s? end)"
    r"|(?P<unclear>\d{1,4}[/.]\d{1,2}[/.]\d{1,4}|(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|next \w+"
    r"|christmas|easter|new year\S*|thanksgiving|summer|winter|spring|autumn|fall|further notice))"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure of a note. `value` is micro-USDC, basis points or days; None where it is no such
    thing, and `why` tells.

    `named` is True where a currency or a scale makes it money; a bare number has no unit of its
    own.
    """

    kind: Kind
    value: int | None
    text: str
    why: str = ""
    named: bool = False


@dataclass(slots=True)
class Words:
    """A note in plain words, each figure replaced by a mark `⟦m0⟧`: its kind's first letter and
    its place in `figures`.
    """

    note: str
    plain: str
    origin: list[int]
    figures: list[Quantity]

    def said(self, start: int, end: int) -> str:
        """The note's own words behind a stretch of the plain text."""
        if start >= end:
            return ""
        return self.note[self.origin[start] : self.origin[end - 1] + 1].strip(" ,.;:!?\n\t")

    def blank(self, start: int, end: int) -> None:
        """Take a stretch out, so that nothing else reads it."""
        self.plain = self.plain[:start] + " " * (end - start) + self.plain[end:]

    def replace(
        self, pattern: re.Pattern[str], make: Callable[[re.Match[str]], Quantity | None]
    ) -> None:
        """Put a mark in the place of every match that makes a figure."""
        parts: list[str] = []
        origin: list[int] = []
        at = 0
        for found in pattern.finditer(self.plain):
            figure = make(found)
            if figure is None:
                continue
            start, end = found.span()
            lead = len(found.group(0)) - len(found.group(0).lstrip())
            parts.append(self.plain[at : start + lead])
            origin += self.origin[at : start + lead]
            mark = f"⟦{figure.kind[0]}{len(self.figures)}⟧"
            self.figures.append(figure)
            parts.append(mark)
            # Any stretch that ends with the mark ends where the figure ends, and one that starts
            # with it starts there.
            origin += [self.origin[start + lead]] * (len(mark) - 1) + [self.origin[end - 1]]
            at = end
        self.plain = "".join((*parts, self.plain[at:]))
        self.origin = origin + self.origin[at:]


def words_of(note: str) -> Words:
    """Lower case, plain spaces, quotes and dashes; invisible characters show. Figures are still in
    words.
    """
    plain: list[str] = []
    origin: list[int] = []
    for at, char in enumerate(note):
        for c in unicodedata.normalize("NFKC", char).lower():
            shown = _plain(c)
            if shown != " " or plain[-1:] != [" "]:
                plain.append(shown)
                origin.append(at)
    return Words(note, "".join(plain), origin, [])


def _plain(c: str) -> str:
    if c.isspace() or c in "⟦⟧":
        return " "
    if c in "’‘‛`´":
        return "'"
    if c in "‐‑‒–—―−":
        return "-"
    return HIDDEN if unicodedata.category(c) in ("Cf", "Cc", "Co", "Cn") else c


def mark_figures(words: Words, now: datetime) -> None:
    """Replace dates, spans of time, shares and amounts by their marks."""
    words.replace(_UNTIL, lambda m: _until(m, words.said(*m.span()), now))
    words.replace(
        _SPAN_ALONE, lambda m: _span(m["unit"] or m["day"], Decimal(1), words.said(*m.span()))
    )
    words.replace(_QUANTITY, lambda m: _quantity(m, words.said(*m.span())))
    words.replace(_HALF, lambda m: Quantity("part", 5_000, words.said(*m.span())))


def _until(m: re.Match[str], text: str, now: datetime) -> Quantity:
    """Days from today to the named day, itself included; `before` leaves it out."""
    today = now.astimezone(UTC).date()
    named = None if m["unclear"] else _day(m, today)
    if named is None:
        return Quantity("until", None, text, f'"{text}" is not one certain day')
    return Quantity("until", (named - today).days - (m["how"] == "before"), text)


def _day(m: re.Match[str], today: date) -> date | None:
    try:
        if m["tomorrow"]:
            return today + timedelta(days=1)
        if m["end"]:
            return _end_of(m["ends"] or "year", int(m["year3"]) if m["year3"] else None, today)
        if m["y"]:
            return date(int(m["y"]), int(m["mo"]), int(m["d"]))
        month = _MONTHS.index((m["name1"] or m["name2"])[:3]) + 1
        day, year = int(m["day1"] or m["day2"]), m["year1"] or m["year2"]
        named = date(int(year) if year else today.year, month, day)
        return named if year or named > today else date(today.year + 1, month, day)
    except ValueError:
        return None


def _end_of(what: str, year: int | None, today: date) -> date:
    if what == "year":
        return date(year or today.year, 12, 31)
    month = today.month if what == "month" else _MONTHS.index(what[:3]) + 1
    if year is None:
        year = today.year + (month < today.month)
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _span(unit: str, count: Decimal | None, text: str) -> Quantity:
    unit = unit.rstrip("s")
    if count is None:
        return Quantity("span", None, text, f'"{text}" is not one certain time')
    if unit in ("hour", "hr"):
        days, rest = divmod(count, 24)
        if rest:
            return Quantity("span", None, text, f'"{text}" is not a whole number of days')
        return Quantity("span", int(days), text)
    days = count * _UNIT_DAYS[unit]
    if days > 10**6:
        return Quantity("span", 10**6, text)
    return Quantity("span", int(days), text)


def _quantity(m: re.Match[str], text: str) -> Quantity | None:
    if m["glued"]:
        number, address = (
            m["num"] and m["num"][0].isdigit(),
            m["num"] == "0" and m["glued"].startswith("x"),
        )
        return Quantity("other", None, text) if number and not address else None
    spoken = m["num"] is not None and not m["num"][0].isdigit()
    if (
        spoken
        and not (m["scale"] or m["share"] or m["ours"] or m["theirs"] or m["span"] or m["cur"])
        and m["num"].strip() == "one"
    ):
        return None  # "one" alone is no figure: no one, one of them
    number = None if m["num"] is None or m["to"] or m["range"] else _number(m["num"])
    if m["vague"] and m["vague"].startswith(("couple", "a couple")) and m["span"]:
        number = Decimal(2)
    if m["scale"] and number is not None:
        number *= _BIG[m["scale"]]
    if m["sign"] and number is not None:
        number = -number
    if m["count"] is not None and not (
        m["cur"] or m["foreign"] or m["share"] or m["ours"] or m["theirs"]
    ):
        return Quantity("other", None, text)
    if m["span"] and not (m["cur"] or m["foreign"]):
        return _span(m["span"], number, text)
    if m["share"]:
        return _share(number, m["share"], text)
    return _money(m, number, text)


def _share(number: Decimal | None, unit: str, text: str) -> Quantity:
    bps = None if number is None else number * (1 if unit in ("bps", "basis points") else 100)
    if bps is None or bps != int(bps):
        return Quantity("part", None, text, f'"{text}" is not a share in whole basis points')
    return Quantity("part", int(bps), text)


def _money(m: re.Match[str], number: Decimal | None, text: str) -> Quantity:
    if m["foreign"] or m["theirs"]:
        return Quantity(
            "money", None, text, f'"{text}" is not USDC, and no rate is applied', named=True
        )
    named = bool(m["cur"] or m["ours"] or m["scale"] or m["vague"])
    if number is None:
        return Quantity("money", None, text, f'"{text}" is not one certain amount', named)
    micros = number * MICROS / (100 if (m["ours"] or "").startswith("cent") else 1)
    if micros != int(micros) or abs(micros) > LIMIT_MICROS:
        return Quantity("money", None, text, f'"{text}" is not an amount in USDC', named)
    return Quantity("money", int(micros), text, named=named)


def _number(text: str) -> Decimal | None:
    """The number behind digits or number words; None where the digits can be read in two ways."""
    text = text.strip()
    if not text[0].isdigit():
        return _spoken(text)
    digits = text.rstrip(".,").replace(" ", ",")
    if len(digits) > 40 or not digits.isascii():
        return None
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?|\d+(\.\d+)?", digits) is None or re.fullmatch(
        r"[1-9]\d{0,2}\.\d{3}", digits
    ):
        return None
    return Decimal(digits.replace(",", ""))


def _spoken(text: str) -> Decimal:
    total, current = Decimal(0), Decimal(0)
    for word in re.split(r"[ -]+", text.replace("and a half", "half")):
        if word in _SMALL:
            current += _SMALL[word]
        elif word == "half":
            current += Decimal("0.5")
        elif word == "hundred":
            current = max(current, Decimal(1)) * 100
        elif word in _BIG:
            total += max(current, Decimal(1)) * _BIG[word]
            current = Decimal(0)
    return total + current if total + current or "zero" in text else Decimal(1)
