"""The phrases of every module, compiled into one automaton."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from domain.mandates.purpose.automaton import Automaton
from domain.mandates.purpose.phrases import (
    ACTIONS,
    asking,
    chains,
    courtesy,
    endings,
    ends,
    fees,
    giving,
    handing,
    limits,
    lines,
    preamble,
    shares,
    sums,
    tersely,
    where,
)
from domain.mandates.purpose.phrases.macros import MACROS
from domain.mandates.purpose.phrases.others import OTHERS
from domain.mandates.purpose.phrases.parts import PARTS


@dataclass(frozen=True, slots=True)
class Grammar:
    """The automaton, and the action of each of its phrases."""

    automaton: Automaton
    actions: tuple[str, ...]


@lru_cache(1)
def grammar() -> Grammar:
    """The phrases, compiled once."""
    phrases = [(action, line) for action, text in ACTIONS.items() for line in lines(text)]
    built = Automaton(
        [line for _, line in phrases],
        {
            **MACROS,
            **OTHERS,
            **PARTS,
            **limits.PARTS,
            **asking.PARTS,
            **giving.PARTS,
            **preamble.PARTS,
            **where.PARTS,
            **chains.PARTS,
            **fees.PARTS,
            **handing.PARTS,
            **endings.PARTS,
            **courtesy.PARTS,
            **sums.PARTS,
            **ends.PARTS,
            **shares.PARTS,
            **tersely.PARTS,
        },
    )
    return Grammar(built, tuple(action for action, _ in phrases))
