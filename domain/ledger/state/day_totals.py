"""Day totals: the sums of one UTC day of a mandate, by block time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

SCALE: Final = 10**18

# A gain on less than 1 USDC, or than a hundredth of the worth, is chained into no return: on dust
# any return could be made, and would then be shown over real money.
DUST: Final = 1_000_000
DUST_OF_WORTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DayTotals:
    """One UTC day of the measured book.

    Units: micro-USDC; `factor` is the return chained over the day's intervals, SCALE where nothing
    was won or lost, `result` their sum.
    Shapes: `start` and `worth` are the worth at its begin and its end; `measured` is false where
    positions were open that no observation had valued, so that `worth` has them at cost. `stood`
    and `held` are what was in positions then; `capital` the most that a result of the day is over,
    as it was before that result. `calls` are the executed ones, `trades` those that moved money.
    `put_in` is deposits - withdrawals, `deposited` deposits alone, from the first day to the end of
    this one. `spent` counts against the cap of the day, gross; `largest` is its largest action.
    """

    day: str
    start: int = 0
    worth: int = 0
    measured: bool = True
    inflow: int = 0
    outflow: int = 0
    result: int = 0
    factor: int = SCALE
    capital: int = 0
    stood: int = 0
    held: int = 0
    trades: int = 0
    calls: int = 0
    spent: int = 0
    largest: int = 0
    put_in: int = 0
    deposited: int = 0

    @property
    def net(self) -> int:
        """Worth change - net deposits (contract 8)."""
        return self.worth - self.start - self.inflow + self.outflow

    @property
    def weight(self) -> int:
        """The capital that the day's result is over beside other mandates: what stood at its begin
        where there was none.

        A chained return of several intervals is over the one capital that gives it for their sum,
        where both are of one sign.
        """
        if self.result == 0 and self.factor == SCALE:
            return self.stood
        won = self.factor - SCALE
        if won * self.result > 0:
            return max(1, self.result * SCALE // won)
        return self.capital


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledDay(DayTotals):
    """A day as it is stored: with what the agent claimed on it, and live orders at the venue.

    Shapes: `venue` by network: what was realized less fees, how many filled first on this day, and
    their volume; no part of the other figures, and neither are the `claimed_*` ones.
    """

    claimed_trades: int = 0
    claimed_net: int = 0
    claimed_fees: int = 0
    venue: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The flows since the worth was last known (contract 8's sub-period). Micro-USDC.

    Shapes: `base` is the worth at its begin and `stood` what was in positions then; `at_cost` the
    same with later buys and sells at their price, `max_at_cost` its maximum; `last` is the maximum
    of the last interval in which anything was in positions.
    """

    base: int = 0
    stood: int = 0
    at_cost: int = 0
    max_at_cost: int = 0
    inflow: int = 0
    outflow: int = 0
    last: int = 0

    def with_movement(
        self, *, deposited: int, withdrawn: int, spent: int, received: int
    ) -> Interval:
        """The interval with one more movement in it."""
        at_cost = max(0, self.at_cost + spent - received)
        return replace(
            self,
            at_cost=at_cost,
            max_at_cost=max(self.max_at_cost, at_cost),
            inflow=self.inflow + deposited,
            outflow=self.outflow + withdrawn,
        )

    def capital(self, result: int) -> int:
        """The capital that the interval's result is divided by: the positions at its begin, before
        the result; where there were none, the cost of those opened since; else all the money that
        may have been there, as for the fee of an agent.

        Idle cash beside positions is no part of it, and neither is any figure that holds the
        result, so that no outcome weighs itself. A loss is never larger than what it is over: where
        the positions cannot have lost so much, it came out of the money beside.
        """
        beside = max(self.last, self.base + self.inflow)
        over = self.stood if self.stood >= self.dust else self.max_at_cost or beside
        if -result > over:
            over = -result if over < self.max_at_cost else max(over, beside)
        return max(1, over)

    @property
    def dust(self) -> int:
        """Below it a gain counts as a result, but is chained into no return."""
        return max(DUST, self.base // DUST_OF_WORTH)

    def next(self, worth: int, positions: int) -> Interval:
        """The interval that begins where this one ends."""
        return Interval(
            base=worth,
            stood=positions,
            at_cost=positions,
            max_at_cost=positions,
            last=self.max_at_cost or self.last,
        )


BEGUN: Final = Interval()


def end_interval(
    day: DayTotals, interval: Interval, worth: int, positions: int
) -> tuple[DayTotals, Interval]:
    """End an interval at a moment when the worth is known, and chain its return into the day's."""
    result = worth - interval.base - interval.inflow + interval.outflow
    following = interval.next(worth, positions)
    if result == 0:
        return day, following
    over = interval.capital(result)
    if result > 0 and over < interval.dust:
        return day, following
    part = max(0, SCALE * (over + result) // over)
    ended = replace(
        day,
        result=day.result + result,
        factor=day.factor * part // SCALE,
        capital=max(day.capital, over),
    )
    return ended, following
