"""The purse's book: the money that the vault put into its purse, and what became of it.

It is a part of the measured book, and moves no figure of the vault: for the vault, what was put
into the purse is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from domain.ledger.events.payloads import PaidFee, PurseMoved
from domain.ledger.fast_copy import fast_replace
from domain.times import day_of

DAYS_KEPT: Final = 8
CREDIT_MICROS: Final = 10_000
PAYMENTS_KEPT: Final = 256
FRESH: Final = timedelta(days=1)
"""How long a payment may wait to be explained before any newer one takes its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseDay:
    """The sums put in and paid on one UTC day, by block time; micro-USDC. `credits` are those of
    each payment, rounded up.
    """

    funded: int = 0
    paid: int = 0
    credits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One payment, to be explained by the bill or the report that its nonce commits to.

    Shapes: `resource` is what was bought, where the bill was made here.
    Units: micro-USDC.
    """

    event_id: str
    amount: int
    payee: str
    at: datetime
    resource: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurseBook:
    """The sums of a purse.

    Units: micro-USDC. Shapes: `called` and `taken` are what the vault's own calls put in and got
    back, `funded` and `drained` the same by the hub's word; `to_owner` went to the owner out of the
    purse, `came_in` was sent by others. `days` by UTC day and `newest` payments by nonce, at most
    so many, of which those go first that need no explanation any more, then the smallest; `epoch`
    is that of the bills that are good.
    """

    called: int = 0
    taken: int = 0
    funded: int = 0
    drained: int = 0
    to_owner: int = 0
    paid: int = 0
    came_in: int = 0
    payments: int = 0
    epoch: int = 0
    days: Mapping[str, PurseDay] = field(default_factory=dict)
    newest: Mapping[str, Payment] = field(default_factory=dict)

    @property
    def inside(self) -> int:
        """The balance of the purse by its logs."""
        return self.funded - self.drained - self.to_owner - self.paid + self.came_in

    @property
    def agrees(self) -> bool:
        """True where the hub tells of the same sums as the vault's calls."""
        return (self.called, self.taken) == (self.funded, self.drained)

    def day(self, name: str) -> PurseDay:
        """The sums of a UTC day, YYYY-MM-DD."""
        return self.days.get(name, NO_DAY)


def credits_of(amount: int) -> int:
    """Paid-read credits of one payment: 0.01 USDC each, rounded up (contract 7)."""
    return -(-amount // CREDIT_MICROS)


NO_DAY: Final = PurseDay()
EMPTY: Final = PurseBook()


def with_call(book: PurseBook, spent: int, received: int) -> PurseBook:
    """The book after a call of the vault on the hub."""
    return fast_replace(book, called=book.called + spent, taken=book.taken + received)


def with_payment(
    book: PurseBook, event_id: str, at: datetime, amount: int, fee: PaidFee
) -> PurseBook:
    """The book after a payment."""
    payment = Payment(
        event_id=event_id, amount=amount, payee=fee.payee or "", at=at, resource=fee.resource
    )
    newest = {**book.newest, fee.nonce or event_id: payment}
    while len(newest) > PAYMENTS_KEPT:
        # Many small payments must not push out a large one that nobody has explained yet.
        del newest[min(newest, key=lambda n: _weight(newest[n], at))]
    return fast_replace(
        book,
        paid=book.paid + amount,
        payments=book.payments + 1,
        days=_with_day(book.days, at, PurseDay(paid=amount, credits=credits_of(amount))),
        newest=newest,
    )


def _weight(payment: Payment, now: datetime) -> int:
    """Loss by dropping a payment: its amount, where it may yet be flagged."""
    is_settled = payment.resource is not None or payment.at + FRESH <= now
    return 0 if is_settled else payment.amount


def with_movement(book: PurseBook, at: datetime, amount: int, moved: PurseMoved) -> PurseBook:
    """The book after any other log of the purse."""
    match moved.change:
        case "funded":
            days = _with_day(book.days, at, PurseDay(funded=amount))
            return fast_replace(book, funded=book.funded + amount, days=days)
        case "drained":
            to_owner = book.to_owner + moved.to_owner.micros
            return fast_replace(book, drained=book.drained + amount, to_owner=to_owner)
        case "came_in":
            return fast_replace(book, came_in=book.came_in + amount)
        case "voided":
            return fast_replace(book, epoch=moved.epoch or 0)


def _with_day(days: Mapping[str, PurseDay], at: datetime, more: PurseDay) -> Mapping[str, PurseDay]:
    name = day_of(at)
    day = days.get(name, NO_DAY)
    summed = PurseDay(
        funded=day.funded + more.funded,
        paid=day.paid + more.paid,
        credits=day.credits + more.credits,
    )
    changed = {**days, name: summed}
    for oldest in sorted(changed)[:-DAYS_KEPT]:
        del changed[oldest]
    return changed
