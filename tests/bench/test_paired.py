"""Costs measured side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from bench.paired import Costs, merged, paired

pytestmark = pytest.mark.anyio

OURS, BARE = 1.2, 1.0


class Machine:
    """What a turn costs on a machine that has a mood in each."""

    def __init__(self, mood: Callable[[int], float]):
        self._mood, self._turns = mood, count()
        self.order: list[float] = []

    async def turn(self, cost: float) -> float:
        self.order.append(cost)
        return cost * self._mood(next(self._turns))


async def measured(machine: Machine) -> Costs:
    turns = {"ours": partial(machine.turn, OURS), "bare": partial(machine.turn, BARE)}
    return await paired(turns, rounds=40)


async def test_a_machine_that_slows_down_slows_both_alike() -> None:
    costs = await measured(Machine(lambda n: 1 + n / 50))
    assert costs.ratio("ours", "bare") == pytest.approx(OURS, rel=0.001)


async def test_what_disturbs_some_rounds_is_not_in_the_middle_one() -> None:
    costs = await measured(Machine(lambda n: 9 if n % 11 == 0 else 1))
    assert costs.ratio("ours", "bare") == pytest.approx(OURS)
    assert costs.middle("bare") == pytest.approx(BARE)


async def test_each_comes_as_often_after_itself_and_after_the_other_as_the_other_does() -> None:
    machine = Machine(lambda n: 1)
    await measured(machine)
    follows = list(zip(machine.order, machine.order[1:], strict=False))
    assert abs(follows.count((OURS, OURS)) - follows.count((BARE, BARE))) <= 1
    assert abs(follows.count((OURS, BARE)) - follows.count((BARE, OURS))) <= 1


async def test_the_first_round_is_not_counted_and_those_of_several_runs_are_joined() -> None:
    machine = Machine(lambda n: 100 if n < 4 else 1)
    costs = merged([await measured(machine), await measured(machine)])
    assert len(costs.of["ours"]) == 80
    assert max(costs.of["ours"]) == pytest.approx(OURS)
