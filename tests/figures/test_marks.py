"""How many marks a vault is worth: what swings, what is ahead of the ledger and what nobody can believe fill no ledger."""

from __future__ import annotations

import pytest

from domain.ledger.events.payloads import Marked
from tests.figures.desk import Agent, Desk, Mandate

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EVER = 2**62


async def marks(ingest_context: Desk, mandate: Mandate) -> int:
    rows = await ingest_context.world.deps.store.read(
        lambda uow: list(uow.ledger.house_rows(mandate.id, EVER))
    )
    return sum(isinstance(e.content.body, Marked) for e in rows)


async def test_a_worth_that_swings_about_its_line_is_marked_now_and_then(
    desk: Desk, agent: Agent
) -> None:
    """Below the line and above it, in turn, at every reading of a quarter of an hour."""
    m = await desk.working(agent, stop_floor_bps=1_000)
    for _ in range(5):
        await m.buy("100")
    await desk.later(minutes=70)
    before = await marks(desk, m)
    await desk.lose("49.9")
    for n in range(30):
        await (desk.gain("0.3") if n % 2 else desk.lose("0.3"))
        await desk.later(seconds=30)
    assert 2 <= await marks(desk, m) - before <= 4
    await desk.lose("1")
    for _ in range(17):  # and one that stays below is marked twice in a row all the same
        await desk.later(seconds=30)
    (rule,) = [r for r in (await m.progress())["rules"] if r["code"] == "below_stop_line"]
    assert not rule["ok"]


async def test_a_vault_that_is_read_ahead_of_the_ledger_is_marked_once(
    desk: Desk, agent: Agent
) -> None:
    """The node answers for the vault, and not for its logs; the mark counts when they are here."""
    m = await desk.working(agent)
    await m.buy("100")
    await desk.later(minutes=70)
    await m.buy("50")
    desk.clock.forward(days=1)
    before = await marks(desk, m)
    for _ in range(10):
        desk.clock.forward(seconds=30)
        desk.evm.chain.mine()
        await desk.ticks.keep()
    assert await marks(desk, m) - before == 1
    await desk.round()
    assert await marks(desk, m) - before == 1
    assert await m.figures() == ("350.000000", "150.000000", "500.000000")
    assert (await m.days())["2026-11-21"]["worth"] == "500.000000"


async def test_a_value_that_nobody_can_believe_is_none(desk: Desk, agent: Agent) -> None:
    """A probe that says more than every USDC there is has not answered, to whoever reads it."""
    m = await desk.working(agent)
    await m.buy("100")
    await desk.later(minutes=70)
    before = await marks(desk, m)
    await desk.sent(
        desk.world.wallets[0], desk.evm.usdc, "TestUSDC", "mint", desk.markets[m.market], 10**30
    )
    for _ in range(5):
        await desk.later(seconds=30)
    assert await marks(desk, m) == before
    assert await m.figures() == ("400.000000", "100.000000", "500.000000")
    assert (await m.progress())["data_issue"]
    await desk.later(days=1)
    assert (await desk.hall(agent))["windows"]["since"]["net_usdc"] == "0.000000"
