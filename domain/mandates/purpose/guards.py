"""What keeps a phrase from being read where its words stand in another sense."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.tokens import MARKET, PCT, Token

if TYPE_CHECKING:
    from domain.mandates.purpose.paths import Path

_UNSAID: Final = frozenset({"idle", "unread", "other"})
_GIVEN: Final = frozenset(
    {"budget", "span", "week", "fortnight", "month", "year", "markets", "until"}
)


def is_topic(tokens: Sequence[Token], at: int, paths: Sequence[Path]) -> bool:
    """True for the market that a report is on, or that somebody has money in already."""
    kind = tokens[at - 1].kind if at and tokens[at].kind == MARKET else tokens[at].kind
    if kind not in v.WITHIN and kind not in v.PUT:
        return False
    last = [path.pieces[-1] for path in paths if path.pieces]
    if any(piece.action == "talk" for piece in last):
        return True
    if any(t.kind in v.TOPICS for t in tokens[max(0, at - 4) : at]):
        return True
    begun = [{t.kind for t in tokens[max(0, p.start - 1) : p.start + 2]} for p in last]
    return any(kinds & v.THERE and kinds & v.HOLDS for kinds in begun)


def goes_on(tokens: Sequence[Token], at: int, end: int) -> bool:
    """True for "I like music and spend 5 USDC a day": what follows is what he does."""
    behind = [t.kind for t in tokens[end : end + 2]]
    first = tokens[at].kind
    return first in v.SPEAKERS and behind[:1] == ["and"] and behind[-1] in v.DEEDS


def excused(tokens: Sequence[Token], end: int) -> bool:
    """True for the "sorry" that ends what is denied, and corrects nothing: "no fee, sorry"."""
    return end == len(tokens) and not v.DENIED.isdisjoint(t.kind for t in tokens)


def answers(tokens: Sequence[Token], at: int, paths: Sequence[Path]) -> bool:
    """True for the reply of "you have a week to reply": the time is one for that alone."""
    if tokens[at].kind != "to" or at + 1 == len(tokens) or tokens[at + 1].kind in v.AT_WORK:
        return False
    given = [p.pieces[-1] for p in paths if p.said[-1][0] in v.TIME_GIVEN]
    return any({t.kind for t in tokens[p.start : p.end]} & v.HAS for p in given)


def for_one(tokens: Sequence[Token], at: int, end: int) -> bool:
    """True for "no more than 5 on a single trade": it caps a trade, whatever the money is for."""
    kinds = [t.kind for t in tokens[at:end]]
    on_one = any(
        kinds[n] in v.WITHIN and kinds[n + 1] in v.EACH and kinds[n + 2] in v.ACTS
        for n in range(len(kinds) - 2)
    )
    return on_one or any(a == "single" and b in v.ACTS for a, b in pairwise(kinds))


def is_half_of_a_split(tokens: Sequence[Token], at: int, end: int) -> bool:
    """True for "split between Morpho and my bank": what is shared goes to more than the market."""
    named = [t for t in tokens[at:end] if t.kind == MARKET]
    between = any(t.kind in v.BETWEEN for t in tokens[at:end])
    return between and any(len(t.markets) < 2 for t in named)


def is_headed(tokens: Sequence[Token], at: int) -> bool:
    """True behind a colon: what stands before it is what the words are about."""
    return at > 0 and tokens[at - 1].kind == ":"


def granted(tokens: Sequence[Token], paths: Sequence[Path]) -> bool:
    """True behind an amount, a time or a market that is given, not one that is denied."""
    for path in paths:
        if not path.said or path.said[-1][0] not in _GIVEN:
            return False
        said = [t.kind for t in tokens[path.pieces[0].start : path.pieces[-1].end]]
        if v.NEGATED & set(said):
            return False
    return True


def spoken_of(tokens: Sequence[Token], at: int) -> bool:
    """True for "bro spends 50 USDC a day": he is told of, and not spoken to."""
    return at > 0 and tokens[at].kind in v.DOES and tokens[at - 1].kind in v.FOLK


def behind_terms(path: Path) -> bool:
    """True where all that stands before it in the sentence was read, and some of it says a term."""
    return bool(path.said) and all(piece.action not in _UNSAID for piece in path.pieces)


def is_made(tokens: Sequence[Token], at: int, end: int) -> bool:
    """True for the profit of "earn a 10% profit" and "get 10% profit": no share of a gain."""
    kinds = [t.kind for t in tokens[at:end]]
    if kinds[0] == PCT and at and tokens[at - 1].kind in ("a", "an"):
        return True
    if kinds[-1] not in v.GAINED or kinds[-2:-1] != [PCT]:
        return False
    return len(kinds) == 2 or kinds[:-2] in v.MADE


def of_which(tokens: Sequence[Token], at: int, end: int) -> bool:
    """True for "of which 50 a day": it is a part of what stands before it."""
    return any(
        one.kind in ("of", "from") and two.kind == "which" for one, two in pairwise(tokens[at:end])
    )
