"""Costs measured side by side: short turns that stand in each other's place, and the middle ratio."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

Turn = Callable[[], Awaitable[float]]
"""One turn; what a unit of its work cost: seconds, of the clock or of the processor."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the rounds found: of each name its cost in every round."""

    of: Mapping[str, list[float]]

    def ratio(self, name: str, over: str) -> float:
        """The middle of the rounds' ratios: what disturbs a round is in that round's alone."""
        pairs = zip(self.of[name], self.of[over], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    def middle(self, name: str) -> float:
        """The middle cost."""
        return statistics.median(self.of[name])


def merged(parts: Sequence[Costs]) -> Costs:
    """The rounds of several, as of one."""
    return Costs({name: [c for part in parts for c in part.of[name]] for name in parts[0].of})


async def paired(turns: Mapping[str, Turn], *, rounds: int, unread: int = 1) -> Costs:
    """The costs of some turns, so many rounds long; the first `unread` rounds fill caches and pools.

    A round goes forth and back (a, b, b, a), so that a machine that slows down or speeds up does so
    for each alike; the next begins with the next one (b, a, a, b), so that none comes always after
    the same. A turn is best short, and the rounds many.
    """
    found: dict[str, list[float]] = {name: [] for name in turns}
    for n in range(-unread, rounds):
        order = list(turns)
        order = order[n % len(order) :] + order[: n % len(order)]
        spent = dict.fromkeys(order, 0.0)
        for name in (*order, *reversed(order)):
            spent[name] += await turns[name]() / 2
        if n >= 0:
            for name, cost in spent.items():
                found[name].append(cost)
    return Costs(found)
