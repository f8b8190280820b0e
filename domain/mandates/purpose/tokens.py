"""A token of a note: a word, a stop, or a figure with what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MONEY: Final = "MONEY"
NUM: Final = "NUM"
PCT: Final = "PCT"
BPS: Final = "BPS"
SPAN: Final = "SPAN"
DATE: Final = "DATE"
MARKET: Final = "MARKET"
BAD: Final = "FIGURE"
FIGURES: Final = frozenset({MONEY, NUM, PCT, BPS, SPAN, DATE, BAD})


@dataclass(frozen=True, slots=True)
class Token:
    """One word, stop or figure. Units of `value`: micro-USDC, basis points or days; `start`,
    `end` are places in the note.
    """

    kind: str
    start: int
    end: int
    value: int | None = None
    why: str = ""
    markets: tuple[str, ...] = ()

    @property
    def is_figure(self) -> bool:
        """True for an amount, a share, a number, a span or a date, certain or not."""
        return self.kind in FIGURES
