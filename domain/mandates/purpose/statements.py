"""A note cut into clauses, each read whole or not at all.

An unread clause takes its sentence with it, because it may bend what stands beside it, unless it
plainly speaks of something else; and one that begins with `except` or `unless` takes the sentence
before it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Final

from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.bending import corrects, of_once, of_others
from domain.mandates.purpose.grammar import Grammar, grammar
from domain.mandates.purpose.language import foreign
from domain.mandates.purpose.paths import (
    IDLE,
    JOIN,
    QUIET,
    SAYS,
    SETS_FLOOR,
    UNREAD,
    Path,
    Piece,
)
from domain.mandates.purpose.sentences import cut, requested
from domain.mandates.purpose.tiling import Tiling, is_word
from domain.mandates.purpose.tokens import BAD, DATE, MARKET, MONEY, NUM, PCT, SPAN, Token
from domain.mandates.purpose.words import tokens_of

MAX_SENTENCE: Final = 90
_OF_ANOTHER: Final = frozenset({"it", "it's", "its", "they", "they're", "that", "that's", "which"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing a clause says: the action that its phrase stands under, and the figure in it."""

    action: str
    text: str
    start: int
    figure: Token | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A clause that was not read, why, the terms its words speak of, and what its parts would have
    said alone.
    """

    text: str
    why: str
    start: int
    terms: tuple[str, ...] = ()
    parts: tuple[Statement, ...] = ()


@dataclass(slots=True)
class Reading:
    """What a note says, what of it was not read, what is about something else; `steps` counts the
    work.
    """

    statements: list[Statement] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    unrelated: list[Statement] = field(default_factory=list)
    steps: int = 0


def read(note: str, *, today: date, market_names: Mapping[str, str]) -> Reading:
    """Read a note. Shapes: `market_names` is market id to name. Cost: linear in the note."""
    text = tokens_of(note, market_names, today)
    known = grammar()
    known.automaton.fresh()
    words = (t.kind for t in text.tokens if t.kind[:1].isalpha() and not t.kind.isupper())
    strange = text.strange or foreign(words, known.automaton.words)
    sentences: list[_Sentence] = []
    for tokens, asked in cut(text.tokens):
        floor = bool(sentences) and sentences[-1].ends_on_a_floor
        sentences.append(_Sentence(note, known, tokens, asked, strange, floor))
    _unsettle(sentences)
    reading = Reading(steps=sum(s.steps for s in sentences))
    for one in sentences:
        one.tell(reading)
    return reading


def _unsettle(sentences: Sequence[_Sentence]) -> None:
    """Drop what another sentence takes back, changes, corrects, or tells as somebody else's."""
    if any(s.takes_back for s in sentences):
        for one in sentences:
            one.drop("the note takes something back, or does not mean what it says")
    for before, one in pairwise(sentences):
        if one.bends:
            before.drop("the sentence after it changes what it says")
        if one.tokens[0].kind in _OF_ANOTHER and before.ends_elsewhere:
            one.drop("it speaks of what the sentence before it does, which is not read")
    _correct(sentences)


def _correct(sentences: Sequence[_Sentence]) -> None:
    """Drop what stands before a correction, and what may be somebody else's words."""
    for at, one in enumerate(sentences):
        if one.corrects_at > 0 or (at and not one.corrects_at):
            for before in sentences[: at + 1]:
                before.drop("something behind it is a correction")
        if one.quotes:
            for behind in sentences[at:]:
                behind.drop("it may be what somebody else says")


class _Sentence:
    """One sentence: its pieces, and why none of them counts, or an empty text."""

    def __init__(
        self,
        note: str,
        known: Grammar,
        tokens: list[Token],
        asked: bool,
        strange: str,
        behind_floor: bool,
    ):
        self.note, self.known, self.tokens, self.strange = note, known, tokens, bool(strange)
        self.behind_floor = behind_floor
        request = requested(tokens)
        if request:
            self.tokens, asked = request, False
        self.why = strange or ("it is a question" if asked else "")
        if not self.why and len(self.tokens) > MAX_SENTENCE:
            self.why = f"it is longer than {MAX_SENTENCE} words"
        self.readings = [Path((Piece(UNREAD, 0, len(self.tokens)),))]
        self.steps = len(tokens)
        self.takes_back = self.bends = self.quotes = False
        self.corrects_at = -1
        if not self.why:
            self._tile()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the one reading, or of the first of several."""
        return self.readings[0].pieces

    @property
    def ends_elsewhere(self) -> bool:
        """True for "My holiday starts on 5 December": something that the writer has, at a time of
        its own, is all that the last clause speaks of.
        """
        last = next((p for p in reversed(self.pieces) if p.action not in (JOIN, "closing")), None)
        if last is None or last.action != UNREAD or self.tokens[0].kind not in ("my", "our"):
            return False
        return any(t.kind in (SPAN, DATE) for t in self.tokens[last.start : last.end])

    @property
    def ends_on_a_floor(self) -> bool:
        """True where the last that it says is a stop line, or the budget that one is part of."""
        said = [action for action, _ in self.readings[0].said if action != "budget"]
        return not self.why and said[-1:] != [] and said[-1] in SETS_FLOOR

    def _tile(self) -> None:
        tiling = Tiling(self.known, self.tokens, self.behind_floor)
        self.readings, self.steps = tiling.readings, tiling.steps
        unread = [p for p in self.pieces if p.action == UNREAD]
        words = {t.kind for p in unread for t in self.tokens[p.start : p.end]}
        self.takes_back = bool(words & v.TAKEN_BACK)
        self.bends = bool(unread) and unread[0].start == 0 and self._bends_the_one_before()
        loose = [p for p in self.pieces if p.action in (UNREAD, IDLE)]
        self.corrects_at = next((p.start for p in loose if self._corrects(p)), -1)
        story = next((p for p in self.pieces if self._tells_of_others(p)), None)
        self.quotes = story is not None and self.tokens[-1].kind == ":"
        if len(self.readings) > 1:
            self.why = "it can be read in two ways"
        elif any(p.action not in QUIET for p in self.pieces):
            said = any(p.action not in QUIET and p.action != "other" for p in self.pieces)
            bending = (said and story) or next((p for p in unread if self._may_bend(p)), None)
            self.why = f"“{self._text(bending)}” in it is not read" if bending else ""

    def _bends_the_one_before(self) -> bool:
        first = self.tokens[0].kind
        said_no = first in ("no", "nope") and [t.kind for t in self.tokens[1:2]] == [","]
        if first in v.EXCEPTS or said_no:
            return True
        if first in ("if", "when", "whenever", "while"):
            return not any(t.kind in v.JOINS or t.kind in v.OTHER for t in self.tokens)
        return len(self.tokens) <= v.SHORT.get(first, 0)

    def _kinds(self, piece: Piece) -> list[str]:
        return [t.kind for t in self.tokens[piece.start : piece.end]]

    def _corrects(self, piece: Piece) -> bool:
        figure = any(t.is_figure for t in self.tokens[piece.start :])
        return corrects(self._kinds(piece), figure=figure, opens=piece.start == 0)

    def _tells_of_others(self, piece: Piece) -> bool:
        """True for words without a term on what others do, or what was: what stands beside them
        may be theirs.
        """
        if piece.action not in (UNREAD, IDLE, "other"):
            return False
        kinds = self._kinds(piece)
        # "My wife and I would like ..." speaks for the writer too.
        if [t.kind for t in self.tokens[piece.end : piece.end + 2]] in (
            ["and", "i"],
            ["and", "me"],
        ):
            return False
        story = of_others(kinds) or (piece.action == UNREAD and of_once(kinds))
        if piece.action == "other" and "old" not in kinds:
            return story or kinds[0] in ("last", "this", "i", "we")
        return story

    def _may_bend(self, piece: Piece) -> bool:
        """False for a clause that plainly speaks of something else; one that starts with a figure
        leans on what stands before it.
        """
        kinds = {t.kind for t in self.tokens[piece.start : piece.end]}
        first = self.tokens[piece.start]
        leans = first.is_figure or first.kind in v.TOLD or bool(kinds & v.BENDS)
        # "People set a cap of 100 and a stop loss of 5%": both are theirs.
        behind = [t.kind for t in self.tokens[piece.end : piece.end + 2]]
        leans = leans or (behind[:1] == ["and"] and behind[-1] in v.SAME_SUBJECT)
        # "500 USDC with Bob": what is linked belongs to what was said.
        linked = (p for p in self.pieces if p.action == "link" and p.end == piece.start)
        leans = leans or any(self.tokens[p.end - 1].kind == "with" for p in linked)
        return leans or not kinds & v.OTHER or self._carries_on(piece)

    def _carries_on(self, piece: Piece) -> bool:
        """True where what others do goes on behind "and": "some people set a cap of 100 and a stop
        loss of 5%".
        """
        kinds = [t.kind for t in self.tokens[piece.start : piece.end + 2]]
        joined = piece.end + 1 < len(self.tokens) and kinds[-2] in ("and", "&", "or")
        return joined and not v.PEOPLE.isdisjoint(kinds[:-2]) and kinds[-1] not in v.OWN

    def drop(self, why: str) -> None:
        """Leave the whole sentence unread."""
        self.why = self.why or why

    def tell(self, reading: Reading) -> None:
        """Add what the sentence says to the reading."""
        said = self._stated(self.readings[0])
        others = tuple(s for path in self.readings[1:] for s in self._stated(path))
        if self.why:
            whole = Piece(UNREAD, 0, len(self.tokens))
            if said or self.strange or self._speaks(whole):
                parts = tuple(s for s in (*said, *others) if s.action != "other")
                reading.unread.append(self._unread(whole, self.why, parts))
            return
        for one in said:
            (reading.unrelated if one.action == "other" else reading.statements).append(one)
        for piece in self.pieces:
            if piece.action == UNREAD and self._speaks(piece):
                reading.unread.append(self._unread(piece, "it is not read whole", ()))

    def _stated(self, path: Path) -> list[Statement]:
        """What the phrases of a reading say."""
        return [
            Statement(
                SAYS.get(p.action, p.action),
                self._text(p),
                self.tokens[p.start].start,
                self._figure(p),
            )
            for p in path.pieces
            if p.action not in QUIET
        ]

    def _unread(self, piece: Piece, why: str, parts: tuple[Statement, ...]) -> Unread:
        terms = self._terms(piece)
        return Unread(self._text(piece), why, self.tokens[piece.start].start, terms, parts)

    def _text(self, piece: Piece) -> str:
        """The note's own words."""
        return self.note[self.tokens[piece.start].start : self.tokens[piece.end - 1].end]

    def _figure(self, piece: Piece) -> Token | None:
        tokens = self.tokens[piece.start : piece.end]
        return next((t for t in tokens if t.is_figure or t.kind == MARKET), None)

    def _speaks(self, piece: Piece) -> bool:
        """True for words that hold a figure, a number word or a word of the terms."""
        return any(
            t.is_figure
            or t.kind == MARKET
            or t.kind in v.SPEAKS
            or t.kind in v.VAGUE
            or self._paired(at)
            or self._lasts(at, piece.start)
            for at, t in enumerate(self.tokens[piece.start : piece.end], piece.start)
        ) or self._rules_out(piece)

    def _rules_out(self, piece: Piece) -> bool:
        """True for "do not trade any perps": a kind of market that is not to be used."""
        kinds = set(self._kinds(piece))
        return bool(kinds & v.NEGATED and kinds & v.MARKET_KINDS)

    def _paired(self, at: int) -> bool:
        """True for `per day`, `each trade` and their like."""
        kind = self.tokens[at].kind
        before = self.tokens[at - 1].kind if at else ""
        return before in ("per", "each", "every", "/") and (kind == "day" or kind in v.ACTS)

    def _lasts(self, at: int, start: int) -> bool:
        """True for the week of `for a week` and `over the next month`."""
        near = {t.kind for t in self.tokens[max(start, at - 3) : at]}
        return self.tokens[at].kind in v.LENGTHS and bool(near & v.LASTING)

    def _terms(self, piece: Piece) -> tuple[str, ...]:
        """The terms that the words speak of; none where they name something that is no term."""
        tokens = self.tokens[piece.start : piece.end]
        if any(t.kind in v.OTHER for t in tokens):
            return ()
        found: dict[str, None] = {}
        figure = any(t.is_figure or t.kind in v.VAGUE for t in tokens)
        for at, t in enumerate(tokens, piece.start):
            named = v.SPEAKS.get(t.kind, ()) or (v.LEANS.get(t.kind, ()) if figure else ())
            found.update(dict.fromkeys(named))
            if t.kind in v.ACTS and at > piece.start and self.tokens[at - 1].kind in v.EACH:
                found[v.TX] = None
            if t.kind in (SPAN, DATE):
                found[v.DAYS] = None
            if t.kind == MARKET:
                found[v.MARKETS] = None
        if v.FLOOR in found and tokens[0].kind in v.CONDITIONS:
            found[v.ON_FLOOR] = None  # what happens there
        if self._rules_out(piece):
            found[v.MARKETS] = None
        return tuple(found) or self._guessed(tokens)

    def _guessed(self, tokens: Sequence[Token]) -> tuple[str, ...]:
        """The terms of a figure with no word of a term beside it; none where a strange word says
        that it is about something else.
        """
        known = self.known.automaton.words
        if any(is_word(t) and t.kind not in known and t.kind not in v.RESERVED for t in tokens):
            return ()
        kinds = {t.kind for t in tokens}
        if kinds & {MONEY, NUM, BAD} or kinds & v.VAGUE:
            return (v.BUDGET,)
        return (v.FLOOR, v.FEE) if PCT in kinds else ()
