"""The Hall: what agents did with other people's money, as the chain and the keeper measured it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from pydantic import Field

from domain.agents.policy import Policy
from domain.ledger.measured import EMPTY, Day, Record, roll
from domain.mandates.mandate import Mandate, Status
from domain.money import Usdc
from domain.reads.hall import Standing, Subject, Total, chart, facts, hall_row, mandate_row, together
from domain.settings import Config
from domain.times import timestamp
from storage.hall import HallAgent, HallDay, hall_after
from storage.identities import Agent
from storage.unit_of_work import UnitOfWork
from tools.access import Cursor, Limit, not_found
from tools.approvals import Page
from tools.operation import Ask, Deps, Gives, Operation, Reply, Takes

ROWS_AT_ONCE: Final = 2_000
AGENTS_A_ROUND: Final = 100
EVER: Final = "9"
Sort = Literal["days_live", "trades_total", "net_30d", "twr_30d", "drawdown_30d", "working"]


class Asked(Protocol):
    """What a row depends on besides the database."""

    @property
    def now(self) -> datetime:
        """The present."""
        ...

    @property
    def config(self) -> Config:
        """Settings."""
        ...


@dataclass(frozen=True, slots=True)
class Moment:
    """The same outside of a call."""

    now: datetime
    config: Config


class HallIn(Takes):
    """Which agents, and by what."""

    sort: Sort = Field(default="days_live", description="one fact, best first")
    accepting: bool = Field(default=False, description="only agents that accept mandates")
    limit: Limit = 50
    cursor: Cursor = None


class HallAgentIn(Takes):
    """Which agent."""

    agent_id: str = Field(max_length=64, description="the agent's id")


class HallAgentOut(Gives):
    """A Hall row (spec 2.15) with the agent's mandates, charts, paper results and policy changes."""

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


# -- rolling up --------------------------------------------------------------------------------------------------------


def stored(uow: UnitOfWork, m: Mandate) -> Record:
    """Where a mandate's roll-up stands; from the first row on where it was made for another agent."""
    last = uow.hall.last_day(m.public_id)
    if last is None or last.agent_id != m.agent_id:
        return EMPTY
    return Record.from_json(last.body["record"], Day.from_json(last.body["day"]))


def roll_on(uow: UnitOfWork, m: Mandate) -> tuple[Record, list[Day], bool]:
    """Fold the next rows of a mandate in; the last value says that more are left."""
    record = stored(uow, m)
    events = uow.ledger.behind(m.public_id, record.seq, ROWS_AT_ONCE)
    record, days = roll(record, events)
    return record, days if events else [], len(events) == ROWS_AT_ONCE


def roll_up(uow: UnitOfWork, public_id: str) -> bool:
    """Store a mandate's next days; True while more rows are left. Two keepers that do it at once store the same."""
    m = uow.mandates.get(public_id, lock=True)
    if m is None or m.agent_id is None:
        return False
    if stored(uow, m) == EMPTY:
        uow.hall.drop_days(public_id)
    record, days, more = roll_on(uow, m)
    for n, day in enumerate(days, start=1):
        # Only the newest day says where to go on.
        body = {"day": day.as_json()} | ({"record": record.as_json()} if n == len(days) else {})
        uow.hall.put_day(HallDay(public_id, day.day, m.agent_id, body))
    return more


def standings(uow: UnitOfWork, agent_id: str, *, ahead: bool) -> list[Standing]:
    """An agent's mandates and their stored days; `ahead` reads on to rows that are not rolled up yet, storing nothing."""
    by_mandate: dict[str, dict[str, Day]] = {}
    for row in uow.hall.days_of_agent(agent_id, "", EVER):
        by_mandate.setdefault(row.public_id, {})[row.day] = Day.from_json(row.body["day"])
    found = []
    for m in uow.mandates.of_agent_non_draft(agent_id):
        record, days = stored(uow, m), by_mandate.get(m.public_id, {})
        if ahead:
            record, newer, _ = roll_on(uow, m)
            days = days | {d.day: d for d in newer}
        state = uow.ledger.state(m.public_id)
        told = tuple(days[d] for d in sorted(days))
        worth = max(0, record.worth) if record.funded else None
        found.append(Standing(m, told, worth, state.stop_reason, sum(state.violations.values())))
    return found


def computed(uow: UnitOfWork, agent: Agent, known: Sequence[Standing], totals: Sequence[Total], ask: Asked) -> HallAgent:
    """An agent's row as of now."""
    policy: Policy | None = uow.policies.get(agent.agent_id)
    ready = agent.address is not None or uow.transfers.has_deposit_address(agent.agent_id)
    subject = Subject(agent.agent_id, agent.name, bool(policy and policy.accepts_mandates), ready)
    row = hall_row(subject, known, totals, ask.now, ask.config)
    working = [s for s in known if s.mandate.status is Status.WORKING]
    return HallAgent(
        agent.agent_id, subject.accepts_mandates, row["ranked"], facts(row, totals, len(working), ask.now), len(working),
        sum(s.worth or 0 for s in working), ask.now, row,
    )  # fmt: skip


def refresh_row(uow: UnitOfWork, agent_id: str, ask: Asked) -> None:
    """Store an agent's row out of the days that are rolled up: in the transaction that changes what it shows."""
    agent = uow.identities.agent(agent_id)
    if agent is not None:
        known = standings(uow, agent_id, ahead=False)
        uow.hall.put(computed(uow, agent, known, together(s.days for s in known), ask))


async def refresh(deps: Deps, agent_id: str) -> None:
    """Bring an agent's days and row up to date, some rows a transaction."""
    for public_id in await deps.store.read(lambda uow: uow.mandates.ids_of_agent(agent_id)):
        while await deps.store.write(lambda uow, of=public_id: roll_up(uow, of)):  # type: ignore[misc]  # the default binds the loop's value
            pass
    moment = Moment(deps.clock.now(), deps.config)
    await deps.store.write(lambda uow: refresh_row(uow, agent_id, moment))


async def refresh_stale(deps: Deps, limit: int = AGENTS_A_ROUND) -> int:
    """Refresh the agents whose rows are behind, the oldest first; how many."""
    today = deps.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    behind = await deps.store.read(lambda uow: uow.hall.stale(today, limit))
    for agent_id in behind:
        await refresh(deps, agent_id)
    return len(behind)


# -- reading -----------------------------------------------------------------------------------------------------------


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
    told["policy_changes"] = [{"changed_at": timestamp(at), "changes": dict(c)} for at, c in uow.policies.changes(agent.agent_id)]
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
        "hall_list", "Read the Hall", "Agents with their measured results in fixed windows, by one fact.",
        "open", ("GET", "/wallet/hall"), HallIn, Page, hall, on_mcp=True, family="hall",
    ),
    Operation(
        "hall_proof", "Read the proof strip", "Four live numbers.",
        "open", ("GET", "/wallet/hall/proof"), ProofIn, Proof, proof, family="hall",
    ),
    Operation(
        "hall_agent", "Read one agent of the Hall", "One agent's measured record: mandates, chart, policy changes.",
        "open", ("GET", "/wallet/hall/{agent_id}"), HallAgentIn, HallAgentOut, hall_agent, on_mcp=True, family="hall",
        refusals=("not_found",),
    ),
)  # fmt: skip
