"""A note as tokens: words, stops, and figures with what they are worth, each with its place in the note."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

from domain.mandates.purpose import figures

MONEY: Final = "MONEY"
NUM: Final = "NUM"
PCT: Final = "PCT"
BPS: Final = "BPS"
SPAN: Final = "SPAN"
DATE: Final = "DATE"
MARKET: Final = "MARKET"
BAD: Final = "FIGURE"
FIGURES: Final = frozenset({MONEY, NUM, PCT, BPS, SPAN, DATE, BAD})

_ATOM: Final = re.compile(
    r"(?P<url>https?://[^\s,;]+|www\.[^\s,;]+|[a-z0-9._+-]+@[a-z0-9.-]+|(?:[a-z][a-z0-9-]*\.)+(?:com|org|net|io|xyz|dev|ai|app|finance)\b)"
    r"|(?P<iso>\d{4}-\d{2}-\d{2})(?![\w-])"
    r"|(?P<num>(?:\d{1,3}(?: \d{3})+(?!\w|[.,]\d)|\d+(?:[.,'_:/-]\d+)*))(?P<glue>(?:-?[a-z]\w*)?)"
    r"|(?P<word>[^\W\d_]\w*(?:'[^\W\d_]+)*(?:-\d[\w-]*)?)"
    r"|(?P<space>\s+)|(?P<stop>.)",
    re.DOTALL,
)
_QUOTES: Final = {
    "’": "'",
    "‘": "'",
    "‛": "'",
    "`": "'",
    "´": "'",
    "‐": "-",
    "‑": "-",
    "‒": "-",
    "−": "-",
    "“": '"',
    "”": '"',
}
_OURS: Final = frozenset({"usdc", "usd", "dollars", "dollar", "bucks", "buck"})
_CENTS: Final = frozenset({"cents", "cent"})
_THEIRS: Final = frozenset({
    "eur", "euro", "euros", "gbp", "pounds", "pound", "sterling", "yen", "jpy", "chf", "francs", "franc", "btc", "bitcoin", "bitcoins",
    "eth", "ether", "usdt", "tether", "dai", "sol", "cad", "aud", "yuan", "cny", "rmb", "rupees", "inr", "pesos", "peso", "reais",
    "rubles", "krw", "won", "wei", "gwei", "sats", "matic", "credits", "points", "shares", "tokens", "coins",
})  # fmt: skip
_SIGNS: Final = frozenset("€£¥₿₹₩₽")
_PERCENT: Final = frozenset({"%", "percent", "pct"})
_NUMBER_WORDS: Final = frozenset(figures.SMALL) | frozenset(figures.SCALES)
_SPAN_UNITS: Final = frozenset(figures.SPAN_DAYS) | figures.SPAN_HOURS
_LONG_UNITS: Final = frozenset(u for u in _SPAN_UNITS if len(u) > 2)
_SHOWN: Final = frozenset("\n\r\t")


@dataclass(frozen=True, slots=True)
class Token:
    """One word, stop or figure. Units of `value`: micro-USDC, basis points or days; `start`, `end` are places in the note."""

    kind: str
    start: int
    end: int
    value: int | None = None
    why: str = ""
    markets: tuple[str, ...] = ()

    @property
    def is_figure(self) -> bool:
        """True for an amount, a share, a number, a span or a date, certain or not."""
        return self.kind in FIGURES


@dataclass(frozen=True, slots=True)
class Text:
    """A note cut into tokens; `strange` is why no figure of it can be trusted, or empty."""

    tokens: tuple[Token, ...]
    strange: str


def plain(note: str) -> str:
    """Lower case with straight quotes, a character for a character, so that places stay."""
    return "".join(_QUOTES.get(c, c.lower() if len(c.lower()) == 1 else c) for c in note)


def strange_character(note: str) -> str:
    """Why the note's characters cannot be trusted; empty where they can."""
    if note.isascii() and note.isprintable():
        return ""
    for c in note:
        if c in _SHOWN or "\x20" <= c < "\x7f":
            continue
        category = unicodedata.category(c)
        if category in ("Cf", "Cc", "Co", "Cn", "Cs"):
            return "the note holds characters that are not seen"
        if category in ("Nd", "Nl", "No"):
            return "the note holds figures that are not plain digits"
        if category == "Lm" or (
            unicodedata.normalize("NFKC", c) != c and not c.isspace() and c not in "…´"
        ):
            return "the note holds letters that only look like plain ones"
    return ""


@lru_cache(16)
def _markets(
    names: tuple[tuple[str, str], ...],
) -> tuple[re.Pattern[str] | None, Mapping[str, tuple[str, ...]]]:
    wanted: dict[str, tuple[str, ...]] = {}
    for market, name in names:
        for said in {plain(market), plain(name)}:
            if said.strip():
                wanted[said] = (*wanted.get(said, ()), market)
    if not wanted:
        return None, wanted
    listed = "|".join(re.escape(w) for w in sorted(wanted, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{listed})(?![\w-])"), wanted


def tokens_of(note: str, names: Mapping[str, str], today: date) -> Text:
    """Cut a note into tokens; `names` is market id to name."""
    text = plain(note)
    strange = strange_character(note)
    pattern, wanted = _markets(tuple(sorted(names.items())))
    atoms: list[Token] = []
    at = 0
    for found in pattern.finditer(text) if pattern else ():
        atoms += _atoms(text, at, found.start())
        ids = wanted[found.group(0)]
        atoms.append(Token(MARKET, *found.span(), markets=ids if len(ids) == 1 else ()))
        at = found.end()
    atoms += _atoms(text, at, len(text))
    reader = _Figures(text, atoms, today)
    tokens = reader.all()
    return Text(tuple(_listed(tokens)), strange or reader.strange)


def _atoms(text: str, start: int, end: int) -> list[Token]:
    out: list[Token] = []
    for found in _ATOM.finditer(text, start, end):
        kind, at = found.lastgroup, found.start()
        if kind == "space":
            if "\n" in found.group(0):
                out.append(Token("\n", *found.span()))
        elif found["num"]:
            out.append(Token("#", *found.span("num")))
            if found["glue"]:
                out.append(Token("-" + found["glue"].lstrip("-"), *found.span("glue")))
        elif kind == "iso":
            out.append(Token("iso", *found.span()))
        elif kind == "url":
            out.append(
                Token(BAD if any(c.isdigit() for c in found.group(0)) else "url", *found.span())
            )
        elif kind == "word" and "-" in found.group(0):
            out.append(Token(BAD, *found.span()))
        else:
            out.append(Token(text[at : found.end()], *found.span()))
    return out


def _listed(tokens: list[Token]) -> list[Token]:
    """Markets in a row, `A, B and C`, as one token."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        one = tokens[at]
        at += 1
        while one.kind == MARKET and one.markets:
            skip = at
            while (
                skip < len(tokens)
                and tokens[skip].kind in (",", "and", "&", "or")
                and skip - at < 2
            ):
                skip += 1
            if (
                skip == at
                or skip >= len(tokens)
                or tokens[skip].kind != MARKET
                or not tokens[skip].markets
            ):
                break
            one = replace(one, end=tokens[skip].end, markets=(*one.markets, *tokens[skip].markets))
            at = skip + 1
        out.append(one)
    return out


class _Figures:
    """Puts numbers, signs and units together."""

    def __init__(self, text: str, atoms: list[Token], today: date):
        self.text, self.atoms, self.today = text, atoms, today
        self.strange = ""

    def kind(self, at: int) -> str:
        return self.atoms[at].kind if 0 <= at < len(self.atoms) else ""

    def touches(self, at: int) -> bool:
        """True where nothing stands between an atom and the one before it."""
        return 0 < at < len(self.atoms) and self.atoms[at - 1].end == self.atoms[at].start

    def all(self) -> list[Token]:
        out: list[Token] = []
        at = 0
        while at < len(self.atoms):
            token, after = self.date_at(at) or self.figure_at(at) or (self.atoms[at], at + 1)
            out.append(token)
            at = after
        return out

    # -- dates

    def date_at(self, at: int) -> tuple[Token, int] | None:
        kind = self.kind(at)
        if kind == "iso":
            year, month, day = (
                int(p) for p in self.text[self.atoms[at].start : self.atoms[at].end].split("-")
            )
            return self.dated(at, at + 1, figures.day_of(month, day, year, self.today))
        if kind == "end" and self.kind(at + 1) == "of":
            return self.end_at(at)
        if kind in figures.MONTHS:
            dot = self.kind(at + 1) == "."
            day, after = self.day_at(at + 1 + dot)
            if day is not None:
                year, after = self.year_at(after)
                return self.dated(
                    at, after, figures.day_of(figures.MONTHS[kind], day, year, self.today)
                )
            return None
        day, after = self.day_at(at)
        if day is None:
            return None
        after += self.kind(after) == "of"
        month = figures.MONTHS.get(self.kind(after))
        if month is None:
            return None
        year, after = self.year_at(after + 1)
        return self.dated(at, after, figures.day_of(month, day, year, self.today))

    def end_at(self, at: int) -> tuple[Token, int] | None:
        after = at + 2
        after += self.kind(after) in ("the", "this")
        what = self.kind(after)
        if what == "year":
            return self.dated(at, after + 1, figures.end_of(None, None, self.today))
        month = self.today.month if what == "month" else figures.MONTHS.get(what)
        if month is None:
            return None
        year, after = self.year_at(after + 1)
        return self.dated(at, after, figures.end_of(month, year, self.today))

    def day_at(self, at: int) -> tuple[int | None, int]:
        if self.kind(at) != "#":
            return None, at
        said = self.text[self.atoms[at].start : self.atoms[at].end]
        if not said.isdigit() or len(said) > 2:
            return None, at
        glued = self.kind(at + 1) in ("-st", "-nd", "-rd", "-th") and self.touches(at + 1)
        return int(said), at + 1 + glued

    def year_at(self, at: int) -> tuple[int | None, int]:
        comma = self.kind(at) == ","
        if self.kind(at + comma) == "#":
            atom = self.atoms[at + comma]
            said = self.text[atom.start : atom.end]
            if re.fullmatch(r"20\d\d", said) and not self.kind(at + comma + 1).startswith("-"):
                return int(said), at + comma + 1
        return None, at

    def dated(self, at: int, after: int, named: date | None) -> tuple[Token, int]:
        start, end = self.atoms[at].start, self.atoms[after - 1].end
        if named is None:
            return Token(BAD, start, end, why="it is not a day of the calendar"), after
        return Token(DATE, start, end, (named - self.today).days), after

    # -- numbers

    def figure_at(self, at: int) -> tuple[Token, int] | None:
        start = at
        kind = self.kind(at)
        if (
            kind in ("us", "c", "a", "s", "hk", "nz", "ca", "au")
            and self.kind(at + 1) == "$"
            and self.touches(at + 1)
        ):
            ours = kind == "us"
            return self.priced(start, at + 2, ours)
        if kind == "$" or kind in _SIGNS:
            return self.priced(start, at + 1, kind == "$")
        if (
            kind in ("usdc", "usd")
            and self.number_at(at + 1)[1] > at + 1
            and not self.touches(at + 1)
        ):
            return self.priced(start, at + 1, True)
        if kind in ("eur", "gbp", "chf", "jpy") and self.number_at(at + 1)[1] > at + 1:
            return self.priced(start, at + 1, False)
        number, after = self.number_at(at)
        if after == at:
            return None
        return self.finish(start, after, number, False)

    def priced(self, start: int, at: int, ours: bool) -> tuple[Token, int] | None:
        number, after = self.number_at(at)
        if after == at:
            return None
        token, after = self.finish(start, after, number if ours else None, True)
        why = token.why or "" if ours else "it is not USDC, and no rate is applied"
        return (token if ours else replace(token, kind=BAD, value=None, why=why)), after

    def number_at(self, at: int) -> tuple[Decimal | None, int]:
        """(the number, the place behind it); None where there is one that is not certain."""
        if self.kind(at) == "#":
            said = self.text[self.atoms[at].start : self.atoms[at].end]
            if "-" not in said and figures.foreign(said):
                self.strange = "the note holds figures that are written in a foreign way"
            return figures.digits(said), at + 1
        words: list[str] = []
        after = at
        while True:
            kind, hyphen = self.kind(after), 0
            if kind == "-" and words and self.touches(after) and self.touches(after + 1):
                kind, hyphen = self.kind(after + 1), 1
            joins = (
                kind == "and"
                and bool(words)
                and self.kind(after + 1) in figures.SMALL
                and words[-1] in figures.SCALES
            )
            first = kind == "a" and not words and self.kind(after + 1) in figures.SCALES
            if not (kind in _NUMBER_WORDS or joins or first):
                break
            words.append(kind)
            after += 1 + hyphen
        if not words or words == ["grand"] or words[0] in figures.SCALES:
            return None, at
        if words == ["one"] and not self.unit_at(after):
            return None, at
        return figures.spoken(words), after

    def unit_at(self, at: int) -> bool:
        """True where a unit follows: alone, "one" is no figure ("no one", "one of them")."""
        kind = self.kind(at + (self.kind(at) == "-"))
        return (
            kind in _OURS
            or kind in _LONG_UNITS
            or kind in _PERCENT
            or kind in _CENTS
            or kind in _THEIRS
            or kind == "bps"
        )

    def finish(
        self, start: int, after: int, number: Decimal | None, priced: bool
    ) -> tuple[Token, int]:
        """The figure with its scale and its unit, and with what stands too close to it to be sure."""
        close = (
            start > 0
            and self.touches(start)
            and self.kind(start - 1) in ("-", "+", ".", "#", "@", "~", "<", ">", "*", "^")
        )
        glue = (
            self.kind(after)[1:]
            if self.kind(after).startswith("-") and len(self.kind(after)) > 1
            else ""
        )
        scale = (
            glue
            if glue in SHORT_OR_LONG
            else self.kind(after)
            if self.kind(after) in SHORT_OR_LONG
            else ""
        )
        if scale and number is not None:
            number *= SHORT_OR_LONG[scale]
        if scale:
            after, glue = after + 1, ""
        kind, after = self.unit(after, glue, priced)
        if scale and scale != "m" and kind == NUM:
            kind = MONEY
        if scale == "m" and kind != MONEY:
            number = None
        if (
            self.kind(after) in ("-", "+", "'", "°", "²", "#")
            and self.touches(after)
            and not self.spaced(after)
        ):
            number = None
        return self.valued(kind, start, after, None if close else number), after

    def spaced(self, at: int) -> bool:
        """True where something else than a word or a number follows a dash."""
        return self.kind(at) == "-" and not self.touches(at + 1)

    def unit(self, at: int, glue: str, priced: bool) -> tuple[str, int]:
        """(kind, place behind the unit) of the figure in front of `at`."""
        if glue:
            if glue in _SPAN_UNITS and not priced:
                return SPAN + glue, at + 1
            if glue in _OURS:
                return MONEY, at + 1
            if glue in ("bps", "bp", "pct", "percent") and not priced:
                return (BPS if glue.startswith("b") else PCT), at + 1
            return BAD, at + 1
        kind = self.kind(at)
        if kind == "us" and self.kind(at + 1) in ("dollars", "$"):
            return MONEY, at + 2
        if kind in _OURS or (kind == "$" and self.touches(at) and not priced):
            return MONEY, at + 1
        if kind in _THEIRS or kind in _SIGNS:
            return BAD, at + 1
        if self.kind(at + 1) == "dollars" and (
            kind.endswith("ian") or kind in ("hong", "singapore", "kong")
        ):
            return BAD, at + 2
        if priced:
            return MONEY, at
        if kind in _CENTS:
            return MONEY + "cents", at + 1
        if kind in _PERCENT or (kind == "per" and self.kind(at + 1) == "cent"):
            return PCT, at + 1 + (kind == "per")
        if kind in ("bps", "bp") or (kind == "basis" and self.kind(at + 1) == "points"):
            return BPS, at + 1 + (kind == "basis")
        hyphen = kind == "-" and self.touches(at) and self.touches(at + 1)
        if self.kind(at + hyphen) in _LONG_UNITS:
            return SPAN + self.kind(at + hyphen), at + hyphen + 1
        return NUM, at

    def valued(self, kind: str, start: int, after: int, number: Decimal | None) -> Token:
        place = self.atoms[start].start, self.atoms[after - 1].end
        if number is None or kind == BAD:
            return Token(BAD, *place, why="it is not one certain figure in USDC, a share or days")
        if kind.startswith(SPAN):
            value, kind = figures.days(number, kind[len(SPAN) :]), SPAN
        elif kind in (PCT, BPS):
            value = figures.bps(number, percent=kind == PCT)
        else:
            value, kind = (
                figures.micros(number, cents=kind.endswith("cents")),
                MONEY if kind.startswith(MONEY) else NUM,
            )
        if value is None:
            return Token(BAD, *place, why="it is finer or larger than a term can be")
        return Token(kind, *place, value)


SHORT_OR_LONG: Final = figures.SHORT_SCALES | figures.SCALES
