"""Note tokens: the words, figures and signs of a note, with their positions."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from itertools import count
from typing import Final, NamedTuple

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
_UNITS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_BELOW_20: Final = {word: n for n, word in enumerate(_UNITS, 1)}
_BY_TENS: Final = {word: 10 * n for n, word in enumerate(_TENS, 2)}
_BELOW_100: Final = {
    **_BELOW_20,
    **_BY_TENS,
    **{f"{t} {u}": _BY_TENS[t] + _BELOW_20[u] for t in _TENS for u in _UNITS[:9]},
}
_SCALES: Final = {"thousand": 1000, "hundred": 100}
_VAGUE: Final = words(
    "zero half quarter third tenth double twice triple dozen couple few several hundreds "
    "thousands million millions billion grand lakh lakhs crore crores cent cents dozens"
)

# What joins two words, and where a word ends.
_GAP: Final = r"(?:[ \t]+|-(?=[a-z]))"
_END: Final = r"(?![a-z0-9_']|\.[a-z0-9_]|-[\w-]*\.\w)"


def _any(*names: str) -> str:
    """One of several whole words."""
    return f"(?:{'|'.join(sorted(names, reverse=True))}){_END}"


_SCALE: Final = _any(*_SCALES)
_DIGIT: Final = _any(*_UNITS, *_TENS)
_COUNTED: Final = rf"(?:{_SCALE}(?:{_GAP}and(?={_GAP}(?:{_SCALE}|{_DIGIT})))?|{_DIGIT})"
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = (
    rf"(?<![\w.-])(?:localhost|(?=[a-z]){_LABEL}(?:\.{_LABEL}){{0,6}}\.[a-z]{{2,24}})"
    r"(?::[1-9][0-9]{1,4})?(?![\w-]|\.\w)"
)
# 1.500 is one and a half here, and fifteen hundred elsewhere: it is strange.
_EITHER: Final = r"[1-9][0-9]{0,2}\.[0-9]{3}(?![0-9])"
_WHOLE: Final = "0|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,4}|[1-9][0-9]{0,12}"
_PATTERNS: Final = {
    "hyphen": r"(?<=[a-z0-9])-(?=[a-z])",
    "address": r"0x[0-9a-f]{40}(?!\w)",
    "host": _HOST,
    "amount": r"(?<![^ \t\n(:=,/-])(?<!\d[,/-])(?P<dollars>(?:us)?\$)?"
    rf"(?!{_EITHER})(?P<digits>(?:{_WHOLE})(?:\.[0-9]{{1,6}})?)(?![0-9.,']*[0-9])"
    r"(?P<thousands>k)?(?=(?:%|usdc?)?(?:[ \t\n,.;:!?)/-]|\Z))",
    "strange": r"(?:(?:us)?\$)?[0-9]\S*",
    "number": rf"(?:a{_GAP}(?={_SCALE}))?{_COUNTED}(?:{_GAP}{_COUNTED})*",
    "word": r"[a-z][a-z0-9_']*(?:\.[a-z0-9_]+)*",
    "negative": r"(?<![^ \t\n(:=])-(?=\d)",
    "sign": r"(?<![^ \t\n])-(?![^ \t\n])|[\n$%,;:!?()/=&*]|\.(?![.\d])",
    "foreign": r"[^\s\x00-\x7f]+",
    "other": r"\.{2,}|[^ \t]",
}
# A mark of an item of a list, and a figure behind it that a lone dash makes negative.
_MARK: Final = re.compile(r"^[ \t]*(?:[-*](?=[ \t])|([1-9][0-9]?)[.)](?=[ \t]+\S))", re.MULTILINE)
_SIGNED: Final = re.compile(r"[ \t]+(?:usdc?[ \t]*|(?:us)?\$[ \t]*)?[0-9](?!x)")
_TOKEN: Final = re.compile(
    rf"[ \t]*(?:{'|'.join(f'(?P<{name}>{pattern})' for name, pattern in _PATTERNS.items())})"
)
# The words, the hyphens within them and the signs are their own kind.
_KINDS: Final = {"address": ADDRESS, "strange": STRANGE, "negative": "neg", "other": OTHER}
_PER_CENT: Final = _any("percent", "pct", f"per{_GAP}cent")
_UNIT: Final = re.compile(rf"{_GAP}?(?:(?P<share>%|{_PER_CENT})|{_any(*CURRENCY)})")
_WHOLE_HOST: Final = re.compile(_HOST)


class Token(NamedTuple):
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
    text, out, at = _unmarked(note.translate(_FOLDED)), list[Token](), 0
    while (match := _TOKEN.match(text, at)) is not None:
        token = _token(match, match.lastgroup or "")
        at = token.end
        if token.kind in (AMOUNT, MONEY) and out and out[-1].kind in ("$", "usdc", "usd"):
            token = token._replace(kind=MONEY, start=out.pop().start)
        if match.lastgroup != "hyphen":
            out.append(token)
    return out


def _unmarked(text: str) -> str:
    """A text with blanks in place of the dashes, and the numbers in order, of its lists."""
    numbers = count(1)
    marks = [m for m in _MARK.finditer(text) if not m[1] or int(m[1]) == next(numbers)]
    dashes = [m for m in marks if not m[1]]
    if len(dashes) == 1 and _SIGNED.match(text, dashes[0].end()):
        marks.remove(dashes[0])
    for mark in marks:
        text = text[: mark.start()] + " " * len(mark[0]) + text[mark.end() :]
    return text


def _token(match: re.Match[str], group: str) -> Token:
    text, (start, end) = match[group], match.span(group)
    if group == "amount":
        number = Decimal(match["digits"].replace(",", "")) * (1000 if match["thousands"] else 1)
        return _figure(number, Token(MONEY if match["dollars"] else AMOUNT, start, end), match)
    if group == "number" and text != "one":
        counted = _number(re.sub(_GAP, " ", text))
        kind = STRANGE if counted is None else AMOUNT
        return _figure(Decimal(counted or 0), Token(kind, start, end), match)
    if group == "foreign":
        figures = any(c.isalnum() or unicodedata.category(c) == "Sc" for c in text)
        return Token(STRANGE if figures else OTHER, start, end)
    return Token(_KINDS.get(group, STRANGE if text in _VAGUE else text), start, end)


def _figure(number: Decimal, bare: Token, match: re.Match[str]) -> Token:
    """A figure with the unit behind it; one that is no number, or no share, is strange."""
    unit = None if bare.kind == STRANGE else _UNIT.match(match.string, bare.end)
    if unit is None:
        return bare._replace(value=int(number * MICROS))
    if unit["share"] is None:
        return Token(MONEY, bare.start, unit.end(), int(number * MICROS))
    is_share = bare.kind == AMOUNT and not match["thousands"] and number * 100 % 1 == 0
    return Token(SHARE if is_share else STRANGE, bare.start, unit.end(), int(number * 100))


def _number(text: str) -> int | None:
    """The number that words say; None where they say none."""
    for word, scale in _SCALES.items():
        before, scale_word, behind = text.partition(word)
        if scale_word:
            many = 1 if before == "a " else _number(before.strip())
            rest = behind.strip().removeprefix("and ")
            more = _number(rest) if rest else 0
            if many is None or more is None or more >= scale:
                return None
            return many * scale + more
    return _BELOW_100.get(text)


def is_host(word: str) -> bool:
    """True of a word that is the name of a host."""
    return _WHOLE_HOST.fullmatch(word) is not None
