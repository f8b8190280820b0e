"""Bills: paid and voided by the chain's rows alone, whoever sent their transactions."""

from __future__ import annotations

from dataclasses import replace

from domain.ledger.events.event import Event
from domain.ledger.events.pairing import LogHistory
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
    bill's whichever transaction brought it. One of another payee or amount leaves it void: USDC
    takes a nonce once.
    """
    body, restates = event.content.body, event.content.restates
    if isinstance(body, PurseMoved) and body.change == "voided":
        uow.bills.void(body.purse, body.epoch or 0, event.occurred_at)
    if not isinstance(body, PaidFee):
        return
    bill = uow.bills.by_nonce(body.purse or "", body.nonce or "")
    if bill is None:
        return
    log_id = event.event_id if restates is None else restates.event_id
    is_own = bill_of(uow, body, event.amount_usdc) is not None
    paid_at = event.occurred_at if is_own else None
    uow.bills.save(replace(bill, tx_hash=event.tx_hash, event_id=log_id, paid_at=paid_at))
    item = uow.approvals.get(bill.public_id, bill.approval_id) if bill.approval_id else None
    if is_own and item is not None and item.status == "approved":
        uow.approvals.save(replace(item, status="used", used_by=event.tx_hash or ""))


def reopen_bill(uow: UnitOfWork, public_id: str, lost: LogHistory) -> None:
    """Bring the bills to what stands without a log whose block is gone. What was settled by another
    transaction meanwhile stays settled; an answer of the owner that ended does not come back.
    """
    body, book = lost.now.content.body, uow.ledger.state(public_id).measured.purse
    if isinstance(body, PurseMoved) and body.change == "voided":
        uow.bills.revive(body.purse, book.epoch)
    if not isinstance(body, PaidFee):
        return
    bill = uow.bills.by_nonce(body.purse or "", body.nonce or "")
    if bill is not None and bill.event_id == lost.first.event_id:
        uow.bills.save(replace(bill, tx_hash=None, event_id=None, paid_at=None))
