"""The places of a sentence that a phrase may stand in, and what has to follow what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Places of a sentence: OPEN is its start, and what is behind a joining word; SAID is behind a
# statement; FOR behind words on what the money is for; LOOSE behind a clause without a statement;
# NEED behind what somebody needs, which only a comma or a colon may follow.
# IF is behind a condition that no consequence follows yet, and FIRST behind a consequence whose
# condition is still to come: no sentence ends there.
# AIM is behind "make 5% on": what is at work has to follow. GROW is behind "turn my 500 USDC", LEFT
# and LOST behind "once 400": what it becomes, or what it is a part of, has to follow; LEFT_LAST and
# LOST_LAST are the same behind a consequence. SUM and SUM_LAST are behind "if my 1000 USDC", MADE
# behind "make 600". SPLIT is behind "split 500 USDC": the markets have to follow. NAMED is behind
# "the budget for", WHERE behind that and a market.
# INTRO is behind who speaks, or why: a clause of its own follows. ELSE is behind what is about
# something else: what follows it without a joining word belongs to it ("my sister lost 5% in 6
# months").
OPEN, SAID, FOR, LOOSE, NEED, IF, FIRST = (
    "open", "said", "for", "loose", "need", "if", "first",
)  # fmt: skip
AIM, GROW, LEFT, LOST, LEFT_LAST, LOST_LAST, SUM, SUM_LAST, MADE = (
    "aim", "grow", "left", "lost", "left last", "lost last", "sum", "sum last", "made",
)  # fmt: skip
SPLIT, NAMED, WHERE, INTRO, ELSE = ("split", "named", "where", "intro", "else")
# TX_PART and DAY_PART are behind "10%", TX_SUM and DAY_SUM behind "10% of the 600 USDC": what the
# part is for has to follow. FROM is behind "from my 600 USDC": a part of it has to follow. OF is
# behind "no trade above 5%": what that is of has to follow.
TX_PART, DAY_PART, TX_SUM, DAY_SUM, FROM, OF = (
    "tx part", "day part", "tx sum", "day sum", "from", "of",
)  # fmt: skip
# Actions that stand in no other place than these, and where each leads to: only all of them
# together say something.
CHAINS: Final[Mapping[str, Mapping[str, str]]] = {
    "lost_if": {OPEN: IF, FIRST: SAID},
    "left_if": {OPEN: IF, FIRST: SAID},
    "stop_if": {OPEN: FIRST, IF: SAID},
    "close_if": {OPEN: FIRST, IF: SAID},
    "keep_if": {OPEN: FIRST, IF: SAID},
    "part_left": {OPEN: LEFT, FIRST: LEFT_LAST},
    "rest_left": {LEFT: IF, LEFT_LAST: SAID},
    "part_lost": {OPEN: LOST, FIRST: LOST_LAST},
    "rest_lost": {LOST: IF, LOST_LAST: SAID},
    "aim_on": {OPEN: AIM},
    "gain_on": {OPEN: AIM},
    "budget_on": {AIM: SAID},
    "grow_from": {OPEN: GROW},
    "grow_to": {GROW: SAID},
    "grow_by": {GROW: SAID},
    "sum_if": {OPEN: SUM, FIRST: SUM_LAST},
    "sinks_to": {SUM: IF, SUM_LAST: SAID},
    "sinks_by": {SUM: IF, SUM_LAST: SAID},
    "make_from": {OPEN: MADE},
    "made_from": {MADE: SAID},
    "budget_split": {OPEN: SPLIT},
    "markets_split": {SPLIT: SAID},
    "budget_for": {OPEN: NAMED},
    "markets_for": {NAMED: WHERE},
    "budget_is": {WHERE: SAID},
    "tx_part": {OPEN: TX_PART},
    "day_part": {OPEN: DAY_PART},
    "tx_of": {OPEN: OF},
    "lost_of": {OPEN: OF},
    "whole_part": {TX_PART: TX_SUM, DAY_PART: DAY_SUM, OF: SAID},
    "tx_unit": {TX_SUM: SAID},
    "day_unit": {DAY_SUM: SAID},
    "budget_from": {OPEN: FROM},
}
UNDONE: Final = frozenset(
    {
        IF,
        FIRST,
        AIM,
        GROW,
        LEFT,
        LOST,
        LEFT_LAST,
        LOST_LAST,
        SUM,
        SUM_LAST,
        MADE,
        SPLIT,
        NAMED,
        WHERE,
        TX_PART,
        DAY_PART,
        TX_SUM,
        DAY_SUM,
        FROM,
        OF,
    }
)
# What may be said of a part of "my 600 USDC".
PARTS_OF: Final = frozenset({"tx", "tx_share", "day", "day_share", "lost"})
# What may only follow a stop line, in its sentence or as the first of the next.
BEHIND_FLOOR: Final = frozenset({"close_after", "keep_after", "stop_then"})
