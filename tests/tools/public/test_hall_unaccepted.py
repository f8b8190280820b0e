"""An agent that acts before it accepts has a record of what it did: it cannot leave the loss out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from domain.ledger.state.ledger_state import LedgerState
from domain.rules.status_derivation import acted_for
from storage.repositories.state_codec import LEDGER
from tests.domain.material import START, Ledger, mandate, row
from tests.world import Mandated, World, working
from tools.keeper.hall_rollup import refresh_stale

pytestmark = pytest.mark.anyio


async def _named(world: World, agent: Mandated) -> Mandated:
    """Another owner's mandate that names the agent, which never accepted it."""
    m = await working(world, accept=False, agent_id=agent.agent.user_id)
    return replace(m, agent=agent.agent, agent_wallet=agent.agent_wallet)


async def _hall(m: Mandated) -> dict[str, Any]:
    return await m.world.ok("hall_agent", agent_id=m.agent.user_id)


async def test_what_was_executed_before_accepting_counts_from_the_first_call_on(
    world: World,
) -> None:
    agent = await working(world, accept=False)
    winner, loser = await _named(world, agent), await _named(world, agent)
    assert (await _hall(agent))["mandates_total"] == 0
    await winner.recorded(winner.agent_wallet, winner.forced("60"))
    await loser.recorded(loser.agent_wallet, loser.forced("40"))
    await loser.recorded(loser.agent_wallet, loser.forced("20"))
    assert (await winner.as_agent("mandate_accept")).status == 200
    shown = await _hall(agent)
    assert sorted(m["trades"] for m in shown["mandates"]) == [1, 2]
    assert (shown["mandates_total"], shown["trades_total"]) == (2, 3)
    # One that names it, and has no call of its wallet, is not in its record.
    assert agent.id not in str(shown)
    await refresh_stale(world.deps)
    proof = await world.ok("hall_proof")
    assert (proof["agents"], proof["actions_recorded"]) == (1, 3)
    assert (await loser.as_agent("mandate_get")).body["mandate"]["accepted_at"] is None


def _called_by(*agents: str) -> LedgerState:
    book = Ledger()
    for n, agent in enumerate(agents):
        told = {"target": "0x" + "ee" * 20, "selector": None, "spent": "0.000000"}
        book.add(row("move", 0, "chain", tx=f"0x{n}", at=START, executed={**told, "agent": agent}))
    return book.state


def test_a_call_by_another_wallet_is_not_the_agents() -> None:
    m = mandate(accepted_at=None, agent_address="0x" + "bB" * 20)
    others = _called_by("0x" + "cc" * 20, "0x" + "dd" * 20)
    assert not acted_for(m, others)
    assert acted_for(replace(m, accepted_at=START), others)
    assert acted_for(m, _called_by("0x" + "cc" * 20, "0x" + "BB" * 20))
    assert not acted_for(replace(m, agent_address=None), others)


def test_whose_calls_were_executed_is_remembered_and_bounded() -> None:
    one, two = (
        _called_by("0x" + "cc" * 20, "0x" + "bb" * 20),
        _called_by("0x" + "bb" * 20, "0x" + "cc" * 20),
    )
    assert one.callers == two.callers == ("0x" + "bb" * 20, "0x" + "cc" * 20)
    assert LEDGER.codec.load(json.loads(json.dumps(LEDGER.codec.dump(one)))) == one
    many = _called_by(*(f"0x{n:040x}" for n in range(70)))
    assert len(many.callers) == 64
