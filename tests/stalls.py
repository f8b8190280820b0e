"""A machine that stands still now and then, without waiting for it: `STALL_S=4 pytest …`, or `make stalls`.

Between two turns of an event loop the clocks of this process go on by STALL_S seconds, as they do for a process that
gets no core, or whose garbage is collected. Where that is follows from STALL_SEED and the test's name; the further a
test goes, the rarer it is. Whatever was waited for with a time-out that is shorter is given up: a test that fails here
fails on a busy machine.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

import pytest

_SECONDS: Final = float(os.environ.get("STALL_S", "0"))
_SEED: Final = os.environ.get("STALL_SEED", "1")
_FIRST: Final = 150  # turns of the loop


@dataclass
class _Machine:
    """Turns until it stands still next, and how far its clocks are ahead by all of it."""

    left: float = float("inf")
    between: float = _FIRST
    ahead_s: float = 0.0
    dice: random.Random = field(default_factory=random.Random)

    def begin(self, name: str) -> None:
        self.dice = random.Random(f"{_SEED} {name}")  # noqa: S311 - the same places every time
        self.between, self.left = _FIRST, self.dice.randint(1, _FIRST)

    def turn(self) -> None:
        self.left -= 1
        if self.left <= 0:
            self.ahead_s += _SECONDS
            self.between *= 1.5
            self.left = self.dice.uniform(0.5, 1.5) * self.between


_machine: Final = _Machine()

if _SECONDS:
    _monotonic, _perf_counter = time.monotonic, time.perf_counter
    _run_once = asyncio.base_events.BaseEventLoop._run_once  # type: ignore[attr-defined]

    def _turn(loop: asyncio.AbstractEventLoop) -> None:
        _machine.turn()
        _run_once(loop)

    time.monotonic = lambda: _monotonic() + _machine.ahead_s
    time.perf_counter = lambda: _perf_counter() + _machine.ahead_s
    asyncio.base_events.BaseEventLoop._run_once = _turn  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _machine.begin(item.nodeid)
    try:
        return (yield)
    finally:
        _machine.left = float("inf")
