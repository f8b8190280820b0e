"""Event reports of agents: actions and refused attempts. A violation is stored and flagged,
never dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from decimal import Decimal
from typing import Final, Literal

from pydantic import Field, field_validator

from domain.ledger.events.event import Event, LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import read, written
from domain.ledger.events.payloads import EventPayload, Noted, PaidFee, Reported
from domain.ledger.state.claimed import commitment, explanation, unproven
from domain.mandates.bills import Bill
from domain.mandates.mandate import Mandate
from domain.money import NO_AMOUNT, ZERO, Usdc, is_number
from domain.reads.event_rows import ledger_row
from domain.reads.row_models import LedgerRow
from domain.refusals import Refused, invalid, refusal
from domain.rules.action_checks import RemainingNow, remaining
from domain.rules.paid_read_credits import afford, cost, used
from domain.rules.target_rules import notional, ordered
from domain.rules.violations import violations, with_violation
from domain.times import Timestamp, moment_of
from domain.wire_fields import described
from storage.prefetch.read_set import ReadSet
from storage.unit_of_work import UnitOfWork
from tools.context.access import agent_mandate
from tools.context.ledger_rows import append
from tools.context.snapshot_loader import load_snapshot
from tools.model.fields import OneMandate, TxHash
from tools.model.operation import AnyContext, Caller, HandlerResult, Operation, RequestContext

PAYLOAD_KEYS: Final = frozenset(
    {
        "position",
        "mark",
        "target",
        "next_at",
        "text",
        "why",
        "fee_kind",
        "resource",
        "preview",
        "direction",
        "salt",
        "payee",
    }
)
ACTS: Final = (LedgerKind.BUY, LedgerKind.SELL, LedgerKind.MOVE)
TEXT_MAX: Final = 2_000
_SALT: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
PREVIEW_MAX: Final = 16_384


AgentPayload = Reported | PaidFee | Noted


class EventIn(OneMandate):
    """One event (spec 2.4)."""

    kind: Literal["buy", "sell", "move", "fee", "resolve", "note"] = Field(
        description="buy: USDC out of the vault into a market (a deposit); sell: USDC back (a "
        "withdrawal); move: between places; fee: paid; resolve: a position's result; note: words"
    )
    amount_usdc: Usdc | None = Field(
        default=None, description="a positive magnitude; resolve may be negative"
    )
    tx_hash: TxHash | None = None
    chain_id: int | None = Field(
        default=None, ge=1, le=2**53, description="EIP-155 id; default: the mandate's"
    )
    payload: dict[str, object] | None = Field(
        default=None,
        description="optional keys: position {id}, mark, target {market, address, selector}, "
        "next_at, text, why, fee_kind, "
        "resource, salt, preview, direction (in|out)",
    )

    @field_validator("payload", mode="before")
    @classmethod
    def _exact_mark(cls, payload: object) -> object:
        """The amount in it stays as it was written."""
        if not isinstance(payload, dict) or not isinstance(payload.get("mark"), Decimal):
            return payload
        return {**payload, "mark": format(payload["mark"], "f")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A fault to mend that breaks no rule."""

    code: Literal["unproven"]
    text: str = field(metadata=described("the service's own words"))


UNPROVEN: Final = Warned(
    code="unproven",
    text="Without tx_hash nothing proves this action; it counts for nothing until the chain's "
    "own row tells of it.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingThen(RemainingNow):
    """The remaining limits at `as_of`."""

    as_of: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereProven:
    """The reads that show whether the chain confirms the report."""

    text: str = field(metadata=described("the service's own words"))
    tool: Literal["mandate_limits"]
    route: Literal["GET /wallet/mandates/{public_id}/limits"]


PROVEN_LATER: Final = WhereProven(
    text="A claim until the chain's own row is in; then pending_claims no longer counts it.",
    tool="mandate_limits",
    route="GET /wallet/mandates/{public_id}/limits",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOut:
    """The stored row; `violation` says that it broke a rule."""

    event: LedgerRow
    violation: bool
    confirmed: bool | None = field(
        metadata=described(
            "whether the chain's own row of this action was in when it was reported; null "
            "where no chain tells of it (fee, resolve, note, venue and paid host)"
        )
    )
    proof: WhereProven | None = field(metadata=described("where to see it proven; null once it is"))
    warnings: list[Warned]
    remaining: RemainingThen = field(
        metadata=described(
            "what limits.remaining was at as_of: a repeat of this answer repeats it too"
        )
    )


def clean_payload(payload: dict[str, object] | None) -> dict[str, object]:
    """The keys an agent may write, each in its form; the service's own keys are refused."""
    raw = dict(payload or {})
    if not raw.keys() <= PAYLOAD_KEYS:
        unknown = sorted(raw.keys() - PAYLOAD_KEYS)
        raise invalid(f"payload.{unknown[0]}", "not a key that an agent writes")
    for name in ("text", "why", "fee_kind", "resource", "next_at"):
        value = raw.get(name)
        if value is not None and (not isinstance(value, str) or len(value) > TEXT_MAX):
            raise invalid(f"payload.{name}", f"a text of at most {TEXT_MAX} characters")
    if len(json.dumps(raw.get("preview"))) > PREVIEW_MAX:
        raise invalid("payload.preview", f"at most {PREVIEW_MAX} characters of JSON")
    next_at = raw.get("next_at")
    if next_at is not None and moment_of(next_at) is None:
        raise invalid("payload.next_at", "a time: ISO 8601, UTC, such as 2026-11-20T19:26:06.123Z")
    _check_bill(raw)
    if raw.get("direction") not in (None, "in", "out"):
        raise invalid("payload.direction", "in or out")
    if raw.get("mark") is not None:
        if not is_number(raw["mark"]):
            raise invalid("payload.mark", NO_AMOUNT)
        mark = Usdc.parse(raw["mark"])
        if mark < ZERO:
            raise invalid("payload.mark", "not below 0")
        raw["mark"] = str(mark)
    _shape(raw, "position", {"id", "market", "side", "label"})
    _shape(raw, "target", {"market", "address", "selector", "label"})
    return {k: v for k, v in raw.items() if v is not None}


def _check_bill(raw: Mapping[str, object]) -> None:
    """Refuse a report of a payment that names no bill. Errors: `invalid_request`."""
    salt, payee = raw.get("salt"), raw.get("payee")
    if salt is not None and not (isinstance(salt, str) and _SALT.fullmatch(salt)):
        raise invalid("payload.salt", "0x and 64 hex digits, as the bill has it")
    if payee is not None and not (isinstance(payee, str) and _ADDRESS.fullmatch(payee)):
        raise invalid("payload.payee", "0x and 40 hex digits")
    if salt is not None and raw.get("resource") is None:
        raise invalid("payload.resource", "the url that the payment bought")


def agent_payload(
    mandate: Mandate, kind: LedgerKind, payload: dict[str, object] | None
) -> AgentPayload:
    """The payload that an agent gives with a row, and whether a vault's log will confirm it.

    Errors: `invalid_request`, `invalid_number`.
    """
    statement = read(kind, clean_payload(payload)).body
    if not isinstance(statement, (Reported, PaidFee, Noted)):
        raise TypeError(statement)
    if kind not in ACTS or not notional(mandate, statement.target):
        return statement
    return replace(statement, notional=True, ordered=ordered(mandate, statement.target))


def _shape(raw: dict[str, object], name: str, keys: set[str]) -> None:
    value = raw.get(name)
    if value is None:
        return
    if not isinstance(value, dict) or set(value) - keys:
        raise invalid(f"payload.{name}", f"an object with {', '.join(sorted(keys))}")
    if any(v is not None and (not isinstance(v, str) or len(v) > 200) for v in value.values()):
        raise invalid(f"payload.{name}", "its values are texts of at most 200 characters")


def _amount(request: EventIn) -> Usdc | None:
    amount = request.amount_usdc
    if amount is None and request.kind != "note":
        raise invalid("amount_usdc", f"a {request.kind} has an amount")
    if amount is not None and amount < ZERO and request.kind != "resolve":
        why = "it is negative, and only a resolve may be"
        raise Refused(refusal("invalid_number", value=str(amount), why=why))
    return amount


def report_event(uow: UnitOfWork, ctx: RequestContext[EventIn, None]) -> HandlerResult[EventOut]:
    """Store one event and judge it."""
    request, kind = ctx.request, LedgerKind(ctx.request.kind)
    # The row is locked so that parallel reports are judged one after the other, each seeing the
    # ones before.
    mandate = agent_mandate(uow, ctx.caller, request.public_id, lock=True)
    statement = agent_payload(mandate, kind, request.payload)
    if isinstance(statement, PaidFee) and statement.explains:
        statement = _bound(uow, ctx, mandate, statement)
    new = NewEvent(
        kind=kind,
        reported_by=Reporter.AGENT,
        occurred_at=ctx.now,
        amount_usdc=_amount(request),
        tx_hash=request.tx_hash,
        chain_id=request.chain_id or mandate.chain_id,
        payload=written(statement),
        parsed=EventPayload(body=statement),
    )
    # What a purse paid is measured, and was held to the day before it was signed.
    reads_paid = isinstance(statement, PaidFee) and statement.paid_read and not statement.explains
    if new.amount_usdc is not None and reads_paid:
        require_credits(uow, ctx, new.amount_usdc)
    same = tuple(uow.ledger.by_tx(mandate.public_id, request.tx_hash)) if request.tx_hash else ()
    snapshot = load_snapshot(uow, ctx, mandate, events=0)
    # A verdict is stored for good: it rests on rows that are deep enough, as the mandate does.
    judged = snapshot if snapshot.mandate is mandate else replace(snapshot, mandate=mandate)
    broken = violations(judged, new, same)
    judged_row = replace(new, payload=with_violation(new, broken)) if broken else new
    event, confirmed = append(uow, ctx, mandate, judged_row), _confirmed(kind, statement, same)
    left = remaining(snapshot.with_state(uow.ledger.state(mandate.public_id)))
    body = EventOut(
        event=ledger_row(event),
        violation=bool(broken),
        confirmed=confirmed,
        proof=PROVEN_LATER if confirmed is False else None,
        warnings=[UNPROVEN] if unproven(event) else [],
        remaining=RemainingThen(
            **{f.name: getattr(left, f.name) for f in fields(left)}, as_of=ctx.now
        ),
    )
    return HandlerResult(body, 202 if broken else 201)


def _bound(uow: UnitOfWork, ctx: AnyContext, mandate: Mandate, fee: PaidFee) -> PaidFee:
    """The report with the payee and the 28 bytes that commit its bill to what it bought, held
    against the measured payments; with a payee it may come before its payment.

    Errors: `invalid_request` where no payment of the purse commits to this.
    """
    chain = ctx.chains.get(mandate.chain_id)
    newest = uow.ledger.state(mandate.public_id).measured.purse.newest
    known = {explanation(nonce, p.payee) for nonce, p in newest.items()}
    payees = dict.fromkeys(p.payee for p in [*newest.values()][::-1])
    for payee in payees if fee.payee is None else (fee.payee,):
        nonce = chain.bill_nonce(0, fee.resource or "", payee, fee.salt or "")
        if explanation(nonce, payee) in known or fee.payee is not None:
            return replace(fee, payee=ctx.chains.address(payee), nonce="0x" + commitment(nonce))
    why = "no payment of the purse commits to this resource and salt; name its payee if it is not "
    raise invalid("payload.salt", why + "measured yet")


def _confirmed(kind: LedgerKind, statement: AgentPayload, same: Sequence[Event]) -> bool | None:
    if kind not in ACTS or (isinstance(statement, Reported) and statement.notional):
        return None
    return any(row.reported_by is Reporter.CHAIN for row in same)


def require_credits(
    uow: UnitOfWork, ctx: AnyContext, amount: Usdc, *, unrecorded: Sequence[Bill] = ()
) -> None:
    """Hold a paid read against the agent's day, all of its mandates together (spec 4.5), where the
    switch is on. What its purses paid counts whoever made the bill, what open bills may still take
    as well, and with them `unrecorded` ones of which no row tells yet.

    Errors: `mandate_budget_exceeded`.
    """
    if not ctx.switches.paid_read_enforcement:
        return
    agent = uow.identities.agent(ctx.caller.user_id or "", lock=True)
    policy = uow.policies.get(agent.agent_id) if agent else None
    if agent is None or policy is None or policy.credit_budget_daily is None:
        return
    states = [uow.ledger.state(of) for of in uow.mandates.ids_of_agent(agent.agent_id)]
    open_bills = uow.bills.open_of_agent(ctx.caller.user_id or "", ctx.now)
    bills = {b.bill_id: b for b in (*open_bills, *unrecorded)}
    spent = used(states, ctx.now) + sum(cost(bill.amount) for bill in bills.values())
    afford(amount, budget=policy.credit_budget_daily, spent=spent, now=ctx.now)


def event_read_set(request: EventIn, now: datetime) -> ReadSet:
    """The rows that a report reads."""
    tx_hash = request.tx_hash.lower() if request.tx_hash else None
    return ReadSet(now=now, mandates=(request.public_id,), tx_hash=tx_hash)


def scope(caller: Caller, request: EventIn) -> str:
    """`<agent user id>:event:<mandate public id>` (spec 2.17)."""
    return f"{caller.user_id}:event:{request.public_id}"


OPERATIONS: Final = (
    Operation(
        name="mandate_report_event",
        title="Report an event",
        summary="Report one buy, sell, move, fee, resolve or note. A rule break is stored and "
        "flagged (violation: true), never dropped.",
        auth="agent",
        route=("POST", "/wallet/mandates/{public_id}/events"),
        request_model=EventIn,
        response_model=EventOut,
        handler=report_event,
        read_set=event_read_set,
        writes=True,
        on_mcp=True,
        idempotency=scope,
        statuses={201: "Stored", 202: "Stored and flagged: violation is true"},
        refusals=(
            "not_found",
            "mandate_not_accepted",
            "invalid_number",
            "invalid_address",
            "secret_not_accepted",
            "mandate_budget_exceeded",
            "idempotency_key_reused",
            "idempotency_in_flight",
        ),
    ),
)
