"""One step of the record: a published row, with its allowing and broken clauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.ledger.events.chain_events import CHAIN_EVENTS, StepKind
from domain.ledger.events.event import Event, LedgerKind, Reporter
from domain.ledger.events.payload_schema import parts_of
from domain.ledger.events.payloads import (
    AgentStatement,
    ApprovalDecided,
    ClaimEnded,
    Control,
    Executed,
    Noted,
    OwnerNoticed,
    PaidFee,
    Payload,
    PaymentUnexplained,
    PurseMoved,
    RefusedAttempt,
    Reported,
    TermsSigned,
    Unwound,
    VenueFilled,
)
from domain.ledger.state.claimed import sides, unproven
from domain.mandates.mandate import ClauseKey
from domain.money import ZERO, Usdc
from domain.reads.event_rows import shape_from
from domain.reads.row_models import (
    AGENTS_PLACE,
    ApprovalDecision,
    ClaimOutcome,
    ExecutedCall,
    MovedPurse,
    RefusedTry,
    ReportedBy,
    SettledResult,
    ToldPosition,
    UnwoundCall,
    VenueTrade,
    WholeMark,
)
from domain.rules.rule_table import clause_of
from domain.times import Timestamp
from domain.wire_fields import LEFT_OUT, copy_fields, described, wire_name

TEXT_SHOWN: Final = 2_000
ALL_CLAUSES: Final = tuple(range(1, 11))
ACTION_CLAUSES: Final = (2, 3, 4, 5, 8)
EXIT_CLAUSES: Final = (5,)  # after the close the caps, the line and the period bind nothing
ACTING: Final = frozenset({LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE})

REFUSED_BY: Final[Mapping[str, ClauseKey]] = {
    "TargetNotAllowed": ClauseKey.MARKETS,
    "OverPerTxCap": ClauseKey.PER_ACTION,
    "OverDailyCap": ClauseKey.PER_DAY,
    "MandateStopped": ClauseKey.AT_STOP,
    "MandateEnded": ClauseKey.PERIOD,
}

_PLACE: Final = described("as the agent told it, in a step that the agent reported")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTarget:
    """The target of an action, as the agent told it in a step; null where it gave none."""

    market: str | None = field(default=None, metadata=_PLACE)
    address: str | None = field(default=None, metadata=_PLACE)
    selector: str | None = field(default=None, metadata=_PLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParams:
    """The parts of the row that the step rests on; what it does not have is left out."""

    executed: ExecutedCall | None = field(default=None, metadata=LEFT_OUT)
    unwound: UnwoundCall | None = field(default=None, metadata=LEFT_OUT)
    settled: SettledResult | None = field(default=None, metadata=LEFT_OUT)
    marked: WholeMark | None = field(default=None, metadata=LEFT_OUT)
    mark: Usdc | None = field(default=None, metadata=LEFT_OUT)
    position: ToldPosition | None = field(default=None, metadata=LEFT_OUT)
    fee_kind: str | None = field(default=None, metadata=AGENTS_PLACE)
    payee: str | None = field(default=None, metadata=LEFT_OUT)
    nonce: str | None = field(default=None, metadata=LEFT_OUT)
    purse: str | None = field(default=None, metadata=LEFT_OUT)
    purse_moved: MovedPurse | None = field(default=None, metadata=LEFT_OUT)
    refusal: RefusedTry | None = field(default=None, metadata=LEFT_OUT)
    approval: ApprovalDecision | None = field(default=None, metadata=LEFT_OUT)
    claim: ClaimOutcome | None = field(default=None, metadata=LEFT_OUT)
    venue: VenueTrade | None = field(default=None, metadata=LEFT_OUT)
    preview: object = field(default=None, metadata=AGENTS_PLACE)
    reason: str | None = field(default=None, metadata=LEFT_OUT)
    approval_id: str | None = field(default=None, metadata=LEFT_OUT)
    expires_at: Timestamp | None = field(default=None, metadata=LEFT_OUT)
    block: int | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutAndIn:
    """The amounts that an action took out and brought back."""

    out: Usdc
    in_: Usdc = field(metadata=wire_name("in"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted:
    """A report beside what the chain measured of its transaction; the chain's figures stand."""

    told: OutAndIn
    measured: OutAndIn


STEP_OF: Final = {e.payload_type: e.step for e in CHAIN_EVENTS if e.payload_type is not Control}

IN_PURSE: Final[Mapping[str, tuple[StepKind, str, str]]] = {
    "funded": ("outcome", "purse_funded", "done"),
    "drained": ("outcome", "purse_drained", "done"),
    "came_in": ("outcome", "purse_came_in", "done"),
    "voided": ("control", "purse_voided", "done"),
}
TOLD_BY: Final[Mapping[str, str]] = {
    "stop": "paused",
    "into_purse": "purse_funded",
    "out_of_purse": "purse_drained",
}
"""A code that tells a transaction, with the one that repeats it: a stop pauses, and a call moves
what the purse says that it got or gave.
"""

NOWHERE: Final = StepTarget()
NOTHING: Final = StepParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the record (spec 2.7).

    `group` ties steps together; `allowed_by`, `breached` and `clauses` are clause numbers;
    `contradicted` stands only where the chain measured something else than was told.
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
    why: str | None = field(default=None, metadata=described("the agent's own words"))
    note: str | None = field(
        default=None, metadata=described("own words of whoever reported the row")
    )
    resource: str | None = field(
        default=None, metadata=described("what was read, as the agent told it")
    )
    target: StepTarget = NOWHERE
    allowed_by: tuple[int, ...] = ()
    breached: tuple[int, ...] = ()
    clauses: tuple[int, ...] = ()
    params: StepParams = field(
        default=NOTHING, metadata=described("with own words of whoever reported the row")
    )
    contradicted: Contradicted | None = field(default=None, metadata=LEFT_OUT)


def _shorten(text: str | None) -> str | None:
    return text[:TEXT_SHOWN] if text else None


def _group(event: Event) -> str:
    """The group of a step: its transaction, approval or order, else the row itself."""
    body = event.content.body
    if isinstance(body, VenueFilled):
        return body.order_id or event.event_id
    approval_id = body.approval_id if isinstance(body, ApprovalDecided) else None
    return event.tx_hash or approval_id or event.event_id


def _checked(payload: Payload) -> tuple[int, ...]:
    """The clauses that an action was held to."""
    return EXIT_CLAUSES if isinstance(payload, Unwound) else ACTION_CLAUSES


def _target(payload: Payload) -> StepTarget:
    if isinstance(payload, VenueFilled):
        return StepTarget(market=f"{payload.venue}:{payload.product}")
    if isinstance(payload, Executed | Unwound | AgentStatement | ApprovalDecided):
        return copy_fields(StepTarget, payload.target)
    return NOWHERE


def to_step(event: Event, *, matched: bool, twin: Event | None = None) -> Step:
    """The step a row is.

    Shapes: `matched` says that the other side's row of the same transaction is known; `twin` is
    that row, where it is at hand.
    """
    is_by_agent, body = event.reported_by is Reporter.AGENT, event.content.body
    kind, code, status = _classify(event, matched)
    broken = tuple(sorted({n for c in event.violation_codes if (n := clause_of(c)) is not None}))
    checked = _checked(body) if kind in ("action", "outcome") and event.kind in ACTING else ()
    clause_numbers = {*checked, *broken, *refused_by(event)}
    statement = body if isinstance(body, AgentStatement) else None
    own = statement if is_by_agent else None
    return Step(
        id=event.event_id,
        group=_group(event),
        kind=kind,
        code=code,
        status=status,
        at=event.occurred_at,
        reported_by=event.reported_by.value,
        confirmed_on_chain=event.reported_by is Reporter.CHAIN or (matched and is_by_agent),
        est=is_by_agent and not matched,
        amount_usdc=event.amount_usdc,
        tx_hash=event.tx_hash,
        why=_shorten(own.why or own.text) if own is not None else None,
        note=_shorten(body.text) if isinstance(body, AgentStatement | ApprovalDecided) else None,
        resource=_shorten(statement.resource) if statement is not None else None,
        target=_target(body),
        allowed_by=tuple(c for c in checked if c not in broken),
        breached=broken,
        clauses=tuple(sorted(clause_numbers)) or CLAUSES.get(kind, ()),
        params=shape_from(StepParams, parts_of(body)),
        contradicted=_contradiction(event, twin) if is_by_agent and twin is not None else None,
    )


def _contradiction(event: Event, chain: Event) -> Contradicted | None:
    called = chain.content.body
    if not isinstance(called, Executed | Unwound) or event.kind is LedgerKind.RESOLVE:
        return None
    out, into = sides(event)
    claim = OutAndIn(out=Usdc(out), in_=Usdc(into))
    spent = called.spent if isinstance(called, Executed) else ZERO
    measured = OutAndIn(out=spent, in_=called.received)
    return None if claim == measured else Contradicted(told=claim, measured=measured)


def refusal_of(event: Event) -> RefusedAttempt | None:
    """The refused attempt of a row (spec 2.5); None for any other row."""
    body = event.content.body
    return body if isinstance(body, RefusedAttempt) else None


def refused_by(event: Event) -> tuple[int, ...]:
    """The clause that an attempt ran into (spec 2.5)."""
    attempt = refusal_of(event)
    clause = REFUSED_BY.get(attempt.reason) if attempt is not None else None
    return (int(clause),) if clause is not None else ()


# The clauses that a kind of step is about.
CLAUSES: Final[Mapping[StepKind, tuple[int, ...]]] = {
    "consent": (6,),
    "funding": (1,),
    "control": (7, 10),
    "instruction": ALL_CLAUSES,
}


def _classify(event: Event, matched: bool) -> tuple[StepKind, str, str]:
    """(kind, code, status) of a row."""
    body = event.content.body
    match body:
        case RefusedAttempt():
            is_proven = event.reported_by is Reporter.CHAIN
            return "note", "refused", "reverted" if is_proven else "refused"
        case ApprovalDecided():
            return "consent", "approval", body.status
        case Executed() | Unwound() | PurseMoved() | PaidFee():
            return _money_kind(body, matched)
        case Control():
            return "control", body.change, "done"
        case Reported() | Noted():
            return _statement_kind(event, body)
        case PaymentUnexplained():
            return "note", "unexplained", "done"
        case ClaimEnded() | OwnerNoticed():
            code = "claim" if isinstance(body, ClaimEnded) else f"told_{body.channel}"
            return "note", code, body.outcome
        case VenueFilled() | TermsSigned():
            kind: StepKind = "action" if isinstance(body, VenueFilled) else "control"
            return kind, event.kind.value, "done"
    kind, code = STEP_OF.get(type(body), ("note", "note"))
    return kind, code, "done"


def _money_kind(
    body: Executed | Unwound | PurseMoved | PaidFee, matched: bool
) -> tuple[StepKind, str, str]:
    if isinstance(body, PurseMoved):
        return IN_PURSE[body.change]
    if isinstance(body, PaidFee):
        if body.resource is not None:
            return "research", "paid_read", "done"
        return "note", "fee" if body.purse is None else "purse_paid", "done"
    if body.purse:
        into = isinstance(body, Executed) and bool(body.spent)
        return "action", "into_purse" if into else "out_of_purse", "done"
    return "outcome" if matched else "action", STEP_OF[type(body)][1], "done"


def _statement_kind(event: Event, body: Reported | Noted) -> tuple[StepKind, str, str]:
    if body.preview is not None:
        return "verify", "preview", "done"
    if event.kind is LedgerKind.RESOLVE:
        return "outcome", "resolve", "done"
    if event.kind in ACTING:
        return "action", event.kind.value, "unproven" if unproven(event) else "done"
    return ("note", "note", "done") if body.mark is None else ("outcome", "mark", "done")
