"""The record: what happened, in groups, with the clauses that allowed or were broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal

from domain.ledger.chain_events import BY_LOG, CHAIN_EVENTS, StepKind
from domain.ledger.claimed import sides, unproven
from domain.ledger.events import Event, Kind, Reporter
from domain.ledger.payloads import (
    ApprovalTold,
    ClaimEnded,
    Control,
    Executed,
    Noted,
    PaidFee,
    Payload,
    RefusedAttempt,
    Reported,
    Said,
    Signed,
    Unwound,
)
from domain.mandates.approvals import Approval
from domain.mandates.mandate import ClauseKey, Mandate
from domain.money import ZERO, Usdc
from domain.rules.case import Book
from domain.rules.codes import CLAUSE_OF
from domain.times import Timestamp, read, timestamp
from domain.wire import LEFT_OUT, named, said

ReportedBy = Literal["owner", "agent", "chain", "keeper"]

ALL_CLAUSES: Final = list(range(1, 11))


ACTION_CLAUSES: Final = [2, 3, 4, 5, 8]


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


REFUSED_BY: Final[Mapping[str, ClauseKey]] = {
    "TargetNotAllowed": ClauseKey.MARKETS,
    "OverPerTxCap": ClauseKey.PER_ACTION,
    "OverDailyCap": ClauseKey.PER_DAY,
    "MandateStopped": ClauseKey.AT_STOP,
    "MandateEnded": ClauseKey.PERIOD,
}


STEP_OF: Final = {e.what: e.step for e in CHAIN_EVENTS if e.what is not Control}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an action went; null is what nobody said."""

    market: str | None = None
    address: str | None = None
    selector: str | None = None


NOWHERE: Final = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutAndIn:
    """What an action took out and brought back."""

    out: Usdc
    in_: Usdc = field(metadata=named("in"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted:
    """A report beside what the chain measured of its transaction; the chain's figures stand."""

    told: OutAndIn
    measured: OutAndIn


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the record (spec 2.7).

    Shapes: `group` ties steps together; `allowed_by`, `breached` and `clauses` are clause numbers;
    `params` are the parts of the row that the step rests on; `contradicted` stands only where the
    chain measured something else than was told.
    """

    id: str
    group: str
    kind: StepKind
    code: str
    status: str
    at: Timestamp
    reported_by: ReportedBy
    confirmed_on_chain: bool = False
    est: bool = False
    amount_usdc: Usdc | None = None
    tx_hash: str | None = None
    why: str | None = field(default=None, metadata=said("the agent's own words"))
    note: str | None = None
    resource: str | None = None
    target: Place = NOWHERE
    allowed_by: Sequence[int] = ()
    breached: Sequence[int] = ()
    clauses: Sequence[int] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    contradicted: Contradicted | None = field(default=None, metadata=LEFT_OUT)


def _text(value: object) -> str | None:
    return value[:2_000] if isinstance(value, str) and value else None


def _map(value: object) -> Mapping[str, Any]:
    # A dict is what a stored payload holds; asking the abstract class costs more than the rest of
    # a step.
    return value if isinstance(value, dict) else {}


def _group(event: Event) -> str:
    """What ties steps together: the transaction, the approval, else the row itself."""
    what = event.told.what
    approval = what.approval_id if isinstance(what, ApprovalTold) else None
    return event.tx_hash or approval or event.event_id


def _target(what: Payload) -> Place:
    if not isinstance(what, (Executed, Unwound, ApprovalTold, Said)):
        return NOWHERE
    told = what.place
    return Place(market=told.market, address=told.address, selector=told.selector)


def _breached(event: Event) -> list[int]:
    return sorted({int(CLAUSE_OF[c]) for c in event.violation_codes if c in CLAUSE_OF})


@lru_cache(maxsize=16_384)  # a row never changes, and is shown again and again
def step_of(event: Event, *, matched: bool, twin: Event | None = None) -> Step:
    """The step a row is.

    Shapes: `matched` says that the other side's row of the same transaction is known; `twin` is
    that row, where it is at hand.
    """
    what, by_agent = event.told.what, event.reported_by is Reporter.AGENT
    kind, code, status = _sort(event, matched)
    broken = _breached(event)
    checked = (
        ACTION_CLAUSES
        if kind in ("action", "outcome") and event.kind in (Kind.BUY, Kind.SELL, Kind.MOVE)
        else []
    )
    return Step(
        id=event.event_id,
        group=_group(event),
        kind=kind,
        code=code,
        status=status,
        at=event.occurred_at,
        reported_by=event.reported_by.value,
        confirmed_on_chain=event.reported_by is Reporter.CHAIN or (matched and by_agent),
        est=by_agent and not matched,
        amount_usdc=event.amount_usdc,
        tx_hash=event.tx_hash,
        why=(_text(what.why) or _text(what.text)) if by_agent and isinstance(what, Said) else None,
        note=_text(getattr(what, "text", None)),
        resource=_text(what.resource) if isinstance(what, Said) else None,
        target=_target(what),
        allowed_by=[c for c in checked if c not in broken],
        breached=broken,
        clauses=sorted({*checked, *broken, *refused_by(event)}) or _clauses_of(kind),
        params=_params(event),
        contradicted=_contradicted(event, twin) if by_agent and twin is not None else None,
    )


def _contradicted(event: Event, chain: Event) -> Contradicted | None:
    called = chain.told.what
    if not isinstance(called, (Executed, Unwound)) or event.kind is Kind.RESOLVE:
        return None
    out, into = sides(event)
    told = OutAndIn(out=Usdc(out), in_=Usdc(into))
    spent = called.spent if isinstance(called, Executed) else ZERO
    measured = OutAndIn(out=spent, in_=called.received)
    return None if told == measured else Contradicted(told=told, measured=measured)


def is_refusal(event: Event) -> bool:
    """True for a row that tells of a refused attempt (spec 2.5)."""
    return isinstance(event.told.what, RefusedAttempt)


def refusal_reason(event: Event) -> str | None:
    """Why an attempt was refused."""
    what = event.told.what
    return _text(what.reason) if isinstance(what, RefusedAttempt) else None


def refused_by(event: Event) -> list[int]:
    """The clause that an attempt ran into (spec 2.5)."""
    reason = refusal_reason(event)
    return [int(REFUSED_BY[reason])] if reason is not None and reason in REFUSED_BY else []


def _clauses_of(kind: StepKind) -> list[int]:
    return {"consent": [6], "funding": [1], "control": [7, 10], "instruction": ALL_CLAUSES}.get(
        kind, []
    )


def _sort(event: Event, matched: bool) -> tuple[StepKind, str, str]:
    """(kind, code, status) of a row."""
    what = event.told.what
    match what:
        case RefusedAttempt():
            proven = event.reported_by is Reporter.CHAIN
            return "note", "refused", "reverted" if proven else "refused"
        case ApprovalTold():
            return "consent", "approval", what.status
        case Executed() | Unwound():
            return "outcome" if matched else "action", STEP_OF[type(what)][1], "done"
        case Control():
            return "control", what.what, "done"
        case Signed():
            return "control", event.kind.value, "done"
        case PaidFee():
            read_for = what.resource is not None
            return ("research", "paid_read", "done") if read_for else ("note", "fee", "done")
        case Reported() | Noted():
            return _said(event, what)
        case ClaimEnded():
            return "note", "claim", what.outcome
    kind, code = STEP_OF.get(type(what), ("note", "note"))
    return kind, code, "done"


def _said(event: Event, what: Reported | Noted) -> tuple[StepKind, str, str]:
    if what.preview is not None:
        return "verify", "preview", "done"
    if event.kind is Kind.RESOLVE:
        return "outcome", "resolve", "done"
    if event.kind in (Kind.BUY, Kind.SELL, Kind.MOVE):
        return "action", event.kind.value, "unproven" if unproven(event) else "done"
    return ("note", "note", "done") if what.mark is None else ("outcome", "mark", "done")


def _params(event: Event) -> dict[str, Any]:
    names = (
        "executed",
        "unwound",
        "settled",
        "marked",
        "marks",
        "mark",
        "position",
        "fee_kind",
        "refusal",
        "approval",
        "preview",
        "reason",
        "claim",
    )
    return {n: event.payload[n] for n in names if n in event.payload}


def pending_step(item: Approval, now: datetime) -> Step:
    """A pending approval, pinned on top."""
    return Step(
        id=item.approval_id,
        group=item.approval_id,
        kind="consent",
        code="approval",
        status=item.shown(now),
        at=item.requested_at,
        reported_by="agent",
        amount_usdc=item.approve_amount_usdc,
        why=item.why,
        target=Place(**item.target),
        clauses=[6],
        params={"approval_id": item.approval_id, "expires_at": timestamp(item.expires_at)},
    )


def provisional_step(log: Mapping[str, Any], now: datetime) -> Step | None:
    """A vault's log that is not deep enough to be a ledger row: shown, not confirmed, in no
    total.
    """
    event = BY_LOG.get(str(log.get("name")))
    if event is None:
        return None
    args, tx_hash = _map(log.get("args")), _text(log.get("tx_hash"))
    kind, code = event.step
    try:
        amount = event.reads(args)[1]
    except (KeyError, TypeError):  # a staged log is stored, and no stored value fails a read
        amount = None
    return Step(
        id=f"{tx_hash}:{code}",
        group=tx_hash or code,
        kind=kind,
        code=code,
        status="provisional",
        at=read(log.get("at")) or now,
        reported_by="chain",
        amount_usdc=amount,
        tx_hash=tx_hash,
        target=Place(address=_text(args.get("target")), selector=_text(args.get("selector"))),
        clauses=ACTION_CLAUSES if kind == "action" else _clauses_of(kind),
        params={"block": log.get("block")},
    )


def instruction(mandate: Mandate) -> Step:
    """The owner's purpose note; the first thing that was said, so the last in its group."""
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


def grouped(steps: Sequence[Step]) -> list[Step]:
    """Groups newest first; inside a group in reading order."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.group, []).append(step)
    newest = sorted(groups.values(), key=lambda g: (max(s.at for s in g), g[0].id), reverse=True)
    return [s for group in newest for s in sorted(group, key=lambda s: (ORDER[s.kind], s.at, s.id))]


def of_events(events: Sequence[Event]) -> list[Step]:
    """The steps of some rows; a pair is matched where both rows, or the link of one, are among
    them.
    """
    by_seq = {e.seq: e for e in events}
    later = {e.pairs_with: e for e in events if e.pairs_with is not None}

    def step(e: Event) -> Step:
        twin = later.get(e.seq) or (by_seq.get(e.pairs_with) if e.pairs_with else None)
        return step_of(e, matched=e.pairs_with is not None or twin is not None, twin=twin)

    return [step(e) for e in events]


def steps(book: Book) -> tuple[Step, ...]:
    """The newest steps: pending approvals pinned on top, groups newest first, the instruction last
    (spec 2.7).
    """
    pinned = [pending_step(a, book.now) for a in book.approvals if a.shown(book.now) == "pending"]
    pinned.sort(key=lambda s: (s.at, s.id), reverse=True)
    coming = (provisional_step(log, book.now) for log in book.provisional)
    told = grouped([*of_events(book.events), *(s for s in coming if s is not None)])
    return (*pinned, *told, instruction(book.mandate))
