"""Bills: paid and voided by the chain's rows alone, whoever sent their transactions."""

from __future__ import annotations

from dataclasses import replace

from domain.ledger.events.event import Event
from domain.ledger.events.payloads import PaidFee, PurseMoved
from domain.mandates.bills import Bill
from domain.money import Usdc
from storage.unit_of_work import UnitOfWork


def bill_of(uow: UnitOfWork, paid: PaidFee, amount: Usdc | None) -> Bill | None:
    """The bill that a payment settles: the nonce is the agent's to choose, and it may sign another
    payee or amount under that of a bill made here.
    """
    bill = uow.bills.by_nonce(paid.purse or "", paid.nonce or "")
    if bill is None or bill.pay_to.lower() != (paid.payee or "").lower():
        return None
    return bill if bill.amount == amount else None


def settle_bills(uow: UnitOfWork, event: Event) -> None:
    """Note the bill that a payment's row settles, or those that a purse made void; a payment is its
    bill's whichever transaction brought it.
    """
    body = event.content.body
    if isinstance(body, PurseMoved) and body.change == "voided":
        uow.bills.void(body.purse, body.epoch or 0, event.occurred_at)
    if not isinstance(body, PaidFee):
        return
    bill = bill_of(uow, body, event.amount_usdc)
    if bill is None:
        return
    tx_hash = event.tx_hash or ""
    uow.bills.mark_paid(bill, tx_hash=tx_hash, event_id=event.event_id, at=event.occurred_at)
    item = uow.approvals.get(bill.public_id, bill.approval_id) if bill.approval_id else None
    if item is not None and item.status == "approved":
        uow.approvals.save(replace(item, status="used", used_by=tx_hash))


def reopen_bill(uow: UnitOfWork, event: Event) -> None:
    """Take back that a bill was paid, or that bills were made void, with a row whose block is gone;
    an answer of the owner that ended with them does not come back.
    """
    body = event.content.body
    if isinstance(body, PurseMoved) and body.change == "voided":
        uow.bills.unvoid(body.purse, event.occurred_at)
    if not isinstance(body, PaidFee):
        return
    bill = bill_of(uow, body, event.amount_usdc)
    if bill is not None:
        uow.bills.mark_unpaid(bill)
