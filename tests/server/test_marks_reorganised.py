"""A mark that was read on a branch which a reorganisation removes is taken back, once its height is
deep, by the devchain's own reorganisation.
"""

from __future__ import annotations

from typing import Any

import pytest

from domain.rules.stop_line import latched
from storage.integrity.ledger_check import verify
from tests.server.bad_nodes import Node
from tests.server.test_nodes_judged import a_round, read_through
from tests.server.test_record_marks import worth
from tests.server.test_silent_probe import invested
from tests.world import Mandated, World, own_evm

evm = own_evm
WORLD = {"stop_line_dry_run": True, "keeper": False}

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def events(world: World, m: Mandated) -> list[dict[str, Any]]:
    told = await world.ok("mandate_events", m.owner, public_id=m.id, limit=200)
    return list(told["items"])


async def seen(world: World, m: Mandated) -> tuple[str | None, bool, int]:
    """The worth that is shown, whether the stop line is reached, and the lowest day of the series."""
    told = await m.read()
    state = await world.store.read(lambda uow: uow.ledger.state(m.id))
    low = min((d.worth for d in state.measured.days.values() if d.measured), default=0)
    reached = latched(state.measured, world.deps.config.mark_fresh_s)
    return told["progress"]["worth_est"], reached, low


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("confirmations", [0, 2])
async def test_marks_of_a_branch_that_is_gone_are_taken_back(
    world: World, confirmations: int, nodes: int
) -> None:
    m, target = await invested(world)
    each = [Node(world) for _ in range(nodes)]
    async with read_through(world, each, confirmations=confirmations) as ticks:
        for _ in range(confirmations + 2):
            await a_round(world, ticks)
        assert await seen(world, m) == ("500.000000", False, 500_000_000)
        stands = world.evm.chain.head.number
        await worth(world, target, "100")
        for _ in range(2):
            await a_round(world, ticks)
        assert (await seen(world, m))[:2] == ("200.000000", True)
        marked = [e for e in await events(world, m) if "marked" in e["payload"]]
        low = [e["event_id"] for e in marked if e["payload"]["marked"]["positions"] == "100.000000"]
        assert len(low) == 2
        world.evm.chain.reorg(world.evm.chain.head.number - stands, keep=False)
        # No reading after it may end the row of marks below the line: they are taken back.
        keepings, ticks._keepings = ticks._keepings, []
        for _ in range(confirmations + 4):
            await a_round(world, ticks)
        back = [
            e["payload"]["reverses"] for e in await events(world, m) if "reverses" in e["payload"]
        ]
        assert sorted(r["event_id"] for r in back) == sorted(low)
        assert await seen(world, m) == ("500.000000", False, 500_000_000)
        told = await world.ok("mandate_series", m.owner, public_id=m.id)
        assert "200.000000" not in str(told)
        assert (await verify(world.store)).ok
        ticks._keepings = keepings
        for _ in range(3):
            await a_round(world, ticks)
        again = [e for e in await events(world, m) if "reverses" in e["payload"]]
        assert len(again) == len(low), "each once"
