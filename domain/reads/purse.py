"""The purse of a mandate: what lies in it, what it may pay, and what it paid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from domain.ledger.events.event import Event
from domain.ledger.events.payloads import PaidFee
from domain.ledger.state.claimed import ClaimedBook, explanation
from domain.mandates.bills import Bill
from domain.mandates.payment_requests import host_of
from domain.money import ZERO, Usdc
from domain.rules.snapshot import MandateSnapshot, today
from domain.times import Timestamp, from_unix
from domain.wire_fields import described, wire_name

ToldBy: TypeAlias = Literal["bill", "report"]
Whose: TypeAlias = Literal["owner", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBill:
    """A bill that may still be paid; what it takes is no longer free."""

    bill_id: str
    resource: str = field(metadata=described("what it pays for, as the agent told it"))
    host: str = field(metadata=described("as the agent told it"))
    pay_to: str
    amount_usdc: Usdc
    valid_before: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseRead:
    """The purse that pays x402 bills out of the mandate.

    `float` is the most that lies in it at once, `per_payment` and `per_day` bound one bill and what
    is put in on a UTC day. `in_purse` is put in - taken out - paid + what others sent, by the
    chain's rows, and null while a row of the vault is missing; it is no part of the worth.
    `opened`: something was put in, so that there is a purse.
    """

    purse: str
    hub: str
    float_: Usdc = field(metadata=wire_name("float"))
    per_payment: Usdc
    per_day: Usdc
    payees: tuple[str, ...] = field(metadata=described("who may be paid; empty: anybody"))
    in_purse: Usdc | None
    funded_today: Usdc
    paid_today: Usdc
    paid_ever: Usdc
    payments: int
    opened: bool
    open_bills: tuple[OpenBill, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentRead:
    """A payment out of the purse, as the chain has it: time, amount, payee and transaction.

    Shapes: `resource` is what it bought and `host` its host, null where nobody said; the nonce of
    the payment commits to it. `told_by` is the bill that was made here, or the agent's report.
    """

    event_id: str
    at: Timestamp
    amount_usdc: Usdc
    pay_to: str
    tx_hash: str
    resource: str | None = field(metadata=described("as the agent told it"))
    host: str | None = field(metadata=described("as the agent told it"))
    told_by: ToldBy | None
    whose: Whose | None = field(metadata=described("where the payee is a wallet of the mandate"))


def purse_read(snapshot: MandateSnapshot) -> PurseRead | None:
    """The purse; None where the terms have none, or it cannot be computed yet."""
    mandate, terms, at = snapshot.mandate, snapshot.mandate.purse, snapshot.purse
    if terms is None or at is None:
        return None
    book = snapshot.measured.purse
    day = book.day(today(snapshot))
    return PurseRead(
        purse=at.address,
        hub=terms.hub,
        float_=terms.float_limit(mandate.daily_cap),
        per_payment=terms.per_payment(mandate.per_tx_cap),
        per_day=terms.per_day(mandate.daily_cap),
        payees=terms.payees,
        in_purse=None if mandate.differs_at is not None else Usdc(book.inside),
        funded_today=Usdc(day.funded),
        paid_today=Usdc(day.paid),
        paid_ever=Usdc(book.paid),
        payments=book.payments,
        opened=book.funded > 0,
        open_bills=tuple(map(_open_bill, snapshot.open_bills)),
    )


def _open_bill(bill: Bill) -> OpenBill:
    return OpenBill(
        bill_id=bill.bill_id,
        resource=bill.resource,
        host=bill.host,
        pay_to=bill.pay_to,
        amount_usdc=bill.amount,
        valid_before=from_unix(bill.valid_before),
    )


def payments_read(snapshot: MandateSnapshot) -> tuple[PaymentRead, ...]:
    """The newest payments out of the purse, newest first."""
    return tuple(_payment(e, snapshot) for e in snapshot.payments)


def _payment(event: Event, snapshot: MandateSnapshot) -> PaymentRead:
    resource, told_by = bought(event, snapshot.state.claimed)
    body, mandate = event.content.body, snapshot.mandate
    pay_to = (body.payee if isinstance(body, PaidFee) else None) or ""
    own: dict[str | None, Whose] = {mandate.agent_address: "agent", mandate.owner_address: "owner"}
    return PaymentRead(
        event_id=event.event_id,
        at=event.occurred_at,
        amount_usdc=event.amount_usdc or ZERO,
        pay_to=pay_to,
        tx_hash=event.tx_hash or "",
        resource=resource,
        host=host_of(resource) if resource else None,
        told_by=told_by,
        whose=own.get(pay_to),
    )


def bought(event: Event, claimed: ClaimedBook) -> tuple[str | None, ToldBy | None]:
    """(what a payment bought, who says so); (None, None) where nobody does."""
    body = event.content.body
    if not isinstance(body, PaidFee):
        return None, None
    if body.resource:
        return body.resource, "bill"
    report = claimed.explained.get(explanation(body.nonce or "", body.payee or ""))
    return (report, "report") if report else (None, None)
