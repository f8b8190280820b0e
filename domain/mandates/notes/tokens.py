"""The words, figures and signs of a note, with the places where they stand."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from domain.money import MICROS

AMOUNT: Final = "N"
MONEY: Final = "M"
SHARE: Final = "P"
STRANGE: Final = "X"
OTHER: Final = "~"


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


FIGURES: Final = frozenset({AMOUNT, MONEY, SHARE, STRANGE})
CURRENCY: Final = words("usdc usd dollars dollar bucks")

# ASCII alone is folded, so that every place stays its place and no look-alike becomes a letter.
_FOLDED: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ\u2018\u2019\u2013\u2014\u00a0\u2022",
    "abcdefghijklmnopqrstuvwxyz''-- *",
)
_PIECE: Final = re.compile(
    r"(?P<gap>[ \t]+)|(?P<line>\n)|(?P<figure>(?:us\$|\$)?[0-9](?:[0-9.,']*[0-9])?)"
    r"|(?P<word>[a-z][a-z0-9_']*(?:\.[a-z0-9_]+)*)|(?P<sign>\.{2,}|[^\s\x00-\x7f]+|[^\s])|(?P<odd>\s)"
)
_PLAIN: Final = re.compile(r"(0|[1-9][0-9]{0,12})(?:\.([0-9]{1,6}))?")
_GROUPED: Final = re.compile(r"([1-9][0-9]{0,2}(?:,[0-9]{3}){1,4})(?:\.([0-9]{1,6}))?")
# 1.500 is one and a half here, and fifteen hundred elsewhere.
_EITHER: Final = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_AFTER: Final = frozenset(" \t\n,.;:!?)/-")
_SUFFIX: Final = re.compile(r"(k)?(%|usdc\b|usd\b)?(?![\w%$'])")
_COUNTED: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_BY_TENS: Final = (
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_UNITS: Final = {word: n for n, word in enumerate(_COUNTED, 1)}
_TENS: Final = {word: 10 * n for n, word in enumerate(_BY_TENS, 2)}
_NUMBER: Final = frozenset({*_UNITS, *_TENS, "hundred", "thousand"})
_VAGUE: Final = words(
    "zero half quarter third tenth double twice triple dozen couple few several hundreds "
    "thousands million millions billion grand lakh lakhs crore crores cent cents hundred thousand "
    "dozens"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a figure or a sign.

    Shapes: `kind` is the word or sign itself, or the letter of a figure.
    Units: `value` is micro-USDC of an amount, ten-thousandths of a share.
    """

    kind: str
    start: int
    end: int
    value: int = 0


def tokens(note: str) -> list[Token]:
    """All tokens of a note, line breaks among them."""
    text = note.translate(_FOLDED)
    return _with_units(_with_number_words(list(_pieces(text))))


def _pieces(text: str) -> Iterator[Token]:
    place = 0
    # The last alternatives take any character.
    while (found := _PIECE.match(text, place)) is not None:
        start, place = place, found.end()
        if found["figure"] is not None:
            token = _figure(text, start, place)
            place = token.end
            yield token
        elif found["word"] is not None:
            yield Token(found[0], start, place)
        elif found["line"] is not None:
            yield Token("\n", start, place)
        elif found["sign"] is not None:
            sign = _sign(text, found[0], start, place)
            if sign:
                yield Token(sign, start, place)
        elif found["odd"] is not None:
            yield Token(OTHER, start, place)


def _sign(text: str, sign: str, start: int, end: int) -> str:
    """What a sign stands for; nothing for the hyphen inside of `per-trade` and `30-day`."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if sign == "-":
        if before.isascii() and before.isalnum() and after.isascii() and after.isalpha():
            return ""
        if before in " \t\n" and after in " \t\n":
            return "-"
        return "neg" if before in " \t\n(:=" and after.isdigit() else OTHER
    if sign == "." and after.isdigit():
        return OTHER
    if any(not c.isascii() and (c.isalnum() or unicodedata.category(c) == "Sc") for c in sign):
        return STRANGE
    return sign if sign in "$%.,;:!?()/=&*" else OTHER


def _figure(text: str, start: int, end: int) -> Token:
    """A figure; one of another form than plain, or with something stuck to it, is strange."""
    digits = text[start:end].removeprefix("us").removeprefix("$")
    dollars = "$" in text[start:end]
    found = None if _EITHER.fullmatch(digits) else _PLAIN.fullmatch(digits)
    found = found or _GROUPED.fullmatch(digits)
    suffix = _SUFFIX.match(text, end)
    before = text[start - 1 : start]
    clear = before in " \t\n(:=,/-" and not (
        before != "" and before in ",/-" and text[start - 2 : start - 1].isdigit()
    )
    if found is None or suffix is None or not clear:
        return _strange(text, start, end)
    end = suffix.end()
    if end < len(text) and text[end] not in _AFTER:
        return _strange(text, start, end)
    whole, part = int(found[1].replace(",", "")), (found[2] or "")
    thousand, unit = bool(suffix[1]), suffix[2] or ""
    if unit == "%":
        if dollars or thousand or len(part.rstrip("0")) > 2:
            return _strange(text, start, end)
        return Token(SHARE, start, end, whole * 100 + int(part[:2].ljust(2, "0")))
    micros = whole * MICROS + int(part.ljust(6, "0"))
    return Token(
        MONEY if dollars or unit else AMOUNT, start, end, micros * (1000 if thousand else 1)
    )


def _strange(text: str, start: int, end: int) -> Token:
    """A figure that is not read, with all that is stuck to it."""
    while end < len(text) and not text[end].isspace():
        end += 1
    return Token(STRANGE, start, end)


# -- number words


def _with_number_words(found: list[Token]) -> list[Token]:
    out: list[Token] = []
    at = 0
    while at < len(found):
        end = _number_end(found, at)
        words = [t.kind for t in found[at:end]]
        if not words or words == ["one"]:
            one = found[at]
            at += 1
            out.append(replace(one, kind=STRANGE) if one.kind in _VAGUE else one)
            continue
        value = _number(words)
        kind = STRANGE if value is None else AMOUNT
        out.append(Token(kind, found[at].start, found[end - 1].end, (value or 0) * MICROS))
        at = end
    return out


def _number_end(found: list[Token], at: int) -> int:
    """Where the number words that begin at a place end; the place itself where none do."""
    end = at
    if found[at].kind == "a" and at + 1 < len(found) and found[at + 1].kind in _MANY:
        end += 1
    while end < len(found):
        kind = found[end].kind
        joins = kind == "and" and end > at and found[end - 1].kind in _MANY
        if joins and end + 1 < len(found) and found[end + 1].kind in _NUMBER:
            end += 2
        elif kind in _NUMBER:
            end += 1
        else:
            break
    return end


_MANY: Final = frozenset({"hundred", "thousand"})


def _number(words: list[str]) -> int | None:
    """The number that the words are; None where they are none."""
    if words.count("thousand") > 1:
        return None
    if "thousand" not in words:
        return _below_thousand(words)
    at = words.index("thousand")
    many = 1 if words[:at] == ["a"] else _below_thousand(words[:at])
    rest = _without_and(words[at + 1 :])
    more = _below_thousand(rest) if rest else 0
    return None if many is None or more is None else many * 1000 + more


def _below_thousand(words: list[str]) -> int | None:
    if "hundred" not in words:
        return _below_hundred(words)
    at = words.index("hundred")
    many = 1 if words[:at] == ["a"] else _below_hundred(words[:at])
    rest = _without_and(words[at + 1 :])
    more = _below_hundred(rest) if rest else 0
    return None if many is None or more is None else many * 100 + more


def _below_hundred(words: list[str]) -> int | None:
    if len(words) == 1:
        return _UNITS.get(words[0]) or _TENS.get(words[0])
    if len(words) == 2 and words[0] in _TENS and _UNITS.get(words[1], 10) < 10:
        return _TENS[words[0]] + _UNITS[words[1]]
    return None


def _without_and(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["and"] else words


# -- units


def _with_units(found: list[Token]) -> list[Token]:
    """Figures together with the currency or the per cent that stands beside them."""
    out: list[Token] = []
    at = 0
    while at < len(found):
        token = found[at]
        at += 1
        if token.kind in (AMOUNT, MONEY):
            after = [t.kind for t in found[at : at + 2]]
            share = _share_words(after) if token.kind == AMOUNT else 0
            if share:
                at += share
                token = _as_share(token, found[at - 1].end)
            else:
                if out and out[-1].kind in ("$", "usdc", "usd"):
                    token = replace(token, kind=MONEY, start=out.pop().start)
                if after[:1] and after[0] in CURRENCY:
                    token = replace(token, kind=MONEY, end=found[at].end)
                    at += 1
        out.append(token)
    return out


def _share_words(after: list[str]) -> int:
    if after[:1] and after[0] in ("%", "percent", "pct"):
        return 1
    return 2 if after == ["per", "cent"] else 0


def _as_share(token: Token, end: int) -> Token:
    bps, rest = divmod(token.value * 100, MICROS)
    return Token(STRANGE if rest else SHARE, token.start, end, bps)
