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
        "intro",
        "apposed",
        "reason",
        "stop_if",
        "stop_then",
        "tx_unit",
        "day_unit",
        JOIN,
        IDLE,
        UNREAD,
    }
)
AMOUNTS: Final = frozenset(
    {"budget", "tx", "day", "span", "week", "fortnight", "month", "year", "markets"}
)
TIMES: Final = frozenset({"span", "week", "fortnight", "month", "year"})
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
# A second share behind "at most 10% a day and": a mere share may be anything elsewhere.
FURTHER: Final = frozenset({"tx_share_and", "day_share_and"})
# A time that is a length only behind what is to be gained in it.
GAINED_IN: Final = frozenset({"span_in", "week_in", "month_in", "year_in"})
AT_STOP: Final = frozenset(
    {"keep_then", "keep_after", "keep_if", "keep_there"}
    | {"close_then", "close_after", "close_if", "close_there"}
)
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
    "keep_if": "keep_there",
    "part_left": "left",
    "part_lost": "lost",
    "aim_on": "aim",
    "gain_on": "aim_money",
    "budget_on": "budget",
    "budget_split": "budget",
    "markets_split": "markets",
    "markets_for": "markets",
    "markets_shared": "markets",
    "budget_is": "budget",
    "other_apposed": "other",
    "grow_from": "budget",
    "grow_by": "aim",
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
    "whole_part": "budget_of",
    "budget_from": "budget",
    "tx_part": "tx",
    "tx_of": "tx",
    "lost_of": "lost",
    "day_part": "day",
    "tx_share_and": "tx_share",
    "day_share_and": "day_share",
}
BEHIND: Final = {
    "lead": OPEN,
    "must": OPEN,
    "wish": OPEN,
    "purpose": FOR,
    "need": NEED,
    "talk": SAID,
    "intro": INTRO,
    "apposed": OPEN,
}
SAME: Final = {
    "budget_bare": "budget",
    "budget_of": "budget",
    "budget_cap": "budget",
    "close_then": "close_there",
    "keep_then": "keep_there",
    "tx_each": "tx",
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


def behind_something_else(path: Path) -> bool:
    """True behind a clause that is not read, or about something else, and a joining word."""
    actions = [p.action for p in path.pieces[-2:]]
    return actions[-1:] == [JOIN] and actions[0] in (UNREAD, "other")


def behind_a_budget(path: Path) -> bool:
    """True where nothing but a budget stands right before, behind a joining word."""
    actions = [p.action for p in path.pieces[-2:]]
    return actions[-1:] == [JOIN] and actions[0] in ("budget", "budget_bare")


def behind_a_cap(path: Path) -> bool:
    """True right behind a cap that is a share of the budget, and a joining word."""
    actions = [SAYS.get(p.action, p.action) for p in path.pieces[-2:]]
    return actions[-1:] == [JOIN] and actions[0] in ("tx_share", "day_share")


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


def aims(path: Path) -> bool:
    """True behind a target, and what is at work for it."""
    return any(said in ("aim", "aim_money", "aim_to") for said, _ in path.said[-2:])


def last(path: Path) -> str:
    """The action of the last piece."""
    return path.pieces[-1].action if path.pieces else ""


def leans_on_a_budget(path: Path) -> bool:
    """True where "of 500 USDC" tells what the figure before it is a part of."""
    return bool(path.said) and path.said[-1][0] in MEASURED


def behind_purpose(path: Path) -> bool:
    """True behind what the money is for, and a comma."""
    return [p.action for p in path.pieces[-2:]] == ["purpose", JOIN]
