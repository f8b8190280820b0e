"""One UTC day of a mandate, as it adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

SCALE: Final = 10**18
SUMS: Final = (
    "inflow",
    "outflow",
    "trades",
    "claimed_trades",
    "claimed_net",
    "claimed_fees",
    "calls",
)


@dataclass(frozen=True, slots=True)
class Day:
    """What one UTC day of a mandate adds up to: a row of the daily roll-ups.

    Units: micro-USDC; `factor` is the return chained over the day's sub-periods, SCALE where
    nothing was won or lost.
    Shapes: `start` and `worth` are the measured worth at its begin and its end; `stood` and `held`
    what was in positions then, `most` the most that a result of the day is over. `calls` are the
    executed ones, `trades` those that moved money. The `claimed_*` figures are the agent's.
    `put_in` is deposits - withdrawals, `deposited` deposits alone, from the first day to the end of
    this one. `spent` is what the day's rows took out, by the UTC day of their blocks: the cap of a
    day counts by that one, and a row may be stored on a later.
    `venue` are live orders at the venue, by network: what was realized less fees, how many filled
    first on this day, and their volume; no part of the other figures.
    """

    day: str
    start: int
    worth: int
    inflow: int = 0
    outflow: int = 0
    factor: int = SCALE
    trades: int = 0
    claimed_trades: int = 0
    claimed_net: int = 0
    claimed_fees: int = 0
    stood: int = 0
    held: int = 0
    most: int = 0
    calls: int = 0
    put_in: int = 0
    deposited: int = 0
    spent: tuple[tuple[str, int], ...] = ()
    venue: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def net(self) -> int:
        """Worth change - net deposits (contract 8)."""
        return self.worth - self.start - self.inflow + self.outflow

    def as_json(self) -> list[Any]:
        """The values in the order of the fields."""
        return [getattr(self, f.name) for f in fields(self)]

    @classmethod
    def from_json(cls, told: Sequence[Any]) -> Day:
        """Read `as_json`'s form back; a figure that a day was stored without is as at first."""
        values = dict(zip((f.name for f in fields(cls)), told, strict=False))
        by_day = tuple((day, micros) for day, micros in values.get("spent", ()))
        return cls(**(values | {"spent": by_day}))


def joined(first: Day, then: Day) -> Day:
    """Two days as one, which has the later one's name."""
    added = {name: getattr(first, name) + getattr(then, name) for name in SUMS}
    spent, venue = dict(first.spent), dict(first.venue)
    for day, micros in then.spent:
        spent[day] = spent.get(day, 0) + micros
    for network, more in then.venue.items():
        before = venue.get(network, (0, 0, 0))
        venue[network] = [a + b for a, b in zip(before, more, strict=True)]
    return replace(
        then,
        **added,
        start=first.start,
        stood=first.stood,
        factor=first.factor * then.factor // SCALE,
        most=max(first.most, then.most),
        spent=tuple(sorted(spent.items())),
        venue=venue,
    )
