"""Rows of the ledger as they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from domain.ledger.events import Event
from domain.ledger.payloads import (
    AgentPaid,
    ApprovalTold,
    ClaimEnded,
    Control,
    Deposited,
    Executed,
    Marked,
    Noted,
    PaidFee,
    Part,
    Place,
    RefusedAttempt,
    Reported,
    Reverses,
    Said,
    Settled,
    Signed,
    Stopped,
    Told,
    Unwound,
    VenueFilled,
    Violation,
    Withdrawn,
)
from domain.reads.shapes import (
    AgentControl,
    ApprovalDecision,
    AttemptedPlace,
    BreachDetail,
    Broken,
    ClaimOutcome,
    EndedClaim,
    ExecutedCall,
    LedgerRow,
    Payload,
    RefusedTry,
    Restated,
    Reversed,
    SettledResult,
    ToldPosition,
    ToldTarget,
    UnwoundCall,
    VenueTrade,
    WholeMark,
)

NO_PAYLOAD: Final = Payload()


def ledger_row(event: Event) -> LedgerRow:
    """A row as it is shown."""
    return LedgerRow(
        event_id=event.event_id,
        kind=event.kind.value,
        amount_usdc=event.amount_usdc,
        tx_hash=event.tx_hash,
        chain_id=event.chain_id,
        payload=payload(event.told),
        reported_by=event.reported_by.value,
        created_at=event.created_at,
        occurred_at=event.occurred_at,
    )


def payload(told: Told) -> Payload:
    """What a row tells, under the names of its stored form."""
    again, wrong = told.restates, told.violation
    return replace(
        _TOLD[type(told.what)](told.what),
        violation=None if wrong is None else broken(wrong),
        restates=None
        if again is None
        else Restated(event_id=again.event_id, log_index=again.log_index),
        log_index=told.log_index,
    )


def _said(what: Said) -> Payload:
    return Payload(
        position=position(what.part),
        mark=what.mark,
        target=_place(what.place),
        direction=what.direction,
        why=what.why,
        text=what.text,
        next_at=what.next_at,
        fee_kind=what.fee_kind,
        resource=what.resource,
        preview=what.preview,
        notional=True if what.notional else None,
    )


def position(part: Part | None) -> ToldPosition | None:
    """The agent's name for a part of a position."""
    if part is None:
        return None
    return ToldPosition(id=part.id, market=part.market, side=part.side, label=part.label)


def _place(place: Place) -> ToldTarget | None:
    told = ToldTarget(
        market=place.market, address=place.address, selector=place.selector, label=place.label
    )
    return None if told == ToldTarget() else told


def executed(what: Executed) -> ExecutedCall:
    """A measured call."""
    return ExecutedCall(
        target=what.place.address,
        selector=what.place.selector,
        market=what.place.market,
        label=what.place.label,
        spent=what.spent,
        received=what.received,
        approved=what.approved,
        agent=what.agent,
        data_hash=what.data_hash,
    )


def unwound(what: Unwound) -> UnwoundCall:
    """A measured call after the end."""
    return UnwoundCall(
        target=what.place.address,
        selector=what.place.selector,
        market=what.place.market,
        label=what.place.label,
        received=what.received,
        by=what.by,
        data_hash=what.data_hash,
    )


def settled(what: Settled) -> SettledResult:
    """The vault's own result."""
    return SettledResult(
        spent=what.spent, returned=what.returned, gain=what.gain, agent_fee=what.agent_fee
    )


def marked(what: Marked) -> WholeMark:
    """A mark of the whole vault."""
    return WholeMark(cash=what.cash, positions=what.positions, floor=what.floor, block=what.block)


def approval(what: ApprovalTold) -> ApprovalDecision:
    """The owner's decision."""
    return ApprovalDecision(approval_id=what.approval_id, status=what.status, reason=what.reason)


def venue(what: VenueFilled) -> VenueTrade:
    """A fill at the venue."""
    return VenueTrade(
        venue=what.venue,
        network=what.network,
        order_id=what.order_id,
        product=what.product,
        side="buy" if what.is_buy else "sell",
        px=format(what.px, "f"),
        size=format(what.size, "f"),
        fee=format(what.fee, "f"),
        builder_fee=format(what.builder_fee, "f"),
        first=True if what.first else None,
        reduce_only=True if what.reduce_only else None,
        tid=what.tid,
        oid=what.oid,
        at=what.at,
    )


def claim(what: ClaimEnded) -> ClaimOutcome:
    """How a claim ended."""
    return ClaimOutcome(event_id=what.event_id, outcome=what.outcome)


def refusal(what: RefusedAttempt) -> RefusedTry:
    """A refused attempt."""
    return RefusedTry(
        reason=what.reason,
        source=what.source,
        reason_source=what.reason_source,
        check=what.check,
        attempted=what.attempted,
        proof=what.proof,
    )


def _reversed(what: Reverses) -> Reversed:
    return Reversed(
        event_id=what.event_id,
        seq=what.seq,
        kind=what.kind.value,
        amount_usdc=what.amount,
        tx_hash=what.tx_hash,
        occurred_at=what.occurred_at,
        payload=NO_PAYLOAD if what.what is None else _TOLD[type(what.what)](what.what),
    )


def broken(violation: Violation) -> Broken:
    """The rules that a row broke."""
    return Broken(
        codes=violation.codes,
        detail={code: breach_detail(told) for code, told in violation.detail.items()},
    )


def breach_detail(told: object) -> BreachDetail:
    """The stored numbers of one broken rule; what is unusable reads as nothing."""
    values: Mapping[str, object] = told if isinstance(told, Mapping) else {}
    clause, attempted = values.get("clause"), values.get("attempted")
    return BreachDetail(
        clause=clause if isinstance(clause, int) else None,
        allowed=_text(values.get("allowed")),
        used=_text(values.get("used")),
        attempted=_attempted(attempted) if isinstance(attempted, Mapping) else _text(attempted),
        bound_by=_text(values.get("bound_by")),
    )


def _attempted(told: Mapping[str, object]) -> AttemptedPlace:
    return AttemptedPlace(
        market=_text(told.get("market")),
        address=_text(told.get("address")),
        selector=_text(told.get("selector")),
        resource=_text(told.get("resource")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _executed(what: Executed) -> Payload:
    return Payload(executed=executed(what), direction="out" if what.spent else "in")


def _stopped(what: Stopped) -> Payload:
    only: Literal[True] | None = True if what.record_only else None
    return Payload(reason=what.reason, by=what.by, record_only=only)


def _approval(what: ApprovalTold) -> Payload:
    return Payload(approval=approval(what), target=_place(what.place), text=what.text)


# What of a payload each told thing fills.
_TOLD: Final[Mapping[type, Callable[[Any], Payload]]] = {
    Deposited: lambda w: Payload(from_=w.sender),
    Executed: _executed,
    Unwound: lambda w: Payload(unwound=unwound(w), direction="in"),
    Withdrawn: lambda w: Payload(),
    AgentPaid: lambda w: Payload(agent=w.agent),
    Stopped: _stopped,
    Settled: lambda w: Payload(settled=settled(w)),
    Control: lambda w: Payload(control=AgentControl(what=w.what, agent=w.agent)),
    Marked: lambda w: Payload(marked=marked(w)),
    Reverses: lambda w: Payload(reverses=_reversed(w), text=w.text),
    ClaimEnded: lambda w: Payload(claim=EndedClaim(event_id=w.event_id, outcome=w.outcome)),
    VenueFilled: lambda w: Payload(venue=venue(w)),
    Signed: lambda w: Payload(digest=w.digest, signer_type=w.signer_type),
    ApprovalTold: _approval,
    RefusedAttempt: lambda w: Payload(refusal=refusal(w)),
    Reported: _said,
    PaidFee: _said,
    Noted: _said,
}
