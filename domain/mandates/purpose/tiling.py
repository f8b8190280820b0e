"""A sentence tiled with phrases: every word of it in one of them, or in a clause that is not read.

The tiling with the fewest unread words is the reading; two that say different things are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from domain.mandates.purpose import guards
from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.automaton import DEAD
from domain.mandates.purpose.grammar import Grammar
from domain.mandates.purpose.paths import (
    AMOUNTS,
    APPOSED,
    BEHIND,
    CAPS,
    CAPS_TOO,
    DATED,
    DONE_THERE,
    IDLE,
    IN_TIME,
    JOIN,
    LEANING,
    QUIET,
    SAME,
    SAYS,
    SHARED,
    SPENDS,
    STOPPED,
    TIMES,
    UNREAD,
    WISHED,
    Path,
    Piece,
    aims,
    behind_a_budget,
    behind_a_cap,
    behind_buying,
    behind_purpose,
    behind_something_else,
    behind_words,
    floor_is_last,
    last,
    last_said,
    leans_on_a_budget,
    says_a_budget,
    says_less,
    sets_floor,
    stops,
)
from domain.mandates.purpose.places import (
    BEHIND_FLOOR,
    CHAINS,
    ELSE,
    FOR,
    FROM,
    IF,
    INTRO,
    LOOSE,
    NEED,
    OPEN,
    PARTS_OF,
    SAID,
    UNDONE,
)
from domain.mandates.purpose.tokens import MARKET, PCT, Token

MAX_PHRASE: Final = 28
MAX_READINGS: Final = 3
_Price = tuple[int, int]


def is_word(token: Token) -> bool:
    """True for a word of the note, as against a figure, a market or a stop."""
    return token.kind[:1].isalpha() and token.kind.islower()


class Tiling:
    """All cheapest tilings of one sentence that say different things; `steps` counts the work."""

    def __init__(self, known: Grammar, tokens: Sequence[Token], behind_floor: bool = False):
        self.known, self.tokens, self.behind_floor = known, tokens, behind_floor
        self.steps = len(tokens)
        self._best: list[dict[str, tuple[_Price, list[Path]]]] = [{} for _ in tokens]
        self._best.append({})
        self._best[0][OPEN] = ((0, 0), [Path()])
        clause_ends = self._clause_ends()
        for at in range(len(tokens)):
            if self._best[at]:
                self._leave(at, clause_ends[at])
        self.readings = self._cheapest()

    def figure(self, piece: Piece) -> Token | None:
        """The one figure, or the markets, of a phrase."""
        tokens = self.tokens[piece.start : piece.end]
        return next((t for t in tokens if t.is_figure or t.kind == MARKET), None)

    def _clause_ends(self) -> list[int]:
        """For each place the next joining word, or the end."""
        ends = [len(self.tokens)] * (len(self.tokens) + 1)
        for at in range(len(self.tokens) - 1, -1, -1):
            ends[at] = at if self.tokens[at].kind in v.JOINS else ends[at + 1]
        return ends

    def _leave(self, at: int, clause_end: int) -> None:
        """Every way on from a place."""
        found = self._phrases(at)
        kind = self.tokens[at].kind
        for way, (price, paths) in list(self._best[at].items()):
            joined = kind in v.JOINS and way not in UNDONE
            if way == INTRO and kind == "and":
                # "We're a family and spend 50 a day": what has no subject of its own is theirs.
                joined = self.tokens[min(at + 1, len(self.tokens) - 1)].kind in v.SUBJECTS
            if joined or (way in (FOR, SAID, NEED, INTRO) and kind == ":"):
                self._reach(OPEN, price, paths, Piece(JOIN, at, at + 1))
            for end, action in found:
                to = self._behind(way, action, at, end, paths)
                if to:
                    self._reach(to, price, paths, Piece(action, at, end))
            if way == OPEN and clause_end > at:
                idle = self._is_idle(at, clause_end) and not guards.goes_on(
                    self.tokens, at, clause_end
                )
                unread, said_nothing = price
                length = clause_end - at
                dearer = (
                    (unread, said_nothing + length) if idle else (unread + length, said_nothing)
                )
                self._reach(LOOSE, dearer, paths, Piece(IDLE if idle else UNREAD, at, clause_end))

    def _phrases(self, at: int) -> list[tuple[int, str]]:
        """(end, action) of every phrase that starts here."""
        automaton, actions = self.known.automaton, self.known.actions
        state, out = automaton.start, []
        for place in range(at, min(len(self.tokens), at + MAX_PHRASE)):
            token = self.tokens[place]
            self.steps += 1
            state = automaton.step(
                state, token.kind, token.kind not in v.RESERVED and is_word(token)
            )
            if state == DEAD:
                break
            ends = automaton.accepts[state]
            out += [(place + 1, action) for action in dict.fromkeys(actions[e] for e in ends)]
        return out

    def _behind(self, way: str, action: str, at: int, end: int, paths: list[Path]) -> str:
        """Which place a phrase leads to, or an empty text where it cannot stand here."""
        if action == "whole_of":
            fits = way == IF or (way == SAID and all(map(floor_is_last, paths)))
            return way if fits else ""
        if action == "markets_split" and guards.is_half_of_a_split(self.tokens, at, end):
            return ""
        if action in SHARED and not self._may_share(at, end, paths):
            return ""
        if way == FROM and action in PARTS_OF:
            return "" if self._risks(at, end) else SAID
        if action in CHAINS or way in UNDONE:
            return CHAINS.get(action, {}).get(way, "")
        if action in BEHIND_FLOOR:
            fits = any(sets_floor(p) or (self.behind_floor and not p.said) for p in paths)
            return SAID if way == OPEN and fits else ""
        if action in QUIET:
            # "Spend 7 USDC on a single trade" is no budget for a single trade.
            one = action == "about" and (
                self._is_one_act(end) or guards.for_one(self.tokens, at, end)
            )
            return "" if one else self._behind_quiet(way, action, at, end, paths)
        barred = (
            self._barred_by_place(way, action, at, end, paths)
            or self._barred_by_what_was_said(action, at, end, paths)
            or self._barred_by_its_words(way, action, at, end, paths)
        )
        if barred:
            return ""
        return {"other": ELSE, "other_apposed": OPEN}.get(action, SAID)

    def _barred_by_place(self, way: str, action: str, at: int, end: int, paths: list[Path]) -> bool:
        """True where no phrase like it can stand at this place."""
        kind = self.tokens[at].kind
        return (
            way in (LOOSE, NEED, INTRO)
            or (way == FOR and kind not in v.CONNECTS)
            or way == ELSE
            or (action == "budget" and self._is_one_act(end))
            # What is risked of a whole may be what it loses: "risk at most 2% of it per trade".
            or (action in CAPS and self._risks(at, end))
            or (action == "ask_never" and any(self._bounded(path) for path in paths))
            # "25 USDC a day, up to 500": the day belongs to the figure before it.
            or (action in ("tx", "day") and self._is_unit(at) and any(map(says_a_budget, paths)))
            or (action == "budget_bare" and way != OPEN)
            # A figure behind words without a sense may be theirs: "coffee is dear, 5 USDC a day".
            or (self.tokens[at].is_figure and not all(self._may_be_bare(p, action) for p in paths))
            or (kind in LEANING and any(map(behind_something_else, paths)))
            or (kind not in v.GIVES and any(last(p) in APPOSED for p in paths))
        )

    def _barred_by_what_was_said(self, action: str, at: int, end: int, paths: list[Path]) -> bool:
        """True for what has to lean on something that was said, and does not."""
        kind = self.tokens[at].kind
        return (
            # "My savings, split between A and B": what is split has to be what was given.
            (guards.of_which(self.tokens, at, end) and not all(map(guards.behind_terms, paths)))
            or (
                action == "markets"
                and at
                and kind in v.PUT
                and not all(map(guards.behind_terms, paths))
            )
            or (action == "tx_each" and not all(map(behind_a_budget, paths)))
            or (action == "markets" and guards.is_half_of_a_split(self.tokens, at, end))
            or guards.spoken_of(self.tokens, at)
            or (kind == "worth" and not all(last_said(p) == "markets" for p in paths))
            or (action == "tx_one" and not all(map(behind_buying, paths)))
            or (kind in v.ALLOWS and any(map(behind_words, paths)))
            # "Budget: nothing above 500 USDC" is about the budget.
            or (kind == "nothing" and action == "tx" and guards.is_headed(self.tokens, at))
            or (action in SPENDS and any(last(p) == "must" for p in paths))
            # "Remuneration: up to 50 USDC" is no budget.
            or (action in (*SPENDS, "aim") and any(last(p) == "label" for p in paths))
            or (self.tokens[at].is_figure and any(last(p) == "label" for p in paths))
            or (action not in WISHED and any(last(p) == "wish" for p in paths))
            or (action == "budget_of" and not all(leans_on_a_budget(p) for p in paths))
            or (action in IN_TIME and not all(map(aims, paths)))
        )

    def _barred_by_its_words(
        self, way: str, action: str, at: int, end: int, paths: list[Path]
    ) -> bool:
        """True where its words, behind these, mean something else."""
        kind = self.tokens[at].kind
        return (
            # "Positions may stay open until Friday" is no end of the mandate.
            (action in DATED and any(last(p) in DONE_THERE for p in paths))
            or (action == "budget" and kind == "worth" and last(paths[0]) != "markets")
            or (action == "fee" and guards.is_made(self.tokens, at, end))
            or (action in CAPS_TOO and not all(map(behind_a_cap, paths)))
            or (action == "budget_cap" and not self._caps_a_budget(way, at, paths))
            # "No more than 5 on a single trade" caps a trade, whatever the money is for.
            or (action == "budget" and guards.for_one(self.tokens, at, end))
            # "Trade size: 25" is no size of all of it.
            or (action == "budget" and kind == "size" and self.tokens[at - 1].kind in v.ACTS)
            or (action == "other_apposed" and way != OPEN)
            or (action == "markets" and guards.is_topic(self.tokens, at, paths))
            or (action == "budget" and kind == "to" and any(last(p) == "ask_never" for p in paths))
            or (action in ("other", "ask_always", "ask_never") and way != OPEN)
            # "100 USDC a week" is an amount in a time, not an amount and a time.
            or (action in TIMES and way != OPEN and kind in ("a", "an", "one"))
            or (
                action in ("tx_or", "day_or", "budget_or")
                and not all(self._negated(p) for p in paths)
            )
            or (action in ("close_then", "keep_then") and not any(map(sets_floor, paths)))
        )

    def _risks(self, at: int, end: int) -> bool:
        """True for a share that is to be risked, and not one that is never to be."""
        kinds = {t.kind for t in self.tokens[at:end]}
        return {"risk", PCT} <= kinds and not kinds & v.NEGATED

    def _may_share(self, at: int, end: int, paths: list[Path]) -> bool:
        """True for "10% per trade, 30% per day" behind nothing that shares of a loss or a gain may
        belong to.
        """
        before = {t.kind for t in self.tokens[:at]}
        kinds = {t.kind for t in self.tokens[at:end]}
        # "I don't want to risk more than 8% of my 1,250 USDC per trade": what a trade may lose.
        mine = {"risk", PCT} <= kinds and kinds & v.SUBJECTS
        # "Pay 1% of my 600 USDC a day" is a price.
        told = before & v.SHARED or mine or "pay" in kinds or self._risks(at, end)
        return not told and all(self._may_be_bare(p, "tx") for p in paths)

    def _is_unit(self, at: int) -> bool:
        """True where "per trade", "a day" or "in any one go" begins."""
        at += self.tokens[at].kind in v.UNITS_BEHIND
        return at < len(self.tokens) and self.tokens[at].kind in v.UNITS

    def _bounded(self, path: Path) -> bool:
        """True behind "up to 50 USDC per trade,": what may be done so is not all."""
        said = [p for p in path.pieces if p.action != JOIN]
        if not said:
            return False
        kinds = [t.kind for t in self.tokens[said[-1].start : said[-1].end]]
        return bool(v.BOUNDS & set(kinds if said[-1].action == "tx" else kinds[:2]))

    def _is_one_act(self, end: int) -> bool:
        """True behind the words `single trade` and their like."""
        before, last = self.tokens[max(0, end - 2) : end][0].kind, self.tokens[end - 1].kind
        return last in v.ACTS and before in v.ONE_OF

    def _behind_quiet(self, way: str, action: str, at: int, end: int, paths: list[Path]) -> str:
        if action == "link":
            kind = self.tokens[at].kind
            theirs = kind == "with" and any(last(p) == "other" for p in paths)
            return OPEN if (way == SAID and not theirs) or (way == INTRO and kind == "so") else ""
        if action == "reason":
            return INTRO if way == SAID and guards.granted(self.tokens, paths) else ""
        if action == "sorry":
            return SAID if way in (SAID, INTRO) and guards.excused(self.tokens, end) else ""
        if action == "wait_then":
            stopped = way in (OPEN, SAID) and all(map(stops, paths))
            return SAID if stopped or (self.behind_floor and at == 0) else ""
        if action == "waits":
            stopped = all(p.said and p.said[-1][0] in STOPPED for p in paths)
            return SAID if way == SAID and stopped else ""
        if action in ("manner", "closing"):
            return SAID if way == SAID else ""
        if action == "about":
            fits = all(p.said and p.said[-1][0] in AMOUNTS for p in paths)
            fits = fits and not guards.answers(self.tokens, at, paths)
            return SAID if way == SAID and fits else ""
        allows = action == "lead" and [t.kind for t in self.tokens[at : at + 2]] in v.AND_MAY
        if allows and any(map(behind_words, paths)):
            return ""
        return BEHIND[action] if way == OPEN else ""

    def _may_be_bare(self, path: Path, action: str) -> bool:
        """A mere amount is the budget at the start of a sentence or behind something read, not
        behind words without a sense: "Coffee is dear, 5 USDC a day", "I'm a smoker, 5 USDC a day".
        """
        last = path.pieces[-2:]
        if any(p.action in (IDLE, UNREAD) for p in last) or len(last) < 2 or last[1].action != JOIN:
            return not any(p.action in (IDLE, UNREAD) for p in last)
        first, joint = last[0].action, self.tokens[last[1].start].kind
        if first == "ground":
            return False
        if first == "intro":
            return joint == ":" or (joint != "and" and action not in ("tx", "day"))
        return first != "other" or joint != "and"

    def _negated(self, path: Path) -> bool:
        """True behind a cap that is said as what must not be: there "or" adds a second one."""
        said = [p for p in path.pieces[-2:] if p.action != JOIN]
        if not said:
            return False
        last = said[-1]
        tokens = self.tokens[last.start : last.end]
        return last.action in ("tx", "day", "budget") and any(t.kind in v.NEGATED for t in tokens)

    def _caps_a_budget(self, way: str, at: int, paths: list[Path]) -> bool:
        """True for "up to 50 USDC" behind what the money is for; not behind what an agent does
        alone, nor behind what each of several things may cost.
        """
        if not (way == FOR or all(map(behind_purpose, paths))):
            return False
        before = {t.kind for t in self.tokens[max(0, at - MAX_PHRASE) : at]}
        near = {t.kind for t in self.tokens[max(0, at - 2) : at]}
        return not before & v.ALONE and not near & (v.SEVERAL | v.SIZES)

    def _is_idle(self, start: int, end: int) -> bool:
        """True for words that say nothing of a term and bend nothing."""
        return all(is_word(t) and t.kind not in v.RESERVED for t in self.tokens[start:end])

    def _reach(self, way: str, price: _Price, paths: list[Path], piece: Piece) -> None:
        """Note that a place can be reached, if no dearer than before and if it says more."""
        there = self._best[piece.end].get(way)
        if there is not None and there[0] < price:
            return
        kept = there[1] if there is not None and there[0] == price else []
        for path in paths:
            said = path.said if piece.action in QUIET else (*path.said, self._saying(piece))
            if len(kept) < MAX_READINGS and all(said != k.said for k in kept):
                kept.append(Path((*path.pieces, piece), said))
        self._best[piece.end][way] = (price, kept)

    def _saying(self, piece: Piece) -> tuple[str, int]:
        figure = self.figure(piece)
        action = SAYS.get(piece.action, piece.action)
        return SAME.get(action, action), figure.start if figure else -1

    def _cheapest(self) -> list[Path]:
        ends = [there for way, there in self._best[-1].items() if way not in UNDONE]
        least = min(price for price, _ in ends)
        found: dict[tuple[tuple[str, int], ...], Path] = {}
        for price, paths in ends:
            if price == least:
                for path in paths:
                    found.setdefault(path.said, path)
        return [p for p in found.values() if not says_less(p, found.values())]
