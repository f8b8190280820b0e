"""Note tokens: the words, figures and signs of a note, with their positions."""

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
ADDRESS: Final = "A"


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
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = (
    rf"(?<![\w.-])(?:localhost|(?=[a-z]){_LABEL}(?:\.{_LABEL}){{0,6}}\.[a-z]{{2,24}})"
    r"(?::[1-9][0-9]{1,4})?(?![\w-]|\.\w)"
)
_PIECE: Final = re.compile(
    rf"(?P<gap>[ \t]+)|(?P<line>\n)|(?P<address>0x[0-9a-f]{{40}}(?!\w))|(?P<host>{_HOST})"
    r"|(?P<figure>(?:us\$|\$)?[0-9](?:[0-9.,']*[0-9])?)"
    r"|(?P<word>[a-z][a-z0-9_']*(?:\.[a-z0-9_]+)*)|(?P<sign>\.{2,}|[^\s\x00-\x7f]+|[^\s])|(?P<odd>\s)"
)
_WHOLE_HOST: Final = re.compile(_HOST)
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

    Shapes: `kind` is the word or sign itself, or the letter of a figure or an address.
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
    position = 0
    # The last alternatives take any character.
    while (match := _PIECE.match(text, position)) is not None:
        start, position = position, match.end()
        if match["figure"] is not None:
            token = _figure(text, start, position)
            position = token.end
            yield token
        elif match["address"] is not None:
            yield Token(ADDRESS, start, position)
        elif match["host"] is not None or match["word"] is not None:
            yield Token(match[0], start, position)
        elif match["line"] is not None:
            yield Token("\n", start, position)
        elif match["sign"] is not None:
            sign = _sign(text, match[0], start, position)
            if sign:
                yield Token(sign, start, position)
        elif match["odd"] is not None:
            yield Token(OTHER, start, position)


def is_host(word: str) -> bool:
    """True of a word that is the name of a host."""
    is_name = "." in word or word.startswith("localhost")
    return is_name and _WHOLE_HOST.fullmatch(word) is not None


def _sign(text: str, sign: str, start: int, end: int) -> str:
    """The token kind of a sign; empty for the hyphen inside `per-trade` and `30-day`."""
    previous_char, next_char = text[start - 1 : start], text[end : end + 1]
    if sign == "-":
        if (
            previous_char.isascii()
            and previous_char.isalnum()
            and next_char.isascii()
            and next_char.isalpha()
        ):
            return ""
        if previous_char in " \t\n" and next_char in " \t\n":
            return "-"
        return "neg" if previous_char in " \t\n(:=" and next_char.isdigit() else OTHER
    if sign == "." and next_char.isdigit():
        return OTHER
    if any(not c.isascii() and (c.isalnum() or unicodedata.category(c) == "Sc") for c in sign):
        return STRANGE
    return sign if sign in "$%.,;:!?()/=&*" else OTHER


def _figure(text: str, start: int, end: int) -> Token:
    """A figure; one of another form than plain, or with something stuck to it, is strange."""
    digits = text[start:end].removeprefix("us").removeprefix("$")
    dollars = "$" in text[start:end]
    match = None if _EITHER.fullmatch(digits) else _PLAIN.fullmatch(digits)
    match = match or _GROUPED.fullmatch(digits)
    suffix = _SUFFIX.match(text, end)
    previous_char = text[start - 1 : start]
    is_separate = previous_char in " \t\n(:=,/-" and not (
        previous_char != "" and previous_char in ",/-" and text[start - 2 : start - 1].isdigit()
    )
    if match is None or suffix is None or not is_separate:
        return _strange(text, start, end)
    end = suffix.end()
    if end < len(text) and text[end] not in _AFTER:
        return _strange(text, start, end)
    units, part = int(match[1].replace(",", "")), (match[2] or "")
    thousand, unit = bool(suffix[1]), suffix[2] or ""
    if unit == "%":
        if dollars or thousand or len(part.rstrip("0")) > 2:
            return _strange(text, start, end)
        return Token(SHARE, start, end, units * 100 + int(part[:2].ljust(2, "0")))
    micros = units * MICROS + int(part.ljust(6, "0"))
    return Token(
        MONEY if dollars or unit else AMOUNT, start, end, micros * (1000 if thousand else 1)
    )


def _strange(text: str, start: int, end: int) -> Token:
    """A figure that is not read, with all that is stuck to it."""
    while end < len(text) and not text[end].isspace():
        end += 1
    return Token(STRANGE, start, end)


def _with_number_words(tokens: list[Token]) -> list[Token]:
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        end = _number_end(tokens, at)
        words = [t.kind for t in tokens[at:end]]
        if not words or words == ["one"]:
            token = tokens[at]
            at += 1
            result.append(replace(token, kind=STRANGE) if token.kind in _VAGUE else token)
            continue
        value = _number(words)
        kind = STRANGE if value is None else AMOUNT
        result.append(Token(kind, tokens[at].start, tokens[end - 1].end, (value or 0) * MICROS))
        at = end
    return result


def _number_end(tokens: list[Token], at: int) -> int:
    """The end of the number words that begin at a place; the place itself where none do."""
    end = at
    if tokens[at].kind == "a" and at + 1 < len(tokens) and tokens[at + 1].kind in _SCALES:
        end += 1
    while end < len(tokens):
        kind = tokens[end].kind
        joins = kind == "and" and end > at and tokens[end - 1].kind in _SCALES
        if joins and end + 1 < len(tokens) and tokens[end + 1].kind in _NUMBER:
            end += 2
        elif kind in _NUMBER:
            end += 1
        else:
            break
    return end


_SCALES: Final = {"hundred": 100, "thousand": 1000}


def _number(words: list[str], scales: tuple[str, ...] = ("thousand", "hundred")) -> int | None:
    """The number that the words are; None where they are none."""
    if not scales:
        if len(words) == 2 and words[0] in _TENS and _UNITS.get(words[1], 10) < 10:
            return _TENS[words[0]] + _UNITS[words[1]]
        return _UNITS.get(words[0]) or _TENS.get(words[0]) if len(words) == 1 else None
    scale, smaller = scales[0], scales[1:]
    if scale not in words:
        return _number(words, smaller)
    at = words.index(scale)
    tail = words[at + 1 :][words[at + 1 : at + 2] == ["and"] :]
    many = 1 if words[:at] == ["a"] else _number(words[:at], smaller)
    more = _number(tail, smaller) if tail else 0
    return None if many is None or more is None else many * _SCALES[scale] + more


def _with_units(tokens: list[Token]) -> list[Token]:
    """Figures together with the currency or the per cent that stands beside them."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind in (AMOUNT, MONEY):
            following = [t.kind for t in tokens[at : at + 2]]
            share = _share_words(following) if token.kind == AMOUNT else 0
            if share:
                at += share
                token = _as_share(token, tokens[at - 1].end)
            else:
                if result and result[-1].kind in ("$", "usdc", "usd"):
                    token = replace(token, kind=MONEY, start=result.pop().start)
                if following[:1] and following[0] in CURRENCY:
                    token = replace(token, kind=MONEY, end=tokens[at].end)
                    at += 1
        result.append(token)
    return result


def _share_words(following: list[str]) -> int:
    if following[:1] and following[0] in ("%", "percent", "pct"):
        return 1
    return 2 if following == ["per", "cent"] else 0


def _as_share(token: Token, end: int) -> Token:
    bps, remainder = divmod(token.value * 100, MICROS)
    return Token(STRANGE if remainder else SHARE, token.start, end, bps)
