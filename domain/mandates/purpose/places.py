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
# "the budget for", WHERE behind that and a market. LOSS is behind "a maximum loss of 3%", where "on
# 500 USDC" follows; SHARES behind "10% per trade," where "30% per day" follows;
# TX_PART behind "10%", TX_WHOLE behind "of its 600 USDC", where "per trade" follows.
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
# RISKED and ALLOWED are behind "I won't lose more than 5%" and "at most 5%", FALL behind "the most
# drawdown on" and FALLEN behind its sum, BACK behind "from the 500", GONE behind "when half": the
# rest has to follow. PART_BACK is behind "I want at least 400", LET behind "never let the 500".
PART_BACK, LET = ("part back", "let")
RISKED, ALLOWED, FALL, FALLEN, BACK, GONE, GONE_LAST = (
    "risked", "allowed", "fall", "fallen", "back", "gone", "gone last",
)  # fmt: skip
LOSS, SHARES, TX_PART, DAY_PART, TX_WHOLE, DAY_WHOLE = (
    "loss", "shares", "tx part", "day part", "tx whole", "day whole",
)  # fmt: skip
# DAY_SUM is behind "10% of the 600 USDC", where "on any day" follows.
# FROM is behind "from my 600 USDC": a part of it has to follow. OF is behind "no trade above 5%":
# what that is of has to follow.
DAY_SUM, FROM, OF = ("day sum", "from", "of")
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
    "grow_more": {GROW: SAID},
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
    "part_risked": {OPEN: RISKED},
    "risked_of": {RISKED: SAID},
    "part_allowed": {OPEN: ALLOWED},
    "allowed_of": {ALLOWED: SAID},
    "fall_on": {OPEN: FALL},
    "fall_sum": {FALL: FALLEN},
    "fall_is": {FALLEN: SAID},
    "back_from": {OPEN: BACK},
    "back_kept": {BACK: SAID},
    "part_back": {OPEN: PART_BACK},
    "back_of": {PART_BACK: SAID},
    "let_sum": {OPEN: LET},
    "let_fall": {LET: SAID},
    "share_gone": {OPEN: GONE, FIRST: GONE_LAST},
    "sum_gone": {GONE: IF, GONE_LAST: SAID},
    "loss_of": {OPEN: LOSS},
    "loss_on": {LOSS: SAID},
    "shares": {OPEN: SHARES},
    "tx_part": {OPEN: TX_PART},
    "day_part": {OPEN: DAY_PART},
    "tx_of": {OPEN: OF},
    "lost_of": {OPEN: OF},
    "part_of": {TX_PART: TX_WHOLE, DAY_PART: DAY_WHOLE, OF: SAID},
    "part_the": {TX_PART: TX_WHOLE, DAY_PART: DAY_SUM, OF: SAID},
    "day_on": {DAY_SUM: SAID, DAY_WHOLE: SAID},
    "tx_unit": {TX_WHOLE: SAID},
    "day_unit": {DAY_WHOLE: SAID},
    "shares_day": {SHARES: SAID},
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
        RISKED,
        ALLOWED,
        FALL,
        FALLEN,
        BACK,
        PART_BACK,
        LET,
        GONE,
        GONE_LAST,
        LOSS,
        SHARES,
        TX_PART,
        DAY_PART,
        TX_WHOLE,
        DAY_WHOLE,
        DAY_SUM,
        FROM,
        OF,
    }
)
# What may be said of a part of "my 600 USDC".
PARTS_OF: Final = frozenset({"tx", "tx_share", "day", "day_share", "lost"})
# What may only follow a stop line, in its sentence or as the first of the next.
BEHIND_FLOOR: Final = frozenset({"close_after", "keep_after", "stop_then"})
