"""One way to tile a sentence, what the actions of its phrases stand for, and what stands behind
what in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain.mandates.purpose import vocabulary as v
from domain.mandates.purpose.places import FOR, INTRO, NEED, OPEN, SAID

UNREAD: Final = "unread"
JOIN: Final = "join"
IDLE: Final = "idle"
QUIET: Final = frozenset(
    {
        "talk",
        "lead",
        "must",
        "wish",
        "link",
        "closing",
        "purpose",
        "need",
        "about",
        "budget_for",
        "manner",
        "waits",
        "intro",
        "fall_on",
        "ground",
        "label",
        "sorry",
        "wait_then",
        "apposed",
        "reason",
        "stop_if",
        "stop_then",
        "tx_unit",
        "day_unit",
        "day_on",
        JOIN,
        IDLE,
        UNREAD,
    }
)
AMOUNTS: Final = frozenset(
    {"budget", "tx", "day", "span", "week", "fortnight", "month", "year", "markets"}
)
# What says when the mandate ends, and what is done at a stop line: of its positions, not of it.
DONE_THERE: Final = v.words(
    "close_there keep_there close_then keep_then close_if keep_if close_after keep_after wait_then"
)
# How long a target is aimed at.
IN_TIME: Final = frozenset({"span_in", "week_in", "month_in", "year_in"})
TIMES: Final = frozenset({"span", "week", "fortnight", "month", "year"})
DATED: Final = TIMES | {"until", "before"}
# What "you must" makes an order of, not a limit: "you must spend 50 USDC a day".
SPENDS: Final = frozenset({"budget", "tx", "day", "tx_share", "day_share"})
# What may follow "I want to": of the rest the writer would be the one who does it.
WISHED: Final = frozenset({"budget", "lost", "day", "tx"})
MEASURED: Final = frozenset({"lost", "left", "tx_share", "day_share", "tx", "day", "half_lost"})
SETS_FLOOR: Final = frozenset({"lost", "left", "line", "half_lost"})
# A clause that begins so may speak of what the one before it does: "my lease is short and lasts
# 12 days".
LEANING: Final = v.words(
    "it it's its that that's this they they're which who lasts last lasting ends ending runs "
    "running goes going expires finishes stops stays is are for until till by within over"
)
CAPS: Final = frozenset({"tx", "day", "tx_share", "day_share"})
# Behind these an agent waits for its owner, and asks for nothing.
STOPPED: Final = SETS_FLOOR | {"close_there", "keep_there"}
# Shares of the budget that no word calls a limit.
SHARED: Final = frozenset({"shares", "tx_part", "day_part", "tx_label", "day_label"})
CAPS_TOO: Final = frozenset({"tx_share_too", "day_share_too"})
APPOSED: Final = frozenset({"apposed", "other_apposed"})
# What an action says, where it has a name of its own only for the place that it may stand in.
SAYS: Final = {
    "lost_if": "lost",
    "left_if": "left",
    "close_if": "close_there",
    "span_in": "span",
    "week_in": "week",
    "month_in": "month",
    "year_in": "year",
    "part_risked": "lost",
    "part_allowed": "lost",
    "risked_of": "budget_of",
    "allowed_of": "budget_of",
    "fall_sum": "budget_of",
    "fall_is": "lost",
    "back_from": "budget_of",
    "back_kept": "left",
    "share_gone": "lost",
    "part_back": "left",
    "back_of": "budget_of",
    "let_sum": "budget_of",
    "let_fall": "left",
    "sum_gone": "budget_of",
    "keep_if": "keep_there",
    "part_left": "left",
    "part_lost": "lost",
    "aim_on": "aim",
    "gain_on": "aim_money",
    "budget_on": "budget",
    "budget_split": "budget",
    "markets_split": "markets",
    "markets_for": "markets",
    "budget_is": "budget",
    "other_apposed": "other",
    "grow_from": "budget",
    "grow_by": "aim",
    "grow_more": "aim_money",
    "grow_to": "aim_to",
    "sum_if": "budget_of",
    "sinks_to": "left",
    "sinks_by": "lost",
    "make_from": "aim_to",
    "made_from": "budget_of",
    "close_after": "close_there",
    "keep_after": "keep_there",
    "rest_left": "budget_of",
    "rest_lost": "budget_of",
    "whole_of": "budget_of",
    "loss_of": "lost",
    "loss_on": "budget_of",
    "shares": "tx_share",
    "tx_part": "tx_share",
    "tx_label": "tx_share",
    "day_label": "day_share",
    "day_part": "day_share",
    "part_of": "budget_of",
    "part_the": "budget_of",
    "tx_share_too": "tx_share",
    "day_share_too": "day_share",
    "shares_day": "day_share",
    "budget_from": "budget",
    "tx_of": "tx_share",
    "lost_of": "lost",
}
BEHIND: Final = {
    "lead": OPEN,
    "must": OPEN,
    "wish": OPEN,
    "purpose": FOR,
    "need": NEED,
    "talk": SAID,
    "intro": INTRO,
    "ground": INTRO,
    "label": OPEN,
    "apposed": OPEN,
}
SAME: Final = {
    "budget_bare": "budget",
    "budget_of": "budget",
    "budget_cap": "budget",
    "close_then": "close_there",
    "keep_then": "keep_there",
    "tx_each": "tx",
    "tx_one": "tx",
    "tx_share": "tx",
    "day_share": "day",
}
_SAID_PLAINLY: Final = frozenset({("no_fee", -1), ("close_there", -1), ("keep_there", -1)})


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a sentence and the action of its phrase; JOIN, IDLE or UNREAD have none."""

    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Path:
    """One way to tile a sentence up to a place; `said` is what tells it from another."""

    pieces: tuple[Piece, ...] = ()
    said: tuple[tuple[str, int], ...] = ()


def says_less(path: Path, found: Iterable[Path]) -> bool:
    """True where another reading says the same, and that there is no fee or what is sold, in words
    that this one takes for a purpose: "work for free".
    """
    less = set(path.said)
    fuller = [set(p.said) for p in found if all(piece.action != "purpose" for piece in p.pieces)]
    return any(less < more and more - less <= _SAID_PLAINLY for more in fuller)


def behind_a_cap(path: Path) -> bool:
    """True behind a cap and a joining word: "at most 10% per day and 2% per trade"."""
    actions = [p.action for p in path.pieces[-2:]]
    return actions[-1:] == [JOIN] and actions[0] in CAPS


def behind_something_else(path: Path) -> bool:
    """True behind a clause that is not read, or about something else, and a joining word."""
    actions = [p.action for p in path.pieces[-2:]]
    return actions[-1:] == [JOIN] and actions[0] in (UNREAD, "other")


def behind_words(path: Path) -> bool:
    """True at the start, and behind a clause that is not read, says nothing, or is about something
    else: who may spend may stand in it.
    """
    before = next((p.action for p in reversed(path.pieces) if p.action != JOIN), "")
    return before in ("", UNREAD, IDLE, "other", "intro", "talk", "ground", "sorry")


def behind_a_budget(path: Path) -> bool:
    """True where nothing but a budget stands right before, behind a joining word."""
    actions = [p.action for p in path.pieces[-2:]]
    return actions[-1:] == [JOIN] and actions[0] in ("budget", "budget_bare")


def behind_buying(path: Path) -> bool:
    """True right behind what is to be bought, or what for, and a joining word."""
    actions = [p.action for p in path.pieces[-2:] if p.action != "about"]
    return actions[-1:] == [JOIN] and last_said(path) == "markets"


def last_said(path: Path) -> str:
    """The action of what was said last, or an empty text."""
    return path.said[-1][0] if path.said else ""


def says_a_budget(path: Path) -> bool:
    """True right behind an amount that no unit stands behind yet."""
    return last(path) in ("budget", "budget_bare")


def floor_is_last(path: Path) -> bool:
    """True right behind a stop line."""
    return bool(path.said) and path.said[-1][0] in SETS_FLOOR


def sets_floor(path: Path) -> bool:
    """True behind a stop line, and the budget that it is a part of."""
    said = [action for action, _ in path.said[-2:]]
    return bool(said) and (
        said[-1] in SETS_FLOOR or (said[-1] == "budget" and said[0] in SETS_FLOOR)
    )


def stops(path: Path) -> bool:
    """True behind what is done at a stop line."""
    said = [action for action, _ in path.said[-2:]]
    before = last(path) in ("stop_if", "stop_then") or sets_floor(path)
    return before or said[-1:] in (["close_there"], ["keep_there"])


def aims(path: Path) -> bool:
    """True behind a target, and what is at work for it."""
    return any(said in ("aim", "aim_money", "aim_to") for said, _ in path.said[-2:])


def last(path: Path) -> str:
    """The action of the last piece."""
    return path.pieces[-1].action if path.pieces else ""


def leans_on_a_budget(path: Path) -> bool:
    """True where "of 500 USDC" tells what the figure before it is a part of, or the days behind
    that figure.
    """
    said = [action for action, _ in path.said]
    if said[-1:] and said[-1] in TIMES:
        said.pop()
    return said[-1:] != [] and said[-1] in MEASURED


def behind_purpose(path: Path) -> bool:
    """True behind what the money is for, and a comma."""
    return [p.action for p in path.pieces[-2:]] == ["purpose", JOIN]
