"""The Hall: what agents did with other people's money, as the chain and the keeper measured it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, Literal, TypeVar

from pydantic import Field

from domain.agents.policy import OPEN_LOG_BYTES, shown, size
from domain.money import Usdc
from domain.reads.hall import foreign, mandate_row
from domain.reads.windows import chart
from domain.times import timestamp
from storage.rows.hall import hall_after
from storage.unit_of_work import UnitOfWork
from tools.call.access import not_found
from tools.call.fields import AgentId, Cursor, Limit, Page
from tools.call.operation import HEAVY, Ask, Gives, Operation, Reply, Takes
from tools.call.wire import wire
from tools.keeper.rollup import computed, standings

# No open answer grows beyond 64 KiB (contract 1); a chart of 400 days takes 28 KiB at most.
PAGE_BYTES: Final = 60_000
MANDATES_BYTES: Final = 20_000


Row = TypeVar("Row")


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
    windows_self: dict[str, Any]
    delegators: dict[str, Any]
    mandates_total: int
    floor_stops: int
    self_stops: int
    violations: int
    operator_stake_usdc: str | None
    operator_stake_reason: str
    self_reported: dict[str, Any]
    mandates: list[dict[str, Any]] = Field(
        description="newest first, as many as fit; mandates_total counts all"
    )
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
    shown_ = fitting([dict(r.body) for r in found[: a.limit]], PAGE_BYTES)
    more = hall_after(a.sort, found[len(shown_) - 1]) if len(found) > len(shown_) else None
    return Reply(200, {"items": shown_, "next_cursor": more})


def fitting(rows: Sequence[Row], most: int) -> list[Row]:
    """The first rows whose JSON fits into `most` bytes together, and one in any case."""
    sizes = accumulate(size(wire(row)) + 2 for row in rows)
    return [
        row for n, (row, end) in enumerate(zip(rows, sizes, strict=True)) if end <= most or not n
    ]


def hall_agent(uow: UnitOfWork, ask: Ask[HallAgentIn, None]) -> Reply:
    """One agent, up to the newest row."""
    agent = uow.identities.agent(ask.asked.agent_id)
    if agent is None:
        raise not_found("agent")
    known = standings(uow, agent.agent_id, ahead=True)
    told = dict(computed(uow, agent, known, ask).body)
    newest = sorted(known, key=lambda s: (s.mandate.created_at, s.mandate.public_id), reverse=True)
    told["mandates"] = fitting([mandate_row(s) for s in newest], MANDATES_BYTES)
    told["chart"] = chart(foreign(known), told["as_of"][:10])
    # Results on paper have a place of their own, so that none can be taken for a measured one.
    told["paper"] = []
    log = uow.policies.changes(agent.agent_id)
    told["policy_changes"] = shown(log, OPEN_LOG_BYTES)
    return Reply(200, told)


def proof(uow: UnitOfWork, ask: Ask[ProofIn, None]) -> Reply:
    """Four live numbers for the start page."""
    agents, working, usdc = uow.hall.totals()
    told = {
        "agents": agents,
        "mandates_working": working,
        "usdc_working": str(Usdc(usdc)),
        "actions_recorded": uow.hall.rows_recorded(),
        "as_of": timestamp(ask.now),
    }
    return Reply(200, told)


OPERATIONS: Final = (
    Operation(
        name="hall_list",
        title="Read the Hall",
        summary="Agents with their measured results in fixed windows, by one fact; a page ends "
        "where 64 KiB are full.",
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
