"""Writing a payload in its stored form, which `domain.ledger.stored` reads back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

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
    Payload,
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
)  # fmt: skip
from domain.money import ZERO
from domain.times import timestamp


def write(told: Told) -> dict[str, object]:
    """The stored form of a payload: what `read` reads back."""
    stored = _WRITERS[type(told.what)](told.what)
    again, broken = told.restates, told.violation
    if again is not None:
        stored["restates"] = _there(
            event_id=again.event_id, log_index=again.log_index, moved=again.moved or None
        )
    if told.log_index is not None:
        stored["log_index"] = told.log_index
    if broken is not None:
        stored["violation"] = {"codes": list(broken.codes), "detail": dict(broken.detail)}
    return stored


def written(what: Payload, violation: Violation | None = None) -> dict[str, object]:
    """The stored form of what a row tells."""
    return write(Told(what=what, violation=violation))


def _there(**values: object) -> dict[str, object]:
    return {n: v for n, v in values.items() if v is not None}


def _called(place: Place) -> dict[str, object]:
    return {
        "target": place.address,
        "selector": place.selector,
        "market": place.market,
        "label": place.label,
    }


def _placed(place: Place) -> dict[str, object] | None:
    p = place
    told = _there(market=p.market, address=p.address, selector=p.selector, label=p.label)
    return told or None


def _sums(what: Any, *names: str) -> dict[str, object]:
    return {n: str(getattr(what, n)) for n in names}


def _executed(what: Executed) -> dict[str, object]:
    told = _called(what.place) | _sums(what, "spent", "received", "approved")
    told |= _there(agent=what.agent, data_hash=what.data_hash)
    return {"executed": told, "direction": "out" if what.spent else "in"}


def _unwound(what: Unwound) -> dict[str, object]:
    told = _called(what.place) | {"spent": str(ZERO), "received": str(what.received)}
    return {"unwound": told | _there(by=what.by, data_hash=what.data_hash), "direction": "in"}


def _stopped(what: Stopped) -> dict[str, object]:
    return _there(reason=what.reason, by=what.by, record_only=what.record_only or None)


def _settled(what: Settled) -> dict[str, object]:
    return {"settled": _sums(what, "spent", "returned", "gain", "agent_fee")}


def _marked(what: Marked) -> dict[str, object]:
    return {"marked": _sums(what, "cash", "positions", "floor") | _there(block=what.block)}


def _reverses(what: Reverses) -> dict[str, object]:
    told = {
        "event_id": what.event_id,
        "seq": what.seq,
        "kind": what.kind.value,
        "amount_usdc": None if what.amount is None else str(what.amount),
        "tx_hash": what.tx_hash,
        "occurred_at": None if what.occurred_at is None else timestamp(what.occurred_at),
        "payload": {} if what.what is None else written(what.what),
    }
    return {"reverses": told} | _there(text=what.text)


def _venue(what: VenueFilled) -> dict[str, object]:
    told = _there(venue=what.venue, network=what.network, order_id=what.order_id)
    told |= {"product": what.product, "side": "buy" if what.is_buy else "sell"}
    told |= {n: format(getattr(what, n), "f") for n in ("px", "size", "fee", "builder_fee")}
    told |= _there(first=what.first or None, reduce_only=what.reduce_only or None)
    at = None if what.at is None else timestamp(what.at)
    return {"venue": told | _there(tid=what.tid, oid=what.oid, at=at)}


def _approval(what: ApprovalTold) -> dict[str, object]:
    told: dict[str, object] = {"approval_id": what.approval_id, "status": what.status, "clause": 6}
    told |= _there(reason=what.reason)
    return _there(approval=told, target=_placed(what.place), text=what.text)


def _refusal(what: RefusedAttempt) -> dict[str, object]:
    told = {"reason": what.reason, "source": what.source}
    told |= {"reason_source": what.reason_source, "check": what.check}
    return {"refusal": told | _there(attempted=what.attempted, proof=what.proof)}


def _said(what: Said) -> dict[str, object]:
    p, mark = what.part, None if what.mark is None else str(what.mark)
    part = p and _there(id=p.id, market=p.market, side=p.side, label=p.label)
    told = _there(position=part, mark=mark, target=_placed(what.place), direction=what.direction)
    told |= _there(why=what.why, text=what.text, next_at=what.next_at, fee_kind=what.fee_kind)
    told |= _there(resource=what.resource, preview=what.preview, notional=what.notional or None)
    return told


_WRITERS: Final[Mapping[type, Callable[[Any], dict[str, object]]]] = {
    Deposited: lambda w: _there(**{"from": w.sender}),
    Executed: _executed,
    Unwound: _unwound,
    Withdrawn: lambda w: {},
    AgentPaid: lambda w: _there(agent=w.agent),
    Stopped: _stopped,
    Settled: _settled,
    Control: lambda w: {"control": _there(what=w.what, agent=w.agent)},
    Marked: _marked,
    Reverses: _reverses,
    ClaimEnded: lambda w: {"claim": {"event_id": w.event_id, "outcome": w.outcome}},
    VenueFilled: _venue,
    Signed: lambda w: _there(digest=w.digest, signer_type=w.signer_type),
    ApprovalTold: _approval,
    RefusedAttempt: _refusal,
    Reported: _said,
    PaidFee: _said,
    Noted: _said,
}
