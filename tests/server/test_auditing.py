"""Rows that move no sum are held against the chain place by place: each week, and at settlement."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.chain.nodes import distorted
from tests.server.test_nodes_judged import logs, rows
from tests.server.test_sums import kept_by
from tests.world import World, own_evm, working

evm = own_evm

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@asynccontextmanager
async def inventing(world: World) -> AsyncIterator[tuple[str, list[bool]]]:
    """A node that tells of a deposit's transaction at a time of its own, by headers that hold more
    fields than are known; until it is told not to.
    """
    on = [True]

    def distort(request: dict[str, Any], raw: Any) -> Any:
        found = raw.get("result")
        if not on or not request["method"].startswith("eth_getBlockBy") or not found:
            return raw
        at = hex(int(found["timestamp"], 16) - 86_400)
        return raw | {"result": found | {"timestamp": at, "another": "0x1"}}

    async with distorted(world.evm.chain, distort) as url:
        yield url, on


@pytest.mark.parametrize("settles", [False, True])
async def test_rows_of_a_wrong_time_are_told_anew_each_week_and_at_settlement(
    world: World, settles: bool
) -> None:
    m = await working(world)
    async with inventing(world) as (url, on), kept_by(world, url) as ticks:
        call = (await m.as_owner("owner_pause_call")).body["call"]
        ok, _ = await world.mined(m.owner_wallet, call)
        assert ok
        await ticks.round()
        on.clear()
        world.clock.forward(minutes=1)
        await ticks.round()
        assert await rows(world, m) != await logs(world, m)
        if settles:
            withdraw = (await m.as_owner("owner_withdraw_call")).body["call"]
            assert (await world.mined(m.owner_wallet, withdraw))[0]
        else:
            world.clock.forward(days=7)
        for _ in range(2):
            world.clock.forward(minutes=1)
            await ticks.round()
    assert await rows(world, m) == await logs(world, m)
