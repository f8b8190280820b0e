"""The purse of a mandate: what lies in it, and what it may pay."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.mandates.bills import Bill
from domain.money import Usdc
from domain.rules.snapshot import MandateSnapshot, today
from domain.times import Timestamp, from_unix
from domain.wire_fields import described, wire_name


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
    open_bills: tuple[OpenBill, ...]


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
