"""The record: what happened, in groups, with the clauses that allowed or were broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from domain.ledger.events import Event, Kind, Reporter
from domain.mandates.approvals import Approval
from domain.mandates.mandate import ClauseKey, Mandate
from domain.money import Usdc
from domain.rules.case import Book
from domain.rules.codes import CLAUSE_OF
from domain.times import Timestamp, read, timestamp
from domain.wire import said

StepKind = Literal[
    "instruction",
    "research",
    "verify",
    "consent",
    "action",
    "outcome",
    "funding",
    "control",
    "note",
]

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


LOGS: Final[Mapping[str, tuple[StepKind, str, str | None]]] = {
    "Executed": ("action", "executed", "spent"),
    "Unwound": ("action", "unwound", "returned"),
    "Deposited": ("funding", "deposit", "amount"),
    "Withdrawn": ("funding", "withdraw", "amount"),
    "AgentPaid": ("outcome", "payout", "amount"),
    "Settled": ("outcome", "resolve", None),
    "Marked": ("outcome", "mark", None),
    "Stopped": ("control", "stop", None),
    "AgentRevoked": ("control", "paused", None),
    "AgentSet": ("control", "resumed", None),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an action went; null is what nobody said."""

    market: str | None = None
    address: str | None = None
    selector: str | None = None


NOWHERE: Final = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the record (spec 2.7).

    Shapes: `group` ties steps together; `allowed_by`, `breached` and `clauses` are clause numbers;
    `params` are the parts of the row that the step rests on.
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


def _text(value: object) -> str | None:
    return value[:2_000] if isinstance(value, str) and value else None


def _map(value: object) -> Mapping[str, Any]:
    # A dict is what a stored payload holds; asking the abstract class costs more than the rest of
    # a step.
    return value if isinstance(value, dict) else {}


def _group(event: Event) -> str:
    """What ties steps together: the transaction, the approval, a group the agent named, else the
    row itself.
    """
    approval = _map(event.payload.get("approval")).get("approval_id")
    return event.tx_hash or _text(approval) or event.event_id


def _target(event: Event) -> Place:
    told = (
        _map(event.payload.get("target"))
        or _map(event.payload.get("executed"))
        or _map(event.payload.get("unwound"))
    )
    return Place(
        market=_text(told.get("market")),
        address=_text(told.get("address")) or _text(told.get("target")),
        selector=_text(told.get("selector")),
    )


def _breached(event: Event) -> list[int]:
    return sorted({int(CLAUSE_OF[c]) for c in event.violation_codes if c in CLAUSE_OF})


def step_of(event: Event, *, matched: bool, confirmed: bool = True) -> Step:
    """The step a row is.

    Shapes: `matched` says that the other side's row of the same transaction is known; `confirmed`
    is False for a log that is not deep enough.
    """
    by_chain = event.reported_by is Reporter.CHAIN
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
        confirmed_on_chain=(by_chain and confirmed)
        or (matched and event.reported_by is Reporter.AGENT),
        est=event.reported_by is Reporter.AGENT and not matched,
        amount_usdc=event.amount_usdc,
        tx_hash=event.tx_hash,
        why=_why(event) if event.reported_by is Reporter.AGENT else None,
        note=_text(event.payload.get("text")),
        resource=_text(event.payload.get("resource")),
        target=_target(event),
        allowed_by=[c for c in checked if c not in broken],
        breached=broken,
        clauses=sorted({*checked, *broken, *refused_by(event)}) or _clauses_of(kind),
        params=_params(event),
    )


def is_refusal(event: Event) -> bool:
    """True for a row that tells of a refused attempt (spec 2.5)."""
    return isinstance(event.payload.get("refusal"), dict)


def refusal_reason(event: Event) -> str | None:
    """Why an attempt was refused."""
    return _text(_map(event.payload.get("refusal")).get("reason"))


def refused_by(event: Event) -> list[int]:
    """The clause that an attempt ran into (spec 2.5)."""
    reason = refusal_reason(event)
    return [int(REFUSED_BY[reason])] if reason is not None and reason in REFUSED_BY else []


def _why(event: Event) -> str | None:
    return _text(event.payload.get("why")) or _text(event.payload.get("text"))


def _clauses_of(kind: StepKind) -> list[int]:
    return {"consent": [6], "funding": [1], "control": [7, 10], "instruction": ALL_CLAUSES}.get(
        kind, []
    )


def _sort(event: Event, matched: bool) -> tuple[StepKind, str, str]:
    """(kind, code, status) of a row."""
    p = event.payload
    if "refusal" in p:
        return "note", "refused", "reverted" if event.reported_by is Reporter.CHAIN else "refused"
    if "approval" in p:
        return "consent", "approval", str(_map(p["approval"]).get("status", "recorded"))
    if "preview" in p:
        return "verify", "preview", "done"
    if event.kind in (Kind.DEPOSIT, Kind.WITHDRAW):
        return "funding", event.kind.value, "done"
    if event.kind in (Kind.SIGNED, Kind.STOP) or "control" in p:
        return "control", str(_map(p.get("control")).get("what") or event.kind.value), "done"
    if event.kind is Kind.FEE:
        return ("research", "paid_read", "done") if p.get("resource") else ("note", "fee", "done")
    marked = event.kind is Kind.NOTE and any(n in p for n in ("mark", "marks", "marked"))
    if event.kind in (Kind.RESOLVE, Kind.PAYOUT) or marked or "settled" in p:
        return "outcome", "mark" if event.kind is Kind.NOTE else event.kind.value, "done"
    if event.kind in (Kind.BUY, Kind.SELL, Kind.MOVE):
        if event.reported_by is Reporter.CHAIN:
            code = "unwound" if "unwound" in p else "executed"
            return ("outcome" if matched else "action"), code, "done"
        return "action", event.kind.value, "done"
    return "note", "note", "done"


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
    kind, code, amount_name = LOGS.get(str(log.get("name")), (None, "", None))
    if kind is None:
        return None
    args, tx_hash = _map(log.get("args")), _text(log.get("tx_hash"))
    units = args.get(amount_name) if amount_name else None
    if code == "executed" and not units:
        units = args.get("returned")
    return Step(
        id=f"{tx_hash}:{code}",
        group=tx_hash or code,
        kind=kind,
        code=code,
        status="provisional",
        at=read(log.get("at")) or now,
        reported_by="chain",
        amount_usdc=Usdc(units) if isinstance(units, int) else None,
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
    paired = {e.pairs_with for e in events if e.pairs_with is not None}
    return [step_of(e, matched=e.pairs_with is not None or e.seq in paired) for e in events]


def steps(book: Book) -> tuple[Step, ...]:
    """The newest steps: pending approvals pinned on top, groups newest first, the instruction last
    (spec 2.7).
    """
    pinned = [pending_step(a, book.now) for a in book.approvals if a.shown(book.now) == "pending"]
    pinned.sort(key=lambda s: (s.at, s.id), reverse=True)
    coming = (provisional_step(log, book.now) for log in book.provisional)
    told = grouped([*of_events(book.events), *(s for s in coming if s is not None)])
    return (*pinned, *told, instruction(book.mandate))
