"""The record: steps of a mandate, in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from domain.chain_facts import StagedLog
from domain.ledger.events.chain_events import BY_LOG, StepKind
from domain.ledger.events.event import Event
from domain.mandates.approvals import Approval
from domain.mandates.mandate import Mandate
from domain.reads.step import (
    ACTION_CLAUSES,
    ALL_CLAUSES,
    CLAUSES,
    Step,
    StepParams,
    StepTarget,
    to_step,
)
from domain.rules.snapshot import MandateSnapshot

ORDER: Final[Mapping[StepKind, int]] = {
    "instruction": 9,
    "research": 0,
    "verify": 1,
    "consent": 2,
    "action": 3,
    "outcome": 4,
    "funding": 0,
    "control": 0,
    "note": 5,
}

_CALLED: Final = ("target", "selector")


def pending_step(item: Approval, now: datetime) -> Step:
    """A pending approval, pinned on top."""
    return Step(
        id=item.approval_id,
        group=item.approval_id,
        kind="consent",
        code="approval",
        status=item.status_at(now),
        at=item.requested_at,
        reported_by="agent",
        amount_usdc=item.approve_amount_usdc,
        why=item.why,
        target=StepTarget(**{n: item.target.get(n) for n in ("market", "address", "selector")}),
        clauses=(6,),
        params=StepParams(approval_id=item.approval_id, expires_at=item.expires_at),
    )


def provisional_step(log: StagedLog, now: datetime) -> Step | None:
    """A vault's log that is no ledger row yet: shown, not confirmed, in no total."""
    event = BY_LOG.get(log.name)
    if event is None:
        return None
    kind, code = event.step
    try:
        amount = event.reads(log.args)[1]
    except (KeyError, TypeError):  # a staged log is stored, and no stored value fails a read
        amount = None
    target, selector = (v if isinstance(v := log.args.get(n), str) else None for n in _CALLED)
    return Step(
        id=f"{log.tx_hash}:{code}",
        group=log.tx_hash,
        kind=kind,
        code=code,
        status="provisional",
        at=log.at or now,
        reported_by="chain",
        amount_usdc=amount,
        tx_hash=log.tx_hash,
        target=StepTarget(address=target, selector=selector),
        clauses=ACTION_CLAUSES if kind == "action" else CLAUSES.get(kind, ()),
        params=StepParams(block=log.block),
    )


def instruction(mandate: Mandate) -> Step:
    """The owner's purpose note as a step: the oldest of the mandate, so the last in its group."""
    return Step(
        id=mandate.public_id,
        group=mandate.public_id,
        kind="instruction",
        code="purpose",
        status="done",
        at=mandate.signed_at or mandate.created_at,
        reported_by="owner",
        note=mandate.purpose or None,
        clauses=ALL_CLAUSES,
    )


def cancellation(mandate: Mandate) -> tuple[Step, ...]:
    """That the owner cancelled the mandate, its newest step; none of another."""
    if mandate.cancelled_at is None:
        return ()
    step_id = f"{mandate.public_id}:cancelled"
    step = Step(
        id=step_id,
        group=step_id,
        kind="control",
        code="cancelled",
        status="done",
        at=mandate.cancelled_at,
        reported_by="owner",
        clauses=CLAUSES.get("control", ()),
    )
    return (step,)


def grouped(steps: Sequence[Step]) -> list[Step]:
    """Groups newest first; inside a group in reading order."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.group, []).append(step)
    newest = sorted(groups.values(), key=_newest, reverse=True)
    # Most groups hold one step, and a page of them is put in order at every read.
    return [s for group in newest for s in (group if len(group) == 1 else sorted(group, key=_turn))]


def _newest(group: Sequence[Step]) -> tuple[datetime, str]:
    first = group[0]
    return (first.at if len(group) == 1 else max([s.at for s in group])), first.id


def _turn(step: Step) -> tuple[int, datetime, str]:
    return ORDER[step.kind], step.at, step.id


class StepOf(Protocol):
    """Makes the step of a row; a caller that keeps steps has its own."""

    def __call__(self, event: Event, *, matched: bool, twin: Event | None = None) -> Step:
        """The step of a row."""


def each_step(events: Sequence[Event], make: StepOf = to_step) -> Iterator[Step]:
    """The steps of some rows; a pair is matched where both rows, or the link of one, are here."""
    by_seq = {e.seq: e for e in events}
    later = {e.pairs_with: e for e in events if e.pairs_with is not None}
    for e in events:
        twin = later.get(e.seq) or (by_seq.get(e.pairs_with) if e.pairs_with else None)
        yield make(e, matched=e.pairs_with is not None or twin is not None, twin=twin)


def event_steps(events: Sequence[Event], make: StepOf = to_step) -> list[Step]:
    """All steps of the event in one list."""
    return list(each_step(events, make))


def pinned(snapshot: MandateSnapshot) -> list[Step]:
    """The steps above the rows: a cancellation, and pending approvals, newest first."""
    now = snapshot.now
    items = (pending_step(a, now) for a in snapshot.approvals if a.status_at(now) == "pending")
    waiting = sorted(items, key=lambda s: (s.at, s.id), reverse=True)
    return [*cancellation(snapshot.mandate), *waiting]


def record_steps(snapshot: MandateSnapshot, make: StepOf = to_step) -> list[Step]:
    """Steps of the newest rows, and of logs that are not deep enough to be rows."""
    provisional = (provisional_step(log, snapshot.now) for log in snapshot.provisional)
    return grouped([*event_steps(snapshot.events, make), *filter(None, provisional)])


def steps(snapshot: MandateSnapshot) -> tuple[Step, ...]:
    """The newest steps: pending approvals on top, the instruction last (spec 2.7)."""
    return (*pinned(snapshot), *record_steps(snapshot), instruction(snapshot.mandate))
