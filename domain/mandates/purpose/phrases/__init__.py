"""The phrases that are read, by what they say: the whole of what a note can state.

A phrase holds at most one figure. Every word of a clause has to stand in a phrase, negation
included; a phrase that could mean two things stands under two actions, or under one that says so.
Notation: `automaton`; a phrase goes on in lines that are set in deeper. Figures are MONEY (a
currency is named), NUM (a mere number), PCT, BPS, SPAN, DATE; MARKET is a listed market, and W any
word that does nothing to a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from domain.mandates.purpose.phrases import (
    agent,
    around,
    asking,
    budget,
    caps,
    chains,
    courtesy,
    daily,
    endings,
    ends,
    fees,
    frames,
    giving,
    handing,
    length,
    limits,
    opening,
    preamble,
    shares,
    stopping,
    sums,
    tersely,
    where,
)

_DEEPER: Final = " " * 12
_PARTS: Final = (
    budget,
    caps,
    daily,
    stopping,
    agent,
    length,
    around,
    frames,
    limits,
    asking,
    giving,
    preamble,
    where,
    chains,
    fees,
    handing,
    endings,
    courtesy,
    opening,
    sums,
    ends,
    shares,
    tersely,
)


def _together() -> Mapping[str, str]:
    """The phrases of every module; an action may stand in several."""
    out: dict[str, str] = {}
    for part in _PARTS:
        for action, text in part.PHRASES.items():
            out[action] = out.get(action, "") + text
    return out


ACTIONS: Final[Mapping[str, str]] = _together()


def lines(text: str) -> list[str]:
    """The phrases of one action."""
    out: list[str] = []
    for line in text.strip("\n").splitlines():
        if line.startswith(_DEEPER):
            out[-1] += " " + line.strip()
        elif line.strip():
            out.append(line.strip())
    return out
