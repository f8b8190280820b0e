"""The Hall's days and rows, brought up to date by the house."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from domain.agents.policy import Policy
from domain.ledger.record import EMPTY, Day, Record, roll
from domain.mandates.mandate import Mandate, Status
from domain.reads.hall import Standing, Subject, facts, foreign, hall_row
from domain.settings import Config
from storage.rows.hall import HallAgent, HallDay
from storage.rows.identities import Agent
from storage.unit_of_work import UnitOfWork
from tools.call.operation import Deps
from tools.call.wire import wire

ROWS_AT_ONCE: Final = 2_000


AGENTS_A_ROUND: Final = 100
EVER: Final = "9"


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


# -- rolling up
# -------------------------------------------------------------------------------------------------


def stored(uow: UnitOfWork, m: Mandate) -> Record:
    """Where a mandate's roll-up stands; from the first row on where it was made for another
    agent.
    """
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
    """Store a mandate's next days; True while more rows are left. Two keepers that do it at once
    store the same.
    """
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
    """The mandates that an agent accepted and their stored days; `ahead` reads on to rows that are
    not rolled up yet, storing nothing.
    """
    by_mandate: dict[str, dict[str, Day]] = {}
    for row in uow.hall.days_of_agent(agent_id, "", EVER):
        by_mandate.setdefault(row.public_id, {})[row.day] = Day.from_json(row.body["day"])
    agent = uow.identities.agent(agent_id)
    found = []
    for m in uow.mandates.of_agent_non_draft(agent_id):
        if m.accepted_at is None:
            continue
        record, days = stored(uow, m), by_mandate.get(m.public_id, {})
        if ahead:
            record, newer, _ = roll_on(uow, m)
            days = days | {d.day: d for d in newer}
        state = uow.ledger.state(m.public_id)
        stopped = state.measured.stopped
        told = tuple(days[d] for d in sorted(days))
        worth = max(0, record.worth) if record.funded else None
        found.append(
            Standing(
                m,
                told,
                worth,
                stopped.reason if stopped else None,
                sum(state.violations.values()),
                own=agent is not None and m.owner_id == agent.owner_id,
            )
        )
    return found


def computed(uow: UnitOfWork, agent: Agent, known: Sequence[Standing], ask: Asked) -> HallAgent:
    """An agent's row as of now."""
    policy: Policy | None = uow.policies.get(agent.agent_id)
    ready = agent.address is not None or uow.addresses.has_any(agent.agent_id)
    subject = Subject(agent.agent_id, agent.name, bool(policy and policy.accepts_mandates), ready)
    totals = foreign(known)
    row = hall_row(subject, known, totals, ask.now, ask.config)
    working = [s for s in known if s.mandate.status is Status.WORKING]
    return HallAgent(
        agent.agent_id,
        subject.accepts_mandates,
        row.ranked,
        facts(row, totals, len(working), ask.now),
        len(working),
        sum(s.worth or 0 for s in working),
        ask.now,
        wire(row),
        len(known),
        sum(d.calls for s in known for d in s.days),
    )


def refresh_row(uow: UnitOfWork, agent_id: str, ask: Asked) -> None:
    """Store an agent's row out of the days that are rolled up: in the transaction that changes
    what it shows.
    """
    agent = uow.identities.agent(agent_id)
    if agent is not None:
        known = standings(uow, agent_id, ahead=False)
        uow.hall.put(computed(uow, agent, known, ask))


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
