"""Hall roll-up: keeps the days and rows of the Hall up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import anyio.lowlevel
import anyio.to_thread

from domain.ledger.state.performance import (
    NOTHING,
    DayParts,
    PerformanceRecord,
    days_of,
    fold_days,
    full_days,
    has_days_since,
)
from domain.mandates.mandate import Mandate, Status
from domain.reads.hall import AgentMandate, Subject, facts, foreign, hall_row
from domain.reads.performance_windows import chart
from domain.rules.status_derivation import acted_for
from domain.rules.valuation import worth_as_observed
from domain.settings import Config
from domain.times import day_of
from storage.errors import Unavailable
from storage.repositories.hall import STALE, HallAgent, HallDay
from storage.repositories.identities import Agent
from storage.repositories.mandates import cursor_after_mandate
from storage.unit_of_work import UnitOfWork
from tools.model.operation import AnyContext, Deps
from tools.model.serialization import wire

# Rows in one transaction, and mandates in one turn of the event loop.
ROWS_AT_ONCE: Final = 100
MANDATES_A_TURN: Final = 10

# What one transaction computes anew; of an agent with more, it changes what it knows of.
AT_ONCE: Final = 20
AGENTS_A_TURN: Final = 20
ROUND_S: Final = 60
EVER: Final = "9"
FIRST_TO_LAST: Final = 2**62


def stored_days(uow: UnitOfWork, mandate: Mandate) -> tuple[PerformanceRecord, dict[str, DayParts]]:
    """The sequence number up to which a mandate's rows are in its stored days, and these days;
    nothing where they were made for another agent.
    """
    rows = uow.hall.days(mandate.public_id, "", EVER)
    if not rows or rows[-1].agent_id != mandate.agent_id:
        return NOTHING, {}
    return rows[-1].record or NOTHING, {r.day: r.parts for r in rows}


@dataclass(frozen=True, slots=True)
class SeriesFacts:
    """A mandate's days up to row `record.seq`, and which of them are not stored so.

    Shapes: `events` is how many rows were folded; `gap` says that measured days between those that
    are stored and those of the ledger's newest state are in neither.
    """

    record: PerformanceRecord
    days: Mapping[str, DayParts]
    changed: frozenset[str]
    events: int
    gap: bool


class _Days(dict[str, DayParts]):
    """Days by name; one that is not there yet is empty."""

    def __missing__(self, name: str) -> DayParts:
        return DayParts(day=name)


def rolled(uow: UnitOfWork, mandate: Mandate) -> SeriesFacts:
    """The stored days with the next rows folded in; the measured figures are those of the ledger's
    newest state as far as that goes back.
    """
    record, known = stored_days(uow, mandate)
    events = uow.ledger.behind(mandate.public_id, record.seq, ROWS_AT_ONCE)
    reached, added, since = fold_days(record, events)
    book = uow.ledger.state(mandate.public_id).measured
    days, gap = _Days(known), False
    if since is not None:
        gap = not has_days_since(book, since)
        first = max(since, min(book.days, default=EVER)) if gap else since
        for name in [n for n in {*days, *book.days} if n >= first]:
            days[name] = replace(days[name], measured=book.days.get(name))
    for name, more in added.items():
        days[name] = replace(days[name], beside=days[name].beside.plus(more))
    changed = frozenset(n for n, part in days.items() if known.get(n) != part)
    return SeriesFacts(reached, days, changed, len(events), gap)


def roll_up(uow: UnitOfWork, public_id: str) -> bool:
    """Store a mandate's next days; True while more rows are left. Two keepers that do it at once
    store the same.
    """
    mandate = uow.mandates.get(public_id, lock=True)
    if mandate is None or mandate.agent_id is None:
        return False
    now = rolled(uow, mandate)
    if not now.events:
        return False
    days, changed = _Days(now.days), set(now.changed)
    if now.gap:  # the newest state holds too few days: those before are derived again
        for name, figures in days_of(uow.ledger.house_rows(public_id, FIRST_TO_LAST)).items():
            days[name] = replace(days[name], measured=figures)
            changed.add(name)
    if now.record.seq == now.events:
        uow.hall.drop_days(public_id)
        changed = set(days)
    # Where no row tells of any day yet, the place where to go on is kept all the same.
    newest = max(days, default=day_of(mandate.created_at))
    last = uow.hall.last_day(public_id)
    moved = {newest} | ({last.day} if last is not None and last.day in days else set())
    for name in sorted(changed | moved):
        record = now.record if name == newest else None
        uow.hall.put_day(HallDay(public_id, mandate.agent_id, days[name], record))
    return now.events == ROWS_AT_ONCE


def agent_mandates(
    uow: UnitOfWork, agent: Agent, mandates: Sequence[Mandate]
) -> list[AgentMandate]:
    """Some mandates of an agent with their days, but those that it did not accept."""
    return [_standing(uow, agent, m) for m in mandates if counts(uow, m)]


def counts(uow: UnitOfWork, mandate: Mandate) -> bool:
    """True for a mandate that is in its agent's record."""
    started = mandate.status not in (Status.DRAFT, Status.CANCELLED)
    return started and acted_for(mandate, uow.ledger.state(mandate.public_id))


def _standing(uow: UnitOfWork, agent: Agent, mandate: Mandate) -> AgentMandate:
    days = rolled(uow, mandate).days
    state = uow.ledger.state(mandate.public_id)
    stopped, worth = state.measured.stopped, worth_as_observed(state)
    return AgentMandate(
        mandate,
        full_days((days[d] for d in sorted(days)), measured=worth is not None),
        worth,
        stopped.reason if stopped else None,
        sum(state.violations.values()),
        own=mandate.owner_id == agent.owner_id,
    )


def subject_of(uow: UnitOfWork, agent: Agent) -> Subject:
    """The part of a Hall row that is about the agent itself."""
    policy = uow.policies.get(agent.agent_id)
    ready = agent.address is not None or uow.addresses.has_any(agent.agent_id)
    return Subject(agent.agent_id, agent.name, bool(policy and policy.accepts_mandates), ready)


def computed(
    subject: Subject, known: Sequence[AgentMandate], now: datetime, config: Config
) -> HallAgent:
    """An agent's row as of now, with its chart."""
    totals = foreign(known)
    row = hall_row(subject, known, totals, now, config)
    working = [s for s in known if s.mandate.status is Status.WORKING]
    return HallAgent(
        subject.agent_id,
        subject.accepts_mandates,
        row.ranked,
        facts(row, totals, len(working), now),
        len(working),
        sum(s.worth or 0 for s in working),
        now,
        wire(row),
        len(known),
        sum(d.calls for s in known for d in s.days),
        wire(chart(totals, day_of(now))),
    )


def known_row(uow: UnitOfWork, agent: Agent, ctx: AnyContext) -> HallAgent:
    """An agent's row: computed anew where its mandates are few, else as the keeper stored it,
    with what is known of the agent itself.
    """
    row = _row_or_none(uow, agent, ctx)
    # Nothing is known of many until the keeper went over all of them.
    return row or computed(subject_of(uow, agent), (), ctx.now, ctx.config)


def _row_or_none(uow: UnitOfWork, agent: Agent, ctx: AnyContext) -> HallAgent | None:
    subject, row = subject_of(uow, agent), uow.hall.get(agent.agent_id)
    mandates = uow.mandates.of_agent(agent.agent_id, after=None, limit=AT_ONCE + 1)
    if len(mandates) <= AT_ONCE:
        return computed(subject, agent_mandates(uow, agent, mandates), ctx.now, ctx.config)
    if row is None:
        return None
    own = {n: getattr(subject, n) for n in ("name", "accepts_mandates", "address_ready")}
    return replace(row, accepts=subject.accepts_mandates, body={**row.body, **own})


def refresh_row(uow: UnitOfWork, agent_id: str, ctx: AnyContext) -> None:
    """Store an agent's row out of the days that are rolled up: in the transaction that changes
    what it shows.
    """
    agent = uow.identities.agent(agent_id)
    row = None if agent is None else _row_or_none(uow, agent, ctx)
    if row is not None:  # a first row of many is the keeper's
        uow.hall.put(row)


async def refresh(deps: Deps, agent_id: str) -> None:
    """Bring an agent's days and row up to date, some rows a transaction, some mandates a turn."""
    now = deps.clock.now()
    for public_id in await deps.store.read(lambda uow: uow.mandates.ids_of_agent(agent_id)):
        while await deps.store.write(lambda uow, of=public_id: roll_up(uow, of)):  # type: ignore[misc]  # the default binds the loop's value
            pass
    known: list[AgentMandate] = []
    at: str | None = None
    while True:
        some, at = await deps.store.read(partial(_next_chunk, agent_id, at))
        known += some
        if at is None:
            break
        await anyio.lowlevel.checkpoint()
    known.sort(key=lambda s: (s.mandate.created_at, s.mandate.public_id))
    agent = await deps.store.read(lambda uow: uow.identities.agent(agent_id))
    if agent is not None:
        subject = await deps.store.read(lambda uow: subject_of(uow, agent))
        # Pure arithmetic over all of it: in a thread, the loop has its turn every few ms.
        row = await anyio.to_thread.run_sync(computed, subject, known, now, deps.config)
        await deps.store.write(lambda uow: uow.hall.put(row))


def _next_chunk(
    agent_id: str, at: str | None, uow: UnitOfWork
) -> tuple[list[AgentMandate], str | None]:
    """The next standings, and the cursor behind them; None at the end."""
    agent = uow.identities.agent(agent_id)
    mandates = uow.mandates.of_agent(agent_id, after=at, limit=MANDATES_A_TURN)
    chunk = [] if agent is None else agent_mandates(uow, agent, mandates)
    return chunk, cursor_after_mandate(mandates[-1]) if len(mandates) == MANDATES_A_TURN else None


async def refresh_stale(deps: Deps, holder: str = "house", limit: int = AGENTS_A_TURN) -> int:
    """Refresh every agent whose row is behind, the oldest first, for as long as a round may take;
    how many. Each is claimed, so that keepers share them; one is refreshed once in a round. One
    whose rows cannot be read holds nobody else's up. Errors: its `Unavailable`, at the end.
    """
    claimed: list[str] = []
    done, failed = 0, None
    try:
        with anyio.move_on_after(ROUND_S):
            while after := await deps.store.write(partial(_claimed, deps, holder, limit)):
                claimed += after
                for agent_id in after:
                    try:
                        await refresh(deps, agent_id)
                        done += 1
                    except Unavailable as error:
                        failed = error
    finally:
        with anyio.CancelScope(shield=True):
            for n in range(0, len(claimed), limit):
                await deps.store.write(partial(_released, holder, claimed[n : n + limit]))
    if failed is not None:
        raise failed
    return done


def _claimed(deps: Deps, holder: str, limit: int, uow: UnitOfWork) -> list[str]:
    now = deps.clock.now()
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    until = now + timedelta(seconds=2 * ROUND_S)
    after = uow.hall.stale(today, now, limit)
    return [a for a in after if uow.work.acquire(STALE, a, holder, now, until)]


def _released(holder: str, agent_ids: Sequence[str], uow: UnitOfWork) -> None:
    for agent_id in agent_ids:
        uow.work.release(STALE, agent_id, holder)
