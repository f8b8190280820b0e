"""Note reader: splits sentences into items and matches each whole item with a form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from domain.mandates.notes.forms import SILENT, NoteForm, patterns
from domain.mandates.notes.market_names import CATEGORY, NAMED, MarketNames, Named, with_markets
from domain.mandates.notes.tokens import (
    ADDRESS,
    AMOUNT,
    FIGURES,
    SHARE,
    Token,
    is_host,
    tokens,
    words,
)
from domain.mandates.notes.words import EVERY, concerned
from domain.money import MICROS

# Together they bound what a note costs: forms times items times words.
MAX_SENTENCES: Final = 40
MAX_SENTENCE: Final = 160
MAX_ITEMS: Final = 48
MAX_WORDS: Final = 24
MAX_LETTERS: Final = 160
_ENDS: Final = frozenset(".!;?\n")
_BETWEEN: Final = frozenset({",", "and", "(", ")", "&"})
_OPENS: Final = frozenset({"please", "also", "set", "a", "an", "the", "with"})
# Behind a figure, what can only be the next item, and what can behind the name of a budget.
_BEGINS: Final = re.compile(
    r"(?:(?:for|over)(?: \S+)* (?:days?|weeks?|months?)|(?:max|maximum|at|no|not|up|never)(?: \S+)*"
    r" [MNPX]|with|stop|fee|ask|daily|budget)(?!\S)"
)
_BEGINS_CAP: Final = re.compile(r"per \S+(?: \S+)? [MNPX](?!\S)")
_GOES_ON: Final = words("ask close sell keep stop always")


@dataclass(frozen=True, slots=True)
class NoteItem:
    """An item that matches a form, with its figure and the markets that it names.

    Shapes: `counts` where the figure may be of something else; `names` are addresses as they are
    written, or hosts in lower case; `sentence` is the number of its sentence.
    """

    form: NoteForm
    text: str
    start: int
    figure: Token | None
    counts: bool
    markets: Named | None
    names: tuple[str, ...]
    sentence: int


@dataclass(frozen=True, slots=True)
class Unread:
    """An unread sentence, the terms it may be about, and those of its items that match a form."""

    text: str
    start: int
    terms: frozenset[str]
    items: tuple[NoteItem, ...]


@dataclass(slots=True)
class Reading:
    """The items, unread and unrelated sentences of a note."""

    items: list[NoteItem] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    unrelated: list[str] = field(default_factory=list)


def read(note: str, names: MarketNames) -> Reading:
    """Read every sentence of a note."""
    reader = _Reader(note, names)
    for sentence, asks in _sentences(tokens(note)):
        if reader.sentence == MAX_SENTENCES:
            start = sentence[0].start
            reader.reading.unread.append(Unread(note[start:], start, EVERY, ()))
            break
        reader.take(sentence, asks=asks)
    return reader.reading


@dataclass(slots=True)
class _Reader:
    note: str
    names: MarketNames
    named: list[Named] = field(default_factory=list)
    sentence: int = 0
    item_count: int = 0
    heading: Unread | None = None
    reading: Reading = field(default_factory=Reading)

    def take(self, sentence: Sequence[Token], *, asks: bool) -> None:
        self.sentence += 1
        renamed, self.named = with_markets(sentence, self.names)
        items, is_complete = ([], False) if asks else self.match_items(renamed)
        if is_complete:
            if self.heading and len(renamed) <= 2 and renamed[0].kind in FIGURES | {NAMED}:
                before = (u for u in self.reading.unread if u.start != self.heading.start)
                self.reading.unread = [*before, self.heading]
            self.heading = None if items else self.heading
            self.reading.items += items
            return
        start, text = sentence[0].start, self.note[sentence[0].start : sentence[-1].end]
        # An unread line may be the heading of the figure or the market below it.
        self.heading = Unread(text, start, EVERY, tuple(items))
        if terms := concerned(sentence, self.names.words, asks=asks):
            self.reading.unread.append(replace(self.heading, terms=terms))
        else:
            self.reading.unrelated.append(text)

    def match_items(self, sentence: Sequence[Token]) -> tuple[list[NoteItem], bool]:
        """The items up to the first that fits no form, and whether that is all of them."""
        items: list[NoteItem] = []
        parts = list(_parts(sentence)) if len(sentence) <= MAX_SENTENCE else [[*sentence]]
        at = 0
        while at < len(parts):
            matches, used = self.match_next(parts, at, items[-1] if items else None)
            if matches is None:
                return items, False
            for item in matches:
                if item.form.reads == "names" and item.form.behind == (item.form.term,):
                    item = self.joined(items.pop(), item)
                items.append(item)
            at += used
        if len(items) == 1 and (figure := items[0].figure) and figure.kind == SHARE:
            # "10% per trade" by itself may be a gain, a loss or a fee.
            opens = figure.start == items[0].start
            return [replace(items[0], counts=items[0].counts or opens)], True
        return items, True

    def joined(self, first: NoteItem, more: NoteItem) -> NoteItem:
        """A list of names, with the next one of it."""
        text = self.note[first.start : more.start + len(more.text)]
        return replace(first, text=text, names=first.names + more.names)

    def match_next(
        self, parts: list[list[Token]], at: int, before: NoteItem | None
    ) -> tuple[list[NoteItem] | None, int]:
        """The items of a part, or of two parts that are one item: "anything above 30, ask me"."""
        part = parts[at]
        following = parts[at + 1] if at + 1 < len(parts) else []
        if following and following[0].kind in _GOES_ON and len(part) < MAX_WORDS:
            joined = self.match_form(part + following)
            if joined is not None and not self.match_form(following):
                return [joined], 2
        if _is_silent(part):
            return [], 1
        if (item := self.match_form(part, before)) is not None:
            return [item], 1
        pieces = list(_pieces(part)) if len(part) <= 2 * MAX_WORDS else []
        matches: list[NoteItem] = []
        for piece in pieces if len(pieces) > 1 else []:
            item = self.match_form(piece, matches[-1] if matches else before)
            if item is None:
                return None, 1
            matches.append(item)
        return matches or None, 1

    def match_form(self, part: Sequence[Token], before: NoteItem | None = None) -> NoteItem | None:
        """The item of a part by its one matching form; None for none, or forms of two terms.
        `before` is the item that stands before it in the sentence.
        """
        self.item_count += 1
        if len(part) > MAX_WORDS or self.item_count > MAX_ITEMS:
            return None
        while part and part[0].kind in _OPENS:
            part = part[1:]
        if part and part[-1].kind == "please":
            part = part[:-1]
        if not part:
            return None
        hosts = tuple(t.kind for t in part if is_host(t.kind))
        kinds = " ".join("H" if t.kind in hosts else t.kind for t in part)
        if len(kinds) > MAX_LETTERS:
            return None
        fits = [form for form, pattern in patterns() if pattern.fullmatch(kinds)]
        follows = "" if before is None or before.form.could else before.form.term
        behind = [form for form in fits if follows in form.behind]
        fits = behind or [form for form in fits if not form.behind]
        clear = [form for form in fits if not form.could] or fits
        if len({form.term for form in clear}) != 1:
            return None
        figure = next((t for t in part if t.kind in FIGURES), None)
        places = [t for t in part if t.kind in (CATEGORY, NAMED)]
        # "For lending on Aave" names the latter.
        place = max(places, key=lambda t: t.kind == NAMED, default=None)
        # "5 a day" behind "0.50 each": both are amounts, or neither.
        goes_on = behind and before and before.figure and before.figure.kind == AMOUNT
        start = part[0].start
        return NoteItem(
            form=clear[0],
            text=self.note[start : part[-1].end],
            start=start,
            figure=figure,
            counts=_may_count(part, figure) and not goes_on,
            markets=self.named[place.value] if place else None,
            names=tuple(self.note[t.start : t.end] for t in part if t.kind == ADDRESS) or hosts,
            sentence=self.sentence,
        )


def _sentences(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], bool]]:
    """Sentences with their words, and whether each is a question."""
    sentence: list[Token] = []
    for token in (*tokens, Token("\n", 0, 0)):
        if token.kind not in _ENDS:
            sentence.append(token)
        elif sentence:
            yield sentence, token.kind == "?"
            sentence = []


def _parts(sentence: Sequence[Token]) -> Iterator[list[Token]]:
    """A sentence cut where items end: at commas, brackets, "and", dashes, and behind a heading."""
    part: list[Token] = []
    figure = False
    for token in sentence:
        heading = token.kind == ":" and _is_silent(part)
        dash = token.kind == "-" and figure
        # "No more than 50 a trade or 150 a day" bounds both.
        both = token.kind == "or" and token is not sentence[-1] and _bounded(part)
        figure = (figure or token.kind in FIGURES) and token.kind not in _BETWEEN
        if not (token.kind in _BETWEEN or heading or dash or both):
            part.append(token)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _is_silent(part: Sequence[Token]) -> bool:
    return SILENT.fullmatch(" ".join(t.kind for t in part)) is not None


def _bounded(part: Sequence[Token]) -> bool:
    denies = any(t.kind in ("no", "never", "not", "don't") for t in part[:3])
    return denies and any(t.kind in FIGURES for t in part)


def _pieces(part: Sequence[Token]) -> Iterator[list[Token]]:
    """A part split where an item can begin behind a figure: "500 USDC for 30 days"."""
    kinds = [t.kind for t in part]
    of_budget = kinds[0] in ("budget", "total", "per")  # "budget 1000 per trade 100"
    piece: list[Token] = []
    for at, token in enumerate(part):
        ahead = " ".join(kinds[at : at + 4])
        begins = _BEGINS.match(ahead) or (of_budget and _BEGINS_CAP.match(ahead))
        if begins and not FIGURES.isdisjoint(t.kind for t in piece):
            yield piece
            piece = []
        piece.append(token)
    yield piece


def _may_count(part: Sequence[Token], figure: Token | None) -> bool:
    """True of "3 per day", which may be how often: a small number without a word for money."""
    small = figure is not None and figure.kind == "N" and figure.value < 20 * MICROS
    return small and not _OF_MONEY & {t.kind for t in part}


_OF_MONEY: Final = words("spend spending limit cap budget allowance use invest pay")
