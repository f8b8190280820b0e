"""From amounts to a plane: a scale, and ticks at round figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from domain.money import MICROS

STEPS: Final = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500)
MOST_TICKS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Micro-USDC between `low` and `high`, drawn between `bottom` and `top` (tenths of a unit)."""

    low: int
    high: int
    bottom: int
    top: int

    def at(self, micros: int) -> int:
        """The position of an amount, in tenths of a unit."""
        return self.bottom - (self.bottom - self.top) * (micros - self.low) // (
            self.high - self.low
        )

    def ticks(self) -> list[int]:
        """Round amounts within the scale, at most five."""
        unit = MICROS
        while (self.high - self.low) // (unit * STEPS[-1]) > MOST_TICKS:
            unit *= 10
        step = next(
            (unit * s for s in STEPS if (self.high - self.low) // (unit * s) < MOST_TICKS),
            unit * STEPS[-1],
        )
        first = -(-self.low // step) * step
        return list(range(first, self.high + 1, step))


def around(amounts: list[int], *, bottom: int, top: int) -> Scale:
    """A scale with some room above and below; amounts in micro-USDC."""
    low, high = min(amounts), max(amounts)
    room = max((high - low) * 12 // 100, MICROS)
    return Scale(low=low - room, high=high + room, bottom=bottom, top=top)


def tenths(value: int) -> str:
    """A coordinate as SVG takes it."""
    lead, remainder = ("-" if value < 0 else ""), abs(value)
    return (
        f"{lead}{remainder // 10}.{remainder % 10}"
        if remainder % 10
        else f"{lead}{remainder // 10}"
    )
