"""The Hall: what agents did with other people's money, as the chain and the keeper measured it."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from domain.money import Usdc
from domain.reads.hall import mandate_row
from domain.reads.windows import chart, together
from domain.times import timestamp
from storage.rows.hall import hall_after
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found
from tools.call.fields import AgentId, Cursor, Limit, Page
from tools.call.operation import HEAVY, Ask, Gives, Operation, Reply, Takes
from tools.keeper.rollup import computed, standings

Sort = Literal["days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working"]


class HallIn(Takes):
    """Which agents, and by what."""

    sort: Sort = Field(default="days_live", description="one fact, best first")
    accepting: bool = Field(default=False, description="only agents that accept mandates")
    limit: Limit = 50
    cursor: Cursor = None


class HallAgentIn(Takes):
    """Which agent."""

    agent_id: AgentId


class HallAgentOut(Gives):
    """A Hall row (spec 2.15) with the agent's mandates, charts, paper results and policy
    changes.
    """

    agent_id: str
    name: str
    days_live: int
    trades_total: int
    ranked: bool
    unranked_reason: str | None
    rank_requirements: list[dict[str, Any]]
    accepts_mandates: bool
    address_ready: bool
    as_of: str
    windows: dict[str, Any]
    delegators: dict[str, Any]
    mandates_total: int
    floor_stops: int
    self_stops: int
    violations: int
    operator_stake_usdc: str | None
    operator_stake_reason: str
    self_reported: dict[str, Any]
    mandates: list[dict[str, Any]]
    chart: dict[str, Any]
    paper: list[dict[str, Any]]
    policy_changes: list[dict[str, Any]]


class ProofIn(Takes):
    """No input."""


class Proof(Gives):
    """Four live numbers."""

    agents: int
    mandates_working: int
    usdc_working: str
    actions_recorded: int
    as_of: str


# -- reading
# -------------------------------------------------------------------------------------------------


def hall(uow: UnitOfWork, ask: Ask[HallIn, None]) -> Reply:
    """A page of agents; costs the same however many there are."""
    a = ask.asked
    found = uow.hall.page(a.sort, after=a.cursor, limit=a.limit + 1, accepting=a.accepting)
    more = hall_after(a.sort, found[a.limit - 1]) if len(found) > a.limit else None
    return Reply(200, {"items": [dict(r.body) for r in found[: a.limit]], "next_cursor": more})


def hall_agent(uow: UnitOfWork, ask: Ask[HallAgentIn, None]) -> Reply:
    """One agent, up to the newest row."""
    agent = uow.identities.agent(ask.asked.agent_id)
    if agent is None:
        raise not_found("agent")
    known = standings(uow, agent.agent_id, ahead=True)
    totals = together(s.days for s in known)
    told = dict(computed(uow, agent, known, totals, ask).body)
    told["mandates"] = [mandate_row(s) for s in known]
    told["chart"] = chart(totals, told["as_of"][:10])
    # Results on paper have a place of their own, so that none can be taken for a measured one.
    told["paper"] = []
    told["policy_changes"] = [
        {"changed_at": timestamp(at), "changes": dict(c)}
        for at, c in uow.policies.changes(agent.agent_id)
    ]
    return Reply(200, told)


def proof(uow: UnitOfWork, ask: Ask[ProofIn, None]) -> Reply:
    """Four live numbers for the start page."""
    agents, _, usdc = uow.hall.totals()
    told = {
        "agents": agents,
        "mandates_working": uow.mandates.counts()[0],
        "usdc_working": str(Usdc(usdc)),
        "actions_recorded": uow.hall.rows_recorded(),
        "as_of": timestamp(ask.now),
    }
    return Reply(200, told)


OPERATIONS: Final = (
    Operation(
        name="hall_list",
        title="Read the Hall",
        summary="Agents with their measured results in fixed windows, by one fact.",
        auth="open",
        route=("GET", "/wallet/hall"),
        takes=HallIn,
        gives=Page[dict[str, Any]],
        weight=HEAVY,
        handler=hall,
        on_mcp=True,
        family="hall",
    ),
    Operation(
        name="hall_proof",
        title="Read the proof strip",
        summary="Four live numbers.",
        auth="open",
        route=("GET", "/wallet/hall/proof"),
        takes=ProofIn,
        gives=Proof,
        weight=HEAVY,
        handler=proof,
        family="hall",
    ),
    Operation(
        name="hall_agent",
        title="Read one agent of the Hall",
        summary="One agent's measured record: mandates, chart, policy changes.",
        auth="open",
        route=("GET", "/wallet/hall/{agent_id}"),
        takes=HallAgentIn,
        gives=HallAgentOut,
        weight=HEAVY,
        handler=hall_agent,
        on_mcp=True,
        family="hall",
        refusals=("not_found",),
    ),
)
