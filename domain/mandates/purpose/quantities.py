"""Numbers, signs and units of a note put together into figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Final

from domain.mandates.purpose import figures
from domain.mandates.purpose.holidays import named_day
from domain.mandates.purpose.lengths import glossed, repeated
from domain.mandates.purpose.portions import portion
from domain.mandates.purpose.tokens import BAD, BPS, DATE, MONEY, NUM, PCT, SPAN, Token

_NUMBER_WORDS: Final = frozenset(figures.SMALL) | frozenset(figures.SCALES)
_SPAN_UNITS: Final = frozenset(figures.SPAN_DAYS) | figures.SPAN_HOURS
_LONG_UNITS: Final = frozenset(u for u in _SPAN_UNITS if len(u) > 2)
# What may stand behind "a dollar" where it is one dollar, not "a dollar limit".
_BEHIND_ONE: Final = frozenset({
    "per", "a", "an", "each", "every", "any", "apiece", "/", "in", "on", "for", "at", "max", "or",
    "tops", ",", ".", ";", ":", "", ")", "\n",
})  # fmt: skip
_MAY: Final = frozenset({"be", "go", "not", "never", "only", "ever", "leave", "enter", "cost"})
_ONE_DOLLAR: Final = frozenset({"dollar", "buck"})
_OR_LESS: Final = frozenset({"less", "below", "under"})
_WINDOWS: Final = frozenset({"any", "per", "each", "every", "a", "/", "one"})
_BETWEEN: Final = frozenset({"rolling", "given", "single"})
_SCALES: Final = figures.SHORT_SCALES | figures.SCALES


class Quantities:
    """Puts numbers, signs and units together."""

    def __init__(self, text: str, atoms: Sequence[Token], today: date):
        self.text, self.atoms, self.today = text, list(atoms), today
        for at in range(len(self.atoms)):
            sign = self.sign_at(at)
            if sign:
                self.atoms[at] = replace(self.atoms[at], kind=sign)
        self.strange = ""

    def kind(self, at: int) -> str:
        """What stands at a place, or an empty text beyond the ends."""
        return self.atoms[at].kind if 0 <= at < len(self.atoms) else ""

    def touches(self, at: int) -> bool:
        """True where nothing stands between an atom and the one before it."""
        return 0 < at < len(self.atoms) and self.atoms[at - 1].end == self.atoms[at].start

    def all(self) -> list[Token]:
        """Every atom, with the figures put together."""
        out: list[Token] = []
        at = 0
        while at < len(self.atoms):
            token, after = (
                named_day(self, at)
                or self.date_at(at)
                or self.window_at(at)
                or portion(self, at)
                or glossed(self, at)
                or self.figure_at(at)
                or (self.atoms[at], at + 1)
            )
            out.append(token)
            at = after
        return out

    def sign_at(self, at: int) -> str:
        """`minus` for the sign of "stop at -15%", `plus` for that of "target: +5%": a sign right
        before its figure, and behind a word that a figure may follow.
        """
        kind, before = self.kind(at), self.kind(at - 1)
        if kind not in ("-", "+") or self.touches(at) or not self.touches(at + 1):
            return ""
        if kind == "-":
            behind = self.kind(at + 1) in ("#", "$")
            return "minus" if behind and before in figures.SINKS_TO else ""
        percent = self.kind(at + 1) == "#" and self.kind(at + 2) in figures.PERCENT
        return "plus" if percent and before in figures.AIMS_AT else ""

    # -- dates

    def date_at(self, at: int) -> tuple[Token, int] | None:
        """A date that starts here, and the place behind it."""
        kind = self.kind(at)
        if kind == "iso":
            y, m, d = (
                int(p) for p in self.text[self.atoms[at].start : self.atoms[at].end].split("-")
            )
            return self.dated(at, at + 1, figures.day_of(m, d, y, self.today))
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
        # "Of which 20 may be spent": no date.
        if month is None or (self.kind(after) == "may" and self.kind(after + 1) in _MAY):
            return None
        year, after = self.year_at(after + 1)
        return self.dated(at, after, figures.day_of(month, day, year, self.today))

    def end_at(self, at: int) -> tuple[Token, int] | None:
        """`end of March`, `end of the year`."""
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
        """(day of the month, place behind it)."""
        if self.kind(at) != "#":
            return None, at
        said = self.text[self.atoms[at].start : self.atoms[at].end]
        if not said.isdigit() or len(said) > 2:
            return None, at
        glued = self.kind(at + 1) in ("-st", "-nd", "-rd", "-th") and self.touches(at + 1)
        return int(said), at + 1 + glued

    def year_at(self, at: int) -> tuple[int | None, int]:
        """(year, place behind it); None where none is named."""
        comma = self.kind(at) == ","
        if self.kind(at + comma) == "#":
            atom = self.atoms[at + comma]
            said = self.text[atom.start : atom.end]
            after = self.kind(at + comma + 1)
            counted = (
                after in figures.OURS
                or after in figures.THEIRS
                or after in _SCALES
                or after[:1] in ("-", "%")
            )
            if re.fullmatch(r"20\d\d", said) and not counted:
                return int(said), at + comma + 1
        return None, at

    def dated(self, at: int, after: int, named: date | None) -> tuple[Token, int]:
        """The token of a date, bad where there is no such day."""
        start, end = self.atoms[at].start, self.atoms[after - 1].end
        if named is None:
            return Token(BAD, start, end, why="it is not a day of the calendar"), after
        return Token(DATE, start, end, (named - self.today).days), after

    # -- a day in hours

    def window_at(self, at: int) -> tuple[Token, int] | None:
        """The day of `in any 24 hours`, `per 24h`, `a 24-hour period`; not of `for 24 hours`."""
        if self.kind(at) != "#" or self.text[self.atoms[at].start : self.atoms[at].end] != "24":
            return None
        before = at - 1 - (self.kind(at - 1) in _BETWEEN)
        after = at + 1 + (self.kind(at + 1) == "-")
        if (
            self.kind(before) not in _WINDOWS
            or self.kind(after).lstrip("-") not in figures.SPAN_HOURS
        ):
            return None
        after += 1 + (self.kind(after + 1) in ("period", "window", "span", "stretch"))
        return Token("day", self.atoms[at].start, self.atoms[after - 1].end), after

    def kinds(self, at: int, count: int) -> tuple[str, ...]:
        """What stands at so many places."""
        return tuple(self.kind(at + n) for n in range(count))

    # -- numbers

    def figure_at(self, at: int) -> tuple[Token, int] | None:
        """A figure that starts here, and the place behind it."""
        start = at
        kind = self.kind(at)
        if (
            kind in ("us", "c", "a", "s", "hk", "nz", "ca", "au")
            and self.kind(at + 1) == "$"
            and self.touches(at + 1)
        ):
            ours = kind == "us"
            return self.priced(start, at + 2, ours)
        if kind == "$" or kind in figures.SIGNS:
            return self.priced(start, at + 1, kind == "$")
        if (
            kind in ("usdc", "usd")
            and self.number_at(at + 1)[1] > at + 1
            and not self.touches(at + 1)
        ):
            return self.priced(start, at + 1, True)
        if kind in ("eur", "gbp", "chf", "jpy") and self.number_at(at + 1)[1] > at + 1:
            return self.priced(start, at + 1, False)
        if kind == "a" and self.kind(at + 1) in _ONE_DOLLAR and self.kind(at - 1) != "half":
            behind = self.kind(at + 2)
            fits = behind in _BEHIND_ONE and (behind != "or" or self.kind(at + 3) in _OR_LESS)
            return self.finish(start, at + 1, Decimal(1), False) if fits else None
        number, after = self.number_at(at)
        if after == at:
            return None
        return self.finish(start, after, number, False)

    def priced(self, start: int, at: int, ours: bool) -> tuple[Token, int] | None:
        """A figure behind a currency; one that is not ours has no value."""
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
            return repeated(self, figures.digits(said), at + 1)
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
        if words in (["one"], ["zero"]) and not self.unit_at(after):
            return None, at
        return repeated(self, figures.spoken(words), after)

    def unit_at(self, at: int) -> bool:
        """True where a unit follows: alone, "one" is no figure ("no one", "zero fee")."""
        kind = self.kind(at + (self.kind(at) == "-"))
        if kind == "day":
            return False
        return (
            kind in figures.OURS
            or kind in _LONG_UNITS
            or kind in figures.PERCENT
            or kind in figures.CENTS
            or kind in figures.THEIRS
            or kind == "bps"
        )

    def finish(
        self, start: int, after: int, number: Decimal | None, priced: bool
    ) -> tuple[Token, int]:
        """The figure with its scale and its unit, and with what stands too close to it to be
        sure.
        """
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
        scale = glue if glue in _SCALES else self.kind(after) if self.kind(after) in _SCALES else ""
        if scale and number is not None:
            number *= _SCALES[scale]
        if scale:
            after, glue = after + 1, ""
        kind, after = self.unit(after, glue, priced)
        grand = any(self.kind(n) == "grand" for n in range(start, after))
        if kind == NUM and (grand or (scale and scale != "m")):
            kind = MONEY
        if kind == NUM and self.labelled(start):
            kind = SPAN + self.kind(start - 1 - (self.kind(start - 1) in (":", "=")))
        if scale == "m" and kind != MONEY:
            number = None
        if (
            self.kind(after) in ("-", "+", "'", "°", "²", "#")
            and self.touches(after)
            and not self.spaced(after)
        ):
            number = None
        return self.valued(kind, start, after, None if close else number), after

    def labelled(self, at: int) -> bool:
        """True for the number of `Days: 15` at the start of a clause."""
        at -= self.kind(at - 1) in (":", "=")
        label = self.kind(at - 1) in ("days", "weeks", "months")
        return label and self.kind(at - 2) in ("", ".", ",", ";", "\n", "-", "/", "|")

    def spaced(self, at: int) -> bool:
        """True where something else than a word or a number follows a dash."""
        return self.kind(at) == "-" and not self.touches(at + 1)

    def unit(self, at: int, glue: str, priced: bool) -> tuple[str, int]:
        """(kind, place behind the unit) of the figure in front of `at`."""
        if glue:
            return self._glued(glue, priced), at + 1
        kind, behind = self.kind(at), self.kind(at + 1)
        if kind == "in" and not priced and behind in ("usdc", "usd", "dollars"):
            return MONEY, at + 2
        if kind == "us" and behind in ("dollars", "$"):
            return MONEY, at + 2
        if kind in figures.OURS or (kind == "$" and self.touches(at) and not priced):
            return MONEY, at + 1
        if kind in figures.THEIRS or kind in figures.SIGNS:
            return BAD, at + 1
        if behind == "dollars" and (kind.endswith("ian") or kind in ("hong", "singapore", "kong")):
            return BAD, at + 2
        return (MONEY, at) if priced else self._measure(at)

    def _glued(self, glue: str, priced: bool) -> str:
        """The kind of a figure whose unit stands right behind it, `500usdc`, `14d`."""
        if glue in figures.OURS:
            return MONEY
        if priced:
            return BAD
        if glue in _SPAN_UNITS:
            return SPAN + glue
        return {"bps": BPS, "bp": BPS, "pct": PCT, "percent": PCT}.get(glue, BAD)

    def _measure(self, at: int) -> tuple[str, int]:
        """The unit of a figure that is not known to be money."""
        kind, behind = self.kind(at), self.kind(at + 1)
        if kind in figures.CENTS:
            return MONEY + "cents", at + 1
        for unit, one, two in (
            (PCT, figures.PERCENT, ("per", "cent")),
            (BPS, figures.POINTS, ("basis", "points")),
        ):
            if kind in one:
                return unit, at + 1
            if (kind, behind) == two:
                return unit, at + 2
        hyphen = kind == "-" and self.touches(at) and self.touches(at + 1)
        if self.kind(at + hyphen) in _LONG_UNITS:
            return SPAN + self.kind(at + hyphen), at + hyphen + 1
        return NUM, at

    def valued(self, kind: str, start: int, after: int, number: Decimal | None) -> Token:
        """The token of a figure with its value, bad where it has none."""
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
