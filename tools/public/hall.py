"""The Hall: what agents did with other people's money, as the chain and the keeper measured it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Literal

from pydantic import Field

from domain.agents.policy import OPEN_LOG_BYTES, log_entries
from domain.money import Usdc
from domain.reads.hall import HallMandate, HallRow, mandate_row
from domain.reads.paper_results import PaperResults, paper_results
from domain.reads.performance_windows import Chart
from domain.times import Timestamp
from storage.repositories.hall import cursor_after
from storage.repositories.identities import Agent
from storage.unit_of_work import UnitOfWork
from tools.context.access import not_found
from tools.keeper.hall_rollup import AT_ONCE, agent_mandates, known_row
from tools.model.fields import AgentId, Cursor, Limit, Page
from tools.model.operation import (
    HEAVY,
    Operation,
    RenderedResult,
    RequestContext,
    RequestModel,
    ResponseModel,
)
from tools.model.serialization import wire
from tools.model.shared_models import PolicyChange
from tools.model.truncation import bounded_page, rows_within

# No open answer grows beyond 64 KiB (contract 1); a chart of 400 days takes 28 KiB at most.
MANDATES_BYTES: Final = 20_000


Sort = Literal["days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working"]


class HallIn(RequestModel):
    """Filters and order of agents."""

    sort: Sort = Field(default="days_live", description="one fact, best first")
    accepting: bool = Field(default=False, description="only agents that accept mandates")
    limit: Limit = 50
    cursor: Cursor = None


class HallAgentIn(RequestModel):
    """Names an agent."""

    agent_id: AgentId


class HallPage(Page[HallRow]):
    """A page of the Hall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HallAgentRead(HallRow):
    """A Hall row with the agent's mandates, charts, paper results and policy changes."""

    mandates: tuple[HallMandate, ...]
    chart: Chart
    paper: PaperResults
    policy_changes: tuple[PolicyChange, ...]


class ProofIn(RequestModel):
    """No input."""


class Proof(ResponseModel):
    """Four live numbers, measured: agents with an accepted mandate, what works, executed calls."""

    agents: int
    mandates_working: int
    usdc_working: Usdc
    actions_recorded: int = Field(description="calls that vaults executed")
    as_of: Timestamp


# -- reading
# -------------------------------------------------------------------------------------------------


def hall(uow: UnitOfWork, ctx: RequestContext[HallIn, None]) -> RenderedResult[HallPage]:
    """A page of agents; costs the same however many there are."""
    a = ctx.request
    rows = uow.hall.page(a.sort, after=a.cursor, limit=a.limit + 1, accepting=a.accepting)
    bodies = (dict(r.body) for r in rows[: a.limit])
    return bounded_page(rows, bodies, partial(cursor_after, a.sort))


def hall_agent(
    uow: UnitOfWork, ctx: RequestContext[HallAgentIn, None]
) -> RenderedResult[HallAgentRead]:
    """One agent, up to the newest row where its mandates are few, else as the keeper last had it;
    the newest of them in any case.
    """
    agent = uow.identities.agent(ctx.request.agent_id)
    if agent is None:
        raise not_found("agent")
    row = known_row(uow, agent, ctx)
    newest = uow.mandates.of_agent(agent.agent_id, after=None, limit=AT_ONCE)
    log = log_entries(uow.policies.changes(agent.agent_id), OPEN_LOG_BYTES)
    rows = (wire(mandate_row(s)) for s in agent_mandates(uow, agent, newest))
    return RenderedResult(
        {
            **row.body,
            "mandates": list(rows_within(rows, MANDATES_BYTES)),
            "chart": row.chart,
            # Results on paper have a place of their own, so that none can be taken for measured.
            "paper": wire(_paper(uow, agent, ctx.now)),
            "policy_changes": wire([PolicyChange.model_validate(entry) for entry in log]),
        }
    )


def _paper(uow: UnitOfWork, agent: Agent, now: datetime) -> PaperResults:
    """The agent's paper books, each from its newest checkpoint on."""
    books = [(b.book, uow.paper.account(b)) for b in uow.paper.of_agent(agent.agent_id)]
    return paper_results(len(uow.paper.of_owner(agent.owner_id)), books, now)


def proof(uow: UnitOfWork, ctx: RequestContext[ProofIn, None]) -> Proof:
    """Four live numbers for the start page."""
    totals = uow.hall.totals()
    return Proof(
        agents=totals.agents,
        mandates_working=totals.mandates_working,
        usdc_working=Usdc(totals.usdc_working_micros),
        actions_recorded=totals.calls,
        as_of=ctx.now,
    )


_hall_operation: Final = partial(Operation, auth="open", family="hall", weight=HEAVY)


OPERATIONS: Final = (
    _hall_operation(
        name="hall_list",
        may_lag=True,
        title="Read the Hall",
        summary="Agents with their measured results in fixed windows, by one fact; a page ends "
        "where 64 KiB are full.",
        route=("GET", "/wallet/hall"),
        request_model=HallIn,
        response_model=HallPage,
        handler=hall,
        on_mcp=True,
    ),
    _hall_operation(
        name="hall_proof",
        may_lag=True,
        title="Read the proof strip",
        summary="Four live numbers.",
        route=("GET", "/wallet/hall/proof"),
        request_model=ProofIn,
        response_model=Proof,
        handler=proof,
    ),
    _hall_operation(
        name="hall_agent",
        may_lag=True,
        title="Read one agent of the Hall",
        summary="One agent's measured record: mandates, chart, policy changes.",
        route=("GET", "/wallet/hall/{agent_id}"),
        request_model=HallAgentIn,
        response_model=HallAgentRead,
        handler=hall_agent,
        on_mcp=True,
        refusals=("not_found",),
    ),
)
