"""Rules of payments out of a purse: by the terms, by the day, and by what lies in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.chain_facts import PurseState
from domain.mandates.bills import Bill
from domain.mandates.payment_requests import PaymentRequest
from domain.mandates.purses import PurseTerms
from domain.mandates.targets import NOT_LISTED
from domain.money import ZERO, Usdc, total
from domain.refusals import Refused, refusal
from domain.rules.action_checks import refuse_barred
from domain.rules.caps import per_tx_cap
from domain.rules.snapshot import MandateSnapshot
from domain.rules.target_rules import pays_at
from domain.times import midnight

PAID_READ: Final = "A paid read"
NOT_A_PAYEE: Final = "is none of the payees that the terms name"
OWN_SIDE: Final = "is of the mandate itself: a payment to it would be in no book"


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseView:
    """A purse with its terms, and what is promised and paid out of it.

    Shapes: `open_bills` may still be paid out of the balance of `state`; `paid_today` was paid on
    this UTC day by the rows, and `unrecorded` bills count for it beside them: they may be paid, or
    are paid and in no row yet.
    """

    terms: PurseTerms
    state: PurseState
    open_bills: Sequence[Bill]
    unrecorded: Sequence[Bill]
    paid_today: Usdc

    @property
    def reserved(self) -> Usdc:
        """Amounts of open bills."""
        return total(bill.amount for bill in self.open_bills)


def check_host(snapshot: MandateSnapshot, payment: PaymentRequest) -> PurseTerms:
    """The purse that pays at the resource's host. Errors: what bars every action, and
    `target_not_allowed`.
    """
    refuse_barred(snapshot)
    mandate = snapshot.mandate
    purse = next((t.purse for t in mandate.allowed_targets if t.purse is not None), None)
    if purse is None or not pays_at(mandate, payment.hosts):
        words = {"target": PAID_READ, "selector": payment.host, "why": NOT_LISTED}
        raise Refused(refusal("target_not_allowed", words, detail=words))
    return purse


def check_payment(
    snapshot: MandateSnapshot, payment: PaymentRequest, purse: PurseView, max_amount: Usdc
) -> None:
    """Hold a new payment to the terms and to the purse.

    Errors: `payee_not_allowed`, `over_per_payment`, `over_daily_cap`, `purse_low`.
    """
    _check_payee(snapshot, payment, purse)
    _check_amount(snapshot, payment.amount, purse.terms, max_amount)
    _check_day(snapshot, payment.amount, purse)
    _check_balance(payment.amount, purse)


def _check_payee(snapshot: MandateSnapshot, payment: PaymentRequest, purse: PurseView) -> None:
    payee, why = payment.pay_to, None
    own = (snapshot.mandate.vault_address or "", purse.state.address, purse.terms.hub)
    if int(payee, 16) == 0 or payee.lower() in {a.lower() for a in own}:
        why = OWN_SIDE if int(payee, 16) else "is nobody's address"
    elif purse.terms.payees and payee not in purse.terms.payees:
        why = NOT_A_PAYEE
    if why is not None:
        detail = {"payee": payee, "why": why}
        raise Refused(refusal("payee_not_allowed", detail, detail=detail))


def _check_amount(
    snapshot: MandateSnapshot, amount: Usdc, terms: PurseTerms, max_amount: Usdc
) -> None:
    cap, by = per_tx_cap(snapshot)
    daily_cap = snapshot.mandate.daily_cap
    bounds = (
        (max_amount, "max_amount"),
        (terms.per_payment(cap), "the terms" if by == "mandate" else f"the agent's {by}"),
        (terms.float_limit(daily_cap), "what may lie in the purse"),
    )
    allowed, bound_by = min(bounds, key=lambda bound: bound[0])
    if amount > allowed:
        words = {"attempted": str(amount), "allowed": str(allowed), "bound_by": bound_by}
        raise Refused(refusal("over_per_payment", words, detail=words))


def _check_day(snapshot: MandateSnapshot, amount: Usdc, purse: PurseView) -> None:
    """Hold what was paid today, and what open bills may still take, to the purse's day; each bill
    counts once, by its row or by itself.
    """
    allowed = purse.terms.per_day(snapshot.mandate.daily_cap)
    used = purse.paid_today + total(bill.amount for bill in purse.unrecorded)
    if used + amount <= allowed:
        return
    words = {
        "attempted": str(amount),
        "used": str(used),
        "allowed": str(allowed),
        "bound_by": " (the purse's day)",
    }
    left = {"value": str(max(ZERO, allowed - used))}
    at = midnight(snapshot.now)
    raise Refused(refusal("over_daily_cap", words, remaining=left, retry_at=at, detail=words))


def _check_balance(amount: Usdc, purse: PurseView) -> None:
    """A purse that was never opened pays nothing, whatever somebody has sent to its address."""
    balance = purse.state.balance if purse.state.exists else ZERO
    missing = amount + purse.reserved - balance
    if missing <= ZERO:
        return
    words = {"balance": str(balance), "reserved": str(purse.reserved), "attempted": str(amount)}
    fund = {"kind": "fund", "amount_usdc": str(missing)}
    raise Refused(refusal("purse_low", words, detail=words | {"fund": fund}))
