"""A note cut into clauses, each read whole or not at all.

A sentence is tiled: phrases, the words that join them, and clauses that say nothing of the terms. The tiling with the fewest
unread words is the reading; two tilings that say different things are none. An unread clause takes its sentence with it, because
it may bend what stands beside it, unless it plainly speaks of something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Final

from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.automaton import DEAD, Automaton
from domain.mandates.purpose.language import foreign
from domain.mandates.purpose.phrases import ACTIONS, MACROS, OTHER_MACROS
from domain.mandates.purpose.words import BAD, DATE, MARKET, MONEY, NUM, PCT, SPAN, Token, tokens_of

MAX_SENTENCE: Final = 90
MAX_PHRASE: Final = 28
MAX_READINGS: Final = 3
QUIET: Final = frozenset({"talk", "lead", "purpose", "about", "manner"})
AMOUNTS: Final = frozenset(
    {"budget", "tx", "day", "span", "week", "fortnight", "month", "year", "markets"}
)
NEGATED: Final = frozenset({"no", "not", "never", "don't", "nothing"})
SETS_FLOOR: Final = frozenset({"lost", "left", "line", "half_lost"})
TIMES: Final = frozenset({"span", "week", "fortnight", "month", "year"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing a clause says: the action that its phrase stands under, and the figure or markets in it."""

    action: str
    text: str
    start: int
    figure: Token | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """A clause that was not read, why, the terms its words speak of, and what its parts would have said alone."""

    text: str
    why: str
    start: int
    terms: tuple[str, ...] = ()
    parts: tuple[Statement, ...] = ()


@dataclass(slots=True)
class Reading:
    """What a note says, what of it was not read, what is about something else; `steps` counts the work."""

    statements: list[Statement] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    unrelated: list[Statement] = field(default_factory=list)
    steps: int = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a sentence: `action` of its phrase, "join", "free" or "bad"."""

    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Path:
    """One way to tile a sentence up to a place."""

    pieces: tuple[_Piece, ...] = ()
    said: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Grammar:
    automaton: Automaton
    actions: tuple[str, ...]


@lru_cache(1)
def grammar() -> _Grammar:
    """The phrases, compiled once."""
    lines = [
        (action, line.strip())
        for action, text in ACTIONS.items()
        for line in text.strip().splitlines()
    ]
    built = Automaton([line for _, line in lines], {**MACROS, **OTHER_MACROS})
    return _Grammar(built, tuple(action for action, _ in lines))


def read(note: str, *, today: date, market_names: Mapping[str, str]) -> Reading:
    """Read a note. Shapes: `market_names` is market id to name. Cost: linear in the note."""
    text = tokens_of(note, market_names, today)
    known = grammar()
    known.automaton.fresh()
    reading = Reading()
    strange = text.strange or foreign(
        (t.kind for t in text.tokens if t.kind[:1].isalpha() and t.kind.islower()),
        known.automaton.words,
    )
    sentences = [
        _Sentence(note, known, tokens, asked, strange)
        for tokens, asked in _sentences(note, text.tokens)
    ]
    for one in sentences:
        reading.steps += one.read()
    if not strange and any(s.takes_back for s in sentences):
        for one in sentences:
            one.drop("the note takes something back, or does not mean what it says")
    for before, one in zip(sentences, sentences[1:], strict=False):
        if one.bends:
            before.drop("the sentence after it changes what it says")
    for one in sentences:
        one.tell(reading)
    return reading


def _sentences(note: str, tokens: Sequence[Token]) -> list[tuple[list[Token], bool]]:
    """The sentences with whether each is a question. Dots after `max` and dashes inside `per-trade` are no stops."""
    out: list[tuple[list[Token], bool]] = []
    now: list[Token] = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else None
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        tight = (
            before is not None
            and before.end == token.start
            and after is not None
            and token.end == after.start
        )
        if (
            token.kind == "-"
            and tight
            and before is not None
            and (before.kind[:1].isalpha() or before.is_figure)
        ):
            continue
        if (
            token.kind == "."
            and before is not None
            and before.kind in ("max", "min", "approx", "incl", "excl", "tx", "no")
        ):
            if (
                before.end == token.start
                and after is not None
                and after.kind != "\n"
                and before.kind != "no"
            ):
                continue
        if token.kind in v.STOPS:
            if now:
                out.append((now, token.kind == "?"))
            now = []
        else:
            now.append(token)
    if now:
        out.append((now, False))
    return out


class _Sentence:
    """One sentence on its way from tokens to pieces."""

    def __init__(self, note: str, known: _Grammar, tokens: list[Token], asked: bool, strange: str):
        self.note, self.known, self.tokens = note, known, tokens
        self.why = strange or ("it is a question" if asked else "")
        self.pieces: tuple[_Piece, ...] = ()
        self.readings: list[_Path] = []
        self.takes_back = self.bends = False

    # -- tiling

    def read(self) -> int:
        """Tile the sentence; returns the steps that it took."""
        if not self.why and len(self.tokens) > MAX_SENTENCE:
            self.why = f"it is longer than {MAX_SENTENCE} words"
        if self.why:
            self.pieces = (_Piece("bad", 0, len(self.tokens)),)
            return len(self.tokens)
        steps = self.tile()
        self.pieces = self.readings[0].pieces
        unread = [p for p in self.pieces if p.action == "bad"]
        words = {t.kind for p in unread for t in self.tokens[p.start : p.end]}
        self.takes_back = bool(words & v.TAKEN_BACK)
        self.bends = (
            bool(unread)
            and unread[0].start == 0
            and not self.about_other(unread[0])
            and self.tokens[0].kind in v.BENDS
        )
        if len(self.readings) > 1:
            self.why = "it can be read in two ways"
        else:
            self.why = self.bent(unread)
        return steps

    def bent(self, unread: list[_Piece]) -> str:
        """Why the unread clauses make the others of the sentence unsure, or an empty text."""
        if all(p.action in ("bad", "free", "join") or p.action in QUIET for p in self.pieces):
            return ""
        for piece in unread:
            if not self.about_other(piece):
                return f"“{self.text(piece.start, piece.end)}” in it is not read"
        return ""

    def about_other(self, piece: _Piece) -> bool:
        """True for a clause that names something that is no term; one that starts with a figure leans on what stands before."""
        tokens = self.tokens[piece.start : piece.end]
        return not tokens[0].is_figure and any(t.kind in v.OTHER for t in tokens)

    def tile(self) -> int:
        n = len(self.tokens)
        steps = n
        # A place is reached in one of four ways: at the start or behind a joining word ("open"), behind a statement ("said"),
        # behind words on what the money is for ("for"), behind a clause that says nothing ("free").
        best: list[dict[str, tuple[tuple[int, int], list[_Path]]]] = [{} for _ in range(n + 1)]
        best[0]["open"] = ((0, 0), [_Path()])
        stops = [i for i in range(n) if self.tokens[i].kind in v.JOINS] + [n]
        next_stop = 0
        for at in range(n):
            while stops[next_stop] < at:
                next_stop += 1
            if not best[at]:
                continue
            found, cost = self.phrases(at)
            steps += cost
            for way, (price, paths) in list(best[at].items()):
                if self.tokens[at].kind in v.JOINS or (
                    way == "for" and self.tokens[at].kind == ":"
                ):
                    self.reach(best, at + 1, "open", price, paths, _Piece("join", at, at + 1))
                for end, action in found:
                    to = self.follows(way, action, at, paths)
                    if to:
                        self.reach(best, end, to, price, paths, _Piece(action, at, end))
                if way == "open" and stops[next_stop] > at:
                    end = stops[next_stop]
                    free = self.free(at, end)
                    extra = (0, end - at) if free else (end - at, 0)
                    dearer = (price[0] + extra[0], price[1] + extra[1])
                    self.reach(
                        best, end, "free", dearer, paths, _Piece("free" if free else "bad", at, end)
                    )
        ends = [best[n][way] for way in ("open", "said", "for", "free") if way in best[n]]
        cheapest = min(price for price, _ in ends)
        for price, paths in ends:
            if price == cheapest:
                for path in paths:
                    if path.said not in [r.said for r in self.readings]:
                        self.readings.append(path)
        return steps

    def reach(
        self, best: list[dict[str, tuple[tuple[int, int], list[_Path]]]], end: int, way: str, price: tuple[int, int],
        paths: list[_Path], piece: _Piece,
    ) -> None:  # fmt: skip
        """Note that a place can be reached, if that is no dearer than before and says something else."""
        there = best[end].get(way)
        if there is not None and there[0] < price:
            return
        kept = there[1] if there is not None and there[0] == price else []
        for path in paths:
            said = (
                path.said
                if piece.action in QUIET or piece.action in ("join", "free", "bad")
                else (*path.said, self.saying(piece))
            )
            if len(kept) < MAX_READINGS and all(said != k.said for k in kept):
                kept.append(_Path((*path.pieces, piece), said))
        best[end][way] = (price, kept)

    def saying(self, piece: _Piece) -> tuple[str, int]:
        figure = self.figure(piece)
        return ("budget" if piece.action == "budget_bare" else piece.action), (
            figure.start if figure else -1
        )

    def phrases(self, at: int) -> tuple[list[tuple[int, str]], int]:
        """(end, action) of every phrase that starts here, and the steps taken."""
        automaton, actions = self.known.automaton, self.known.actions
        state, place, out = automaton.start, at, []
        last = min(len(self.tokens), at + MAX_PHRASE)
        while place < last:
            kind = self.tokens[place].kind
            state = automaton.step(
                state,
                kind,
                kind not in v.RESERVED and (kind == "url" or kind[:1].isalpha() and kind.islower()),
            )
            place += 1
            if state == DEAD:
                break
            ends = automaton.accepts[state]
            if ends:
                out += [(place, action) for action in dict.fromkeys(actions[e] for e in ends)]
        return out, place - at

    def follows(self, way: str, action: str, at: int, paths: list[_Path]) -> str:
        """How the place behind a phrase is reached, or an empty text where the phrase cannot stand here."""
        if action in QUIET:
            if action in ("about", "manner"):
                fits = action == "manner" or all(p.said and p.said[-1][0] in AMOUNTS for p in paths)
                return "said" if way == "said" and fits else ""
            return (
                {"lead": "open", "purpose": "for", "talk": "said"}[action] if way == "open" else ""
            )
        if way == "free":
            return ""
        if way == "for" and self.tokens[at].kind not in v.CONNECTS:
            return ""
        if action == "budget_bare" and (way != "open" or not self.may_be_bare(paths)):
            return ""
        if action in ("other", "ask_always") and way != "open":
            return ""
        # "100 USDC a week" is an amount in a time, not an amount and a time.
        if action in TIMES and way != "open" and self.tokens[at].kind in ("a", "an", "one"):
            return ""
        if action in ("tx_or", "day_or") and not all(self.negated(p) for p in paths):
            return ""
        if action in ("close_then", "keep_then") and not any(
            a in SETS_FLOOR for p in paths for a, _ in p.said[-1:]
        ):
            return ""
        return "said"

    def negated(self, path: _Path) -> bool:
        """True behind a cap that is said as what must not be: there "or" adds a second one."""
        last = path.pieces[-1] if path.pieces else None
        if last is None or last.action not in ("tx", "day"):
            return False
        return any(t.kind in NEGATED for t in self.tokens[last.start : last.end])

    def may_be_bare(self, paths: list[_Path]) -> bool:
        """A mere amount is the budget at the start of a sentence or behind something read, not behind words without a sense."""
        return all(
            p.action != "free" and p.action != "bad" for path in paths[:1] for p in path.pieces[-2:]
        )

    def free(self, start: int, end: int) -> bool:
        """True for words that say nothing of a term and bend nothing."""
        return all(
            not t.is_figure
            and t.kind != MARKET
            and t.kind not in v.RESERVED
            and t.kind[:1].isalpha()
            for t in self.tokens[start:end]
        )

    # -- telling

    def text(self, start: int, end: int) -> str:
        """The note's own words."""
        return self.note[self.tokens[start].start : self.tokens[end - 1].end]

    def figure(self, piece: _Piece) -> Token | None:
        """The one figure, or the markets, of a phrase."""
        return next(
            (t for t in self.tokens[piece.start : piece.end] if t.is_figure or t.kind == MARKET),
            None,
        )

    def drop(self, why: str) -> None:
        """Leave the whole sentence unread."""
        self.why = self.why or why

    def stated(self) -> list[Statement]:
        """What the phrases of the sentence say."""
        silent = (*QUIET, "join", "free", "bad")
        return [
            Statement(
                p.action, self.text(p.start, p.end), self.tokens[p.start].start, self.figure(p)
            )
            for p in self.pieces
            if p.action not in silent
        ]

    def tell(self, reading: Reading) -> None:
        """Add what the sentence says to the reading."""
        said = self.stated()
        if self.why:
            if said or self.speaks(0, len(self.tokens)):
                self.whole(reading, said)
            return
        for one in said:
            (reading.unrelated if one.action == "other" else reading.statements).append(one)
        for piece in self.pieces:
            if piece.action == "bad" and self.speaks(piece.start, piece.end):
                about = self.about_other(piece)
                why = "it speaks of something that is no term" if about else "it is not read whole"
                terms = () if about else self.terms(piece.start, piece.end)
                reading.unread.append(
                    Unread(
                        self.text(piece.start, piece.end),
                        why,
                        self.tokens[piece.start].start,
                        terms,
                        self.alternatives(),
                    )
                )

    def whole(self, reading: Reading, said: list[Statement]) -> None:
        """The sentence as one clause that was not read."""
        others = all(s.action == "other" for s in said) and any(
            t.kind in v.OTHER for t in self.tokens
        )
        terms = () if others else self.terms(0, len(self.tokens))
        parts = tuple(s for s in said if s.action != "other")
        unread = Unread(
            self.text(0, len(self.tokens)),
            self.why,
            self.tokens[0].start,
            terms,
            (*parts, *self.alternatives()),
        )
        reading.unread.append(unread)

    def alternatives(self) -> tuple[Statement, ...]:
        """What the other readings of a sentence with two would say."""
        found = []
        for path in self.readings[1:]:
            for p in path.pieces:
                if p.action not in QUIET and p.action not in ("join", "free", "bad", "other"):
                    found.append(
                        Statement(
                            p.action,
                            self.text(p.start, p.end),
                            self.tokens[p.start].start,
                            self.figure(p),
                        )
                    )
        return tuple(found)

    def speaks(self, start: int, end: int) -> bool:
        """True for words that hold a figure, a number word or a word of the terms."""
        return any(
            t.is_figure
            or t.kind == MARKET
            or t.kind in v.SPEAKS
            or t.kind in v.VAGUE
            or self.paired(at)
            for at, t in enumerate(self.tokens[start:end], start)
        )

    def paired(self, at: int) -> bool:
        """True for `per day`, `each trade` and their like."""
        kind = self.tokens[at].kind
        return (
            at > 0
            and self.tokens[at - 1].kind in ("per", "each", "every", "/")
            and (kind == "day" or kind in v.ACTS)
        )

    def terms(self, start: int, end: int) -> tuple[str, ...]:
        """The terms that the words speak of."""
        tokens = self.tokens[start:end]
        found: dict[str, None] = {}
        figure = any(t.is_figure or t.kind in v.VAGUE for t in tokens)
        for at, t in enumerate(tokens, start):
            named = v.SPEAKS.get(t.kind, ()) or (v.LEANS.get(t.kind, ()) if figure else ())
            found.update(dict.fromkeys(named))
            if t.kind in v.ACTS and at > start and self.tokens[at - 1].kind in v.EACH:
                found[v.TX] = None
            if t.kind in (SPAN, DATE):
                found[v.DAYS] = None
            if t.kind == MARKET:
                found[v.MARKETS] = None
        if not found:
            found.update(dict.fromkeys(self.guessed(tokens)))
        return tuple(found)

    def guessed(self, tokens: Sequence[Token]) -> tuple[str, ...]:
        """The terms of a figure with no word of a term beside it; none where a strange word says that it is about something else."""
        if any(
            t.kind[:1].isalpha()
            and t.kind.islower()
            and t.kind not in self.known.automaton.words
            and t.kind not in v.RESERVED
            for t in tokens
        ):
            return ()
        kinds = {t.kind for t in tokens}
        if kinds & {MONEY, NUM, BAD} or kinds & v.VAGUE:
            return (v.BUDGET,)
        return (v.FLOOR, v.FEE) if PCT in kinds else ()
