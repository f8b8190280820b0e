"""Readiness: whoever asks is answered, also while another's probe ends."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from http_shim.readiness import Readiness
from tests.world import Clock
from tools.model.operation import Deps

pytestmark = pytest.mark.anyio


async def test_one_who_asks_between_the_end_of_a_probe_and_its_answer_takes_neither_down() -> None:
    answered, later = asyncio.Event(), list[asyncio.Task[bool]]()

    class Asking:
        """A store whose first write ends just as somebody else asks, and whose next one takes longer."""

        async def write(self, _: Any) -> None:
            if later:
                await answered.wait()
            else:
                later.append(asyncio.create_task(readiness.ok()))

    readiness = Readiness(cast(Deps, SimpleNamespace(store=Asking(), clock=Clock())))
    assert await readiness.ok() is True
    answered.set()
    assert await later[0] is True
